/**
 * Whether a rule is true for one profile, and until when. The store evaluates rules for all
 * profiles in SQL (`store/rule-sql.ts`): the database evaluates the conditions, and `evaluateBy`
 * combines them.
 */

import { nameOf, windowMs, type ProfileFacts } from "./facts.ts";
import type {
  EventCondition,
  Rule,
  TraitCondition,
  Operand,
  Operator,
  PropertyCondition,
} from "./rules.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";

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
 * Time alone can only end a single condition: events leave a window and never enter one. So each is
 * represented by its end: the condition is true before it and false from then on; `-Infinity` when
 * it is false now.
 */
export function evaluateBy(
  rule: Rule,
  endOf: (condition: Condition) => number,
  now: number,
): Evaluation {
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

/**
 * One part with the deciding value decides, as long as it has it; without one, no part may change.
 */
function joined(
  parts: readonly Rule[],
  deciding: boolean,
  endOf: (condition: Condition) => number,
  time: number,
): ValueAt {
  let decidedUntil = -Infinity;
  let same = Infinity;
  for (const part of parts) {
    const at = valueAt(part, endOf, time);
    if (at.value !== deciding) same = Math.min(same, at.same);
    else if (at.same === Infinity) return at;
    else decidedUntil = Math.max(decidedUntil, at.same);
  }
  return decidedUntil > -Infinity
    ? { value: deciding, same: decidedUntil }
    : { value: !deciding, same };
}

function holdsUntil(condition: Condition, facts: ProfileFacts, now: number): number {
  if ("trait" in condition)
    return compares(condition, facts.traits.get(nameOf(condition.trait))?.value)
      ? Infinity
      : -Infinity;
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

type Comparison = { op: Operator; value?: Operand };

/**
 * Whether a value meets a condition; `rules.ts` describes the operators. `value` is undefined when
 * there is none.
 */
export function compares({ op, value: operand }: Comparison, value: Json | undefined): boolean {
  switch (op) {
    case "is":
      return value === operand && operand !== undefined;
    case "isNot":
      return value !== operand;
    case "exists":
      return (value !== undefined && value !== null) !== (operand === false);
    case "contains":
      if (Array.isArray(value)) return operand !== undefined && value.includes(operand);
      return (
        typeof value === "string" && typeof operand === "string" && containsText(value, operand)
      );
    case "greater":
      return order(value, operand) > 0;
    case "less":
      return order(value, operand) < 0;
  }
}

export function comparesAll(where: readonly PropertyCondition[], properties: JsonObject): boolean {
  return where.every((condition) => compares(condition, memberOf(properties, condition.property)));
}

/** An own member: `constructor` and `__proto__` are names like any other. */
export function memberOf(properties: JsonObject, name: string): Json | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** Values of different types, and of types without an order, are neither greater nor less. */
function order(value: Json | undefined, operand: Operand | undefined): number {
  if (typeof value === "number" && typeof operand === "number")
    return value < operand ? -1 : value > operand ? 1 : 0;
  if (typeof value === "string" && typeof operand === "string") return compareText(value, operand);
  return 0;
}

/**
 * By code point, as the bytes of UTF-8 sort: JavaScript's own order puts U+FFFD behind the
 * characters beyond U+FFFF.
 */
export function compareText(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let at = 0;
  while (at < end && a.charCodeAt(at) === b.charCodeAt(at)) at += 1;
  if (at === end) return a.length - b.length;
  // When the second half of a pair differs, the whole character does.
  const from = splitsPair(a, at) || splitsPair(b, at) ? at - 1 : at;
  return (a.codePointAt(from) ?? 0) - (b.codePointAt(from) ?? 0);
}

/** Compares whole characters: a text does not contain half of a surrogate pair. */
function containsText(text: string, part: string): boolean {
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1)) {
    const end = at + part.length;
    if (!splitsPair(text, at) && !splitsPair(text, end)) return true;
  }
  return false;
}

function splitsPair(text: string, at: number): boolean {
  return at > 0 && (text.codePointAt(at - 1) ?? 0) > 0xffff;
}

/** Equal for equal values, also when their objects have their members in another order. */
export function spellingOf(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(spellingOf).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${spellingOf(value[name] ?? null)}`).join(",")}}`;
}
