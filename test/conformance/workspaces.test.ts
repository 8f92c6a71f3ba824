/** From nothing to a delivered, signed message, and the demo shop. */

import { test as base, expect } from "vitest";
import { lastingPort } from "../support/free-ports.ts";
import { starting, until, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

test("the first workspace takes a cURL to a delivered, signed message", async ({ start }) => {
  const app = await start.app();
  const opened = await app.call("workspaces.open", { kind: "first" });
  expect(await app.call("workspaces.open", { kind: "first" })).toEqual(opened);
  const body = `{"userId":"u_1042","event":"Order Completed","properties":{"total":184.50}}`;
  const sent = await app.call("sources.send", { id: opened.sourceId, type: "track", body });
  expect(sent).toEqual({ status: 200, body: '{"success":true}' });
  await app.call("pipeline.settle", {});
  const { items } = await app.call("messages.list", {});
  expect(items).toMatchObject([
    { state: "delivered", userId: "u_1042", attempts: 1, lastStatus: 200 },
  ]);
  const { items: received } = await app.call("endpoints.requests", { id: opened.endpointId });
  expect(received).toHaveLength(1);
  expect(received[0]?.signature?.verifies).toMatchObject([
    { name: "First destination", valid: true },
  ]);
});

test("a call that the port refuses is answered with what the port said", async ({ start }) => {
  const app = await start.app();
  const { sourceId } = await app.call("workspaces.open", { kind: "first" });
  const sent = await app.call("sources.send", { id: sourceId, type: "track", body: "{" });
  expect(sent.status).toBe(400);
  expect(JSON.parse(sent.body)).toMatchObject({ code: "invalid_json" });
});

test("the demo shop has messages in several states, sends on by itself, and stops when everything is reset", async ({
  start,
}) => {
  const app = await start.app();
  await app.call("clock.set", { mode: "paused" });
  await app.call("workspaces.open", { kind: "demo" });
  await app.settle();
  const { messages } = await app.call("stats.get", {});
  expect(sum(await sentByShop(app))).toBe(240);
  expect(messages.byState.filtered).toBeGreaterThan(0);
  await untilThereAre(app, ["delivered", "waiting", "failed", "expired"]);
  expect(messages.byType["delete"]).toBeGreaterThan(0);
  expect((await app.call("computedTraits.list", {})).items).toMatchObject([
    { name: "Spent in 30 days" },
  ]);
  await app.call("clock.advance", { byMs: 20_000 });
  await app.call("pipeline.settle", {});
  const later = (await app.call("stats.get", {})).messages.total;
  expect(later).toBeGreaterThanOrEqual(249);
  await app.call("pipeline.reset", { what: "messages" });
  expect((await app.call("stats.get", {})).messages.total).toBe(0);
  await app.advance({ byMs: 20_000 });
  expect((await app.call("stats.get", {})).messages.total).toBeGreaterThan(0);
  await app.call("pipeline.reset", { what: "everything" });
  await app.call("clock.advance", { byMs: 20_000 });
  expect((await app.call("stats.get", {})).messages.total).toBe(0);
  expect((await app.call("sources.list", {})).items).toEqual([]);
  expect(await app.call("workspaces.get", {})).toEqual({ demo: false });
});

/**
 * Waits for deliveries in each of these states. All first messages are sent at once, so on a slow
 * machine their attempts may reach their deadlines; the answers then come with a retry.
 */
async function untilThereAre(
  app: RunningApp,
  states: readonly ("delivered" | "waiting" | "failed" | "expired")[],
): Promise<void> {
  for (;;) {
    await app.settle();
    const { byState } = (await app.call("stats.get", {})).deliveries;
    if (states.every((state) => byState[state] > 0)) return;
    await app.advance({ byMs: 10_000 });
  }
}

/** What somebody who gives a demo must find at any time. */
async function expectAlive(app: RunningApp): Promise<void> {
  await untilThereAre(app, ["waiting", "failed", "expired", "delivered"]);
  expect((await app.call("audiences.list", {})).items[0]?.size).toBeGreaterThan(0);
  expect((await app.call("clients.list", {})).items).toMatchObject([{ state: "running" }]);
  expect((await app.call("deletions.list", {})).total).toBeGreaterThan(0);
  const newest = async () =>
    Date.parse((await app.call("messages.list", { limit: 1 })).items[0]?.receivedAt ?? "");
  const before = await newest();
  await app.advance({ byMs: 60_000 });
  expect(await newest()).toBeGreaterThan(before);
}

const hourMs = 60 * 60 * 1000;
const dayMs = 24 * hourMs;

test("the demo left alone for three days, restarted and advanced one more has something waiting, failed, expired and delivered each time", async ({
  start,
}) => {
  const data = await start.directory();
  const endpointsPort = await lastingPort();
  const app = await start.app({ data, endpointsPort, clock: "paused" });
  await app.call("settings.update", { seed: 4242 });
  await app.call("workspaces.open", { kind: "demo" });
  await expectAlive(app);
  await app.advance({ byMs: 3 * dayMs });
  await expectAlive(app);
  await app.stop();

  const again = await start.app({ data, endpointsPort });
  expect(await again.call("workspaces.get", {})).toEqual({ demo: true });
  await expectAlive(again);
  await again.advance({ byMs: dayMs });
  await expectAlive(again);
});

test("retention leaves the demo with something in each state, and an advance until nothing is due ends", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.call("workspaces.open", { kind: "demo" });
  await app.advance({ byMs: dayMs });
  await app.call("settings.update", { maxMessages: 200 });
  await until(async () => (await app.call("stats.get", {})).messages.total < 400);
  await expectAlive(app);
  expect(await app.advance({ to: "idle" })).toMatchObject({ endedEarly: null });
  await app.advance({ byMs: 60_000 });
  await expectAlive(app);
});

test("a closed demo sends nothing more, and goes on when it is opened again", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const open = () => app.call("workspaces.open", { kind: "demo" });
  // Closed while it is being opened, and then opened again meanwhile.
  for (const isOpenedAgain of [false, true]) {
    const opening = open();
    await app.call("workspaces.close", {});
    await Promise.all([opening, isOpenedAgain ? open() : null]);
    expect(await app.call("workspaces.get", {})).toEqual({ demo: isOpenedAgain });
  }
  expect(await app.call("workspaces.close", {})).toEqual({ demo: false });
  await app.advance({ byMs: 60_000 });
  expect(sum(await sentByShop(app))).toBe(240);
  await app.call("workspaces.open", { kind: "demo" });
  await app.advance({ byMs: 60_000 });
  expect(sum(await sentByShop(app))).toBeGreaterThan(260);
});

test("everything and the clock are reset in one action, and the demo starts as on the first day", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.call("workspaces.open", { kind: "demo" });
  await app.advance({ byMs: 2 * hourMs });
  await app.call("pipeline.reset", { what: "everything", clock: true });
  const { now, mode, advance } = await app.call("clock.get", {});
  expect([mode, advance]).toEqual(["real", null]);
  expect(Math.abs(Date.parse(now) - Date.now())).toBeLessThan(hourMs);
  expect((await app.call("stats.get", {})).messages.total).toBe(0);
  await app.call("clock.set", { mode: "paused" });
  await app.call("workspaces.open", { kind: "demo" });
  expect(sum(await sentByShop(app))).toBe(240);
  await expectAlive(app);
});

/** What the shop's customers have sent, by the name of the source: no deletion is theirs. */
async function sentByShop(app: RunningApp): Promise<Record<string, number>> {
  const sent: Record<string, number> = {};
  for (const { id, name } of (await app.call("sources.list", {})).items) {
    if (name.startsWith("Shop"))
      sent[name] = (
        await app.call("messages.list", { sourceId: id, type: ["track", "identify", "page"] })
      ).total;
  }
  return sent;
}

const sum = (counts: Record<string, number>): number =>
  Object.values(counts).reduce((total, n) => total + n, 0);

test("the demo shop opened again after a restart, or twice at once, sends its first messages no second time, and goes on", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ data, clock: "paused" });
  const open = (running: RunningApp) => running.call("workspaces.open", { kind: "demo" });
  const [opened, atOnce] = await Promise.all([open(app), open(app)]);
  expect(atOnce).toEqual(opened);
  await app.settle();
  const first = await sentByShop(app);
  expect(sum(first)).toBe(240);
  await app.stop();

  const again = await start.app({ data });
  expect(await open(again)).toEqual(opened);
  await again.settle();
  expect(await sentByShop(again)).toEqual(first);
  await again.advance({ byMs: 20_000 });
  await again.settle();
  expect(sum(await sentByShop(again))).toBeGreaterThanOrEqual(249);
});

test("what the port refuses when the demo shop is opened is said, and sent when it is opened again", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.call("sources.create", {
    name: "Shop server",
    faults: [{ do: "answer", status: 503, times: 1 }],
  });
  expect(await app.refused("workspaces.open", { kind: "demo" })).toEqual({
    status: 503,
    code: "fault",
  });
  const { "Shop server": refused, "Shop web": taken, ...rest } = await sentByShop(app);
  expect([refused, rest]).toEqual([0, { "Shop app": 0 }]);
  await app.call("workspaces.open", { kind: "demo" });
  const sent = await sentByShop(app);
  expect([sent["Shop web"], sum(sent)]).toEqual([taken, 240]);
});

test("the demo shop has big spenders: who they are is told to the CRM, and that they are not any more after a week", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const told = async () => {
    await app.settle();
    const endpoint = (await app.call("endpoints.list", {})).items.find(
      ({ path }) => path === "always-200",
    );
    const { items } = await app.call("endpoints.requests", { id: endpoint?.id ?? "", limit: 1000 });
    const bodies = items.map(
      ({ body }) =>
        JSON.parse(typeof body === "string" ? body : "{}") as { userId: string; traits?: object },
    );
    return bodies.filter(({ traits = {} }) => "big_spenders" in traits).toReversed();
  };
  await app.call("workspaces.open", { kind: "demo" });
  const [audience] = (await app.call("audiences.list", {})).items;
  const size = audience?.size ?? 0;
  expect(size).toBeGreaterThan(3);
  const members = (await app.call("profiles.list", { audienceId: audience?.id ?? "" })).items;
  expect(members).toHaveLength(size);
  const entered = await told();
  for (const { traits } of entered) expect(traits).toMatchObject({ big_spenders: true });
  expect(new Set(entered.map(({ userId }) => userId))).toEqual(
    new Set(members.map(({ userId }) => userId)),
  );
  await app.call("workspaces.open", { kind: "demo" });
  expect((await app.call("audiences.list", {})).items).toHaveLength(1);

  await app.settle();
  await app.call("workspaces.close", {});
  await app.advance({ byMs: 8 * dayMs });
  expect((await app.call("audiences.list", {})).items).toMatchObject([{ size: 0 }]);
  const last = new Map((await told()).map(({ userId, traits }) => [userId, traits]));
  for (const { userId } of entered) expect(last.get(userId)).toMatchObject({ big_spenders: false });
});
