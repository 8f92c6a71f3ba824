import fc from "fast-check";
import { expect, test } from "vitest";
import { explainInPieces } from "./explain.ts";
import { atOnce, type ProfileFacts } from "./facts.ts";
import type { JsonObject } from "./json.ts";
import { drafts, evaluate, factsOf, now, rules } from "./rules.fixture.ts";
import { dayMs, type Explanation, type Rule } from "./rules.ts";

function explain(rule: Rule, facts: ProfileFacts, at: number): Explanation {
  const found = atOnce(explainInPieces(rule, facts, at, { left: Infinity }));
  const { explained, ...evaluation } = found as NonNullable<typeof found>;
  expect(evaluation).toEqual(evaluate(rule, facts, at));
  return explained;
}

const day = (days: number): number => now - days * dayMs;
const bought = (daysAgo: number, total: number) => ({
  event: "Order Completed",
  at: day(daysAgo),
  properties: { total } as JsonObject,
});
const ada: ProfileFacts = factsOf({
  traits: new Map([
    ["plan", { value: "free", at: day(4) }],
    ["phone", { value: null, at: day(3) }],
  ]),
  events: [bought(9, 90), bought(6, 60), bought(2, 20)],
});
const order = (more: object = {}): Rule => ({ event: "Order Completed", ...more });
const above = (value: number) => [{ property: "total", op: "greater" as const, value }];

test.each<[Rule, boolean, string, string]>([
  [
    { trait: "plan", op: "is", value: "pro" },
    false,
    'plan is "pro"',
    'plan is "free" as of 2026-11-17T00:00:00.000Z',
  ],
  [
    { trait: "plan", op: "isNot", value: "pro" },
    true,
    'plan is not "pro"',
    'plan is "free" as of 2026-11-17T00:00:00.000Z',
  ],
  [
    { trait: "age", op: "greater", value: 17 },
    false,
    "age is greater than 17",
    "age was never set",
  ],
  [{ trait: "age", op: "less", value: 17 }, false, "age is less than 17", "age was never set"],
  [
    { trait: "phone", op: "exists" },
    false,
    "phone exists",
    "phone was removed at 2026-11-18T00:00:00.000Z",
  ],
  [
    { trait: "phone", op: "exists", value: false },
    true,
    "phone does not exist",
    "phone was removed at 2026-11-18T00:00:00.000Z",
  ],
  [{ trait: "is", op: "contains", value: "x" }, false, 'is contains "x"', "is was never set"],
  [{ trait: 'a "b"', op: "exists" }, false, '"a \\"b\\"" exists', '"a \\"b\\"" was never set'],
  [{ trait: "", op: "exists" }, false, '"" exists', '"" was never set'],
  [{ event: "Returned" }, false, "did Returned", "never did Returned"],
  [
    order(),
    true,
    "did Order Completed",
    "did Order Completed 3 times; the last one at 2026-11-19T00:00:00.000Z",
  ],
  [
    order({ atLeast: 2, withinDays: 7 }),
    true,
    "did Order Completed at least 2 times within 7 days",
    "did Order Completed 3 times, 2 of them since 2026-11-14T00:00:00.000Z; the last of these at 2026-11-19T00:00:00.000Z; holds until 2026-11-22T00:00:00.000Z",
  ],
  [
    order({ withinDays: 6 }),
    true,
    "did Order Completed within 6 days",
    "did Order Completed 3 times, 1 of them since 2026-11-15T00:00:00.000Z; the last of these at 2026-11-19T00:00:00.000Z; holds until 2026-11-25T00:00:00.000Z",
  ],
  [
    order({ withinDays: 1 }),
    false,
    "did Order Completed within 1 day",
    "did Order Completed 3 times, none of them since 2026-11-20T00:00:00.000Z; the last one at 2026-11-19T00:00:00.000Z",
  ],
  [
    order({ where: [...above(50), { property: "currency", op: "exists", value: false }] }),
    true,
    "did Order Completed, with total greater than 50 and currency does not exist",
    "did Order Completed 3 times, 2 of them with these properties; the last of these at 2026-11-15T00:00:00.000Z",
  ],
  [
    order({ withinDays: 30, where: above(10) }),
    true,
    "did Order Completed within 30 days, with total greater than 10",
    "did Order Completed 3 times with these properties since 2026-10-22T00:00:00.000Z; the last one at 2026-11-19T00:00:00.000Z; holds until 2026-12-19T00:00:00.000Z",
  ],
])("%j: %s", (rule, holds, sentence, fact) => {
  expect(explain(rule, ada, now)).toEqual({ sentence, holds, fact, parts: [] });
});

test("joined conditions are explained one by one, and say how many hold", () => {
  const rule: Rule = {
    any: [{ all: [order(), { trait: "age", op: "exists" }] }, { not: order({ atLeast: 4 }) }],
  };
  expect(explain(rule, ada, now)).toMatchObject({
    sentence: "any of",
    holds: true,
    fact: "1 of 2 holds",
    parts: [
      {
        sentence: "all of",
        holds: false,
        fact: "1 of 2 holds",
        parts: [{ holds: true }, { holds: false }],
      },
      { sentence: "not", holds: true, fact: "it does not hold", parts: [{ holds: false }] },
    ],
  });
});

test("what is long is cut", () => {
  const { sentence } = explain({ trait: "plan", op: "is", value: "x".repeat(1000) }, ada, now);
  expect(sentence).toHaveLength("plan is ".length + 61);
});

test("an explanation holds what the rule holds, everywhere in it", () => {
  const check = (rule: Rule, explanation: Explanation, facts: ProfileFacts): void => {
    expect(explanation.holds).toBe(evaluate(rule, facts, now).value);
    const parts =
      "all" in rule ? rule.all : "any" in rule ? rule.any : "not" in rule ? [rule.not] : [];
    expect(explanation.parts).toHaveLength(parts.length);
    for (const [index, part] of parts.entries())
      check(part, explanation.parts[index] as Explanation, facts);
  };
  fc.assert(
    fc.property(rules, drafts, (rule, draft) =>
      check(rule, explain(rule, factsOf(draft), now), factsOf(draft)),
    ),
  );
});
