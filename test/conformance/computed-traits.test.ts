/**
 * Computed traits: their values are sent when they change, and are gone when nothing is left to
 * compute.
 */

import { expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";
import { batch, bought, openShop, told } from "../support/shop.ts";

const test = base.extend("start", starting);

const dayMs = 24 * 60 * 60 * 1000;
const total = { aggregate: "sum", event: "Bought", property: "total" } as const;

test("made, it tells every user's value, and later only those that changed", async ({ start }) => {
  const app = await openShop(start);
  await batch(app, [bought("ada", 10), bought("ada", 2.5), bought("bob", 1)]);
  const trait = await app.call("computedTraits.create", {
    name: "Total Spent",
    computation: total,
  });
  expect(trait).toMatchObject({
    key: "total_spent",
    users: 2,
    sync: "manual",
    lastSync: { entered: 2, left: 0 },
  });
  await batch(app, [bought("bob", 1), bought("eve", 7)]);
  expect(await app.call("computedTraits.sync", { id: trait.id })).toEqual({ entered: 2, left: 0 });
  expect(await app.call("computedTraits.sync", { id: trait.id })).toEqual({ entered: 0, left: 0 });
  expect(await told(app, "total_spent")).toEqual({ ada: [12.5], bob: [1, 2], eve: [7] });
  const [identify] = (await app.call("messages.list", { sourceId: trait.sourceId })).items;
  expect(JSON.parse((await app.message(identify?.id ?? "")).raw as string)).toMatchObject({
    type: "identify",
    context: {
      personas: {
        computation_class: "trait",
        computation_key: "total_spent",
        computation_id: trait.id,
      },
    },
  });
});

test("one that follows each event changes with it and with time, and is null when nothing is left", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.call("computedTraits.create", {
    name: "Week",
    computation: { ...total, withinDays: 7 },
    sync: "each-event",
  });
  await batch(app, [bought("ada", 10)]);
  expect(await told(app, "week")).toEqual({ ada: [10] });
  await app.advance({ byMs: 4 * dayMs });
  await batch(app, [bought("ada", 5)]);
  expect(await told(app, "week")).toEqual({ ada: [10, 15] });
  await app.advance({ byMs: 4 * dayMs });
  expect(await told(app, "week")).toEqual({ ada: [10, 15, 5] });
  await app.advance({ byMs: 4 * dayMs });
  expect(await told(app, "week")).toEqual({ ada: [10, 15, 5, null] });
  expect((await app.call("computedTraits.list", {})).items).toMatchObject([{ users: 0 }]);
});

test("a value whose members came in another order is the same value", async ({ start }) => {
  const app = await openShop(start);
  const computation = { aggregate: "last", event: "Bought", property: "item" } as const;
  await app.call("computedTraits.create", { name: "Live", computation, sync: "each-event" });
  const { id } = await app.call("computedTraits.create", { name: "By Hand", computation });
  const item = (item: object) => ({ ...bought("ada"), properties: { item } });
  await batch(app, [item({ sku: 1, size: "L" })]);
  await app.call("computedTraits.sync", { id });
  await batch(app, [item({ size: "L", sku: 1 })]);
  await app.call("computedTraits.sync", { id });
  for (const key of ["live", "by_hand"])
    expect(await told(app, key)).toEqual({ ada: [{ sku: 1, size: "L" }] });
});

test("a preview computes and sends nothing; a change of the computation is sent at the next sync", async ({
  start,
}) => {
  const app = await openShop(start);
  await batch(app, [bought("ada", 10), bought("ada", 20)]);
  const preview = await app.call("computedTraits.preview", { computation: total });
  expect(preview).toMatchObject({ count: 1, profiles: 1, sample: [{ userId: "ada", value: 30 }] });
  const { id } = await app.call("computedTraits.create", { name: "Spent", computation: total });
  await app.call("computedTraits.update", { id, computation: { ...total, aggregate: "max" } });
  expect(await told(app, "spent")).toEqual({ ada: [30] });
  await app.call("computedTraits.sync", { id });
  expect(await told(app, "spent")).toEqual({ ada: [30, 20] });
  const [ada] = (await app.call("profiles.list", {})).items;
  expect((await app.call("profiles.get", { id: ada?.id ?? "" })).computed).toMatchObject([
    { id, name: "Spent", key: "spent", value: 20 },
  ]);
  expect(await app.call("computedTraits.delete", { id })).toEqual({ id });
  expect((await app.call("profiles.get", { id: ada?.id ?? "" })).computed).toEqual([]);
});
