/** Why a rule is true or false for a profile: every condition with the fact that decides it. */

import { endsInPieces, evaluateBy, fits, type EndOf, type Evaluation } from "./evaluate.ts";
import {
  nameOf,
  windowMs,
  type EventFact,
  type InPieces,
  type ProfileFacts,
  type Steps,
} from "./facts.ts";
import type {
  EventCondition,
  Explanation,
  Operand,
  Operator,
  Rule,
  TraitCondition,
} from "./rules.ts";
import { formatTimestamp } from "./timestamp.ts";
import type { Json } from "./json.ts";

/** Needs the facts of `allOf(needsOf(rule))`; with fewer, the sentences count fewer events. */
export function* explainInPieces(
  rule: Rule,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<Evaluation & { explained: Explanation }> {
  const endOf = yield* endsInPieces(rule, facts, now, steps);
  const explained = yield* explain(rule, { facts, now, endOf, steps });
  return { ...evaluateBy(rule, endOf, now), explained };
}

type Given = { facts: ProfileFacts; now: number; endOf: EndOf; steps: Steps };

function* explain(rule: Rule, given: Given): InPieces<Explanation> {
  if ("not" in rule) {
    const part = yield* explain(rule.not, given);
    return {
      sentence: "not",
      holds: !part.holds,
      fact: part.holds ? "it holds" : "it does not hold",
      parts: [part],
    };
  }
  if ("all" in rule || "any" in rule) {
    const parts: Explanation[] = [];
    for (const part of "all" in rule ? rule.all : rule.any) parts.push(yield* explain(part, given));
    const holding = parts.filter((part) => part.holds).length;
    const holds = "all" in rule ? holding === parts.length : holding > 0;
    return {
      sentence: "all" in rule ? "all of" : "any of",
      holds,
      fact: `${holding} of ${parts.length} ${holding === 1 ? "holds" : "hold"}`,
      parts,
    };
  }
  const { value: holds, until } = evaluateBy(rule, given.endOf, given.now);
  const fact = "trait" in rule ? traitFact(rule, given) : yield* eventFact(rule, given);
  const end = until === null ? "" : `; holds until ${formatTimestamp(until)}`;
  return { sentence: conditionWords(rule), holds, fact: fact + end, parts: [] };
}

function traitFact({ trait }: TraitCondition, { facts }: Given): string {
  const name = nameWords(trait);
  const fact = facts.traits.get(nameOf(trait));
  if (fact === undefined) return `${name} was never set`;
  if (fact.value === null) return `${name} was removed at ${formatTimestamp(fact.at)}`;
  return `${name} is ${valueWords(fact.value)} as of ${formatTimestamp(fact.at)}`;
}

function* eventFact(condition: EventCondition, { facts, now, steps }: Given): InPieces<string> {
  const { event, where = [] } = condition;
  const events = facts.events.get(nameOf(event)) ?? [];
  const last = events.at(-1);
  if (last === undefined) return `never did ${nameWords(event)}`;
  const window = windowMs(condition);
  const since = window === null ? "" : ` since ${formatTimestamp(now - window)}`;
  const wanted = `${where.length === 0 ? "" : " with these properties"}${since}`;
  let counted = 0;
  let lastCounted: EventFact | undefined;
  for (const fact of events) {
    if (steps.left <= 0) yield;
    if (!fits(fact, where, steps) || (window !== null && fact.at <= now - window)) continue;
    counted += 1;
    lastCounted = fact;
  }
  const did = `did ${nameWords(event)} ${times(events.length)}`;
  if (lastCounted === undefined)
    return `${did}, ${countOf(0, events.length)}${wanted}; the last one at ${formatTimestamp(last.at)}`;
  if (counted === events.length)
    return `${did}${wanted}; the last one at ${formatTimestamp(last.at)}`;
  return `${did}, ${countOf(counted, events.length)}${wanted}; the last of these at ${formatTimestamp(lastCounted.at)}`;
}

function countOf(count: number, all: number): string {
  if (count === 0) return all === 1 ? "but not" : "none of them";
  return `${count} of them`;
}

/**
 * Conditions as sentences: `plan is "pro"`, `did Order Completed at least 2 times within 7 days,
 * with total greater than 50`.
 */
function conditionWords(condition: TraitCondition | EventCondition): string {
  if ("trait" in condition) return comparisonWords(condition.trait, condition, "is ");
  const { event, atLeast = 1, withinDays, where = [] } = condition;
  const often = atLeast === 1 ? "" : ` at least ${times(atLeast)}`;
  const within =
    withinDays === undefined ? "" : ` within ${withinDays} ${withinDays === 1 ? "day" : "days"}`;
  const properties = where.map((one) => comparisonWords(one.property, one, "")).join(" and ");
  return `did ${nameWords(event)}${often}${within}${properties === "" ? "" : `, with ${properties}`}`;
}

function comparisonWords(
  name: string,
  { op, value }: { op: Operator; value?: Operand },
  is: string,
): string {
  const operand = valueWords(value ?? null);
  const subject = nameWords(name);
  switch (op) {
    case "is":
      return `${subject} is ${operand}`;
    case "isNot":
      return `${subject} is not ${operand}`;
    case "exists":
      return `${subject} ${value === false ? "does not exist" : "exists"}`;
    case "contains":
      return `${subject} contains ${operand}`;
    case "greater":
    case "less":
      return `${subject} ${is}${op} than ${operand}`;
  }
}

/** Names that could be taken for words of the sentence, or for two, stand in quotes. */
export function nameWords(name: string): string {
  return /^[\p{L}\p{N}][\p{L}\p{N}\p{M} _.$-]*$/u.test(name) && name === name.trim()
    ? name
    : JSON.stringify(name);
}

export function valueWords(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
