/** What an end, a caller who leaves and a reset leave behind: nothing that goes on. */

import { getEventListeners } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, test as base, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import type { CallName } from "../../src/contract/contract.ts";
import { starting, until, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);
afterEach(() => void vi.unstubAllGlobals());

/**
 * The timers that are set and have neither fired nor been cancelled, each with the lines of ours
 * that set it.
 */
function watchTimers(): () => string[] {
  const open = new Map<unknown, Error>();
  const { setTimeout: set, clearTimeout: clear } = globalThis;
  vi.stubGlobal(
    "setTimeout",
    (run: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
      const timer = set(() => {
        open.delete(timer);
        run(...args);
      }, ms);
      open.set(timer, new Error());
      return timer;
    },
  );
  vi.stubGlobal("clearTimeout", (timer: NodeJS.Timeout | undefined) => {
    open.delete(timer);
    clear(timer);
  });
  // A stack becomes a text when it is read, which takes longer than all that the timer is for.
  const placeOf = ({ stack = "" }: Error): string =>
    stack
      .split("\n")
      .filter((line) => line.includes("/src/"))
      .join("\n");
  return () => [...open.values()].map(placeOf).filter((place) => place !== "");
}

/** Whether anything listens there; other tests in this process have sockets of their own. */
function isListening(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    socket.on("connect", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });
}

/**
 * Everything that has timers: deliveries under way and waiting, audiences with windows and periods,
 * clients, the demo.
 */
async function bringToLife(app: RunningApp): Promise<void> {
  const source = await app.source();
  const hanging = await app.call("endpoints.create", { name: "Hanging", steps: [{ do: "hang" }] });
  const busy = await app.call("endpoints.create", {
    name: "Busy",
    steps: [{ do: "answer", status: 503 }],
  });
  const destination = await app.destination([hanging.url]);
  await app.destination([busy.url], { name: "Busy" });
  for (const [name, sync] of [
    ["Each event", "each-event"],
    ["Hourly", { everyMs: 3_600_000 }],
  ] as const)
    await app.call("audiences.create", {
      name,
      rule: { event: "Bought", withinDays: 1 },
      sync,
      destinationIds: [destination.id],
    });
  await app.call("computedTraits.create", {
    name: "Orders",
    computation: { aggregate: "count", event: "Bought", withinDays: 1 },
    sync: "each-event",
  });
  const client = await app.call("clients.create", { name: "Client", writeKey: source.writeKey });
  await app.call("clients.generate", { id: client.id, count: 10_000, perSecond: 50 });
  await app.call("clients.call", {
    id: client.id,
    type: "track",
    call: { userId: "u", event: "Bought" },
  });
  await app.call("sources.send", {
    id: source.id,
    type: "track",
    body: '{"userId":"u","event":"Bought"}',
  });
  await app.call("deletions.create", { userIds: ["v"] });
  await app.call("workspaces.open", { kind: "demo" });
  await until(async () => {
    const { deliveries } = await app.call("stats.get", {});
    return deliveries.byState.waiting > 0 && deliveries.byState.sending > 0;
  });
}

test("an end leaves no timer and no server", async ({ start }) => {
  const timers = watchTimers();
  const app = await start.app({ data: await start.directory() });
  const { ingestUrl, endpointsUrl, endpointsTlsUrl } = await app.call("about.get", {});
  app.changes.subscribe(() => undefined);
  await bringToLife(app);
  expect(timers().length).toBeGreaterThan(5);
  const advance = app.answer("clock.advance", { byMs: 1000 * 24 * 3_600_000 });
  const settle = app.answer("pipeline.settle", { timeoutMs: 600_000 });
  await app.stop();
  await Promise.all([advance, settle]);
  expect(timers()).toEqual([]);
  for (const url of [ingestUrl, endpointsUrl, endpointsTlsUrl])
    expect(await isListening(url)).toBe(false);
});

test("an end on a clock that runs faster leaves no timer either", async ({ start }) => {
  const timers = watchTimers();
  const app = await start.app();
  await app.call("clock.set", { mode: "faster", speed: 10 });
  await bringToLife(app);
  await app.stop();
  expect(timers()).toEqual([]);
});

test("an end while work that failed is to be tried again leaves no timer", async ({ start }) => {
  const timers = watchTimers();
  const data = await start.directory();
  const reported: unknown[] = [];
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({ data, ports, version: "0.0.0", report: (error) => reported.push(error) });
  await app.start();
  const call = async (name: CallName, input: object) =>
    (await app.api.call(name, input)).body as { id: string; url: string };
  const source = await call("sources.create", { name: "Shop" });
  const { url } = await call("endpoints.create", {
    name: "Busy",
    steps: [{ do: "answer", status: 503 }],
  });
  const destination = await call("destinations.create", {
    name: "D",
    sourceIds: [source.id],
    webhooks: [{ url }],
  });
  const audience = await call("audiences.create", {
    name: "A",
    rule: { event: "Bought" },
    sync: "manual",
    destinationIds: [destination.id],
  });
  await call("sources.send", {
    id: source.id,
    type: "track",
    body: '{"userId":"u","event":"Bought"}',
  });
  await call("pipeline.settle", {});
  const db = new Database(join(data, "hookyard.db"));
  const refusing = [
    ["INSERT", "computed_values"],
    ["UPDATE", "deletion_users"],
    ["INSERT", "attempts"],
    ["INSERT", "profile_events"],
  ];
  for (const [what, table] of refusing)
    db.exec(
      `CREATE TRIGGER refuse_${table} BEFORE ${what} ON ${table} BEGIN SELECT raise(ABORT, 'no ${table}'); END`,
    );
  db.close();
  void app.api.call("audiences.sync", { id: audience.id });
  void app.api.call("deletions.create", { userIds: ["u"] });
  await call("sources.send", {
    id: source.id,
    type: "track",
    body: '{"userId":"w","event":"Bought"}',
  });
  await expect
    .poll(
      () =>
        refusing.filter(([, table]) =>
          reported.some((error) => String(error).includes(`no ${table}`)),
        ).length,
    )
    .toBeGreaterThan(2);
  await app.stop();
  expect(timers()).toEqual([]);
});

test("an end in the middle of long work ends that work, and nothing of it touches the data afterwards", async () => {
  const timers = watchTimers();
  const reported: unknown[] = [];
  const ports = { ingest: 0, endpoints: 0, endpointsTls: 0 };
  const app = createApp({
    data: ":memory:",
    ports,
    version: "0.0.0",
    report: (error) => reported.push(error),
  });
  const { ingestUrl } = await app.start();
  const call = async (name: CallName, input: object) =>
    (await app.api.call(name, input)).body as { id: string };
  const source = await call("sources.create", { name: "Shop", writeKey: "key" });
  // Nothing listens there.
  const destination = await call("destinations.create", {
    name: "D",
    sourceIds: [source.id],
    webhooks: [{ url: "http://127.0.0.1:9/" }],
  });
  const users = Array.from({ length: 2000 }, (_, n) => `u-${n}`);
  const batch = users.map((userId) => ({ type: "track", userId, event: "Bought" }));
  await fetch(`${ingestUrl}/v1/batch`, {
    method: "POST",
    body: JSON.stringify({ writeKey: "key", batch }),
  });
  const rule = { event: "Bought", withinDays: 1 };
  const audience = await call("audiences.create", {
    name: "A",
    rule,
    sync: "manual",
    destinationIds: [destination.id],
  });
  const late = [
    app.api.call("deliveries.retryAll", { filter: {} }),
    app.api.call("deletions.create", { userIds: users.slice(0, 1000) }),
    app.api.call("audiences.create", {
      name: "B",
      rule,
      sync: "each-event",
      destinationIds: [destination.id],
    }),
    app.api.call("audiences.sync", { id: audience.id }),
    app.api.call("audiences.preview", { rule, sample: 10 }),
    app.api.call("messages.list", { search: "nowhere" }),
  ];
  await app.stop();
  await Promise.allSettled(late);
  for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(reported.map((error) => (error as Error).stack)).toEqual([]);
  expect(timers()).toEqual([]);
});

test("an advance or a test event that is over no longer listens to its caller", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const caller = new AbortController();
  await app.advance({ byMs: 1000 }, caller.signal);
  await app.advance({ to: "idle" }, caller.signal);
  const { id } = await app.destination([(await start.receiver()).url]);
  await app.answer("destinations.test", { id }, caller.signal);
  expect(getEventListeners(caller.signal, "abort")).toEqual([]);
});
