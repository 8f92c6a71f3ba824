/** Which rule a message is checked by, and what becomes of a message that violates it. */

import { beforeAll, expect, test } from "vitest";
import type { CheckedMessage } from "../../domain/check.ts";
import type { SourcePlan } from "../../domain/configuration.ts";
import type { JsonObject } from "../../domain/json.ts";
import { defaultPlanSettings, type PlanRule } from "../../domain/tracking-plan.ts";
import { checkPlan, loadPlans, planFrom } from "./plans.ts";

beforeAll(() => loadPlans());

type Rules = [type: PlanRule["type"], key: string | null, schema: JsonObject, version?: number][];

function planOf(rules: Rules, settings: Partial<SourcePlan> = {}): SourcePlan {
  const list = rules.map(([type, key, schema, version = 1]) => ({ type, key, schema, version }));
  return { ...defaultPlanSettings, name: null, rules: JSON.stringify(list), ...settings };
}

const message = (type: string, event: string | null, members: JsonObject, context = {}) =>
  ({ type, event, messageId: "m", members, context }) as unknown as CheckedMessage;
const bought = (properties: JsonObject, event = "Bought") =>
  message("track", event, { properties });
const check = (plan: SourcePlan, one: CheckedMessage) => checkPlan({ name: "Shop" }, plan, one);

/** Asks for a member, so that a violation names the rule. */
const wants = (name: string, member = "properties"): JsonObject => ({
  properties: { [member]: { type: "object", required: [name] } },
});
const violated = (plan: SourcePlan, one: CheckedMessage): string[] =>
  check(plan, one).violations.map(({ path, message: said }) => `${path} ${said}`);

test("what the rule and the common one both find is said once", () => {
  const twice = planOf([
    ["track", "Bought", wants("total")],
    ["common", null, { ...wants("total"), required: ["userId"] }],
  ]);
  expect(violated(twice, bought({}))).toEqual([
    "properties.total is required",
    "userId is required",
  ]);
});

test("a message is checked by the rule of its type and name, else of its type, and by the common one", () => {
  const plan = planOf([
    ["track", "Bought", wants("total")],
    ["page", "", wants("any")],
    ["page", "Home", wants("home")],
    ["identify", "", wants("plan", "traits")],
    ["group", "", wants("size", "traits")],
    ["common", "", { required: ["userId"] }],
  ] as never);
  const common = "userId is required";
  expect(violated(plan, bought({}))).toEqual(["properties.total is required", common]);
  expect(violated(plan, bought({}, "Sold"))).toEqual([common]);
  expect(violated(plan, message("page", "Home", {}))).toEqual([
    "properties.home is required",
    common,
  ]);
  expect(violated(plan, message("page", "Other", {}))).toEqual([
    "properties.any is required",
    common,
  ]);
  expect(violated(plan, message("page", null, {}))).toEqual(["properties.any is required", common]);
  expect(violated(plan, message("screen", "Home", {}))).toEqual([common]);
  // An identify has no name, whatever it says.
  expect(violated(plan, message("identify", "Home", {}))).toEqual([
    "traits.plan is required",
    common,
  ]);
  expect(violated(plan, message("group", null, {}))).toEqual(["traits.size is required", common]);
  expect(violated(plan, message("alias", null, { userId: "a" }))).toEqual([]);
  const alone = planOf([["track", "Bought", wants("total")]]);
  expect(check(alone, bought({ total: 1 }))).toMatchObject({
    ...{ violations: [], dropped: [], blocked: false, reason: null },
  });
  expect(violated(alone, message("page", null, {}))).toEqual([]);
});

test("alternatives that are references are one violation, and what is beside them stays", () => {
  const alternatives = {
    // Ajv puts references without others in place, and calls those with others.
    iban: {
      ...{ type: "object", required: ["iban"], additionalProperties: false },
      properties: { iban: { $ref: "#/properties/properties/definitions/text" } },
    },
    card: {
      ...{ type: "object", required: ["number"], additionalProperties: false },
      properties: { number: { type: "string" } },
    },
    text: { type: "string", minLength: 5 },
  };
  const payment = (keyword: string) => ({
    [keyword]: ["iban", "card"].map((name) => ({
      $ref: `#/properties/properties/definitions/${name}`,
    })),
    maxProperties: 1,
  });
  for (const keyword of ["anyOf", "oneOf"]) {
    const properties = {
      definitions: alternatives,
      properties: {
        ...{ payment: payment(keyword), total: { type: "number" } },
        all: { items: payment(keyword) },
      },
    };
    const plan = planOf([["track", "Bought", { properties: { properties } }]], {
      onViolation: "drop-properties",
    });
    expect(violated(plan, bought({ payment: { iban: "1" } }))).toEqual([
      "properties.payment fits none of the alternatives: it is an object",
    ]);
    const two = { payment: { iban: "12345", number: "1" }, total: "x" };
    expect(violated(plan, bought(two))).toEqual([
      "properties.payment fits none of the alternatives: it is an object",
      "properties.payment must NOT have more than 1 properties, but is an object",
      'properties.total must be number, but is the string "x"',
    ]);
    // Of so many only the first is looked for.
    const all = Array.from({ length: 10_000 }, () => ({ iban: "1" }));
    expect(violated(plan, bought({ all }))).toEqual([
      "properties.all[0] fits none of the alternatives: it is an object",
    ]);
  }
});

test("beside thousands of elements every wrong member is dropped, or it is said that one may be left", () => {
  const element = {
    properties: Object.fromEntries("abcdefghijkl".split("").map((n) => [n, { type: "string" }])),
  };
  const names = Array.from({ length: 60 }, (_, nth) => `p${nth}`);
  const members = {
    ...Object.fromEntries(names.map((name) => [name, { type: "string" }])),
    all: { items: element },
  };
  const plan = planOf(
    [
      [
        "track",
        "Bought",
        { properties: { properties: { properties: members, required: ["p0"] } } },
      ],
    ],
    { onViolation: "drop-properties" },
  );
  const all = Array.from({ length: 10_000 }, () => ({}));
  const two = check(plan, bought({ all, p0: "a", p1: 1, p2: 2, p3: "b" }));
  expect(two.message.members).toEqual({ properties: { all, p0: "a", p3: "b" } });
  expect(two.dropped).toEqual([
    ["properties", "p1"],
    ["properties", "p2"],
  ]);
  expect(two.violations.map(({ path }) => path)).toEqual(["properties.p1", "properties.p2"]);
  const incomplete =
    " was not checked completely: it has too many elements for every violation to be found";
  const many = Object.fromEntries(names.map((name) => [name, 1]));
  // More rounds than it gives itself, and a member that cannot be dropped.
  for (const of of [{ ...many, p0: "a" }, { p1: 1 }] as JsonObject[])
    expect(violated(plan, bought({ all, ...of }))).toContain(incomplete);
});

test("a violation of multipleOf names the number", () => {
  const member = { properties: { total: { multipleOf: 0.01 } } };
  const plan = planOf([["track", "Bought", { properties: { properties: member } }]]);
  expect(violated(plan, bought({ total: 300_000.035 }))).toEqual([
    "properties.total must be multiple of 0.01, but is the number 300000.035",
  ]);
});

test("a wrong name of a member is one violation that says which, and only that member is dropped", () => {
  const plan = (member: JsonObject) =>
    planOf([["track", "Bought", { properties: { properties: member } }]], {
      onViolation: "drop-properties",
    });
  const below = check(
    plan({ properties: { o: { propertyNames: { maxLength: 3 } } } }),
    bought({ o: { long_name: 1, ok: 2 } }),
  );
  expect(below).toMatchObject({
    violations: [
      {
        path: "properties.o.long_name",
        message:
          'has a wrong name: it must NOT have more than 3 characters, but is the string "long_name"',
      },
    ],
    dropped: [["properties", "o", "long_name"]],
    message: { members: { properties: { o: { ok: 2 } } } },
  });
  const text = { type: "string", pattern: "^[a-z_]+$" };
  const referred = {
    definitions: { text },
    propertyNames: { $ref: "#/properties/properties/definitions/text" },
  };
  for (const member of [{ propertyNames: text }, referred] as JsonObject[])
    expect(violated(plan(member), bought({ Foo: 1, ok: 2 }))).toEqual([
      'properties.Foo has a wrong name: it must match the pattern ^[a-z_]+$, but is the string "Foo"',
    ]);
  const dependent = plan({ dependencies: { a: ["b"] } });
  expect(violated(dependent, bought({ a: 1 }))).toEqual([
    "properties.b is required when a is present",
  ]);
});

test("of several versions the one that the message names is asked, and else the oldest", () => {
  const plan = planOf([
    ["track", "Bought", wants("third"), 3],
    ["track", "Bought", wants("first"), 1],
    ["track", "Bought", wants("second"), 2],
  ]);
  const named = (protocols: unknown): string[] =>
    violated(plan, message("track", "Bought", {}, { protocols }));
  expect(named({ event_version: 2 })).toEqual(["properties.second is required"]);
  expect(named({ event_version: 3 })).toEqual(["properties.third is required"]);
  for (const other of [{ event_version: 4 }, { event_version: "2" }, {}, "2", undefined, null])
    expect(named(other)).toEqual(["properties.first is required"]);
});

test("an event that is not in the plan is told with the one that differs in case, and blocked where the source says so", () => {
  const rules: Rules = [["track", "Bought", {}]];
  const [record, block, allow] = (["record", "block", "allow"] as const).map((unplannedEvents) =>
    planOf(rules, { unplannedEvents }),
  );
  if (record === undefined || block === undefined || allow === undefined) throw new Error();
  expect(check(record, bought({}, "BOUGHT"))).toMatchObject({
    ...{ blocked: false, reason: null },
    violations: [{ path: "event", message: '"BOUGHT" is not in the plan, which has "Bought"' }],
  });
  expect(violated(record, bought({}, "x".repeat(101)))).toEqual([
    `event "${"x".repeat(59)}… is not in the plan`,
  ]);
  expect(check(block, bought({}, "Sold"))).toMatchObject({
    blocked: true,
    reason: {
      reason: "plan_unplanned_event",
      detail:
        'The message violates the tracking plan of Shop: event "Sold" is not in the plan. The source blocks such messages.',
    },
  });
  for (const [plan, one] of [
    [allow, bought({}, "Sold")],
    [block, bought({})],
    [block, message("page", "Sold", {})],
  ] as const)
    expect(check(plan, one)).toMatchObject({ violations: [], blocked: false });
});

test("a violation is recorded, or blocks for the first reason, or is removed where that mends it", () => {
  const schema = {
    properties: {
      properties: { properties: { total: { type: "number" }, city: { type: "string" } } },
    },
  };
  const rules = (onViolation: string, more: object = {}): SourcePlan =>
    planOf(
      [
        ["track", "Bought", schema],
        ["common", "", { required: ["userId"] }],
      ] as never,
      { onViolation, ...more } as never,
    );
  const wrong = bought({ total: "1", city: 5, kept: true });
  const whole = check(rules("record"), wrong);
  expect(whole).toMatchObject({ blocked: false, dropped: [], violations: [{}, {}, {}] });
  expect(whole.message).toBe(wrong);
  expect(check(rules("block"), wrong)).toMatchObject({
    ...{ blocked: true, dropped: [] },
    reason: {
      reason: "plan_violations",
      detail: expect.stringContaining(
        'of Shop: properties.total must be number, but is the string "1".',
      ) as string,
    },
  });
  // An event that is not planned is the first reason.
  expect(
    check(rules("block", { unplannedEvents: "block" }), bought({}, "Sold")).reason?.reason,
  ).toBe("plan_unplanned_event");
  const dropped = check(rules("drop-properties"), wrong);
  expect(dropped.dropped.map((path) => path.join(".")).toSorted()).toEqual([
    "properties.city",
    "properties.total",
  ]);
  expect(dropped.message.members).toEqual({ properties: { kept: true } });
  expect(wrong.members).toEqual({ properties: { total: "1", city: 5, kept: true } });
  expect(dropped.blocked).toBe(false);
});

test("a member that is dropped leaves the message without those that it never had", () => {
  const schema = { properties: { traits: { properties: { plan: { type: "string" } } } } };
  const plan = planOf([["track", "Bought", schema]], { onViolation: "drop-properties" } as never);
  const { message: rest } = check(plan, message("track", "Bought", { traits: { plan: 5, a: 1 } }));
  expect(rest.members).toEqual({ traits: { a: 1 } });
});

test("members that the plan does not name are recorded or dropped, those that fit a pattern are not", () => {
  const member = {
    properties: { total: {} },
    patternProperties: { "^x_": {} },
  };
  const plan = (unplannedProperties: string, of: JsonObject = member): SourcePlan =>
    planOf(
      [
        ["track", "Bought", { properties: { properties: of } }],
        ["identify", "", { properties: { traits: of } }],
      ] as never,
      { unplannedProperties } as never,
    );
  const long = "y".repeat(101);
  const properties = { total: 1, x_a: 2, other: 3, [long]: 4 };
  const names = ["properties.other is not in the plan", `properties.${long} is not in the plan`];
  expect(violated(plan("allow"), bought(properties))).toEqual([]);
  expect(violated(plan("record"), bought(properties))).toEqual(names);
  expect(check(plan("record"), bought(properties)).dropped).toEqual([]);
  const dropped = check(plan("drop"), bought(properties));
  expect(dropped.dropped).toEqual([
    ["properties", "other"],
    ["properties", long],
  ]);
  expect(dropped.message.members).toEqual({ properties: { total: 1, x_a: 2 } });
  const traits = message("identify", null, { traits: { other: 1 }, properties: { more: 1 } });
  expect(violated(plan("record"), traits)).toEqual(["traits.other is not in the plan"]);
  const draft = "https://json-schema.org/draft";
  const parts: JsonObject[] = [
    { $ref: "#/definitions/a" },
    ...["allOf", "anyOf", "oneOf"].map((keyword) => ({ [keyword]: [{}] })),
    { if: {} },
    { dependencies: { total: {} } },
    { $schema: `${draft}/2019-09/schema`, dependentSchemas: { total: {} } },
    { $schema: `${draft}/2020-12/schema`, $dynamicRef: "#/definitions/a" },
  ];
  for (const { $schema = null, ...part } of parts)
    for (const place of [part, { properties: { properties: part } }]) {
      const schema = { $schema, ...place, definitions: { a: {} } };
      const open = planOf([["track", "Bought", schema]], { unplannedProperties: "drop" } as never);
      expect(violated(open, bought(properties)), JSON.stringify(part)).toEqual([]);
    }
  // These name no members, neither in the rule nor in its member.
  const without: JsonObject[] = [{ allOf: null, if: null }, { dependencies: { total: ["x_a"] } }];
  for (const nothing of without) {
    const named = { ...nothing, properties: { properties: { ...nothing, ...member } } };
    const closed = planOf([["track", "Bought", named]], { unplannedProperties: "record" });
    expect(violated(closed, bought(properties)), JSON.stringify(nothing)).toEqual(names);
  }
  const none = message("track", "Bought", { properties: "text" });
  expect(violated(plan("record"), none)).toEqual([]);
  // One that the rule itself names is told once, and dropped.
  const closed = plan("drop", { ...member, additionalProperties: false });
  expect(violated(closed, bought({ other: 1 }))).toEqual(["properties.other is not in the plan"]);
  expect(check(closed, bought({ other: 1 })).dropped).toEqual([["properties", "other"]]);
  const recording = plan("record", { ...member, additionalProperties: false });
  const odd = ['["Last Name"]', '["a.b"]', `.${"z".repeat(189)}`];
  expect(violated(recording, bought({ "Last Name": 1, "a.b": 2, ["z".repeat(300)]: 3 }))).toEqual(
    odd.map((name) => `properties${name} is not in the plan`),
  );
  expect(violated(plan("record"), bought({ "Last Name": 1 }))).toEqual([
    'properties["Last Name"] is not in the plan',
  ]);
});

test("members that the common rule names are planned, and none is unplanned where it may name others", () => {
  const settings = { unplannedProperties: "drop" } as const;
  const plan = (common: JsonObject) =>
    planOf(
      [
        ["track", "Bought", { properties: { properties: { properties: { total: {} } } } }],
        ["identify", null, { properties: { traits: { properties: { plan: {} } } } }],
        ["common", null, common],
      ],
      settings,
    );
  const named = { properties: { session: {} }, required: ["session"] };
  const both = plan({ properties: { properties: named, traits: named } });
  const order = bought({ total: 1, session: "s", other: 2 });
  expect(violated(both, order)).toEqual(["properties.other is not in the plan"]);
  expect(check(both, order).message.members).toEqual({ properties: { total: 1, session: "s" } });
  const traits = message("identify", null, { traits: { plan: 1, session: "s" } });
  expect(violated(both, traits)).toEqual([]);
  // What it says of traits names no property.
  const other = plan({ properties: { traits: { properties: { session: {} } } } });
  expect(check(other, order).dropped).toEqual([
    ["properties", "session"],
    ["properties", "other"],
  ]);
  expect(violated(other, traits)).toEqual([]);
  const open: JsonObject[] = [{ allOf: [{}] }, { properties: { properties: { anyOf: [{}] } } }];
  for (const common of open) expect(violated(plan(common), order)).toEqual([]);
});

test("names that are too many for the plan's patterns are a violation, with those that were checked", () => {
  const pattern = "^(?:utm_|campaign_|internal_|custom_dimension_|feature_flag_)[a-z0-9_]{1,40}$";
  const member = { patternProperties: { [pattern]: {} } };
  const names = Array.from({ length: 700 }, (_, nth) => `experiment_variant_of_checkout_${nth}`);
  const properties = Object.fromEntries(names.map((name) => [name, 1]));
  const incomplete = " was not checked completely: its texts are too long for the plan's patterns";
  for (const unplannedProperties of ["record", "drop"] as const) {
    const plan = planOf([["track", "Bought", { properties: { properties: member } }]], {
      unplannedProperties,
    });
    expect(violated(plan, bought(properties))).toContain(incomplete);
    // After another check has used up its steps.
    const slow = { ...member, properties: { text: { pattern: "^(?:a{1,500}b)+$" } } };
    const other = planOf([["track", "Bought", { properties: { properties: slow } }]], {
      unplannedProperties,
    });
    const text = "a".repeat(20_000);
    expect(violated(other, bought({ text, other: 1 }))).toEqual([
      incomplete,
      "properties.other is not in the plan",
    ]);
  }
});

test("twenty of many violations are listed, and every dropped member is recorded", () => {
  const plan = planOf([["track", "Bought", { properties: { properties: { properties: {} } } }]], {
    unplannedProperties: "drop",
  } as never);
  const properties = Object.fromEntries(Array.from({ length: 501 }, (_, nth) => [`p${nth}`, nth]));
  const { violations, dropped, message: rest } = check(plan, bought(properties));
  expect([violations.length, dropped.length, rest.members]).toEqual([20, 501, { properties: {} }]);
});

test.for<[string, JsonObject, unknown[], unknown[]]>([
  ["exclusive bounds of the oldest draft", { minimum: 1, exclusiveMinimum: true }, [2], [1]],
  ["such bounds that are not exclusive", { maximum: 5, exclusiveMaximum: false }, [5], [6]],
  ["such bounds without a number", { exclusiveMaximum: true }, [9], []],
  ["exclusive bounds of newer drafts", { exclusiveMaximum: 5 }, [4], [5]],
  ["keywords that are null", { minLength: null, type: "string" }, ["a"], [1]],
  ["a value that is null", { const: null }, [null], [1]],
  ["a list with null", { enum: [1, null] }, [null, 1], [2]],
  ["nullable", { type: "string", nullable: true }, ["a", null], [1]],
  ["nullable without a type", { minimum: 1, nullable: true }, [1], [0]],
  ["nullable that is false", { type: "string", nullable: false }, ["a"], [null]],
  [
    "a member that is named as a keyword",
    { properties: { $id: { type: "string" } } },
    [{ $id: "a" }],
    [{ $id: 1 }],
  ],
  ["ids of parts", { $id: "/properties/a", id: "b", type: "string" }, ["a"], [1]],
  [
    "unique elements",
    { uniqueItems: true },
    [[1, 2, { a: 1, b: 2 }]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  ["elements that need not be unique", { uniqueItems: false }, [[1, 1]], []],
  ["a format", { type: "string", format: "email" }, ["a@x.org"], ["a"]],
  ["a pattern", { type: "string", pattern: "^a+$" }, ["aa"], ["ab"]],
])("a schema with %s is read as it is meant", ([, schema, fitting, wrong]) => {
  const plan = planFrom({ schemas: { Bought: { properties: { a: schema } } } }, null);
  if (plan === null || !("rules" in plan)) throw new Error(JSON.stringify(plan));
  for (const a of fitting)
    expect(violated(plan, bought({ a } as JsonObject)), JSON.stringify(a)).toEqual([]);
  for (const a of wrong)
    expect(violated(plan, bought({ a } as JsonObject)), JSON.stringify(a)).not.toEqual([]);
});
