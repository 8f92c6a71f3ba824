/**
 * A first sync and a deletion of many users, killed again and again in the middle: each user hears
 * of it once.
 */

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startReceiver, type WebhookReceiver } from "../support/webhook-receiver.ts";
import { call, startHookyard, type Addresses, type HookyardProcess } from "./hookyard-process.ts";
import { readData } from "./on-disk.ts";

const users = 6000;
const writeKey = "key";
const userId = (nth: number): string => `u${String(nth).padStart(6, "0")}`;
const everybody = Array.from({ length: users }, (_, nth) => userId(nth));

async function dataDirectory(): Promise<string> {
  const data = await mkdtemp(join(tmpdir(), "hookyard-crash-"));
  onTestFinished(() => rm(data, { recursive: true, force: true }));
  return data;
}

async function start(data: string): Promise<{ hookyard: HookyardProcess; addresses: Addresses }> {
  const hookyard = startHookyard(data);
  onTestFinished(() => hookyard.kill("SIGKILL"));
  const addresses = await hookyard.ready;
  if (addresses === null) throw new Error(`it did not start: ${(await hookyard.ended).errors}`);
  return { hookyard, addresses };
}

/** A shop whose users are all known; each test has a copy of it. */
let filled: string;
let sourceId: string;

beforeAll(async () => {
  filled = await mkdtemp(join(tmpdir(), "hookyard-crash-"));
  const hookyard = startHookyard(filled);
  const addresses = (await hookyard.ready) ?? expect.unreachable();
  ({ id: sourceId } = await call<{ id: string }>(addresses, "POST", "sources", {
    name: "Shop",
    writeKey,
  }));
  for (let at = 0; at < users; at += 500) {
    const batch = everybody
      .slice(at, at + 500)
      .map((userId) => ({ type: "identify", userId, traits: { plan: "pro" } }));
    const headers = { Authorization: `Basic ${btoa(`${writeKey}:`)}` };
    await fetch(`${addresses.ingestUrl}/v1/batch`, {
      method: "POST",
      headers,
      body: JSON.stringify({ batch }),
    });
  }
  await call(addresses, "POST", "settle", { timeoutMs: 200_000 });
  hookyard.kill("SIGTERM");
  expect(await hookyard.ended).toMatchObject({ code: 0 });
});
afterAll(() => rm(filled, { recursive: true, force: true }));

/** The shop, with one webhook. */
async function startFilled(
  data: string,
): Promise<{ hookyard: HookyardProcess; addresses: Addresses; out: WebhookReceiver }> {
  const out = await startReceiver(200);
  onTestFinished(() => out.stop());
  await cp(filled, data, { recursive: true });
  const { hookyard, addresses } = await start(data);
  await call(addresses, "POST", "destinations", {
    name: "Out",
    sourceIds: [sourceId],
    webhooks: [{ url: out.url }],
  });
  return { hookyard, addresses, out };
}

/** Kills it as soon as so many rows are there. */
async function killWhen(
  hookyard: HookyardProcess,
  data: string,
  sql: string,
  least: number,
): Promise<number> {
  const db = new Database(join(data, "hookyard.db"), { readonly: true });
  const count = db.prepare<[], number>(sql).pluck();
  while ((count.get() ?? 0) < least) await new Promise((resolve) => setTimeout(resolve, 1));
  hookyard.kill("SIGKILL");
  await hookyard.ended;
  const there = count.get() ?? 0;
  db.close();
  return there;
}

async function endWell(data: string, look: (addresses: Addresses) => Promise<void>): Promise<void> {
  const { hookyard, addresses } = await start(data);
  expect(await call(addresses, "POST", "settle", { timeoutMs: 200_000 })).toMatchObject({
    settled: true,
  });
  await look(addresses);
  hookyard.kill("SIGTERM");
  expect(await hookyard.ended).toEqual({ code: 0, signal: null, errors: "" });
  const left = readData(data);
  left.expectSound();
  left.close();
}

/** Users whom a message of this type was accepted for, one entry for each message. */
function usersOfMessages(data: string, where: string): string[] {
  const db = new Database(join(data, "hookyard.db"), { readonly: true });
  const found = db
    .prepare<[], string>(`SELECT user_id FROM messages WHERE ${where} ORDER BY user_id`)
    .pluck()
    .all();
  db.close();
  return found;
}

test("a first sync: every member has exactly one accepted identify, and has been sent it", async () => {
  const data = await dataDirectory();
  const { hookyard, addresses, out } = await startFilled(data);
  let running = hookyard;
  const rule = { trait: "plan", op: "is", value: "pro" };
  const made = call(addresses, "POST", "audiences", { name: "Pros", rule }).catch(() => null);
  const told = "SELECT count(*) FROM computed_values";
  for (const share of [0.1, 0.35, 0.6]) {
    const there = await killWhen(running, data, told, users * share);
    expect(there, "it was in the middle").toBeLessThan(users);
    ({ hookyard: running } = await start(data));
  }
  expect(await made).toBeNull();
  running.kill("SIGKILL");
  await running.ended;
  await endWell(data, async (addresses) => {
    const { items } = await call<{ items: object[] }>(addresses, "GET", "audiences");
    expect(items).toMatchObject([
      { size: users, syncing: null, lastSync: { entered: users, left: 0 } },
    ]);
  });

  const ofAudience = "source_id = (SELECT source_id FROM audiences)";
  expect(usersOfMessages(data, ofAudience)).toEqual(everybody);
  const heard = out.requests.map(
    ({ body }) => JSON.parse(body) as { userId: string; messageId: string; traits: object },
  );
  expect(new Set(heard.map(({ userId }) => userId))).toEqual(new Set(everybody));
  expect(heard.every(({ traits }) => JSON.stringify(traits) === '{"pros":true}')).toBe(true);
  // Sent again after a crash is the same message again.
  expect(new Set(heard.map(({ messageId }) => messageId)).size).toBe(users);
});

test("a deletion: every user has exactly one accepted delete, and is gone", async () => {
  const data = await dataDirectory();
  const { hookyard, addresses, out } = await startFilled(data);
  const named = everybody.slice(0, 4000);
  const made = call(addresses, "POST", "deletions", { userIds: named }).catch(() => null);
  const deleted = "SELECT count(*) FROM deletion_users WHERE body IS NOT NULL";
  let running = hookyard;
  for (const share of [0.1, 0.5]) {
    expect(
      await killWhen(running, data, deleted, named.length * share),
      "it was in the middle",
    ).toBeLessThan(named.length);
    ({ hookyard: running } = await start(data));
  }
  expect(await made).toBeNull();
  running.kill("SIGKILL");
  await running.ended;
  await endWell(data, async (addresses) => {
    const { items } = await call<{ items: object[] }>(addresses, "GET", "deletions");
    expect(items).toMatchObject([{ state: "delivered" }]);
    const profiles = await call<{ total: number }>(addresses, "GET", "profiles?limit=1");
    expect(profiles.total).toBe(users - named.length);
  });

  expect(usersOfMessages(data, "type = (SELECT max(type) FROM messages)")).toEqual(named);
  const heard = out.requests.map(({ body }) => JSON.parse(body) as { userId: string });
  expect(new Set(heard.map(({ userId }) => userId))).toEqual(new Set(named));
  expect(heard.every((body) => Object.keys(body).join() === "type,userId,timestamp")).toBe(true);
});

test("a destination that is connected later: every member is sent to it by exactly one message", async () => {
  const data = await dataDirectory();
  const { hookyard, addresses } = await startFilled(data);
  const rule = { trait: "plan", op: "is", value: "pro" };
  const audience = await call<{ id: string; sourceId: string }>(addresses, "POST", "audiences", {
    name: "Pros",
    rule,
  });
  const late = await startReceiver(200);
  onTestFinished(() => late.stop());
  const made = call(addresses, "POST", "destinations", {
    name: "Late",
    sourceIds: [audience.sourceId],
    webhooks: [{ url: late.url }],
  }).catch(() => null);
  const sent = "SELECT coalesce(json_extract(body, '$.firstSyncs[0].sent'), 0) FROM audiences";
  let running = hookyard;
  for (const share of [0.1, 0.35, 0.6]) {
    const there = await killWhen(running, data, sent, users * share);
    expect(there, "it was in the middle").toBeLessThan(users);
    ({ hookyard: running } = await start(data));
  }
  await made;
  running.kill("SIGKILL");
  await running.ended;
  await endWell(data, async (addresses) => {
    const now = await call(addresses, "GET", `audiences/${audience.id}`);
    expect(now).toMatchObject({ size: users, firstSyncs: [] });
  });

  const ofAudience = "source_id = (SELECT source_id FROM audiences)";
  const both = everybody.flatMap((userId) => [userId, userId]);
  expect(usersOfMessages(data, ofAudience)).toEqual(both);
  const heard = late.requests.map(
    ({ body }) => JSON.parse(body) as { userId: string; messageId: string },
  );
  expect(new Set(heard.map(({ userId }) => userId))).toEqual(new Set(everybody));
  expect(new Set(heard.map(({ messageId }) => messageId)).size).toBe(users);
});
