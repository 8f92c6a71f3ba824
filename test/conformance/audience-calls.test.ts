/** The calls of audiences and computed traits: their members, and which destination gets which. */

import { expect, test as base } from "vitest";
import { starting, type Message } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";
import { batch, bought, openShop, told } from "../support/shop.ts";

const test = base.extend("start", starting);

const dayMs = 24 * 60 * 60 * 1000;

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

test("a destination that is disabled for a while gets what changed meanwhile, each user's value once, and no false without a true", async ({
  start,
}) => {
  const app = await openShop(start);
  const [{ id } = { id: "" }] = (await app.call("destinations.list", {})).items;
  const enable = (enabled: boolean) => app.call("destinations.update", { id, enabled });
  const returned = (userId: string) => ({ ...bought(userId), event: "Returned" });
  const { id: big, sourceId } = await app.call("audiences.create", {
    ...{ name: "Big", sync: "each-event" },
    rule: { all: [{ event: "Bought" }, { not: { event: "Returned", withinDays: 1 } }] },
  });
  await batch(app, [bought("ada"), bought("bob"), bought("cyd")]);
  await app.settle();
  await enable(false);
  // Who leaves and comes back is the same to the receiver, as is who comes and leaves.
  await batch(app, [returned("ada"), returned("bob"), bought("dan"), bought("eve")]);
  await app.advance({ byMs: 2 * dayMs });
  await batch(app, [returned("bob"), returned("eve")]);
  expect(await told(app, "big")).toEqual({ ada: [true], bob: [true], cyd: [true] });
  const { items } = await app.call("messages.list", { sourceId, userId: "dan" });
  expect((await app.message(items[0]?.id ?? "")).decisions).toMatchObject([{ reason: "disabled" }]);
  await enable(true);
  const now = { ada: [true], bob: [true, false], cyd: [true], dan: [true] };
  expect(await told(app, "big")).toEqual(now);
  const [first] = (await app.call("messages.list", { sourceId, userId: "dan" })).items;
  expect((await app.message(first?.id ?? "")).cause).toMatchObject({
    ...{ reason: "destination_enabled", destinationId: id },
    sentence: "dan is in Big, and Receivers was disabled when that changed.",
  });
  await app.call("audiences.update", { id: big, rule: { event: "Never" } });
  const left = { ada: [true, false], bob: [true, false], cyd: [true, false], dan: [true, false] };
  expect(await told(app, "big")).toEqual(left);
  // After a reset, nothing is known of what it has.
  await app.call("audiences.update", { id: big, rule: { event: "Bought" } });
  await app.settle();
  await enable(false);
  await app.call("audiences.update", { id: big, rule: { event: "Never" } });
  await app.call("pipeline.reset", { what: "messages" });
  await app.call("audiences.update", { id: big, rule: { event: "Bought" } });
  await batch(app, [bought("ada")]);
  await enable(true);
  expect((await told(app, "big"))["ada"]).toEqual([...left.ada, true, true]);
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
  await app.advance({ byMs: 8 * dayMs });
  await app.call("audiences.update", { id, destinationIds: [late.id] });
  await app.settle();
  const values = bodies(receiver).slice(6);
  expect(values).toHaveLength(3);
  expect(Object.fromEntries(values.map(({ userId, traits }) => [userId, traits]))).toEqual({
    ada: { big: false },
    bob: { big: false },
    cyd: { big: false },
  });
});
