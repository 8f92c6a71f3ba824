/** Which messages a destination's filters keep from it, and what they remove of the others. */

import { describe, expect, test } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { startIngestApp } from "../support/ingest-app.ts";

type Filter = NonNullable<InputOf<"destinations.create">["filters"]>[number];

const order = {
  type: "track",
  userId: "ada",
  event: "Order Completed",
  properties: { total: 12, email: "ada@example.com", address: { city: "London", street: "x" } },
  context: { ip: "203.0.113.7" },
};

async function withFilters(filters: Filter[], more: Partial<InputOf<"destinations.create">> = {}) {
  const app = await startIngestApp();
  const warehouse = await app.destination({ sourceIds: [app.source.id], filters, ...more });
  return {
    ...app,
    warehouse,
    async outcome(message: object) {
      await app.send("/v1/batch", { batch: [message] });
      const { items } = await app.call("messages.list", { limit: 1 });
      return app.call("messages.get", { id: items[0]?.id ?? "" });
    },
  };
}

const orders = 'type = "track" and event = "Order Completed"';

describe("a filter", () => {
  test("drops what its condition matches, and nothing else", async () => {
    const { outcome, warehouse } = await withFilters([
      { name: "No orders", if: orders, action: "drop" },
    ]);
    expect(await outcome(order)).toMatchObject({
      state: "filtered",
      reason: "filter_dropped",
      deliveries: [],
      decisions: [
        {
          routed: false,
          reason: "filter_dropped",
          detail: "The filter No orders of Warehouse drops this message.",
          filtered: { filters: [{ name: "No orders", action: "drop" }], bodies: null },
        },
      ],
    });
    expect(await outcome({ ...order, event: "Cart Viewed" })).toMatchObject({
      decisions: [{ routed: true, reason: "routed" }],
    });
    expect((await warehouse.received()).map(({ event }) => event)).toEqual(["Cart Viewed"]);
  });

  test("reads the hosted service's query language", async () => {
    const condition = "type = 'track' and ( event = 'Click' or match( event, 'Order *' ) )";
    const { outcome, call } = await withFilters([{ name: "Ours", if: condition, action: "drop" }]);
    expect(await outcome(order)).toMatchObject({ reason: "filter_dropped" });
    expect(await outcome({ ...order, event: "Cart Viewed" })).toMatchObject({ reason: null });
    const check = (of: "filter" | "trigger") =>
      call("conditions.check", { of, condition, event: order });
    expect(await check("filter")).toEqual({ error: null, warnings: [], matches: true });
    expect(await check("trigger")).toMatchObject({ matches: false });
  });

  test.each<[string, Filter, object, object]>([
    [
      "removes members",
      {
        name: "Mask",
        action: "drop-properties",
        properties: [
          "properties.email",
          "properties.address.street",
          "context.ip",
          "properties.none",
        ],
      },
      { total: 12, address: { city: "London" } },
      {},
    ],
    [
      "allows members, and leaves other objects alone",
      {
        name: "Only",
        action: "allow-properties",
        properties: ["properties.total", "properties.address.city"],
      },
      { total: 12, address: { city: "London" } },
      { ip: "203.0.113.7" },
    ],
    [
      "allows an object with all that is in it",
      { name: "Only", action: "allow-properties", properties: ["properties.address"] },
      { address: { city: "London", street: "x" } },
      { ip: "203.0.113.7" },
    ],
  ])("%s: the bytes that arrive are those after it", async (_, filter, properties, context) => {
    const { outcome, warehouse } = await withFilters([filter]);
    const message = await outcome(order);
    const [received] = await warehouse.received();
    expect(received).toMatchObject({ type: "track", event: "Order Completed" });
    expect(received?.["properties"]).toEqual(properties);
    expect(received?.["context"]).toEqual(context);
    expect(message.decisions).toMatchObject([{ routed: true, reason: "routed" }]);
    const { filtered } = message.decisions[0] ?? {};
    expect(filtered?.filters).toEqual([{ name: filter.name, action: filter.action }]);
    expect(JSON.parse(filtered?.bodies?.before as string)).toMatchObject({
      properties: order.properties,
    });
    expect(filtered?.bodies?.after).toBe(message.deliveries[0]?.payload);
    expect(JSON.parse(filtered?.bodies?.after as string)).toEqual(received);
  });

  test("that is off, or finds nothing to remove, does nothing", async () => {
    const { outcome } = await withFilters([
      { name: "Off", enabled: false, action: "drop" },
      {
        name: "Nothing",
        action: "drop-properties",
        properties: ["traits.email", "properties.none"],
      },
      { name: "Others", if: 'event = "Other"', action: "drop" },
    ]);
    const [decision] = (await outcome(order)).decisions;
    expect(decision).toMatchObject({ routed: true });
    expect(decision).not.toHaveProperty("filtered");
  });

  test("samples users as a whole, the same ones in every run", async () => {
    const filters: Filter[] = [{ name: "Half", action: "sample", share: 0.5, by: "user" }];
    const runs: string[][] = [];
    for (let run = 0; run < 2; run += 1) {
      const { send, call } = await withFilters(filters);
      const users = Array.from({ length: 60 }, (_, n) => `u${n}`);
      const batch = [...users, ...users].map((userId) => ({ ...order, userId }));
      await send("/v1/batch", { batch });
      const { items } = await call("messages.list", { limit: 500 });
      const kept = items.filter(({ reason }) => reason !== "filter_sampled");
      runs.push(kept.map(({ userId }) => userId ?? "").toSorted());
    }
    expect(runs[0]).toEqual(runs[1]);
    const counts = Object.values(Object.groupBy(runs[0] ?? [], (user) => user)).map(
      (of) => of?.length,
    );
    expect(new Set(counts)).toEqual(new Set([2]));
    expect(counts.length).toBeGreaterThan(15);
    expect(counts.length).toBeLessThan(45);
  });

  test("of one destination changes nothing for another, nor for what was queued before", async () => {
    const { outcome, source, destination, warehouse } = await withFilters([
      { name: "Mask", action: "drop-properties", properties: ["properties.email"] },
    ]);
    const other = await destination({ sourceIds: [source.id], name: "Other" });
    const full = await destination({ sourceIds: [source.id], name: "Full", payload: "full" });
    await outcome(order);
    expect((await other.received())[0]?.["properties"]).toEqual(order.properties);
    expect((await full.received())[0]).toMatchObject({
      properties: order.properties,
      integrations: {},
    });
    expect((await warehouse.received())[0]?.["properties"]).not.toHaveProperty("email");
  });

  test("several: a later one sees the message as it came, and a drop wins", async () => {
    const { outcome } = await withFilters([
      { name: "Mask", action: "drop-properties", properties: ["properties.email"] },
      { name: "Masked", if: 'properties.email = "ada@example.com"', action: "drop" },
    ]);
    expect((await outcome(order)).decisions).toMatchObject([
      { reason: "filter_dropped", filtered: { filters: [{ name: "Mask" }, { name: "Masked" }] } },
    ]);
  });

  test.each<[Filter, string]>([
    [{ name: " ", action: "drop" }, "A filter needs a name."],
    [{ name: "A", action: "drop", if: "(" }, 'The filter \\"A\\"'],
    [{ name: "A", action: "sample" }, "needs a share from 0 to 1"],
    [{ name: "A", action: "drop", share: 1 }, "which only sample has"],
    [{ name: "A", action: "drop", properties: ["properties.a"] }, "which only allow-properties"],
    [{ name: "A", action: "drop-properties", properties: [] }, "needs properties"],
    [{ name: "A", action: "drop-properties", properties: ["userId"] }, "is no member of"],
    [{ name: "A", action: "drop-properties", properties: ["properties"] }, "is no member of"],
    [{ name: "A", action: "drop-properties", properties: ["properties.a..b"] }, "is no member of"],
  ])("%j is refused", async (filter, sentence) => {
    await expect(withFilters([filter])).rejects.toThrow(sentence);
  });

  test("is exported and imported with its destination", async () => {
    const filters: Filter[] = [
      {
        name: "Mask",
        enabled: true,
        if: orders,
        action: "drop-properties",
        properties: ["properties.email"],
      },
      { name: "Half", enabled: false, if: "", action: "sample", share: 0.5, by: "user" },
    ];
    const { call } = await withFilters(filters);
    const document = await call("configuration.export", {});
    const other = await startIngestApp();
    await other.call("configuration.import", document);
    const { items } = await other.call("destinations.list", {});
    expect(items[0]?.filters).toEqual(filters);
  });
});

test("the traits of a page are its properties for filters, triggers, mappings and plans too", async () => {
  const page = {
    ...{ type: "page", userId: "ada", name: "Home" },
    traits: { url: "/a", email: "ada@example.com" },
  };
  const filters: Filter[] = [
    { name: "Mask", action: "drop-properties", properties: ["properties.email"] },
  ];
  const { outcome, warehouse, source, call } = await withFilters(filters);
  const actions = await call("destinations.create", {
    ...{ name: "Actions", kind: "webhooks-actions", sourceIds: [source.id], filters },
    mappings: [
      {
        ...{ name: "Pages", url: "http://127.0.0.1:9/", trigger: 'properties.url = "/a"' },
        data: { url: { "@path": "$.properties.url" }, all: { "@path": "$." } },
      },
    ],
  });
  const message = await outcome(page);
  expect((await warehouse.received())[0]?.["properties"]).toEqual({ url: "/a" });
  const mapped = message.deliveries.find(({ destinationId }) => destinationId === actions.id);
  expect(JSON.parse(mapped?.payload as string)).toMatchObject({
    url: "/a",
    all: { properties: { url: "/a" } },
  });
  expect(mapped?.payload).not.toContain("ada@example.com");
  expect(message.raw).toContain('"traits":{"url":"/a"');
  const jsonSchema = { properties: { properties: { properties: { email: { type: "number" } } } } };
  const schemas = { rules: [{ type: "PAGE", jsonSchema }] };
  await call("sources.update", { id: source.id, plan: { schemas, onViolation: "block" } });
  expect(await outcome(page)).toMatchObject({
    plan: "violations",
    reason: "plan_violations",
    violations: [{ path: "properties.email" }],
  });
});

test("a preview says which of the last messages filters would change or drop, and changes nothing", async () => {
  const { outcome, call, warehouse } = await withFilters([], { enabled: false });
  await outcome(order);
  await outcome({ ...order, event: "Cart Viewed" });
  await outcome({ ...order, event: "Not for it", integrations: { All: false } });
  await outcome({ type: "track", userId: "x" });
  const preview = await call("destinations.previewFilters", {
    id: warehouse.id,
    filters: [
      { name: "No carts", if: 'event = "Cart Viewed"', action: "drop" },
      { name: "Mask", action: "drop-properties", properties: ["properties.email"] },
    ],
  });
  expect(preview).toMatchObject({ delivered: 1, changed: 1, dropped: 1 });
  expect(preview.items).toMatchObject([
    { event: "Cart Viewed", result: "dropped", filters: ["No carts"], after: null },
    { event: "Order Completed", result: "changed", filters: ["Mask"] },
  ]);
  const [, changed] = preview.items;
  expect(JSON.parse(changed?.before as string)).toMatchObject({ properties: order.properties });
  expect(JSON.parse(changed?.after as string)).not.toHaveProperty("properties.email");
  expect((await call("messages.list", {})).total).toBe(4);
  expect(await call("destinations.previewFilters", { id: warehouse.id })).toMatchObject({
    delivered: 2,
    changed: 0,
  });
});

test("a preview for mappings has the events that they see, before and after", async () => {
  const { outcome, call, source } = await withFilters([]);
  await outcome(order);
  await outcome({ ...order, event: "Cart Viewed" });
  const { id } = await call("destinations.create", {
    ...{ name: "Actions", kind: "webhooks-actions", sourceIds: [source.id] },
    mappings: [{ name: "All", url: "http://127.0.0.1:9/" }],
  });
  const filters: Filter[] = [
    {
      ...{ name: "Mask", if: orders, action: "drop-properties" },
      properties: ["properties.email"],
    },
  ];
  const { items } = await call("destinations.previewFilters", { id, filters });
  expect(items.map(({ result }) => result)).toEqual(["unchanged", "changed"]);
  const [same, changed] = items.map(({ before, after }) => [before, after].map(String));
  expect(same?.[0]).toBe(same?.[1]);
  expect(JSON.parse(same?.[0] ?? "")).toMatchObject({ event: "Cart Viewed", type: "track" });
  expect(JSON.parse(changed?.[0] ?? "")).toMatchObject({ properties: order.properties });
  expect(JSON.parse(changed?.[1] ?? "")).not.toHaveProperty("properties.email");
});
