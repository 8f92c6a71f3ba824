/** The calls of audiences and computed traits: their members, and which destination gets which. */

import { expect, test as base } from "vitest";
import { starting, type Message } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";
import { bought } from "../support/shop.ts";

const test = base.extend("start", starting);

const bodies = ({ requests }: WebhookReceiver): Message[] =>
  requests.map(({ body }) => JSON.parse(body) as Message);

test("every call says where it comes from and where it goes", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  await app.source();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { audienceCalls: "both", payload: "full", sourceIds: [] });
  await app.ingest("/v1/batch", { batch: [bought("ada")] });
  const { id } = await app.call("audiences.create", { name: "Big", rule: { event: "Bought" } });
  await app.settle();
  const [identify, track] = bodies(receiver).toSorted((a, b) =>
    String(a["type"]).localeCompare(String(b["type"])),
  );
  const common = {
    userId: "ada",
    integrations: { All: false, Webhooks: true },
    context: {
      personas: {
        computation_class: "audience",
        computation_id: id,
        computation_key: "big",
        namespace: expect.stringMatching(/^spa_/),
        space_id: expect.stringMatching(/^spa_/),
      },
    },
  };
  expect(identify).toMatchObject({ ...common, type: "identify", traits: { big: true } });
  expect(track).toMatchObject({
    ...common,
    type: "track",
    event: "Audience Entered",
    properties: { audience_key: "big", big: true },
  });
});

test("a computed trait is sent as Trait Computed", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  await app.source();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { audienceCalls: "track", sourceIds: [] });
  await app.ingest("/v1/batch", { batch: [bought("ada"), bought("ada")] });
  await app.call("computedTraits.create", {
    name: "Order count",
    computation: { aggregate: "count", event: "Bought" },
  });
  await app.settle();
  expect(bodies(receiver)).toMatchObject([
    {
      type: "track",
      event: "Trait Computed",
      userId: "ada",
      properties: { trait_key: "order_count", order_count: 2 },
    },
  ]);
});

test("a call that a destination does not get has a decision that says so, and one that nobody gets is not made", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.source();
  const receiver = await start.receiver(200);
  const one = await app.destination([receiver.url], { name: "One", sourceIds: [] });
  await app.ingest("/v1/batch", { batch: [bought("ada")] });
  const rule = { event: "Bought" };
  const first = await app.call("audiences.create", { name: "First", rule });
  expect(await app.call("messages.list", { sourceId: first.sourceId })).toMatchObject({
    items: [{ type: "identify" }],
  });
  await app.destination([receiver.url], { name: "Two", sourceIds: [], audienceCalls: "track" });
  const second = await app.call("audiences.create", { name: "Second", rule });
  const { items } = await app.call("messages.list", { sourceId: second.sourceId, type: "track" });
  expect((await app.message(items[0]?.id ?? "")).decisions).toContainEqual({
    destinationId: one.id,
    routed: false,
    reason: "other_call",
    detail:
      "One gets the values of audiences and computed traits as identify calls, and this is a track.",
    warnings: [],
  });
});

test("a disabled destination that an audience is created with waits for its first sync, and gets no false without a true", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.source();
  const [receiver, other] = [await start.receiver(200), await start.receiver(200)];
  await app.ingest("/v1/batch", { batch: [bought("ada"), bought("bob")] });
  const off = await app.destination([receiver.url], {
    ...{ name: "Off", enabled: false, sourceIds: [] },
  });
  const on = await app.destination([other.url], { name: "On", sourceIds: [] });
  const { id, firstSyncs } = await app.call("audiences.create", {
    ...{ name: "Big", sync: "each-event", destinationIds: [off.id, on.id] },
    rule: { all: [{ event: "Bought" }, { not: { event: "Returned" } }] },
  });
  expect(firstSyncs).toMatchObject([{ destinationId: off.id, sent: 0 }]);
  await app.ingest("/v1/batch", { batch: [{ ...bought("ada"), event: "Returned" }] });
  await app.settle();
  expect(receiver.requests).toEqual([]);
  await app.call("destinations.update", { id: off.id, enabled: true });
  await app.settle();
  await app.ingest("/v1/batch", { batch: [{ ...bought("bob"), event: "Returned" }] });
  await app.settle();
  const sent = bodies(receiver).map(({ userId, traits }) => [userId, traits]);
  expect(sent).toEqual([
    ["bob", { big: true }],
    ["bob", { big: false }],
  ]);
  expect(other.requests).toHaveLength(4);
  expect(await app.call("audiences.get", { id })).toMatchObject({ firstSyncs: [] });
});

test("a disabled destination that is connected later waits for its first sync, and gets no change twice", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.source();
  const receiver = await start.receiver(200);
  await app.ingest("/v1/batch", { batch: [bought("ada"), bought("bob")] });
  const rule = { event: "Bought", withinDays: 7 };
  const { id } = await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
  const late = await app.destination([receiver.url], {
    name: "Late",
    enabled: false,
    sourceIds: [(await app.call("audiences.get", { id })).sourceId],
  });
  await app.settle();
  expect(await app.call("audiences.get", { id })).toMatchObject({
    firstSyncs: [{ destinationId: late.id, sent: 0 }],
  });
  await app.ingest("/v1/batch", { batch: [bought("cyd")] });
  await app.settle();
  await app.call("destinations.update", { id: late.id, enabled: true });
  await app.settle();
  const sent = bodies(receiver).map(({ userId, traits }) => JSON.stringify([userId, traits]));
  expect(sent.toSorted()).toEqual(
    [
      ["ada", { big: true }],
      ["bob", { big: true }],
      ["cyd", { big: true }],
    ].map((each) => JSON.stringify(each)),
  );
  expect(await app.call("audiences.get", { id })).toMatchObject({ firstSyncs: [] });
  // Disconnected and connected again, it is new once more.
  await app.call("audiences.update", { id, destinationIds: [] });
  await app.call("audiences.update", { id, destinationIds: [late.id] });
  await app.settle();
  expect(receiver.requests).toHaveLength(6);
  // It is told that they have left, which it cannot know.
  await app.call("audiences.update", { id, destinationIds: [] });
  await app.advance({ byMs: 8 * 24 * 3_600_000 });
  await app.call("audiences.update", { id, destinationIds: [late.id] });
  await app.settle();
  const values = bodies(receiver)
    .slice(6)
    .map(({ userId, traits }) => [userId, traits]);
  expect(values.toSorted()).toEqual(
    ["ada", "bob", "cyd"].map((userId) => [userId, { big: false }]),
  );
});
