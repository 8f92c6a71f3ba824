import { expect, test } from "vitest";
import { applyFilters, wrongFilter } from "./destination-filter.ts";
import type { DestinationFilter } from "./configuration.ts";
import type { JsonObject } from "./json.ts";

const filter = (changes: Partial<DestinationFilter> = {}): DestinationFilter => ({
  ...{ name: "A", enabled: true, if: "", action: "drop" },
  ...changes,
});

const filters = (count: number): DestinationFilter[] =>
  Array.from({ length: count }, (_, nth) => filter({ name: `F${nth}` }));

const paths = (count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `properties.p${nth}`);

test.each<[string, DestinationFilter[]]>([
  ["a share of nothing", [filter({ action: "sample", share: 0 })]],
  ["a share of everything, by user", [filter({ action: "sample", share: 1, by: "user" })]],
  ["50 filters", filters(50)],
  ["200 properties", [filter({ action: "allow-properties", properties: paths(200) })]],
])("%s is accepted", (_, accepted) => {
  expect(wrongFilter(accepted)).toBeNull();
});

test.each<[string, DestinationFilter[]]>([
  ["needs a share from 0 to 1.", [filter({ action: "sample", share: -0.01 })]],
  ["needs a share from 0 to 1.", [filter({ action: "sample", share: 1.01 })]],
  ["needs a share from 0 to 1.", [filter({ action: "sample", share: Number.NaN })]],
  ["has a share, which only sample has.", [filter({ share: 0.5 })]],
  ["has by, which only sample has.", [filter({ by: "user" })]],
  ["appears twice.", [filter(), filter()]],
  ["A destination has at most 50 filters, not 51.", filters(51)],
  ...['properties["\\q"]', 'properties["a\nb"]'].map((path): [string, DestinationFilter[]] => [
    "is no member of properties, traits or context",
    [filter({ action: "drop-properties", properties: [path] })],
  ]),
  [
    "has 201 properties, more than the 200 allowed.",
    [filter({ action: "drop-properties", properties: paths(201) })],
  ],
])("%s", (sentence, refused) => {
  expect(wrongFilter(refused)).toContain(sentence);
});

const bought: JsonObject = {
  total: 3,
  items: [{ sku: "a", price: 1, maker: { name: "x", mail: "y" } }, { sku: "b", price: 2 }, "c"],
  rows: [[{ x: 1, y: 2 }], [{ y: 3 }]],
};

test.each<[DestinationFilter["action"], string, object]>([
  [
    "drop-properties",
    "properties.items.price",
    { items: [{ sku: "a", maker: { name: "x", mail: "y" } }, { sku: "b" }, "c"] },
  ],
  [
    "drop-properties",
    "properties.items.maker.mail",
    { items: [{ sku: "a", price: 1, maker: { name: "x" } }, { sku: "b", price: 2 }, "c"] },
  ],
  [
    "drop-properties",
    "properties.items[0].price",
    { items: [{ sku: "a", maker: { name: "x", mail: "y" } }, { sku: "b", price: 2 }, "c"] },
  ],
  ["drop-properties", "properties.items[1]", { items: undefined }],
  ["drop-properties", "properties.items.none", {}],
  ["drop-properties", "properties.items[5]", {}],
  ["drop-properties", "properties.rows[1][1]", {}],
  ["drop-properties", "properties.rows.y", { rows: [[{ x: 1 }], [{}]] }],
  [
    "allow-properties",
    "properties.items.sku",
    { total: undefined, rows: undefined, items: [{ sku: "a" }, { sku: "b" }, "c"] },
  ],
  [
    "allow-properties",
    "properties.items.maker.name",
    { total: undefined, rows: undefined, items: [{ maker: { name: "x" } }, {}, "c"] },
  ],
  ["allow-properties", "properties.items[0]", { total: undefined, rows: undefined }],
  [
    "allow-properties",
    "properties.items[0].sku",
    { total: undefined, rows: undefined, items: [{ sku: "a" }, {}, "c"] },
  ],
  [
    "allow-properties",
    "properties.items[0].maker.name",
    { total: undefined, rows: undefined, items: [{ maker: { name: "x" } }, {}, "c"] },
  ],
  [
    "allow-properties",
    "properties.rows[0].x",
    { total: undefined, items: undefined, rows: [[{ x: 1 }], [{}]] },
  ],
])("%s of %s", (action, path, changes) => {
  const event = { type: "track", properties: bought };
  const draw = { seed: 1, messageId: "m", user: "u" };
  const left = applyFilters([filter({ action, properties: [path] })], event, draw);
  expect(left.event?.["properties"]).toEqual({ ...bought, ...changes });
  expect(left.applied).toHaveLength(Object.keys(changes).length === 0 ? 0 : 1);
});

test("names below an array count for each element beside the paths of one element", () => {
  const properties = ["properties.items.price", "properties.items[0].sku"];
  const event = { type: "track", properties: { items: bought["items"] ?? null } };
  const draw = { seed: 1, messageId: "m", user: "u" };
  const left = applyFilters([filter({ action: "allow-properties", properties })], event, draw);
  expect(left.event?.["properties"]).toEqual({
    items: [{ sku: "a", price: 1 }, { price: 2 }, "c"],
  });
});

test("a filter whose condition cannot be read keeps every message back", () => {
  const event = { type: "track", properties: bought };
  const draw = { seed: 1, messageId: "m", user: "u" };
  const mask = filter({
    if: "type = ",
    action: "drop-properties",
    properties: ["properties.total"],
  });
  expect(applyFilters([mask], event, draw)).toMatchObject({
    event: null,
    applied: [{ name: "A" }],
    isUnread: true,
  });
  expect(applyFilters([{ ...mask, enabled: false }], event, draw).event).toBe(event);
  expect(wrongFilter([mask])).toBe(
    'The filter "A": A name or a value must stand here, not the end. (character 8)',
  );
});
