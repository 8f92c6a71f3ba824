/** Plain requests to a receiver, apart from the sender of the pipeline. */

import { createHmac } from "node:crypto";
import { connect, type Socket } from "node:net";
import { expect } from "vitest";
import type { RunningReceiver } from "./receivers.ts";

type Headers = Record<string, string>;

/** `once` of Node would also end with an error of the connection, which is followed by its end. */
function happens(
  socket: Socket,
  ...events: readonly ("connect" | "data" | "close")[]
): Promise<void> {
  return new Promise((resolve) => {
    for (const event of events) socket.once(event, () => resolve());
  });
}

export class ReceiverClient {
  readonly #receiver: RunningReceiver;
  static #sent = 0;

  constructor(receiver: RunningReceiver) {
    this.#receiver = receiver;
  }

  /** A text that no other message contains. */
  token(): string {
    ReceiverClient.#sent += 1;
    return `token-${ReceiverClient.#sent};`;
  }

  message(type: string, members: object = {}): string {
    const token = this.token();
    const timestamp = new Date().toISOString();
    const messageId = `message of ${token}`;
    return JSON.stringify({
      version: 1,
      type,
      messageId,
      timestamp,
      userId: `user of ${token}`,
      context: {},
      ...members,
    });
  }

  sign(body: string): string {
    return createHmac("sha1", this.#receiver.secret).update(body).digest("hex");
  }

  /** The status, or 0 when the connection ends without one. A header of "" is not sent. */
  async post(body: string, headers: Headers = {}): Promise<number> {
    const all = { "content-type": "application/json", "x-signature": this.sign(body), ...headers };
    try {
      const given = Object.entries(all).filter(([, value]) => value !== "");
      const answer = await fetch(this.#receiver.url, { method: "POST", headers: given, body });
      await answer.arrayBuffer();
      return answer.status;
    } catch {
      return 0;
    }
  }

  async get(): Promise<number> {
    return (await fetch(this.#receiver.url)).status;
  }

  async postTo(path: string): Promise<void> {
    await fetch(new URL(path, this.#receiver.url), { method: "POST" });
  }

  /** How often the message of this token took effect, once everything before it has. */
  async effectsOf(token: string): Promise<number> {
    const last = this.token();
    await this.post(this.message("track", { properties: { token: last } }));
    await expect.poll(() => this.#count(last)).toBeGreaterThan(0);
    return this.#count(token);
  }

  async #count(token: string): Promise<number> {
    const answer = await fetch(this.#receiver.effectsUrl);
    return (await answer.text()).split(token).length - 1;
  }

  /**
   * Sends a whole request and ends the connection without waiting for the answer; resolves when the
   * receiver has ended it too.
   */
  async hangUp(body: string): Promise<void> {
    const socket = this.#connect();
    socket.end(this.#request(body)).resume();
    await happens(socket, "close");
  }

  /** The statuses of requests on one connection, 0 for those that the receiver does not answer. */
  async onOneConnection(count: number, connection = "keep-alive"): Promise<number[]> {
    const socket = this.#connect();
    const statuses = await this.#exchange(socket, count, connection);
    socket.destroy();
    return statuses;
  }

  /**
   * The statuses of one request on each of many connections, which stay open until all have ended.
   */
  async onManyConnections(count: number): Promise<number[]> {
    const sockets = Array.from({ length: count }, () => this.#connect());
    await Promise.all(sockets.map((socket) => happens(socket, "connect", "close")));
    const statuses = await Promise.all(
      sockets.map((socket) => this.#exchange(socket, 1, "keep-alive")),
    );
    for (const socket of sockets) socket.destroy();
    return statuses.flat();
  }

  async #exchange(socket: Socket, count: number, connection: string): Promise<number[]> {
    let received = "";
    socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
    const statuses: number[] = [];
    while (statuses.length < count) {
      const body = this.message("track", { properties: { token: this.token() } });
      socket.write(this.#request(body, connection));
      // An answer that something else precedes is none.
      const answers = (): string[] =>
        [...received.matchAll(/HTTP\/1\.\d (\d{3}) /g)].map(({ index, 1: status = "" }) =>
          /[^\n]/.test(received.charAt(index - 1)) ? "0" : status,
        );
      while (answers().length <= statuses.length && !socket.closed)
        await happens(socket, "data", "close");
      statuses.push(Number(answers()[statuses.length] ?? 0));
    }
    return statuses;
  }

  #connect(): Socket {
    const socket = connect(Number(new URL(this.#receiver.url).port), "127.0.0.1");
    return socket.on("error", () => {});
  }

  #request(body: string, connection = "keep-alive"): string {
    const headers = {
      host: "127.0.0.1",
      "content-type": "application/json",
      "content-length": String(Buffer.byteLength(body)),
      connection,
    };
    const lines = Object.entries({ ...headers, "x-signature": this.sign(body) }).map(
      ([name, value]) => `${name}: ${value}\r\n`,
    );
    return `POST /hooks HTTP/1.1\r\n${lines.join("")}\r\n${body}`;
  }
}
