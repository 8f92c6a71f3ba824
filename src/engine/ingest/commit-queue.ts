/**
 * Requests that arrive together share a commit: those of one turn of the event loop are one
 * transaction.
 */

import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { CommittedMessage, IncomingRequest, IngestStore } from "../ports.ts";
import { storeFailure } from "../store-failure.ts";

/** Messages per transaction: few enough to free the event loop after some 20 ms. */
const maxMessages = 2000;
/**
 * Bytes per transaction, because large messages cost more: those of bodies, and those that a
 * batch's defaults add to its messages.
 */
const maxBytes = 4_000_000;

type Waiting = {
  request: WeighedRequest;
  resolve: (committed: CommittedMessage[]) => void;
  reject: (error: unknown) => void;
};

/** `bytes` counts the body and what the batch's defaults add to its messages. */
type WeighedRequest = IncomingRequest & { bytes: number };

type CommitQueueOptions = {
  store: Pick<IngestStore, "commit">;
  activity: Activity;
  /** Called after each commit. Its errors are reported, and requests are answered all the same. */
  onCommitted: (committed: CommittedMessage[][], origin: Origin) => void;
  report: (error: unknown) => void;
};

export class CommitQueue {
  readonly #options: CommitQueueOptions;
  #waiting: Waiting[] = [];
  #work: Work | null = null;
  #newest: Promise<unknown> | null = null;

  constructor(options: CommitQueueOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the request's messages are committed; rejects with the store's error when they
   * are not.
   */
  add(request: WeighedRequest): Promise<CommittedMessage[]> {
    const committed = new Promise<CommittedMessage[]>((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#schedule();
    });
    this.#newest = committed;
    return committed;
  }

  /**
   * Resolves when everything that waits now is committed or has failed: the queue is served in
   * order.
   */
  async drained(): Promise<void> {
    await this.#newest?.catch(() => {});
  }

  #schedule(): void {
    if (this.#work !== null || this.#waiting.length === 0) return;
    this.#work = this.#options.activity.begin(this.#options.activity.ingestOrigin);
    setImmediate(() => {
      this.#flush();
      this.#work?.end();
      this.#work = null;
      this.#schedule();
    });
  }

  #flush(): void {
    let messages = 0;
    let bytes = 0;
    let size = 0;
    for (const { request } of this.#waiting) {
      messages += request.messages.length;
      bytes += request.bytes;
      if (size > 0 && (messages > maxMessages || bytes > maxBytes)) break;
      size += 1;
    }
    this.#commit(this.#waiting.splice(0, size));
  }

  #commit(group: Waiting[]): void {
    let committed: CommittedMessage[][];
    try {
      committed = this.#options.store.commit(group.map(({ request }) => request));
    } catch (error) {
      // A request that cannot be committed must not fail those that arrived with it.
      if (group.length > 1 && storeFailure(error) === null)
        for (const each of group) this.#commit([each]);
      else for (const { reject } of group) reject(error);
      return;
    }
    const { activity, onCommitted, report } = this.#options;
    try {
      onCommitted(committed, this.#work?.origin === "own" ? "own" : activity.ingestOrigin);
    } catch (error) {
      report(error);
    }
    for (const [place, { resolve }] of group.entries()) resolve(committed[place] ?? []);
  }
}
