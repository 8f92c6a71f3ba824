/**
 * Fills a data directory with messages in the states that a day of use leaves behind, through the
 * real store. Run it with `node test/bench/generate.ts --messages 1000000 --data DIR`; the
 * benchmarks make theirs once and use it again.
 */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import type { Source } from "../../src/domain/configuration.ts";
import type { DestinationId } from "../../src/domain/ids.ts";
import type { AttemptRecord, ClaimedDelivery, Transition } from "../../src/engine/ports.ts";
import type { Store } from "../../src/engine/store-ports.ts";
import { follow } from "../../src/engine/profiles/follow.ts";
import { openStore } from "../../src/store/sqlite-store.ts";
import { addDestination, addSource, fill } from "./fill.ts";
import { makeMessage, pick, seeded, type BenchMessage, type Random } from "./messages.ts";

const batchSize = 100;

/** Messages that the profiles follow in one transaction: in large ones that goes fastest. */
const followedAtOnce = 5000;

/**
 * All within the 24 hours in which a message id may come twice: the most that a start has to read.
 */
const spanMs = 20 * 60 * 60 * 1000;

/** Once in 250,000 messages: what a filter has to walk far for. */
export const rareEvent = "Gift Card Redeemed";
const rareEvery = 250_000;

export type Generated = { data: string; tookMs: number | null };

/**
 * The cached store of this size and of this version of the store's format, made when it is not
 * there.
 */
export function cachedStore(messages: number): Generated {
  const prefix = "hookyard-bench-store-";
  const name = `${prefix}${messages}-${formatHash()}`;
  const data = join(tmpdir(), name);
  const known = readdirSync(tmpdir()).filter((entry) => entry.startsWith(`${prefix}${messages}-`));
  if (known.includes(name)) return { data, tookMs: null };
  for (const old of known) rmSync(join(tmpdir(), old), { recursive: true, force: true });
  const startedAt = performance.now();
  generate(`${data}.partial`, messages);
  renameSync(`${data}.partial`, data);
  return { data, tookMs: performance.now() - startedAt };
}

/** Changes with what decides about the content of the file. */
function formatHash(): string {
  const hash = createHash("sha256");
  for (const file of [
    "../../src/store/schema.ts",
    "../../src/store/postings.ts",
    "../../src/store/seen-names.ts",
    "../../src/store/codes.ts",
    "../../src/store/profile-store.ts",
    "../../src/engine/profiles/follow.ts",
    "../../src/engine/profiles/identity.ts",
    "./generate.ts",
    "./messages.ts",
  ]) {
    hash.update(readFileSync(new URL(file, import.meta.url)));
  }
  return hash.digest("hex").slice(0, 12);
}

export function generate(data: string, messages: number): void {
  if (existsSync(data)) throw new Error(`${data} exists already.`);
  const store = openStore(data);
  // Retention must not remove a part of the store while that is measured: a million messages hold
  // more rejected ones than are kept by default.
  store.saveSettings({
    ...store.settings(),
    maxMessages: null,
    maxBytes: null,
    maxRejectedBytes: 1_000_000_000_000,
  });
  const random = seeded(7);
  // Half of all messages go nowhere, a third meet a destination that is off, the rest are delivered
  // or are not.
  const web = addSource(store, "Shop web", "web");
  const mobile = addSource(store, "Shop mobile", "mobile");
  const server = addSource(store, "Shop server", "server");
  const warehouse = addDestination(store, {
    name: "Warehouse",
    source: mobile,
    url: "http://127.0.0.1:9/",
    sharedSecret: null,
    enabled: false,
  });
  const receiver = addDestination(store, {
    name: "Receiver",
    source: server,
    url: "http://127.0.0.1:9/",
    sharedSecret: "secret",
  });
  const destinations = [warehouse, receiver];
  const sourceOf = (draw: number): Source => (draw < 0.52 ? web : draw < 0.85 ? mobile : server);
  const firstAt = Date.now() - spanMs;

  for (let done = 0; done < messages; done += batchSize) {
    const receivedAt = Math.round(firstAt + (spanMs * done) / messages);
    const batch = Array.from({ length: Math.min(batchSize, messages - done) }, () =>
      varied(random, receivedAt),
    );
    const rare = batch[0];
    if (done % rareEvery === 0 && rare !== undefined)
      Object.assign(rare, { type: "track", event: rareEvent });
    fill(store, [
      { source: sourceOf(random()), destinations, receivedAt, messages: withFaults(random, batch) },
    ]);
    finish(store, receiver.id, receivedAt, random);
    if (done % followedAtOnce === 0) followAll(store);
  }
  followAll(store);
  // As upkeep does while a store grows.
  while (store.prepareLookups());
  store.close();
}

function followAll(store: Store): void {
  store.atomically(() => follow({ store, limit: Number.MAX_SAFE_INTEGER, isTimeUp: () => false }));
}

/** The usual types, and a few of the others. */
function varied(random: Random, at: number): BenchMessage {
  const message = makeMessage(random, at);
  const draw = random();
  if (draw < 0.02) return Object.assign(message, { type: "screen", name: "Home" });
  if (draw < 0.035)
    return Object.assign(message, {
      type: "group",
      groupId: `group-${Math.floor(random() * 500)}`,
    });
  if (draw < 0.04)
    return Object.assign(message, {
      type: "alias",
      previousId: `visitor-${Math.floor(random() * 1e6)}`,
    });
  return message;
}

/** One in a hundred is rejected (a track without its event), one in a hundred has come before. */
function withFaults(random: Random, batch: BenchMessage[]): BenchMessage[] {
  return batch.map((message, place) => {
    const draw = random();
    const before = batch[place - 1];
    if (draw < 0.01) return { ...message, type: "track", event: undefined };
    return draw < 0.02 && before !== undefined ? { ...before } : message;
  });
}

/** Each delivery comes to its end: two of three at once, the others in every way there is. */
function finish(store: Store, destination: DestinationId, now: number, random: Random): void {
  const attempts: AttemptRecord[] = [];
  const transitions: Transition[] = [];
  for (const delivery of store.claim(destination, now, batchSize)) {
    const move = (state: Transition["state"], reason: string): void => {
      transitions.push({ deliveryId: delivery.id, at: now, state, reason, nextAttemptAt: null });
    };
    const draw = random();
    if (draw < 0.67) {
      attempts.push(attemptOf(delivery, now, 200, random));
      move("delivered", "succeeded");
    } else if (draw < 0.87) {
      attempts.push(attemptOf(delivery, now, pick(random, [400, 404, 422]), random));
      move("failed", "not_retried");
    } else if (draw < 0.95) {
      attempts.push(attemptOf(delivery, now, 503, random));
      move("expired", "window_closed");
    } else {
      move("cancelled", "cancelled_by_user");
    }
  }
  if (transitions.length > 0) store.record(attempts, transitions);
}

function attemptOf(
  { id, round, destinationId, payload }: ClaimedDelivery,
  now: number,
  status: number,
  random: Random,
): AttemptRecord {
  const success = status === 200;
  const body = Buffer.from(success ? "" : '{"error":"not today"}');
  return {
    deliveryId: id,
    round,
    // Each destination here has one webhook, made with it.
    webhookId: Number(destinationId) as AttemptRecord["webhookId"],
    webhookUrl: "http://127.0.0.1:9/",
    startedAt: now,
    durationMs: Math.round(random() * 80_000) / 1000,
    phases: { dns: 0.011, connect: 0.254, sent: 0.402, firstByte: 12.733, done: 12.951 },
    simulated: false,
    outcome: success ? "success" : "http_error",
    retryable: status >= 500,
    error: null,
    requestHead: `POST / HTTP/1.1\r\nHost: 127.0.0.1:9\r\nUser-Agent: Hookyard/1.0\r\nContent-Type: application/json\r\nX-Signature: ${"0123456789".repeat(4)}\r\nContent-Length: ${payload.length}\r\n\r\n`,
    response: {
      status,
      head: `HTTP/1.1 ${status} Answer\r\nContent-Length: ${body.length}\r\n\r\n`,
      body,
      bodyLength: body.length,
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({
    options: { messages: { type: "string", default: "1000000" }, data: { type: "string" } },
  });
  if (values.data === undefined)
    throw new Error("Say where to with --data DIR, a directory that does not exist yet.");
  const startedAt = performance.now();
  generate(values.data, Number(values.messages));
  process.stdout.write(
    `${values.messages} messages in ${values.data}, made in ${((performance.now() - startedAt) / 1000).toFixed(1)} s\n`,
  );
}
