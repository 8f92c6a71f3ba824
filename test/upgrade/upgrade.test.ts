/** A data file of the first store, in the newest program. `first-store.md` says what is in it. */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { test as base, expect } from "vitest";
import { calls, type AnswerOf, type CallName, type InputOf } from "../../src/contract/contract.ts";
import { migrations } from "../../src/store/migrations/migrations.ts";
import { dataFileName } from "../../src/store/open.ts";
import {
  expectConsistent,
  openTestStore,
  schemaOf,
  temporaryDirectory,
} from "../../src/store/store.fixture.ts";
import { starting, type RunningApp } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const packed = readFileSync(new URL("first-store.db.gz", import.meta.url));

function oldData(): string {
  const directory = temporaryDirectory();
  writeFileSync(join(directory, dataFileName), gunzipSync(packed));
  return directory;
}

/** The answer of a call, which is as the contract says. */
async function asked<Name extends CallName>(app: RunningApp, name: Name, input: InputOf<Name>) {
  const answer = await app.call(name, input);
  calls[name].answer.parse(answer);
  return answer;
}

async function pointTo(app: RunningApp, name: string, url: string): Promise<void> {
  const { items } = await app.call("destinations.list", {});
  const { id = "" } = items.find((destination) => destination.name === name) ?? {};
  await app.call("destinations.update", {
    id,
    webhooks: [{ url, headers: { "X-Tenant": name } }],
    enabled: true,
  });
}

function eventsAt(receiver: WebhookReceiver): string[] {
  return receiver.requests.map(({ body }) => (JSON.parse(body) as { event: string }).event);
}

test("becomes a file of the newest format, the same as a new one", () => {
  const { db } = openTestStore(oldData());
  expect(db.pragma("user_version", { simple: true })).toBe(migrations.length);
  expect(schemaOf(db)).toEqual(schemaOf(openTestStore().db));
  expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
  expectConsistent(db);
});

test("its configuration is there", async ({ start }) => {
  const app = await start.app({ data: oldData() });
  expect(await asked(app, "settings.get", {})).toMatchObject({
    vendor: "Yard",
    seed: 7,
    jitter: true,
    maxMessages: 5000,
  });
  expect(await asked(app, "clock.get", {})).toMatchObject({
    now: "2026-11-21T22:29:45.000Z",
    mode: "paused",
  });

  const names = ["Shop", "Late", "Wrong", "Once", "Stopped", "Held"];
  const sources = await asked(app, "sources.list", {});
  expect(sources.items.map(({ name }) => name)).toEqual(names);
  expect(sources.items[0]).toMatchObject({
    id: "src_000000001",
    kind: "mobile",
    writeKey: "wk_shop",
    mode: "production",
  });

  const { items: destinations } = await asked(app, "destinations.list", {});
  expect(destinations.map(({ name }) => name)).toEqual(names);
  expect(destinations[0]).toMatchObject({
    sourceIds: ["src_000000001"],
    hasSharedSecret: true,
    payload: "full",
    enabled: true,
  });
  expect(destinations[0]?.webhooks).toMatchObject([
    { url: "http://127.0.0.1:4702/shop", headers: { "X-Tenant": "Shop" } },
  ]);
  expect(destinations[3]?.retryProfile).toBe("once");
  expect(destinations[5]?.enabled).toBe(false);

  expect(
    (await asked(app, "endpoints.list", {})).items.map(({ name, steps }) => [name, steps[0]?.do]),
  ).toContainEqual(["Held", "hang"]);
  const profiles = await asked(app, "retryProfiles.list", {});
  expect(profiles.items.filter(({ builtIn }) => !builtIn)).toMatchObject([
    { name: "once", windowMs: 1000, schedule: { delaysMs: [60_000] } },
  ]);
  expect((await asked(app, "unknownKeys.list", {})).items).toMatchObject([
    { writeKey: "wk_unknown", requests: 1 },
  ]);
});

test("its messages and deliveries are there, with their bytes, decisions and attempts", async ({
  start,
}) => {
  const app = await start.app({ data: oldData() });
  const { items, total } = await asked(app, "messages.list", { limit: 100 });
  expect(total).toBe(17);
  expect(items.map(({ type, state }) => `${type ?? "no"} ${state}`).toReversed()).toEqual([
    "identify delivered",
    "track delivered",
    "page delivered",
    "screen delivered",
    "group delivered",
    "alias delivered",
    "track filtered",
    "track rejected",
    "track duplicate",
    "no rejected",
    "track delivered",
    "track rejected",
    "track waiting",
    "track failed",
    "track expired",
    "track cancelled",
    "track queued",
  ]);
  const details = new Map<string, AnswerOf<"messages.get">>();
  for (const { id, event, state } of items)
    details.set(`${event ?? "none"} ${state}`, await asked(app, "messages.get", { id }));

  const precise = details.get("Precise delivered");
  expect(precise?.raw).toContain('"id":12345678901234567890,"rate":1.0');
  expect(precise).toMatchObject({
    pinned: true,
    timestamp: "2019-02-03T04:05:06.000Z",
    decisions: [{ routed: true, reason: "routed" }],
  });
  expect(precise?.deliveries[0]?.attempts[0]).toMatchObject({
    outcome: "success",
    response: { status: 200, body: "thanks" },
  });
  expect(precise?.deliveries[0]?.attempts[0]?.request.headers).toContainEqual([
    "User-Agent",
    "Yard/1.0",
  ]);
  expect(details.get("Left Out filtered")?.decisions).toMatchObject([
    { routed: false, reason: "integrations_all_false" },
  ]);
  expect(details.get("Order Completed duplicate")?.duplicateOf).toBe(
    details.get("Order Completed delivered")?.id,
  );
  expect(details.get("Sent late waiting")?.deliveries[0]).toMatchObject({
    state: "waiting",
    nextAttemptAt: "2026-11-21T22:30:04.000Z",
    attempts: [{ round: 1, response: { status: 503 } }, { round: 2 }],
  });
  expect(details.get("Sent wrong failed")?.deliveries[0]?.attempts[0]?.response).toMatchObject({
    status: 400,
    body: "no",
  });

  expect((await asked(app, "messages.list", { userId: "u1" })).total).toBe(6);
  expect((await asked(app, "messages.list", { event: "Order Completed" })).total).toBe(2);
  expect((await asked(app, "messages.list", { search: "Zoë" })).total).toBe(1);
});

test("a retry that was due goes out at its time, and what was being sent is sent again", async ({
  start,
}) => {
  const app = await start.app({ data: oldData() });
  const receiver = await start.receiver();
  await pointTo(app, "Late", receiver.url);
  await pointTo(app, "Held", receiver.url);
  await app.settle();
  expect(eventsAt(receiver)).toEqual(["Under Way"]);

  await app.advance({ to: "next-due" });
  expect(eventsAt(receiver)).toEqual(["Under Way", "Sent late"]);
  const { items } = await asked(app, "messages.list", { userId: "late" });
  const { deliveries } = await asked(app, "messages.get", { id: items[0]?.id ?? "" });
  expect(deliveries[0]).toMatchObject({ state: "delivered" });
  expect(deliveries[0]?.attempts.map(({ round, startedAt }) => [round, startedAt])).toEqual([
    [1, expect.any(String)],
    [2, "2026-11-21T22:29:45.000Z"],
    [3, "2026-11-21T22:30:04.000Z"],
  ]);
});

test("goes on where it stood: known message ids, kept requests, retries by hand", async ({
  start,
}) => {
  const app = await start.app({ data: oldData() });
  const receiver = await start.receiver();
  await app.ingest(
    "/v1/track",
    { userId: "u1", event: "Order Completed", messageId: "m-1" },
    "wk_shop",
  );
  expect((await app.call("messages.list", { state: "duplicate" })).total).toBe(2);

  await app.call("unknownKeys.adopt", { writeKey: "wk_unknown", name: "Adopted" });
  expect((await app.call("messages.list", { event: "Kept" })).total).toBe(1);

  for (const name of ["Wrong", "Once", "Stopped"]) await pointTo(app, name, receiver.url);
  for (const state of ["failed", "expired", "cancelled"] as const) {
    const { items } = await app.call("deliveries.list", { state });
    expect(items).toHaveLength(1);
    await app.call("deliveries.retry", { id: items[0]?.id ?? "" });
  }
  await app.settle();
  expect(eventsAt(receiver).toSorted()).toEqual(["Sent once", "Sent stopped", "Sent wrong"]);
});
