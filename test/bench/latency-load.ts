/**
 * Sends single calls at a pace, and is the webhook that they are delivered to: one process, so that
 * one clock measures the time between.
 */

import { createServer } from "node:http";
import { Agent, request } from "node:http";
import type { AddressInfo } from "node:net";
import { scriptData } from "./children.ts";
import { makeMessage, seeded } from "./messages.ts";

export type LatencyLoad = {
  ingestUrl: string;
  writeKey: string;
  messages: number;
  /** Sent before, and not counted. */
  warm: number;
  everyMs: number;
};

/** From the call to the arrival of its attempt, of each message. */
export type Latencies = { ms: number[] };

const { ingestUrl, writeKey, messages, warm, everyMs } = scriptData<LatencyLoad>();
const agent = new Agent({ keepAlive: true });
const random = seeded(1);
const sentAt = new Map<string, number>();
const ms: number[] = [];

const server = createServer((incoming, response) => {
  const at = performance.now();
  const chunks: Buffer[] = [];
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
  incoming.on("end", () => {
    response.end();
    const id = /"message_?id":"([^"]+)"/i.exec(Buffer.concat(chunks).toString())?.[1] ?? "";
    const from = sentAt.get(id);
    if (from === undefined) throw new Error(`an attempt of no message: ${id}`);
    sentAt.delete(id);
    ms.push(at - from);
    if (ms.length === warm + messages) {
      process.send?.({ ms: ms.slice(warm) } satisfies Latencies);
      process.disconnect();
    }
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () =>
  process.send?.({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook` }),
);

function call(): void {
  const message = makeMessage(random);
  const body = JSON.stringify(message);
  const headers = {
    authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
  };
  const outgoing = request(`${ingestUrl}/v1/${message.type}`, { method: "POST", agent, headers });
  outgoing.on("response", (answer) => {
    answer.resume();
    if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`);
  });
  sentAt.set(message.messageId, performance.now());
  outgoing.end(body);
}

process.once("message", () => {
  const startedAt = performance.now();
  let sent = 0;
  const timer = setInterval(() => {
    while (sent < warm + messages && startedAt + sent * everyMs <= performance.now()) {
      call();
      sent += 1;
    }
    if (sent === warm + messages) clearInterval(timer);
  }, 1);
});
