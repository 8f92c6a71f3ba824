/** From nothing to a delivered, signed message, and the demo shop. */

import { test as base, expect } from "vitest";
import { starting, type RunningApp } from "../support/running-app.ts";

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
  await app.call("pipeline.settle", {});
  const { messages } = await app.call("stats.get", {});
  const [audience] = (await app.call("audiences.list", {})).items;
  expect(messages.total).toBe(240 + (audience?.size ?? 0));
  for (const state of ["delivered", "waiting", "filtered"] as const)
    expect(messages.byState[state], state).toBeGreaterThan(0);
  await app.call("clock.advance", { byMs: 20_000 });
  await app.call("pipeline.settle", {});
  const later = (await app.call("stats.get", {})).messages.total;
  expect(later).toBeGreaterThanOrEqual(249);
  await app.call("pipeline.reset", { what: "everything" });
  await app.call("clock.advance", { byMs: 20_000 });
  expect((await app.call("stats.get", {})).messages.total).toBe(0);
  expect((await app.call("sources.list", {})).items).toEqual([]);
});

/** What the shop's own sources have sent, by the name of the source. */
async function sentByShop(app: RunningApp): Promise<Record<string, number>> {
  const sent: Record<string, number> = {};
  for (const { id, name } of (await app.call("sources.list", {})).items) {
    if (name.startsWith("Shop"))
      sent[name] = (await app.call("messages.list", { sourceId: id })).total;
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
  expect(entered.map(({ traits }) => traits)).toEqual(entered.map(() => ({ big_spenders: true })));
  expect(new Set(entered.map(({ userId }) => userId))).toEqual(
    new Set(members.map(({ userId }) => userId)),
  );
  await app.call("workspaces.open", { kind: "demo" });
  expect((await app.call("audiences.list", {})).items).toHaveLength(1);

  await app.call("pipeline.settle", {});
  await app.advance({ byMs: 8 * 24 * 60 * 60 * 1000 });
  expect((await app.call("audiences.list", {})).items).toMatchObject([{ size: 0 }]);
  const last = new Map((await told()).map(({ userId, traits }) => [userId, traits]));
  for (const { userId } of entered) expect(last.get(userId)).toEqual({ big_spenders: false });
});
