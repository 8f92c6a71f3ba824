/** From nothing to a delivered, signed message, and the demo shop. */

import { test as base, expect } from "vitest";
import { starting } from "../support/running-app.ts";

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
  expect(items).toMatchObject([{ state: "delivered", userId: "u_1042", attempts: 1, lastStatus: 200 }]);
  const { items: received } = await app.call("endpoints.requests", { id: opened.endpointId });
  expect(received).toHaveLength(1);
  expect(received[0]?.signature?.verifies).toMatchObject([{ name: "First destination", valid: true }]);
});

test("a call that the port refuses is answered with what the port said", async ({ start }) => {
  const app = await start.app();
  const { sourceId } = await app.call("workspaces.open", { kind: "first" });
  const sent = await app.call("sources.send", { id: sourceId, type: "track", body: "{" });
  expect(sent.status).toBe(400);
  expect(JSON.parse(sent.body)).toMatchObject({ code: "invalid_json" });
});

test("the demo shop has messages in several states, sends on by itself, and stops when everything is reset", async ({ start }) => {
  const app = await start.app();
  await app.call("clock.set", { mode: "paused" });
  await app.call("workspaces.open", { kind: "demo" });
  await app.call("pipeline.settle", {});
  const { messages } = await app.call("stats.get", {});
  expect(messages.total).toBe(240);
  for (const state of ["delivered", "waiting", "filtered"] as const) expect(messages.byState[state], state).toBeGreaterThan(0);
  await app.call("clock.advance", { byMs: 20_000 });
  await app.call("pipeline.settle", {});
  const later = (await app.call("stats.get", {})).messages.total;
  expect(later).toBeGreaterThanOrEqual(249);
  await app.call("pipeline.reset", { what: "everything" });
  await app.call("clock.advance", { byMs: 20_000 });
  expect((await app.call("stats.get", {})).messages.total).toBe(0);
  expect((await app.call("sources.list", {})).items).toEqual([]);
});
