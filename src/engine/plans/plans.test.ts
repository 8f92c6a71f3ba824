import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { fullFormats } from "ajv-formats/dist/formats.js";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { CheckedMessage } from "../../domain/check.ts";
import type { JsonObject } from "../../domain/json.ts";
import { defaultPlanSettings } from "../../domain/tracking-plan.ts";
import { isProblem } from "../../domain/problem.ts";
import { nextTurn } from "../real-time.ts";
import {
  checkPlan,
  loadPlans,
  planFrom,
  preparePlan,
  preparePlans,
  weightOfPlan,
} from "./plans.ts";

const planOf = (event: string, rules: number) => ({
  schemas: Object.fromEntries(
    Array.from({ length: rules }, (_, n) => [`${event} ${n}`, { required: ["total"] }]),
  ),
});

/** What it resolves with, and how many turns of the event loop it left to others. */
async function turnsOf<Value>(work: Promise<Value>): Promise<{ value: Value; turns: number }> {
  let isDone = false;
  let turns = 0;
  const value = work.finally(() => (isDone = true));
  for (; !isDone; turns += 1) await nextTurn();
  return { value: await value, turns };
}

test("rules are compiled in turns when a plan is given and at a start, and then kept", async () => {
  const stored = { ...defaultPlanSettings, name: null, rules: JSON.stringify(rulesNamed("Other")) };
  // The first use, which loads the validator.
  expect((await turnsOf(preparePlans([stored]))).turns).toBeGreaterThan(100);
  expect((await turnsOf(preparePlans([{ ...stored }]))).turns).toBeLessThan(5);

  const draft = planOf("Given", 30);
  const { value, turns } = await turnsOf(preparePlan(draft));
  expect(value).toBeNull();
  expect(turns).toBeGreaterThan(100);
  expect((await turnsOf(preparePlan(draft))).turns).toBeLessThan(5);

  const plan = planFrom(planOf("Started", 1), null);
  expect(plan).toMatchObject({ rules: expect.stringContaining("Started 0") as string });
});

test("a change of a plan keeps what it leaves out, and one that is wrong is refused", async () => {
  await loadPlans();
  const before = {
    ...defaultPlanSettings,
    name: "Shop",
    rules: JSON.stringify(rulesNamed("Kept")),
  };
  expect(planFrom({ unplannedEvents: "block" }, before)).toEqual({
    ...before,
    unplannedEvents: "block",
  });
  expect(planFrom({ name: "Other" }, before)).toEqual({ ...before, name: "Other" });
  expect(planFrom({ schemas: planOf("New", 1).schemas }, before)).toMatchObject({
    name: null,
    rules: expect.stringContaining("New 0"),
  });
  expect([planFrom(undefined, before), planFrom(null, before)]).toEqual([before, null]);
  for (const [draft, message] of [
    [{ name: "Other" }, "A plan needs `schemas`"],
    [
      { schemas: { Bought: { properties: { total: { type: "none" } } } } },
      'The rule for Bought is not a valid JSON Schema: in the schema of its properties, "none" at /properties/total/type is not one of array, boolean,',
    ],
    [
      { schemas: { common: { required: "userId" } } },
      'The rule for all messages is not a valid JSON Schema: "userId" at /required must be array.',
    ],
    [{ schemas: {} }, "The plan has no rules."],
  ] as const)
    expect(planFrom(draft, null)).toMatchObject({ message: expect.stringContaining(message) });
});

test("plans of 5,000 rules in all are kept compiled, and the oldest leave room", async () => {
  const stored = (event: string, count: number) => ({
    ...{ ...defaultPlanSettings, name: null },
    rules: JSON.stringify(rulesNamed(event, count)),
  });
  const use = (event: string, count: number) =>
    checkPlan({ name: "Shop" }, stored(event, count), bought({}));
  const turnsToPrepare = async () => (await turnsOf(preparePlans([stored("Kept", 30)]))).turns;
  use("Alone", 5000);
  expect(await turnsToPrepare()).toBeGreaterThan(100);
  use("Beside", 4970);
  use("Beside", 4970);
  expect(await turnsToPrepare()).toBeLessThan(5);
  use("Beyond", 4971);
  expect(await turnsToPrepare()).toBeGreaterThan(100);
});

const rulesNamed = (event: string, length = 30) =>
  Array.from({ length }, (_, n) => ({
    type: "track",
    key: `${event} ${n}`,
    version: 1,
    schema: {},
  }));

test("what is compiled for a rule is released with it", async () => {
  const { compileRule } = await import("./compile-plan.ts");
  const compile = (): WeakRef<object>[] => {
    const schema = { properties: { total: { type: "number" } } };
    const rule = compileRule({ type: "track", key: "Bought", version: 1, schema });
    if (typeof rule === "string") throw new Error(rule);
    return [rule.first, rule.all()].map((validate) => new WeakRef(validate.schema as object));
  };
  const compiled = [...compile(), ...compile()];
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const kept = (): number => {
    collect();
    return compiled.filter((schema) => schema.deref() !== undefined).length;
  };
  // A reference that was just read holds its value until the turn ends, sometimes longer.
  await expect.poll(kept).toBe(0);
});

test("a plan with a rule that cannot be checked is refused before it is given", async () => {
  const wrong = await preparePlan({ schemas: { Good: {}, Bad: { type: "any" } } });
  expect(wrong?.message).toContain("The rule for Bad is not a valid JSON Schema");
});

test.each([
  "http://json-schema.org/draft-07/schema#",
  "https://json-schema.org/draft/2020-12/schema",
])(
  "a rule is refused that is no schema of %s, also where it could be compiled",
  async ($schema) => {
    const schema = (minLength: number) => ({ $schema, properties: { a: { minLength } } });
    expect(await preparePlan({ schemas: { Bought: schema(1) } })).toBe(null);
    const wrong = await preparePlan({ schemas: { Bought: schema(-1) } });
    expect(wrong?.message).toContain("The rule for Bought is not a valid JSON Schema");
  },
);

test("a plan makes messages heavier by its size, its patterns and what it asks of each element", () => {
  const weightOf = (schema: JsonObject, bytes: number): number => {
    const plan = planFrom({ schemas: { Bought: schema } }, null);
    if (plan === null || isProblem(plan)) throw new Error("no plan");
    return weightOfPlan(plan, bytes);
  };
  const size = { allOf: Array.from({ length: 300 }, (_, nth) => ({ required: [`m${nth}`] })) };
  const patterns = { properties: { a: { type: "string", pattern: "^[a-z]+$" } } };
  const elements = { properties: { a: { items: { type: "number", minimum: 1, maximum: 9 } } } };
  for (const schema of [{}, patterns, elements]) expect(weightOf(schema, 1000)).toBe(0);
  expect(weightOf(size, 1000)).toBeGreaterThan(10);
  for (const schema of [patterns, elements])
    expect(weightOf(schema, 500_000)).toBeGreaterThan(weightOf(schema, 250_000));
  expect(weightOf(elements, 500_000)).toBeGreaterThan(0);
  // Checks are given up before they cost more than so many steps.
  expect(weightOf(patterns, 1e12)).toBe(5_900);
});

const bought = (properties: JsonObject) =>
  ({
    ...{ type: "track", event: "Bought", messageId: "m", members: { properties }, context: {} },
  }) as unknown as CheckedMessage;

const draft2019 = "https://json-schema.org/draft/2019-09/schema";

test.each<[what: string, schema: JsonObject, fits: JsonObject, violates: JsonObject]>([
  [
    "a price is a multiple of a cent, however it is written in binary",
    { properties: { total: { multipleOf: 0.01 } } },
    { total: 19.99 },
    { total: 19.999 },
  ],
  ...[300_000.03, 10_000_000.02, -0.07, 1e300, 0].map(
    (total): [string, JsonObject, JsonObject, JsonObject] => [
      `${total} is a multiple of a cent`,
      { properties: { total: { multipleOf: 0.01 } } },
      { total },
      { total: 300_000.035 },
    ],
  ),
  [
    "of whole numbers it is exact",
    { properties: { id: { multipleOf: 2 } } },
    { id: 9_007_199_254_740_990 },
    { id: 9_007_199_254_740_991 },
  ],
  [
    "the items of draft 2019-09 may be a list",
    { $schema: draft2019, properties: { ids: { items: [{ type: "number" }] } } },
    { ids: [1, "b"] },
    { ids: ["b"] },
  ],
  [
    "a reference of a schema of properties is to a place in that schema",
    { properties: { a: { $ref: "#/properties/b" }, b: { type: "number" } } },
    { a: 1 },
    { a: "1" },
  ],
  [
    "its definitions may refer to its properties, and its properties to them",
    {
      definitions: { c: { $ref: "#/properties/b" } },
      properties: { a: { $ref: "#/definitions/c" }, b: { const: { $ref: "#/x" } } },
    },
    { a: { $ref: "#/x" } },
    { a: 1 },
  ],
  [
    "a required member is one of the message, and not one that every object inherits",
    { required: ["constructor"], properties: { constructor: { type: "string" } } },
    { constructor: "Ferrari" },
    {},
  ],
])("%s", (_what, schema, fits, violates) => {
  const plan = planFrom({ schemas: { Bought: schema } }, null);
  if (plan === null || isProblem(plan)) throw new Error(plan?.message);
  expect(checkPlan({ name: "Shop" }, plan, bought(fits)).violations).toEqual([]);
  expect(checkPlan({ name: "Shop" }, plan, bought(violates)).violations).not.toEqual([]);
});

test("of drawn URLs the format url says what its pattern says, and of long texts at once", async () => {
  await loadPlans();
  const plan = planFrom({ schemas: { Bought: { properties: { a: { format: "url" } } } } }, null);
  if (plan === null || isProblem(plan)) throw new Error("no plan");
  const fits = (a: string): boolean =>
    checkPlan({ name: "Shop" }, plan, bought({ a })).violations.length === 0;
  const part = fc.oneof(
    fc.constantFrom(
      "a",
      "shop.example",
      "ü-b.de",
      "-",
      "--",
      ".",
      "1",
      "10.1.2.3",
      "8.8.8.8",
      "::1",
    ),
    fc.constantFrom(
      "172.16.0.1",
      "192.168.1.1",
      "223.255.255.254",
      "224.1.1.1",
      "localhost",
      "例.jp",
    ),
    fc.constantFrom("/p", "?q=1", "#f", "@", ":", ":8080", ":1", " ", "é", "%20", "", "u:p@"),
  );
  const drawn = fc.tuple(
    fc.constantFrom("http://", "https://", "FTP://", "ws://", "//", ""),
    fc.array(part, { maxLength: 5 }).map((parts) => parts.join("")),
  );
  fc.assert(
    fc.property(drawn, ([scheme, rest]) => {
      // There a user may have a slash in it, which no parser of URLs accepts.
      fc.pre(!/\/.*@/.test(rest));
      expect(fits(scheme + rest)).toBe((fullFormats.url as RegExp).test(scheme + rest));
    }),
    { numRuns: 2000 },
  );
  for (const repeated of [":", "a:", "@", "a@", "a.", "a-", "a.bc/", "a@b.cd/", "1."]) {
    expect(fits(`http://${repeated.repeat(200_000 / repeated.length)}`)).toBe(
      /^a[.@].*\/$/.test(repeated),
    );
    expect(fits(`http://${repeated.repeat(200_000 / repeated.length)} `)).toBe(false);
  }
});

test("a check that fails for another reason than its patterns' cost fails, and says nothing of the message", async () => {
  const schema = { properties: { properties: { properties: { total: { type: "number" } } } } };
  const rules = [{ type: "track", key: "Bought", version: 1, schema }];
  const plan = { ...defaultPlanSettings, name: null, rules: JSON.stringify(rules) };
  await preparePlans([plan]);
  const failures = [new Error("not its patterns")];
  const properties = {
    get total() {
      const failure = failures.pop();
      if (failure !== undefined) throw failure;
      return 1;
    },
  };
  const check = () => checkPlan({ name: "Shop" }, plan, bought(properties));
  expect(check).toThrow("not its patterns");
  expect(check()).toMatchObject({ violations: [] });
});

test("a rule on record that is too large is a violation, and the message goes on", async () => {
  const values = Array.from({ length: 3000 }, (_, n) => n);
  const rules = [{ type: "track", key: "Bought", version: 1, schema: { enum: values } }];
  const plan = { ...defaultPlanSettings, name: null, rules: JSON.stringify(rules) };
  await preparePlans([plan]);
  const { violations, blocked } = checkPlan({ name: "Shop" }, plan, bought({}));
  expect(blocked).toBe(false);
  expect(violations).toMatchObject([
    { path: "", message: expect.stringMatching(/not checked.*2000/) as string },
  ]);
});

test("whether elements are unique is found out once for each array, however often a rule asks", () => {
  const asked = Array.from({ length: 100 }, () => ({ uniqueItems: true }));
  const plan = planFrom({ schemas: { Bought: { properties: { ids: { allOf: asked } } } } }, null);
  if (plan === null || isProblem(plan)) throw new Error("no plan");
  let read = 0;
  const id = { toJSON: () => (read += 1) } as unknown as JsonObject;
  expect(checkPlan({ name: "Shop" }, plan, bought({ ids: [id] })).violations).toEqual([]);
  expect(read).toBe(1);
});
