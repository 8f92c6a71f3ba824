/**
 * Random rules, computations and facts from small alphabets, so that they meet; and plain readings
 * of a rule to hold the evaluator against.
 */

import fc from "fast-check";
import { computeInPieces, type Computed } from "./compute.ts";
import { evaluateInPieces, type Evaluation } from "./evaluate.ts";
import { atOnce, type EventFact, type ProfileFacts, type TraitFact } from "./facts.ts";
import type { MessageRowId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import {
  aggregates,
  dayMs,
  operators,
  type Computation,
  type Operand,
  type PropertyCondition,
  type Rule,
} from "./rules.ts";

export const now = Date.UTC(2026, 10, 21);

export const compute = (computation: Computation, facts: ProfileFacts, at: number): Computed =>
  atOnce(computeInPieces(computation, facts, at, { left: Infinity })) as Computed;

export const evaluate = (rule: Rule, facts: ProfileFacts, at: number): Evaluation =>
  atOnce(evaluateInPieces(rule, facts, at, { left: Infinity })) as Evaluation;

const texts = [
  "",
  "a",
  "b",
  "ab",
  "10",
  "9",
  "\u0000",
  "a\u0000",
  "\ud83d\ude00",
  "\ud83d",
  "\ude00",
  "\uffee",
  "__proto__",
  'q"\\',
];
const numbers = [0, -0, 1, 2, 2.5, 0.1, 0.2, -3, 1e21, 1e-7, 2 ** 53, 2 ** 53 + 2, 1.7e308];
const names = ["a", "b", "__proto__", "constructor", "", 'x"y', "\ud800"] as const;
/** As a message gives them and a store keeps them: never empty. */
const eventNames = ["Seen", "Bought", "__proto__"] as const;
const days = [0.000_000_01, 0.5, 1, 3, 7];

const operand: fc.Arbitrary<Operand> = fc.oneof(
  fc.constantFrom(...texts),
  fc.constantFrom(...numbers),
  fc.boolean(),
);
const primitive: fc.Arbitrary<Json> = fc.oneof(operand, fc.constant(null));
const json: fc.Arbitrary<Json> = fc.oneof(
  { weight: 5, arbitrary: primitive },
  { weight: 1, arbitrary: fc.array(primitive, { maxLength: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom<Json>({}, { a: 1, b: 2 }, { b: 2, a: 1 }, [[1]]) },
);

const comparison = fc.constantFrom(...operators).chain((op) => {
  const value = op === "exists" ? fc.constantFrom(undefined, true, false) : operand;
  return value.map((value) => (value === undefined ? { op } : { op, value }));
});
const propertyCondition: fc.Arbitrary<PropertyCondition> = fc
  .tuple(fc.constantFrom(...names), comparison)
  .map(([property, rest]) => ({ property, ...rest }));
const where = fc.array(propertyCondition, { maxLength: 2 });
const withinDays = fc.constantFrom(...days);
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const traitCondition: fc.Arbitrary<Rule> = fc
  .tuple(fc.constantFrom(...names), comparison)
  .map(([trait, rest]) => ({ trait, ...rest }));
const eventCondition: fc.Arbitrary<Rule> = fc.record(
  {
    event: fc.constantFrom(...eventNames),
    atLeast: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.constant(4)),
    withinDays,
    where,
  },
  { requiredKeys: ["event"] },
);

export const rules: fc.Arbitrary<Rule> = fc.letrec<{ rule: Rule }>((tie) => ({
  rule: fc.oneof(
    { maxDepth: 3, depthIdentifier: "rule" },
    { weight: 2, arbitrary: eventCondition },
    { weight: 1, arbitrary: traitCondition },
    {
      weight: 1,
      arbitrary: fc.array(tie("rule"), { minLength: 1, maxLength: 3 }).map((all) => ({ all })),
    },
    {
      weight: 1,
      arbitrary: fc.array(tie("rule"), { minLength: 1, maxLength: 3 }).map((any) => ({ any })),
    },
    { weight: 1, arbitrary: tie("rule").map((not) => ({ not })) },
  ),
})).rule;

export const computations: fc.Arbitrary<Computation> = fc
  .tuple(
    fc.constantFrom(...aggregates),
    fc.constantFrom(...eventNames),
    fc.constantFrom(...names),
    optional(withinDays),
    optional(where),
  )
  .map(([aggregate, event, property, withinDays, where]) => ({
    aggregate,
    event,
    ...(aggregate === "count" ? {} : { property }),
    ...(withinDays === undefined ? {} : { withinDays }),
    ...(where === undefined ? {} : { where }),
  }));

export type DraftFacts = {
  traits: Map<string, TraitFact>;
  events: { event: string; at: number; properties: JsonObject }[];
};

/**
 * Events on the hour, so that several fall together and windows end on them; some before all
 * windows, some in the future.
 */
const at = fc.oneof(
  fc.integer({ min: -8 * 24, max: 24 }).map((hours) => now + hours * 3_600_000),
  fc.constantFrom(...days).map((days) => now - Math.round(days * dayMs)),
  fc.constant(now - 1),
);
const properties = fc.dictionary(fc.constantFrom(...names), json, { maxKeys: 3 }).map(asParsed);

export const drafts: fc.Arbitrary<DraftFacts> = fc.record({
  traits: fc
    .array(fc.tuple(fc.constantFrom(...names), fc.record({ value: json.map(asParsed), at })), {
      maxLength: 4,
    })
    .map((pairs) => new Map(pairs)),
  events: fc.array(fc.record({ event: fc.constantFrom(...eventNames), at, properties }), {
    maxLength: 8,
  }),
});

/** What comes out of a store that keeps JSON. */
function asParsed<Value extends Json>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

export function factsOf({ traits, events }: DraftFacts): ProfileFacts {
  const byName = new Map<string, EventFact[]>();
  for (const [index, { event, at, properties }] of events.entries()) {
    byName.set(event, [
      ...(byName.get(event) ?? []),
      { at, properties, messageId: (index + 1) as MessageRowId },
    ]);
  }
  for (const list of byName.values()) list.sort((a, b) => a.at - b.at || a.messageId - b.messageId);
  return {
    traits: new Map([...traits].map(([name, fact]) => [name.toWellFormed(), fact])),
    events: byName,
  };
}
