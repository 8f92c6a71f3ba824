/**
 * Whether a rule is true for one profile, and until when. The store evaluates rules for all
 * profiles in SQL (`store/rule-sql.ts`): the database evaluates the conditions, and `evaluateBy`
 * combines them.
 */

import {
  charactersPerStep,
  nameOf,
  windowMs,
  type EventFact,
  type InPieces,
  type ProfileFacts,
  type Steps,
} from "./facts.ts";
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
export type Evaluation = { value: boolean; until: number | null };

export type Condition = TraitCondition | EventCondition;

export function* evaluateInPieces(
  rule: Rule,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<Evaluation> {
  return evaluateBy(rule, yield* endsInPieces(rule, facts, now, steps), now);
}

/** The ends of all conditions of the rule. */
export function* endsInPieces(
  rule: Rule,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<EndOf> {
  const ends = new Map<Condition, number>();
  for (const condition of conditionsOf(rule))
    ends.set(condition, yield* holdsUntil(condition, facts, now, steps));
  return (condition) => ends.get(condition) ?? -Infinity;
}

function conditionsOf(rule: Rule): Condition[] {
  if ("not" in rule) return conditionsOf(rule.not);
  if (!("all" in rule) && !("any" in rule)) return [rule];
  return ("all" in rule ? rule.all : rule.any).flatMap(conditionsOf);
}

/**
 * Time alone can only end a single condition: events leave a window and never enter one. So each is
 * represented by its end: the condition is true before it and false from then on; `-Infinity` when
 * it is false now.
 */
export type EndOf = (condition: Condition) => number;

export function evaluateBy(rule: Rule, endOf: EndOf, now: number): Evaluation {
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

function valueAt(rule: Rule, endOf: EndOf, time: number): ValueAt {
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
function joined(parts: readonly Rule[], deciding: boolean, endOf: EndOf, time: number): ValueAt {
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

function* holdsUntil(
  condition: Condition,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<number> {
  if ("trait" in condition) {
    const value = facts.traits.get(nameOf(condition.trait))?.value;
    steps.left -= stepsOfComparison(value);
    return compares(condition, value) ? Infinity : -Infinity;
  }
  const { event, atLeast = 1, where = [] } = condition;
  const window = windowMs(condition) ?? Infinity;
  const events = facts.events.get(nameOf(event)) ?? [];
  let counted = 0;
  for (let place = events.length - 1; place >= 0; place--) {
    const fact = events[place];
    if (fact === undefined || fact.at <= now - window) break;
    if (steps.left <= 0) yield;
    if (!fits(fact, where, steps)) continue;
    counted += 1;
    if (counted === atLeast) return fact.at + window;
  }
  return -Infinity;
}

/** Comparing short values that takes as long as a step. */
const comparisonsPerStep = 10;

function stepsOfComparison(value: Json | undefined): number {
  const isLong = typeof value === "string" || Array.isArray(value);
  return 1 / comparisonsPerStep + (isLong ? value.length / charactersPerStep : 0);
}

/** Whether the event has the properties. */
export function fits(
  { properties }: Pick<EventFact, "properties">,
  where: readonly PropertyCondition[],
  steps: Steps,
): boolean {
  steps.left -= 1 / comparisonsPerStep;
  return where.every((condition) => {
    const value = memberOf(properties, condition.property);
    steps.left -= stepsOfComparison(value);
    return compares(condition, value);
  });
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
