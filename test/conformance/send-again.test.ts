/** Messages of a period, sent to one destination again. */

import { expect, test } from "vitest";
import { startIngestApp } from "../support/ingest-app.ts";

const order = {
  type: "track",
  userId: "ada",
  event: "Order Completed",
  properties: { email: "a" },
};
const hour = 3_600_000;

async function shop() {
  const app = await startIngestApp();
  const { call } = app;
  await call("clock.set", { mode: "paused" });
  const warehouse = await app.destination({ sourceIds: [app.source.id] });
  const other = await app.destination({ name: "Other", sourceIds: [app.source.id] });
  const since = (await call("clock.get", {})).now;
  const sent = ["m-1", "m-2", "m-3"].map((messageId) => ({
    ...order,
    messageId,
    properties: { email: "a", of: messageId },
  }));
  await app.send("/v1/batch", { batch: [...sent, sent[0], { type: "track", userId: "x" }] });
  await call("clock.advance", { byMs: hour });
  const until = (await call("clock.get", {})).now;
  await app.send("/v1/batch", { batch: [{ ...order, messageId: "later" }] });
  const period = { id: warehouse.id, since, until };
  async function again(): Promise<unknown> {
    const job = await call("destinations.sendAgain", period);
    await call("pipeline.settle", {});
    return call("jobs.get", { id: (job as { id: string }).id });
  }
  return { ...app, warehouse, other, period, again };
}

test("what was accepted in a period goes to one destination again, with its own ids, oldest first", async () => {
  const { call, messages, warehouse, other, period, again } = await shop();
  expect(await call("destinations.sendAgain", { ...period, dryRun: true })).toEqual({ count: 3 });
  expect((await warehouse.received()).length).toBe(4);
  const profile = await call("profiles.list", {});
  const before = (await messages()).length;

  expect(await again()).toMatchObject({ state: "done", total: 3, done: 3, retried: 3 });
  const received = await warehouse.received();
  const ids = received.map(({ messageId }) => messageId).toSorted();
  expect(ids).toEqual(["later", "m-1", "m-1", "m-2", "m-2", "m-3", "m-3"]);
  expect((await other.received()).length).toBe(4);
  const [first, last] = received.filter(({ messageId }) => messageId === "m-1");
  expect(last).toMatchObject({ event: order.event, properties: { of: "m-1" } });
  expect(last?.timestamp).toBe(first?.timestamp);

  const copies = (await messages()).slice(before);
  expect(copies.map(({ messageId }) => messageId)).toEqual(["m-1", "m-2", "m-3"]);
  for (const copy of copies) {
    expect(copy.replayOf).not.toBe(null);
    expect(copy.deliveries).toMatchObject([{ destinationId: warehouse.id, state: "delivered" }]);
  }
  expect(await call("profiles.list", {})).toEqual(profile);
  expect(await call("destinations.funnel", { id: other.id })).toMatchObject({
    delivered: { count: 4 },
    filteredAtDestination: { count: 0 },
  });
});

test("the filters of today apply, and copies are not copied", async () => {
  const { call, warehouse, period, again } = await shop();
  await again();
  const wider = { ...period, until: "2999-01-01T00:00:00.000Z" };
  expect(await call("destinations.sendAgain", { ...wider, dryRun: true })).toEqual({ count: 4 });
  const filters = [
    { name: "Mask", action: "drop-properties" as const, properties: ["properties.email"] },
    { name: "Not one", if: 'properties.of = "m-1"', action: "drop" as const },
  ];
  await call("destinations.update", { id: warehouse.id, filters });
  const before = (await warehouse.received()).length;
  expect(await again()).toMatchObject({ state: "done", total: 3, done: 3, retried: 2 });
  const sent = (await warehouse.received()).slice(before);
  expect(sent.map(({ messageId }) => messageId).toSorted()).toEqual(["m-2", "m-3"]);
  for (const { properties } of sent) expect(properties).not.toHaveProperty("email");
});

test("a message that is as large as one may be goes again", async () => {
  const { call, send, warehouse, period } = await shop();
  const message = { ...order, messageId: "large", properties: { pad: "" } };
  message.properties.pad = "x".repeat(32_768 - JSON.stringify(message).length);
  await send("/v1/batch", { batch: [message] });
  await call("destinations.sendAgain", { ...period, until: "2999-01-01T00:00:00.000Z" });
  await call("pipeline.settle", {});
  const ids = (await warehouse.received()).map(({ messageId }) => messageId);
  expect(ids.filter((id) => id === "large")).toHaveLength(2);
});

test("a disabled destination, a period that ends before it begins, and nobody's id are refused; without a source, nothing goes", async () => {
  const { api, call, warehouse, period } = await shop();
  const { since, until } = period;
  expect(
    await api("destinations.sendAgain", { ...period, since: until, until: since }),
  ).toMatchObject({ status: 400 });
  expect(await api("destinations.sendAgain", { ...period, id: "dst_99" })).toMatchObject({
    status: 404,
  });
  await call("destinations.update", { id: warehouse.id, sourceIds: [] });
  expect(await call("destinations.sendAgain", { ...period, dryRun: true })).toEqual({ count: 0 });
  await call("destinations.update", { id: warehouse.id, enabled: false });
  expect(await api("destinations.sendAgain", period)).toMatchObject({
    status: 409,
    body: { code: "disabled" },
  });
});

test("hundreds go again, and none of them twice", async () => {
  const { call, send, source, destination } = await startIngestApp();
  await call("clock.set", { mode: "paused" });
  const warehouse = await destination({ sourceIds: [source.id] });
  const ids = Array.from({ length: 250 }, (_, nth) => `m-${nth}`);
  await send("/v1/batch", { batch: ids.map((messageId) => ({ ...order, messageId })) });
  await call("pipeline.settle", {});
  const { now } = await call("clock.get", {});
  const period = { id: warehouse.id, since: now, until: "2999-01-01T00:00:00.000Z" };
  const { id } = (await call("destinations.sendAgain", period)) as { id: string };
  await call("pipeline.settle", {});
  expect(await call("jobs.get", { id })).toMatchObject({ total: 250, done: 250, retried: 250 });
  const again = (await warehouse.received()).map(({ messageId }) => messageId).toSorted();
  expect(again).toEqual([...ids, ...ids].toSorted());
});
