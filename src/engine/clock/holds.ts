/**
 * Where a test endpoint meets the attempt that it holds: both ends of a loopback connection are in this
 * process, and the client's address and port name it on both sides. A request from another program has no
 * entry here, and its hold concerns nobody else.
 */

export type Holdable = {
  /** The endpoint has the request, and has done nothing about it yet. */
  received?(): void;
  /** The endpoint keeps the request, since this time of the clock. */
  hold(since: number): void;
  /** The endpoint goes on with it, as of this time: when its wait ended, not when its timer got round to it. */
  release(at: number): void;
};

export class Holds {
  #byClient = new Map<string, Holdable>();

  /** Called by the sending side before the first byte of a request. The answer takes the entry out again. */
  register(address: string, port: number, exchange: Holdable): () => void {
    const key = clientKey(address, port);
    this.#byClient.set(key, exchange);
    return () => {
      if (this.#byClient.get(key) === exchange) this.#byClient.delete(key);
    };
  }

  find(address: string | undefined, port: number | undefined): Holdable | null {
    if (address === undefined || port === undefined) return null;
    return this.#byClient.get(clientKey(address, port)) ?? null;
  }
}

function clientKey(address: string, port: number): string {
  return `${address.replace(/^::ffff:/, "")} ${port}`;
}
