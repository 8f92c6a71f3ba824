/**
 * What audiences and computed traits are made of: rules over the traits and events of a profile, and computations over
 * its events. These are the shapes; `evaluate.ts` says whether a rule holds for one profile.
 */

/** What a trait or property is compared with. */
export type Operand = string | number | boolean;

/**
 * `is`, `isNot`   the same value of the same type; `isNot` also holds where there is none
 * `exists`        there is a value that is not null; with `value: false`, there is none
 * `contains`      a string has the text in it, upper and lower case told apart; a list has the value
 * `greater`, `less`   numbers by size, strings by code point (so ISO times by time); two different types never
 */
export const operators = ["is", "isNot", "exists", "contains", "greater", "less"] as const;
export type Operator = (typeof operators)[number];

export type TraitCondition = { trait: string; op: Operator; value?: Operand };
export type PropertyCondition = { property: string; op: Operator; value?: Operand };

/** Done at least so often, within the last days of the clock, each time with all of these properties. */
export type EventCondition = { event: string; atLeast?: number; withinDays?: number; where?: PropertyCondition[] };

export type Rule = TraitCondition | EventCondition | { all: Rule[] } | { any: Rule[] } | { not: Rule };

/**
 * `count`          how often the event was done
 * `unique`         how many different values the property had
 * `first`, `last`  its value the first and the last time
 * `mostFrequent`   the value it had most often; of several, the one that came last
 * `sum`, `average`, `min`, `max`   of its numbers; other values do not count
 */
export const aggregates = ["count", "unique", "first", "last", "mostFrequent", "sum", "average", "min", "max"] as const;
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
