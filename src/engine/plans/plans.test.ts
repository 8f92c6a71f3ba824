import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import type { CheckedMessage } from "../../domain/check.ts";
import type { JsonObject } from "../../domain/json.ts";
import { defaultPlanSettings } from "../../domain/tracking-plan.ts";
import { isProblem } from "../../domain/problem.ts";
import { nextTurn } from "../real-time.ts";
import { checkPlan, planFrom, preparePlan, preparePlans } from "./plans.ts";

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
  const draft = planOf("Given", 30);
  const { value, turns } = await turnsOf(preparePlan(draft));
  expect(value).toBeNull();
  expect(turns).toBeGreaterThan(100);
  expect((await turnsOf(preparePlan(draft))).turns).toBeLessThan(5);

  const plan = planFrom(planOf("Started", 1), null);
  expect(plan).toMatchObject({ rules: expect.stringContaining("Started 0") as string });
  const stored = { ...defaultPlanSettings, name: null, rules: JSON.stringify(rulesNamed("Other")) };
  expect((await turnsOf(preparePlans([stored]))).turns).toBeGreaterThan(100);
  expect((await turnsOf(preparePlans([{ ...stored }]))).turns).toBeLessThan(5);
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
  // A reference that was just read holds its value until the turn ends.
  await nextTurn();
  collect();
  expect(compiled.map((schema) => schema.deref())).toEqual(compiled.map(() => undefined));
});

test("a plan with a rule that cannot be checked is refused before it is given", async () => {
  const wrong = await preparePlan({ schemas: { Good: {}, Bad: { type: "any" } } });
  expect(wrong?.message).toContain("The rule for Bad is no valid JSON Schema");
});

const bought = (properties: JsonObject) =>
  ({
    ...{ type: "track", event: "Bought", messageId: "m", members: { properties }, context: {} },
  }) as unknown as CheckedMessage;

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
