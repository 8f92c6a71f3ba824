/**
 * What audiences and computed traits are made of: rules over the traits and events of a profile,
 * and computations over its events. These are the shapes; `evaluate.ts` says whether a rule holds
 * for one profile.
 */

/** What a trait or property is compared with. */
export type Operand = string | number | boolean;

/**
 * `is`, `isNot`   the same value of the same type; `isNot` also holds where there is none
 * `exists`        there is a value that is not null; with `value: false`, there is none
 * `contains`      a string has the text in it, upper and lower case told apart; a list has the
 * value `greater`, `less`   numbers by size, strings by code point (so ISO times by time); two
 * different types never
 */
export const operators = ["is", "isNot", "exists", "contains", "greater", "less"] as const;
export type Operator = (typeof operators)[number];

export type TraitCondition = { trait: string; op: Operator; value?: Operand };
export type PropertyCondition = { property: string; op: Operator; value?: Operand };

/**
 * Done at least so often, within the last days of the clock, each time with all of these
 * properties.
 */
export type EventCondition = {
  event: string;
  atLeast?: number;
  withinDays?: number;
  where?: PropertyCondition[];
};

export type Rule =
  | TraitCondition
  | EventCondition
  | { all: Rule[] }
  | { any: Rule[] }
  | { not: Rule };

/** Why a rule is true or false for a profile: every condition with the fact that decides it. */
export type Explanation = { sentence: string; holds: boolean; fact: string; parts: Explanation[] };

/**
 * `count`          how often the event was done
 * `unique`         how many different values the property had
 * `first`, `last`  its value the first and the last time
 * `mostFrequent`   the value it had most often; of several, the one that came last
 * `sum`, `average`, `min`, `max`   of its numbers; other values do not count
 */
export const aggregates = [
  "count",
  "unique",
  "first",
  "last",
  "mostFrequent",
  "sum",
  "average",
  "min",
  "max",
] as const;
export type Aggregate = (typeof aggregates)[number];

export type Computation = {
  aggregate: Aggregate;
  event: string;
  /** All but `count` need one. */
  property?: string;
  withinDays?: number;
  where?: PropertyCondition[];
};

/** When differences are sent: by hand, on a period of the clock, or after each event. */
export type Sync = "manual" | "each-event" | { everyMs: number };

export const dayMs = 24 * 60 * 60 * 1000;

/** Deeper than any rule that a person can read. */
export const maxRuleDepth = 8;
/** Each is evaluated for every user of a large store. */
export const maxConditions = 50;

/**
 * What is wrong with the size of a possible rule, as the end of a sentence; null when nothing is.
 * Called before anything else reads the rule, so that no other code meets unlimited nesting. A
 * single condition has the depth 1; whether it is a valid condition is not checked here.
 */
export function checkRule(rule: unknown): string | null {
  let conditions = 0;
  let level: unknown[] = [rule];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > maxRuleDepth)
      return `it is nested more than ${maxRuleDepth} deep; join conditions by fewer \`all\`, \`any\` and \`not\` inside each other`;
    const below: unknown[] = [];
    for (const part of level) {
      const parts = partsOf(part);
      if (parts === null) conditions += 1;
      else for (const one of parts) below.push(one);
    }
    if (conditions + below.length > maxConditions)
      return `it has more than ${maxConditions} conditions; split it into several audiences`;
    level = below;
  }
  return null;
}

/** All nested parts, whether or not they may be combined. */
function partsOf(rule: unknown): readonly unknown[] | null {
  if (typeof rule !== "object" || rule === null) return null;
  const { all, any, not } = rule as Record<string, unknown>;
  const parts = [all, any].flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []));
  if (not !== undefined) parts.push(not);
  return all === undefined && any === undefined && not === undefined ? null : parts;
}
