/** What became of the messages of a destination's sources: counts, reasons, samples. */

import { expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";
import { startReceiver } from "../support/webhook-receiver.ts";

const order = { type: "track", userId: "ada", event: "Order Completed" };

test("a funnel counts each message of the destination's sources once, with its reason", async () => {
  const app = await startIngestApp();
  const { call, send, source } = app;
  await call("clock.set", { mode: "paused" });
  const failing = await startReceiver(503);
  await send("/v1/batch", { batch: [{ ...order, event: "Too early" }] });
  const warehouse = await app.destination({
    sourceIds: [source.id],
    filters: [{ name: "No carts", if: 'event = "Cart"', action: "drop" }],
  });
  const other = await app.destination({
    name: "Other",
    sourceIds: [source.id],
    webhooks: [{ url: failing.url }],
  });
  await send("/v1/batch", {
    batch: [
      { ...order, messageId: "m-1" },
      { ...order, messageId: "m-1" },
      { ...order, event: "Cart" },
      { ...order, integrations: { All: false } },
      { type: "track", userId: "ada" },
    ],
  });
  await call("pipeline.settle", {});
  await call("destinations.update", { id: warehouse.id, enabled: false });
  await send("/v1/batch", { batch: [order] });
  await call("pipeline.settle", {});
  await failing.stop();

  const [early, first, , cart] = (await app.messages()).map(({ id }) => id);
  const funnel = await call("destinations.funnel", { id: warehouse.id });
  expect(funnel).toMatchObject({
    received: 7,
    filteredAtSource: { count: 2 },
    filteredAtDestination: { count: 4 },
    delivered: { count: 1, reasons: [{ reason: "succeeded", count: 1, samples: [first] }] },
    underWay: { count: 0, reasons: [] },
    retrying: { count: 0 },
    isWhole: true,
  });
  expect(funnel.filteredAtSource.reasons.map(({ reason }) => reason).toSorted()).toEqual([
    "duplicate",
    "missing_event",
  ]);
  const { reasons } = funnel.filteredAtDestination;
  expect(reasons.map(({ reason }) => reason).toSorted()).toEqual([
    "disabled",
    "filter_dropped",
    "integrations_all_false",
    "not_connected",
  ]);
  expect(reasons.find(({ reason }) => reason === "not_connected")?.samples).toEqual([early]);
  expect(reasons.find(({ reason }) => reason === "filter_dropped")?.samples).toEqual([cart]);
  expect(await call("destinations.funnel", { id: other.id })).toMatchObject({
    received: 7,
    retrying: { count: 3, reasons: [{ reason: "http_error", count: 3 }] },
    delivered: { count: 0 },
  });
});

test("what a mapping cannot send has failed, and what its trigger does not match was filtered", async () => {
  const { call, send, source } = await startIngestApp();
  const data = { "@path": "$.properties.cart" };
  const { id } = await call("destinations.create", {
    kind: "webhooks-actions",
    name: "Mapped",
    sourceIds: [source.id],
    mappings: [{ name: "Carts", url: "http://127.0.0.1:1/", trigger: 'type = "track"', data }],
  });
  await send("/v1/batch", { batch: [{ ...order, properties: { cart: 5 } }] });
  await send("/v1/batch", { batch: [{ type: "identify", userId: "ada" }] });
  expect(await call("destinations.funnel", { id })).toMatchObject({
    failed: { count: 1, reasons: [{ reason: "payload_error" }] },
    filteredAtDestination: { count: 1, reasons: [{ reason: "trigger_not_met" }] },
  });
});

test("a batch that collects is in progress, not retrying", async () => {
  const { call, send, source } = await startIngestApp();
  await call("clock.set", { mode: "paused" });
  const mapping = { name: "All", url: "http://127.0.0.1:1/", batch: { enabled: true, size: 2 } };
  const { id } = await call("destinations.create", {
    ...{ kind: "webhooks-actions", name: "Batched", sourceIds: [source.id], mappings: [mapping] },
  });
  await send("/v1/batch", { batch: [order] });
  expect(await call("destinations.funnel", { id })).toMatchObject({
    underWay: { count: 1, reasons: [{ reason: "collecting" }] },
    retrying: { count: 0 },
  });
  await send("/v1/batch", { batch: [order] });
  await call("pipeline.settle", {});
  expect(await call("destinations.funnel", { id })).toMatchObject({
    underWay: { count: 0 },
    retrying: { count: 2, reasons: [{ reason: "connection_error" }] },
  });
});

test("samples are the newest three, of what the source's plan blocks too, in the period alone", async () => {
  const app = await startIngestApp({
    source: { plan: { schemas: { "Cart Viewed": {} }, unplannedEvents: "block" } },
  });
  const { call, send, source } = app;
  await call("clock.set", { mode: "paused" });
  const { id } = await app.destination({ sourceIds: [source.id] });
  await send("/v1/batch", { batch: [order] });
  await call("clock.advance", { byMs: 3_600_000 });
  const since = (await call("clock.get", {})).now;
  await send("/v1/batch", { batch: Array.from({ length: 5 }, () => order) });
  const messages = (await app.messages()).map((message) => message.id);
  expect((await call("destinations.funnel", { id, since })).filteredAtSource).toEqual({
    count: 5,
    reasons: [
      { reason: "plan_unplanned_event", count: 5, samples: messages.slice(-3).toReversed() },
    ],
  });
  expect(await call("destinations.funnel", { id, until: since })).toMatchObject({ received: 1 });
  expect(
    await app.api("destinations.funnel", { id, since, until: "2000-01-01T00:00:00.000Z" }),
  ).toMatchObject({ status: 400 });
});

test("a destination without sources has an empty funnel", async () => {
  const app = await startIngestApp();
  const { id } = await app.destination({ sourceIds: [] });
  await app.send("/v1/batch", { batch: [order] });
  expect(await app.call("destinations.funnel", { id })).toMatchObject({
    received: 0,
    isWhole: true,
    oldestAt: null,
  });
});

test("of more than ten thousand messages the newest count, and the most frequent reason is first", async () => {
  const app = await startIngestApp();
  const { call, send, source } = app;
  await call("clock.set", { mode: "paused" });
  const { id } = await app.destination({ sourceIds: [source.id] });
  const sendMany = (count: number, message: object) =>
    send("/v1/batch", { batch: Array.from({ length: count }, () => message) });
  const skipped = { ...order, integrations: { All: false } };
  await sendMany(1, order);
  await call("clock.advance", { byMs: 3_600_000 });
  const since = (await call("clock.get", {})).now;
  await sendMany(1, { type: "track", userId: "ada" });
  for (let sent = 0; sent < 9_999; sent += 3_333) {
    await sendMany(2_000, skipped);
    await sendMany(1_333, skipped);
  }
  const whole = await call("destinations.funnel", { id, since });
  expect(whole).toMatchObject({ received: 10_000, isWhole: true, oldestAt: since });
  expect(await call("destinations.funnel", { id })).toMatchObject({
    received: 10_000,
    delivered: { count: 0 },
    isWhole: false,
    oldestAt: since,
  });
  await sendMany(3, { type: "track", userId: "ada" });
  await sendMany(2, { ...order, messageId: "m-1" });
  const { filteredAtSource } = await call("destinations.funnel", { id });
  expect(filteredAtSource.reasons.map(({ reason, count }) => [reason, count])).toEqual([
    ["missing_event", 3],
    ["duplicate", 1],
  ]);
  const ever = { id, since: "2000-01-01T00:00:00.000Z", until: "2999-01-01T00:00:00.000Z" };
  expect(await call("destinations.sendAgain", { ...ever, dryRun: true })).toEqual({
    count: 10_000,
  });
  expect(await call("destinations.funnel", { id, since, until: since })).toMatchObject({
    received: 0,
  });
});
