/** Conditions as sentences: `plan is "pro"`, `did Order Completed at least 2 times within 7 days, with total greater than 50`. */

import type { Json } from "./json.ts";
import type { EventCondition, Operand, Operator, TraitCondition } from "./rules.ts";

export function conditionWords(condition: TraitCondition | EventCondition): string {
  if ("trait" in condition) return comparisonWords(condition.trait, condition, "is ");
  const { event, atLeast = 1, withinDays, where = [] } = condition;
  const often = atLeast === 1 ? "" : ` at least ${times(atLeast)}`;
  const within = withinDays === undefined ? "" : ` within ${withinDays} ${withinDays === 1 ? "day" : "days"}`;
  const properties = where.map((one) => comparisonWords(one.property, one, "")).join(" and ");
  return `did ${nameWords(event)}${often}${within}${properties === "" ? "" : `, with ${properties}`}`;
}

function comparisonWords(name: string, { op, value }: { op: Operator; value?: Operand }, is: string): string {
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
  return /^[\p{L}\p{N}][\p{L}\p{N}\p{M} _.$-]*$/u.test(name) && name === name.trim() ? name : JSON.stringify(name);
}

export function valueWords(value: Json): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}
