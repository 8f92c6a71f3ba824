/**
 * Whether a rule holds for one profile, and until when. The store asks the same of all profiles in SQL
 * (`store/rule-sql.ts`), with the conditions answered by the database and the rest by `evaluateBy`.
 */

import { compares, comparesAll } from "./compare.ts";
import { nameOf, windowMs, type ProfileFacts } from "./facts.ts";
import type { EventCondition, Rule, TraitCondition } from "./rules.ts";

/** `until` is when time alone will change the value, with no new event; null for never. */
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
 * All that time can do to a single condition is end it: events leave a window and never enter one. So each is known by
 * its end: before it the condition holds, from then on it does not; `-Infinity` for one that does not hold now.
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

/** The value at a time, and a time until which it stays the same at least. */
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

/** One part that has the deciding value is enough, as long as it has it; without any, all parts have to stay as they are. */
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
