/**
 * `MessageChannelMain` on real message ports of Node. A port that is sent to a page goes on over
 * the wire to the test, which has the page's own port.
 */

import { EventEmitter } from "node:events";
import { MessageChannel, type MessagePort } from "node:worker_threads";
import { onTold, say } from "./connection.ts";

export class MessagePortMain extends EventEmitter {
  readonly #port: MessagePort;

  constructor(port: MessagePort) {
    super();
    this.#port = port;
  }
  postMessage(data: unknown): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is a window's, this is a port
    this.#port.postMessage(data);
  }
  start(): void {
    this.#port.on("message", (data: unknown) => this.emit("message", { data, ports: [] }));
    this.#port.on("close", () => this.emit("close"));
  }
  close(): void {
    this.#port.close();
  }
  /** As posting it to a page does: from here on the page has it. Answers its number on the wire. */
  transfer(): number {
    lastPort += 1;
    const id = lastPort;
    const port = this.#port;
    inPages.set(id, port);
    port.on("message", (data: unknown) => say({ say: "port", port: id, data }));
    port.on("close", () => {
      inPages.delete(id);
      say({ say: "port-closed", port: id });
    });
    return id;
  }
}

export class MessageChannelMain {
  readonly port1: MessagePortMain;
  readonly port2: MessagePortMain;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.port1 = new MessagePortMain(port1);
    this.port2 = new MessagePortMain(port2);
  }
}

let lastPort = 0;
const inPages = new Map<number, MessagePort>();

onTold((message) => {
  if (message.tell === "port") inPages.get(message.port)?.postMessage(message.data);
  else if (message.tell === "port-closed") inPages.get(message.port)?.close();
});
