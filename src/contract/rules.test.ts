import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { operators, type Rule } from "../domain/rules.ts";
import { rules } from "../domain/rules.fixture.ts";
import { checkInput } from "./call.ts";
import { calls } from "./contract.ts";
import { computation, rule } from "./rules.ts";

const create = calls["audiences.create"];
const message = (rule: unknown): unknown => {
  const checked = checkInput(create, { name: "Big Spenders", rule });
  return "problem" in checked ? checked.message : checked;
};
const pro = { trait: "plan", op: "is", value: "pro" };
const inSecond = (part: unknown): unknown => ({ all: [pro, part] });

describe("a rule that cannot be one", () => {
  test.each<[unknown, string]>([
    [5, "rule must be an object."],
    [[], "rule must be an object."],
    [null, "rule must be an object."],
    ["plan is pro", "rule must be an object."],
    [
      {},
      "rule is not valid: one of `trait`, `event`, `all`, `any` and `not` has to say what it is.",
    ],
    [{ ...pro, event: "Bought" }, "rule is not valid: `trait` and `event` cannot be combined;"],
    [{ all: [pro], any: [pro] }, "rule is not valid: `all` and `any` cannot be combined;"],
    [{ all: [] }, "rule.all must have at least one item."],
    [{ all: pro }, "rule.all must be a list."],
    [{ all: [pro], not: undefined }, "cannot be combined"],
    [{ not: [pro] }, "rule.not must be an object."],
    [
      { all: [pro], extra: 1 },
      "Unknown member rule.extra. It is not part of this call; check its spelling. Known members: all.",
    ],
    [
      inSecond({ evnt: "Bought" }),
      "rule.all[1] is not valid: one of `trait`, `event`, `all`, `any` and `not` has to say what it is.",
    ],
    [
      inSecond({ event: "Bought", within: { days: 7 } }),
      "Unknown member rule.all[1].within. It is not part of this call; check its spelling. Known members: event, atLeast, withinDays, where.",
    ],
    [
      inSecond({ event: "Bought", withinDays: 0 }),
      "rule.all[1].withinDays must be greater than 0.",
    ],
    [inSecond({ event: "Bought", withinDays: "7" }), "rule.all[1].withinDays must be a number."],
    [
      inSecond({ event: "Bought", withinDays: 36_501 }),
      "rule.all[1].withinDays must be at most 36500.",
    ],
    [inSecond({ event: "Bought", atLeast: 1.5 }), "rule.all[1].atLeast must be a whole number."],
    [inSecond({ event: "Bought", atLeast: 0 }), "rule.all[1].atLeast must be at least 1."],
    [inSecond({ event: "" }), "rule.all[1].event must not be empty."],
    [
      inSecond({ event: 7, op: "is", value: 7 }),
      "Unknown member rule.all[1].op, rule.all[1].value.",
    ],
    [
      { any: [{ not: inSecond({ event: "x".repeat(501) }) }] },
      "rule.any[0].not.all[1].event must not be longer than 500 characters.",
    ],
    [inSecond({ event: "Bought", where: pro }), "rule.all[1].where must be a list."],
    [
      inSecond({ event: "Bought", where: [{ property: "a", op: "exists" }, pro] }),
      "Unknown member rule.all[1].where[1].trait.",
    ],
    [
      inSecond({ event: "Bought", where: [{ property: "total", op: "above", value: 5 }] }),
      'rule.all[1].where[0].op must be "is", "isNot", "contains", "greater", "less" or "exists".',
    ],
    [
      { trait: "plan" },
      'rule.op is missing. It must be "is", "isNot", "contains", "greater", "less" or "exists".',
    ],
    [
      { trait: "plan", op: "is" },
      "rule.value is missing. It must be a string, a number, true or false.",
    ],
    [
      { trait: "plan", op: "is", value: null },
      "rule.value must be a string, a number, true or false.",
    ],
    [
      { trait: "plan", op: "is", value: ["pro"] },
      "rule.value must be a string, a number, true or false.",
    ],
    [
      { trait: "plan", op: "contains", value: "x".repeat(1001) },
      "rule.value must not be longer than 1000 characters.",
    ],
    [{ trait: "age", op: "greater", value: true }, "rule.value must be a string or a number."],
    [{ trait: "age", op: "less", value: Number.NaN }, "rule.value must be a string or a number."],
    [{ trait: "age", op: "exists", value: "no" }, "rule.value must be true or false."],
    [{ trait: "age", op: "is", value: 1, withinDays: 7 }, "Unknown member rule.withinDays."],
    [{ trait: "", op: "exists" }, "rule.trait must not be empty."],
  ])("%j is refused: %s", (wrong, sentence) => {
    expect(message(wrong)).toContain(sentence);
  });

  test("the first thing that is wrong is told", () => {
    expect(message({ all: [{ event: "Bought", atLeast: 0 }, { evnt: 1 }] })).toBe(
      "rule.all[0].atLeast must be at least 1.",
    );
  });

  test("too large a rule is refused before anybody looks into it", () => {
    let deep: unknown = pro;
    for (let level = 0; level < 50_000; level++) deep = { not: deep };
    expect(message(deep)).toBe(
      "rule is not valid: it is nested more than 8 deep; join conditions by fewer `all`, `any` and `not` inside each other.",
    );
    expect(message({ any: Array.from({ length: 51 }, () => pro) })).toBe(
      "rule is not valid: it has more than 50 conditions; split it into several audiences.",
    );
  });

  test("the place is named in every call that takes a rule", () => {
    const broken = inSecond({ event: "Bought", atLeast: 0 });
    for (const [name, input] of [
      ["audiences.update", { id: "aud_1", rule: broken }],
      ["audiences.preview", { rule: broken }],
      ["audiences.explain", { rule: broken, userId: "ada" }],
    ] as const) {
      expect(checkInput(calls[name], input)).toMatchObject({
        message: "rule.all[1].atLeast must be at least 1.",
      });
    }
    expect(checkInput(calls["audiences.explain"], { userId: "ada" })).toMatchObject({
      message: "rule is missing. It must be an object.",
    });
  });
});

describe("the schema of a rule", () => {
  /**
   * What the contract lets through: texts are not empty where they name something, and each
   * operator has its operand.
   */
  const isWritable = (part: Rule): boolean => {
    if ("all" in part) return part.all.every(isWritable);
    if ("any" in part) return part.any.every(isWritable);
    if ("not" in part) return isWritable(part.not);
    const compared = "trait" in part ? [part] : (part.where ?? []);
    if ("trait" in part && part.trait === "") return false;
    return compared.every(
      (one) =>
        !("property" in one && one.property === "") &&
        !(isOrdered(one.op) && typeof one.value === "boolean"),
    );
  };
  const isOrdered = (op: string): boolean => op === "greater" || op === "less";

  test("lets every rule through as it is, and what it lets through no place is found wrong in", () => {
    fc.assert(
      fc.property(rules, (given) => {
        const { success, data } = rule.safeParse(given);
        expect(success).toBe(isWritable(given));
        if (success) expect(data).toEqual(given);
      }),
      { numRuns: 500 },
    );
  });

  test("knows every operator", () => {
    for (const op of operators) {
      const value = op === "exists" ? {} : { value: "a" };
      expect(rule.safeParse({ trait: "plan", op, ...value }).success, op).toBe(true);
    }
  });
});

test.each<[unknown, string]>([
  [{ aggregate: "total", event: "Bought" }, 'computation.aggregate must be "count", "unique"'],
  [
    { aggregate: "sum", event: "Bought" },
    "computation.property is not valid: `count` takes no `property`, and every other aggregate needs one.",
  ],
  [
    { aggregate: "count", event: "Bought", property: "total" },
    "computation.property is not valid: `count` takes no `property`,",
  ],
  [{ aggregate: "count" }, "computation.event is missing. It must be a string."],
  [
    { aggregate: "count", event: "Bought", atLeast: 2 },
    "Known members: aggregate, event, property, withinDays, where.",
  ],
  [
    {
      aggregate: "max",
      event: "Bought",
      property: "total",
      where: [{ property: "total", op: "greater" }],
    },
    "computation.where[0].value is missing. It must be a string or a number.",
  ],
])("the computation %j is refused: %s", (wrong, sentence) => {
  expect(computation.safeParse(wrong).success).toBe(false);
  expect(
    checkInput(calls["computedTraits.create"], { name: "Total", computation: wrong }),
  ).toMatchObject({
    message: expect.stringContaining(sentence),
  });
});

test.each<[unknown, string]>([
  ["sometimes", 'sync must be "manual", "each-event" or an object.'],
  [5, 'sync must be "manual", "each-event" or an object.'],
  [{}, "sync.everyMs is missing. It must be a number."],
  [{ everyMs: 999 }, "sync.everyMs must be at least 1000."],
])("the sync %j is refused: %s", (sync, sentence) => {
  expect(checkInput(create, { name: "A", rule: pro, sync })).toMatchObject({ message: sentence });
});
