/** What messages are checked against, and what becomes of those that differ. */

import { describe, expect, test } from "vitest";
import { start as startTesting } from "../../src/testing/testing.ts";
import { schemas, bought, withPlan } from "../support/tracking-plan.ts";

const properties = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${n}`, { type: "string" }]));
const good = { orderId: "o_1", total: 12.5, currency: "EUR", items: [{ sku: "a" }] };

describe("a message is checked against the rule for its event", () => {
  test.each<[string, object, [string, string][]]>([
    ["as planned", good, []],
    ["a missing member", { total: 1 }, [["properties.orderId", "is required"]]],
    [
      "a wrong type",
      { ...good, total: "12" },
      [["properties.total", 'must be number, but is the string "12"']],
    ],
    [
      "a value that is not listed",
      { ...good, currency: "GBP" },
      [["properties.currency", 'must be one of "EUR", "USD", but is the string "GBP"']],
    ],
    [
      "a wrong pattern",
      { ...good, orderId: "1" },
      [["properties.orderId", 'must match the pattern ^o_\\d+$, but is the string "1"']],
    ],
    [
      "in an element of an array",
      { ...good, items: [{ sku: "a" }, { sku: 7 }] },
      [["properties.items[1].sku", "must be string, but is the number 7"]],
    ],
    [
      "too small",
      { ...good, total: -1 },
      [["properties.total", "must be >= 0, but is the number -1"]],
    ],
  ])("%s", async (_, properties, violations) => {
    const { outcome } = await withPlan({ schemas });
    const message = await outcome(bought(properties));
    expect(message).toMatchObject({
      plan: violations.length === 0 ? "ok" : "violations",
      violations: violations.map(([path, sentence]) => ({ path, message: sentence })),
      dropped: [],
      state: "filtered",
      reason: "no_destination",
    });
  });

  test("traits of an identify, and nothing of what has no rule", async () => {
    const { outcome } = await withPlan({ schemas });
    expect(
      await outcome({ type: "identify", userId: "ada", traits: { email: "ada" } }),
    ).toMatchObject({
      plan: "violations",
      violations: [
        { path: "traits.email", message: 'must have the format email, but is the string "ada"' },
      ],
    });
    expect(await outcome({ type: "identify", userId: "ada", traits: {} })).toMatchObject({
      plan: "ok",
    });
    expect(await outcome({ type: "page", userId: "ada" })).toMatchObject({ plan: "ok" });
  });

  test("without a plan, and rejected or duplicate, it says nothing", async () => {
    const { outcome, call } = await withPlan({ schemas });
    expect(await outcome({ type: "track", userId: "ada" })).toMatchObject({
      state: "rejected",
      plan: null,
    });
    await outcome(bought({}, { messageId: "m1" }));
    expect(await outcome(bought({}, { messageId: "m1" }))).toMatchObject({
      state: "duplicate",
      plan: null,
    });
    const { items } = await call("sources.list", {});
    await call("sources.update", { id: items[0]?.id ?? "", plan: null });
    expect(await outcome(bought({}))).toMatchObject({ plan: null, violations: [] });
    for (const [plan, total] of [
      ["ok", 0],
      ["violations", 1],
      ["none", 3],
    ] as const) {
      expect(await call("messages.list", { plan })).toMatchObject({ total });
      expect(await call("messages.list", { filter: `plan:${plan}` })).toMatchObject({ total });
    }
    expect(await call("messages.list", { filter: "-plan:none" })).toMatchObject({ total: 1 });
    expect((await call("messages.values", { key: "plan" })).items).toEqual([
      { key: "plan", value: "none", count: 3 },
      { key: "plan", value: "violations", count: 1 },
    ]);
  });
});

describe("what a source does", () => {
  async function delivering(plan: object) {
    const app = await withPlan(plan);
    await app.destination({ sourceIds: [app.source.id] });
    return app;
  }
  const payloadOf = (message: { deliveries: { payload: unknown }[] }) =>
    JSON.parse(message.deliveries[0]?.payload as string) as { properties: unknown };

  test("records: the message is delivered as it came", async () => {
    const { outcome } = await delivering({ schemas });
    const message = await outcome(bought({ ...good, total: "12" }));
    expect(message.decisions).toMatchObject([{ reason: "routed" }]);
    expect(payloadOf(message).properties).toEqual({ ...good, total: "12" });
  });

  test("drops what violates the plan, and keeps the message as received", async () => {
    const { outcome } = await delivering({ schemas, onViolation: "drop-properties" });
    const message = await outcome(bought({ ...good, total: "12", items: [{ sku: 7, n: 1 }] }));
    expect(message).toMatchObject({
      plan: "violations",
      dropped: ["properties.total", "properties.items[0].sku"],
    });
    expect(payloadOf(message).properties).toEqual({
      orderId: "o_1",
      currency: "EUR",
      items: [{ n: 1 }],
    });
    expect(JSON.parse(message.raw as string)).toMatchObject({ properties: { total: "12" } });
  });

  test("blocks: the message is kept, and its decision says why", async () => {
    const { outcome } = await delivering({ schemas, onViolation: "block" });
    const message = await outcome(bought({ total: 1 }));
    expect(message).toMatchObject({ state: "filtered", reason: "plan_violations", deliveries: [] });
    expect(message.decisions).toMatchObject([
      {
        routed: false,
        reason: "plan_violations",
        detail: expect.stringContaining("properties.orderId is required") as string,
      },
    ]);
  });

  test.each([
    ["allow", "ok", "routed"],
    ["record", "violations", "routed"],
    ["block", "violations", "plan_unplanned_event"],
  ] as const)("%ss unplanned events", async (unplannedEvents, plan, reason) => {
    const { outcome } = await delivering({ schemas, unplannedEvents, onViolation: "block" });
    const message = await outcome(bought({}, { event: "order completed" }));
    expect(message).toMatchObject({ plan, decisions: [{ reason }] });
    expect(message.violations).toEqual(
      plan === "ok"
        ? []
        : [
            {
              path: "event",
              message: '"order completed" is not in the plan, which has "Order Completed"',
            },
          ],
    );
  });

  test.each([
    ["allow", "ok", { ...good, extra: 1 }],
    ["record", "violations", { ...good, extra: 1 }],
    ["drop", "violations", good],
  ] as const)("%ss unplanned properties", async (unplannedProperties, plan, properties) => {
    const { outcome } = await delivering({ schemas, unplannedProperties });
    const message = await outcome(bought({ ...good, extra: 1 }));
    expect(message.plan).toBe(plan);
    expect(payloadOf(message).properties).toEqual(properties);
  });

  test("blocks for profiles too, until a replay passes, and drops there", async () => {
    const { outcome, call } = await delivering({
      schemas: { ...schemas, identify: { properties: { age: { type: "number" } } } },
      onViolation: "drop-properties",
      unplannedEvents: "block",
    });
    await outcome({ type: "identify", userId: "ada", traits: { age: "old", plan: "pro" } });
    const blocked = await outcome(bought({}, { event: "Secret" }));
    await call("pipeline.settle", {});
    const { items } = await call("profiles.list", {});
    const profile = await call("profiles.get", { id: items[0]?.id ?? "" });
    expect(Object.keys(profile.traits)).toEqual(["plan"]);
    expect(items[0]?.events).toBe(0);
    // A replay counts once the plan lets it pass.
    await call("messages.replay", { id: blocked.id });
    await call("sources.update", { id: blocked.sourceId, plan: null });
    for (const _ of [1, 2]) await call("messages.replay", { id: blocked.id });
    await call("pipeline.settle", {});
    expect((await call("profiles.list", {})).items).toMatchObject([{ events: 1 }]);
  });
});

test("of 600 traits that are dropped, a profile has none, and the message shows 500", async () => {
  const { outcome, call } = await withPlan({
    schemas: { ...schemas, identify: { properties: { plan: {} } } },
    unplannedProperties: "drop",
  });
  const traits = {
    ...Object.fromEntries(Object.keys(properties(600)).map((p) => [p, 1])),
    plan: 2,
  };
  const message = await outcome({ type: "identify", userId: "ada", traits });
  expect(message.dropped).toHaveLength(500);
  await call("pipeline.settle", {});
  const { items } = await call("profiles.list", {});
  const profile = await call("profiles.get", { id: items[0]?.id ?? "" });
  expect(Object.keys(profile.traits)).toEqual(["plan"]);
});

test("600 properties of a rule and 900 rules are as the documentation says", async () => {
  const rules = Array.from({ length: 900 }, (_, n) => [`e${n}`, { properties: properties(3) }]);
  const { outcome } = await withPlan({
    schemas: { ...Object.fromEntries(rules), Bought: { properties: properties(600) } },
  });
  const values = Object.fromEntries(Object.keys(properties(600)).map((name) => [name, "a"]));
  expect(await outcome(bought({ ...values, p599: 1 }, { event: "Bought" }))).toMatchObject({
    violations: [{ path: "properties.p599" }],
  });
  expect(await outcome(bought({ p2: 1 }, { event: "e899" }))).toMatchObject({
    violations: [{ path: "properties.p2" }],
  });
});

test("patterns and arrays made to take long are checked at once", async () => {
  const { outcome } = await withPlan({
    schemas: {
      Slow: {
        properties: {
          text: { pattern: "^(a+)+$" },
          list: { uniqueItems: true, items: { type: "string", maxLength: 3 } },
        },
      },
    },
  });
  const text = `${"a".repeat(20_000)}!`;
  expect(await outcome(bought({ text }, { event: "Slow" }))).toMatchObject({
    violations: [{ path: "properties.text" }],
  });
  const list = Array.from({ length: 9000 }, () => ({}));
  expect((await outcome(bought({ list }, { event: "Slow" }))).violations).toHaveLength(20);
});

test("texts that are too long for a pattern are a violation, with what the other rules find", async () => {
  const { outcome } = await withPlan({
    onViolation: "drop-properties",
    schemas: {
      Long: { properties: { text: { pattern: "^(?:a{1,500}b)+$" }, n: { type: "number" } } },
      common: { required: ["anonymousId"], properties: { properties: { required: ["n"] } } },
    },
  });
  const long = await outcome(bought({ text: "a".repeat(20_000) }, { event: "Long" }));
  expect(long.violations).toMatchObject([
    { path: "", message: expect.stringContaining("was not checked completely") as string },
    { path: "anonymousId" },
    { path: "properties.n" },
  ]);
  // What one rule drops, the next one does not see.
  const wrong = await outcome(bought({ n: "1" }, { event: "Long", anonymousId: "a" }));
  expect(wrong.dropped).toEqual(["properties.n"]);
  expect(wrong.violations).toMatchObject([
    { message: 'must be number, but is the string "1"' },
    { path: "properties.n", message: "is required" },
  ]);
});

test("of a batch, one message whose names are too long for a pattern does not fail the others", async () => {
  const { outcome, send, call } = await withPlan({
    unplannedProperties: "record",
    schemas: {
      Long: {
        properties: { text: { pattern: "^(?:a{1,500}b)+$" } },
        patternProperties: { "^x_": {} },
      },
    },
  });
  const long = bought({ text: "a".repeat(20_000), other: 1 }, { event: "Long" });
  await send("/v1/batch", { batch: [bought({}), long, bought({})] });
  expect(await call("messages.list", {})).toMatchObject({ total: 3 });
  expect((await outcome(long)).violations).toMatchObject([
    { path: "", message: expect.stringContaining("was not checked completely") as string },
    { path: "properties.other" },
  ]);
});

test("a test says in one line that no event violated the plan", async () => {
  const hookyard = await startTesting({ sources: { Shop: { plan: { schemas } } } });
  try {
    await hookyard.send(bought(good));
    await hookyard.expect({ messages: { valid: true } });
    await hookyard.send(bought({ ...good, total: "12" }));
    await expect(hookyard.expect({ messages: { valid: true } })).rejects.toThrow(
      'properties.total must be number, but is the string "12"',
    );
    await hookyard.expect({
      messages: { of: { valid: false }, violations: ["properties.total"], count: 1 },
    });
    await expect(
      hookyard.expect({ messages: { of: { valid: false }, violations: ["event"] } }),
    ).rejects.toThrow("properties.total");
    await hookyard.change({ sources: { Shop: { plan: null } } });
    await hookyard.call("pipeline.reset", { what: "messages" });
    await hookyard.expect({ messages: { of: { valid: false }, never: true } });
  } finally {
    await hookyard.stop();
  }
});
