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

/** Enough for a kill to come in the middle: the work is done in slices of 50. */
const users = 1500;
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

type Started = Awaited<ReturnType<typeof startFilled>>;
type Interrupted = { data: string; out: WebhookReceiver; answer: unknown };

/**
 * Begins work on a copy of the shop, and kills the program at each of these shares of it. Where a
 * kill was too late, as when this process was paused, it begins again with another copy.
 */
async function interrupted(work: {
  begin: (started: Started) => Promise<{ out: WebhookReceiver; answer: Promise<unknown> }>;
  /** How much of the work is done, in all. */
  done: string;
  all: number;
  shares: readonly number[];
}): Promise<Interrupted> {
  for (;;) {
    const data = await dataDirectory();
    const started = await startFilled(data);
    const { out, answer } = await work.begin(started);
    const answered = answer.catch(() => null);
    let { hookyard } = started;
    let isInTheMiddle = true;
    for (const share of work.shares) {
      const there = await killWhen(hookyard, data, work.done, work.all * share);
      isInTheMiddle = there < work.all;
      if (!isInTheMiddle) break;
      ({ hookyard } = await start(data));
    }
    hookyard.kill("SIGKILL");
    await hookyard.ended;
    if (isInTheMiddle) return { data, out, answer: await answered };
  }
}

/** Kills it as soon as the count is so large, and returns the count at its end. */
async function killWhen(
  hookyard: HookyardProcess,
  data: string,
  sql: string,
  least: number,
): Promise<number> {
  const db = new Database(join(data, "hookyard.db"), { readonly: true });
  const count = db.prepare<[], number>(sql).pluck();
  const now = (): number => count.get() ?? expect.unreachable();
  while (now() < least) await new Promise((resolve) => setTimeout(resolve, 1));
  hookyard.kill("SIGKILL");
  await hookyard.ended;
  const there = now();
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

/** The users of the accepted messages of this type, one entry for each message. */
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
  const rule = { trait: "plan", op: "is", value: "pro" };
  const { data, out, answer } = await interrupted({
    begin: async ({ addresses, out }) => ({
      out,
      answer: call(addresses, "POST", "audiences", { name: "Pros", rule }),
    }),
    done: "SELECT count(*) FROM computed_values",
    all: users,
    shares: [0.1, 0.35, 0.6],
  });
  expect(answer).toBeNull();
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
  const named = everybody.slice(0, 1000);
  const { data, out, answer } = await interrupted({
    begin: async ({ addresses, out }) => ({
      out,
      answer: call(addresses, "POST", "deletions", { userIds: named }),
    }),
    done: "SELECT count(*) FROM deletion_users WHERE body IS NOT NULL",
    all: named.length,
    shares: [0.1, 0.5],
  });
  expect(answer).toBeNull();
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
  const ofAudience = "source_id = (SELECT source_id FROM audiences)";
  const rule = { trait: "plan", op: "is", value: "pro" };
  const { data, out: late } = await interrupted({
    begin: async ({ addresses }) => {
      const { sourceId } = await call<{ sourceId: string }>(addresses, "POST", "audiences", {
        name: "Pros",
        rule,
      });
      const out = await startReceiver(200);
      onTestFinished(() => out.stop());
      const answer = call(addresses, "POST", "destinations", {
        name: "Late",
        sourceIds: [sourceId],
        webhooks: [{ url: out.url }],
      });
      return { out, answer };
    },
    // The audience itself has sent one to each of them.
    done: `SELECT count(*) - ${users} FROM messages WHERE ${ofAudience}`,
    all: users,
    shares: [0.1, 0.5],
  });
  await endWell(data, async (addresses) => {
    const { items } = await call<{ items: object[] }>(addresses, "GET", "audiences");
    expect(items).toMatchObject([{ size: users, firstSyncs: [] }]);
  });

  const both = everybody.flatMap((userId) => [userId, userId]);
  expect(usersOfMessages(data, ofAudience)).toEqual(both);
  const heard = late.requests.map(
    ({ body }) => JSON.parse(body) as { userId: string; messageId: string },
  );
  expect(new Set(heard.map(({ userId }) => userId))).toEqual(new Set(everybody));
  expect(new Set(heard.map(({ messageId }) => messageId)).size).toBe(users);
});
