/**
 * A program that tracks through a client library, as fast as the library takes it: ours, or the one
 * for Node that is published. It gives way to the event loop after every hundred calls, as a
 * program that serves requests does.
 */

import { setImmediate } from "node:timers/promises";
import { Analytics as NodeAnalytics } from "@segment/analytics-node";
import { Analytics } from "../../src/client/client.ts";
import { scriptData } from "./children.ts";
import { makeMessage, seeded } from "./messages.ts";

export type ClientLoad = {
  library: "ours" | "node";
  url: string;
  writeKey: string;
  tracks: number;
  flushAt: number;
  seed: number;
};

/** From the first call until everything was answered. */
export type ClientLoadTook = { ms: number; notSent: number };

type Call = {
  userId: string;
  event: string;
  context: Record<string, unknown>;
  properties: Record<string, unknown>;
};

function makeCalls(seed: number): Call[] {
  const random = seeded(seed);
  const calls: Call[] = [];
  while (calls.length < 5000) {
    const { type, userId, event, context, properties } = makeMessage(random) as unknown as Call & {
      type: string;
    };
    if (type === "track") calls.push({ userId, event, context, properties });
  }
  return calls;
}

type Client = { track(call: Call): void; close(): Promise<unknown>; notSent(): number };

function ours({ url, writeKey, flushAt }: ClientLoad): Client {
  let notSent = 0;
  // No call is to be refused: the other library has no limit.
  const maxQueueBytes = Number.POSITIVE_INFINITY;
  const onError = ({ messages }: { messages: unknown[] }): void =>
    void (notSent += messages.length);
  const client = new Analytics(writeKey, { endpoint: url, flushAt, maxQueueBytes, onError });
  return {
    track: (call) => client.track(call),
    close: () => client.close(),
    notSent: () => notSent,
  };
}

function node({ url, writeKey, flushAt }: ClientLoad): Client {
  let notSent = 0;
  const client = new NodeAnalytics({ writeKey, host: url, flushAt });
  client.on("error", () => (notSent += 1));
  return {
    track: (call) => client.track(call),
    close: () => client.closeAndFlush(),
    notSent: () => notSent,
  };
}

const load = scriptData<ClientLoad>();
const calls = makeCalls(load.seed);

async function run(client: Client, tracks: number): Promise<ClientLoadTook> {
  const startedAt = performance.now();
  for (let done = 0; done < tracks; done += 1) {
    const call = calls[done % calls.length];
    if (call !== undefined) client.track(call);
    if (done % 100 === 99) await setImmediate();
  }
  await client.close();
  return { ms: performance.now() - startedAt, notSent: client.notSent() };
}

const make = load.library === "ours" ? ours : node;
// Not counted: both are then as warm as they get.
await run(make(load), load.tracks / 10);
process.send?.(await run(make(load), load.tracks));
process.disconnect?.();
