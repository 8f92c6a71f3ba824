/** Values that make a condition hold, and values that do not: what a demo sends to move a user in or out. */

import type { EventCondition, Operand, PropertyCondition, TraitCondition } from "../../../domain/rules.ts";

type Value = Operand | null;
type Compared = Pick<TraitCondition, "op" | "value">;

/** An event that counts for the condition. */
export function sendingEvent({ event, where = [] }: EventCondition): { event: string; properties: Record<string, Value> } {
  const named = where.map((condition): [string, Value] => [condition.property, holding(condition)]);
  return { event, properties: Object.fromEntries(named.filter(([, value]) => value !== null)) };
}

/** A value with which the condition holds, and one with which it does not. */
export function settingTrait(condition: TraitCondition | PropertyCondition): [Value, Value] {
  return [holding(condition), failing(condition)];
}

function holding({ op, value }: Compared): Value {
  switch (op) {
    case "is":
    case "contains":
      return value ?? null;
    case "isNot":
      return other(value);
    case "exists":
      return value === false ? null : "yes";
    case "greater":
      return beyond(value, 1);
    case "less":
      return beyond(value, -1);
  }
}

function failing({ op, value }: Compared): Value {
  switch (op) {
    case "is":
      return other(value);
    case "isNot":
    case "greater":
    case "less":
      return value ?? null;
    case "exists":
      return value === false ? "yes" : null;
    case "contains":
      return null;
  }
}

function other(value: Operand | undefined): Value {
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return value + 1;
  return null;
}

function beyond(value: Operand | undefined, by: 1 | -1): Value {
  if (typeof value === "number") return value + by;
  return by === 1 ? `${value ?? ""}a` : "";
}
