/** Whether a value meets a condition. `rules.ts` describes the operators. */

import { isObject, type Json, type JsonObject } from "./json.ts";
import type { Operand, Operator, PropertyCondition } from "./rules.ts";

type Comparison = { op: Operator; value?: Operand };

/** `value` is undefined when there is none. */
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
      return typeof value === "string" && typeof operand === "string" && containsText(value, operand);
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
  if (typeof value === "number" && typeof operand === "number") return value < operand ? -1 : value > operand ? 1 : 0;
  if (typeof value === "string" && typeof operand === "string") return compareText(value, operand);
  return 0;
}

/** By code point, as the bytes of UTF-8 sort: JavaScript's own order puts U+FFFD behind the characters beyond U+FFFF. */
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
