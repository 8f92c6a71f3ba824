/**
 * Customers' receivers: one server outside Hookyard that outlives its death. Each webhook has a
 * path of its own; how a request is answered follows from the seed, the mood and how often this
 * request was made, not from the order of arrival.
 */

import { createHash } from "node:crypto";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { drawUnit } from "../../src/domain/random.ts";

const behaviours = ["200", "503", "404", "reset", "close", "garbage", "hang"] as const;
type Behaviour = (typeof behaviours)[number];

/** Shares of what a receiver does. */
export const moods: Record<string, Partial<Record<Behaviour, number>>> = {
  well: { "200": 1 },
  flaky: { "200": 5, "503": 4, "404": 1.5, reset: 1, close: 1, garbage: 0.5, hang: 0.5 },
  down: { "503": 1 },
  gone: { reset: 1, close: 1 },
  hanging: { hang: 1 },
  refusing: { "404": 1 },
};

export type Received = {
  path: string;
  body: string;
  signature: string | null;
  team: string | undefined;
};

export class Receivers {
  port = 0;
  mood: string = "well";
  received: Received[] = [];
  /** Requests that came while the same one was still open. */
  readonly overlapping: { path: string; body: string }[] = [];
  readonly #seed: number;
  readonly #open = new Set<string>();
  readonly #times = new Map<string, number>();
  readonly #server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("error", () => {});
    request.on("end", () => {
      const body = Buffer.concat(chunks).toString("utf8");
      const { "x-signature": signature = null, "x-team": team } = request.headers as Record<
        string,
        string | undefined
      >;
      this.#take({ path: request.url ?? "", body, signature, team }, response);
    });
  });

  constructor(seed: number) {
    this.#seed = seed;
  }

  get server(): unknown {
    return this.#server;
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.port = (this.#server.address() as AddressInfo).port;
  }

  stop(): void {
    this.#server.close();
    this.cut();
  }

  /** Nobody is at the other end any more. */
  cut(): void {
    this.#server.closeAllConnections();
    this.#open.clear();
  }

  #take(received: Received, response: ServerResponse): void {
    const { path, body } = received;
    const key = `${path} ${body}`;
    if (this.#open.has(key)) this.overlapping.push({ path, body });
    this.#open.add(key);
    response.once("close", () => this.#open.delete(key));
    const times = (this.#times.get(key) ?? 0) + 1;
    this.#times.set(key, times);
    this.received.push(received);
    behave(this.#draw(createHash("sha1").update(key).digest().readUInt32BE(), times), response);
  }

  #draw(hash: number, times: number): Behaviour {
    const shares = Object.entries(moods[this.mood] ?? {}) as [Behaviour, number][];
    let left =
      drawUnit(this.#seed, hash, times) * shares.reduce((sum, [, share]) => sum + share, 0);
    for (const [behaviour, share] of shares) if ((left -= share) < 0) return behaviour;
    return "200";
  }
}

function behave(behaviour: Behaviour, response: ServerResponse): void {
  const socket = response.socket as Socket;
  switch (behaviour) {
    case "reset":
      socket.resetAndDestroy();
      return;
    case "close":
      socket.destroy();
      return;
    case "garbage":
      socket.end("this is no HTTP\r\n\r\n");
      return;
    case "hang":
      return;
    default:
      response.writeHead(Number(behaviour), { "Content-Length": 0 }).end();
  }
}
