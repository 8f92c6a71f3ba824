import { expect, test } from "vitest";
import { checkRule, maxConditions, maxRuleDepth } from "./rules.ts";

const condition = { trait: "plan", op: "exists" };
const nested = (depth: number): unknown => {
  let rule: unknown = condition;
  for (let level = 1; level < depth; level++)
    rule = level % 2 === 0 ? { not: rule } : { all: [rule] };
  return rule;
};
const many = (count: number): unknown => ({ any: Array.from({ length: count }, () => condition) });

test("a rule may be as deep and as large as the limits", () => {
  expect(checkRule(condition)).toBeNull();
  expect(checkRule(nested(maxRuleDepth))).toBeNull();
  expect(checkRule(many(maxConditions))).toBeNull();
  expect(checkRule({ all: [many(25), many(25)] })).toBeNull();
});

test("what goes beyond is refused with a sentence", () => {
  expect(checkRule(nested(maxRuleDepth + 1))).toMatch(/^it is nested more than 8 deep; /);
  expect(checkRule(many(maxConditions + 1))).toMatch(/^it has more than 50 conditions; /);
  expect(checkRule({ all: [...Array.from({ length: 25 }, () => condition), many(25)] })).toBeNull();
  expect(checkRule({ all: [...Array.from({ length: 25 }, () => condition), many(26)] })).toMatch(
    /^it has more than 50 conditions; /,
  );
  expect(checkRule({ all: [many(25), many(26)] })).toMatch(/^it has more than 50 conditions; /);
});

test("the nested side is found wherever it hides, however deep it is", () => {
  expect(checkRule(nested(100_000))).toMatch(/deep/);
  expect(checkRule({ all: [], any: [nested(100_000)] })).toMatch(/deep/);
  expect(checkRule({ all: "no list", not: nested(100_000) })).toMatch(/deep/);
  expect(checkRule(many(100_000))).toMatch(/conditions/);
});

test("what is no rule is left to who knows rules", () => {
  for (const value of [undefined, null, 5, "x", [], [nested(9)], {}, { all: 5 }])
    expect(checkRule(value)).toBeNull();
});
