/**
 * Whether a rule is true for one profile, and until when. The store evaluates rules for all profiles in SQL
 * (`store/rule-sql.ts`): the database evaluates the conditions, and `evaluateBy` combines them.
 */

import { compares, comparesAll } from "./compare.ts";
import { nameOf, windowMs, type ProfileFacts } from "./facts.ts";
import type { EventCondition, Rule, TraitCondition } from "./rules.ts";

/** At `until`, time alone changes the value, without a new event (null: never). */
type Evaluation = { value: boolean; until: number | null };

export type Condition = TraitCondition | EventCondition;

export function evaluate(rule: Rule, facts: ProfileFacts, now: number): Evaluation {
  const ends = new Map<Condition, number>();
  const endOf = (condition: Condition): number => {
    const known = ends.get(condition);
    if (known !== undefined) return known;
    const end = holdsUntil(condition, facts, now);
    ends.set(condition, end);
    return end;
  };
  return evaluateBy(rule, endOf, now);
}

/**
 * Time alone can only end a single condition: events leave a window and never enter one. So each is represented by its
 * end: the condition is true before it and false from then on; `-Infinity` when it is false now.
 */
export function evaluateBy(rule: Rule, endOf: (condition: Condition) => number, now: number): Evaluation {
  const { value, same } = valueAt(rule, endOf, now);
  let until = same;
  while (until < Infinity) {
    const later = valueAt(rule, endOf, until);
    if (later.value !== value) return { value, until };
    until = later.same;
  }
  return { value, until: null };
}

/** The value at a time, and a time until which it does not change. */
type ValueAt = { value: boolean; same: number };

function valueAt(rule: Rule, endOf: (condition: Condition) => number, time: number): ValueAt {
  if ("not" in rule) {
    const { value, same } = valueAt(rule.not, endOf, time);
    return { value: !value, same };
  }
  if ("all" in rule) return joined(rule.all, false, endOf, time);
  if ("any" in rule) return joined(rule.any, true, endOf, time);
  const end = endOf(rule);
  return time < end ? { value: true, same: end } : { value: false, same: Infinity };
}

/** One part with the deciding value decides, as long as it has it; without one, no part may change. */
function joined(parts: readonly Rule[], deciding: boolean, endOf: (condition: Condition) => number, time: number): ValueAt {
  let decidedUntil = -Infinity;
  let same = Infinity;
  for (const part of parts) {
    const at = valueAt(part, endOf, time);
    if (at.value !== deciding) same = Math.min(same, at.same);
    else if (at.same === Infinity) return at;
    else decidedUntil = Math.max(decidedUntil, at.same);
  }
  return decidedUntil > -Infinity ? { value: deciding, same: decidedUntil } : { value: !deciding, same };
}

function holdsUntil(condition: Condition, facts: ProfileFacts, now: number): number {
  if ("trait" in condition) return compares(condition, facts.traits.get(nameOf(condition.trait))?.value) ? Infinity : -Infinity;
  const { event, atLeast = 1, where = [] } = condition;
  const window = windowMs(condition) ?? Infinity;
  const events = facts.events.get(nameOf(event)) ?? [];
  let counted = 0;
  for (let place = events.length - 1; place >= 0; place--) {
    const fact = events[place];
    if (fact === undefined || fact.at <= now - window) break;
    if (!comparesAll(where, fact.properties)) continue;
    counted += 1;
    if (counted === atLeast) return fact.at + window;
  }
  return -Infinity;
}
