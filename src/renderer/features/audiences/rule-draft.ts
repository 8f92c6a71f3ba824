/**
 * A rule while it is being edited: what a new part is, how a value is typed, and what is still
 * missing.
 */

import type {
  EventCondition,
  Operand,
  Operator,
  PropertyCondition,
  Rule,
  TraitCondition,
} from "../../../domain/rules.ts";

export type Group = { all: Rule[] } | { any: Rule[] };
type Join = "all" | "any";

export const newTrait = (): Rule => ({ trait: "", op: "is", value: "" });
export const newEvent = (): Rule => ({ event: "", atLeast: 1 });
export const newGroup = (): Rule => ({ any: [newTrait()] });
export const newProperty = (): PropertyCondition => ({ property: "", op: "is", value: "" });

export const operatorWords: Record<Operator, string> = {
  is: "is",
  isNot: "is not",
  exists: "exists",
  contains: "contains",
  greater: "is greater than",
  less: "is less than",
};

export function isGroup(rule: Rule): rule is Group {
  return "all" in rule || "any" in rule;
}

export function partsOf(group: Group): Rule[] {
  return "all" in group ? group.all : group.any;
}

export function joinOf(group: Group): Join {
  return "all" in group ? "all" : "any";
}

export function joined(join: Join, parts: Rule[]): Group {
  return join === "all" ? { all: parts } : { any: parts };
}

/** The editor's root is always a group. */
export function asGroup(rule: Rule): Group {
  return isGroup(rule) ? rule : { all: [rule] };
}

/**
 * A number or a truth value is typed as it is; text that looks like one stands in quotes. A number
 * with more digits than JavaScript keeps stays text: it would become another number.
 */
export function operandOf(text: string): Operand {
  const trimmed = text.trim();
  if (trimmed === "true" || trimmed === "false") return trimmed === "true";
  if (/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(trimmed)) {
    const number = Number(trimmed);
    return digitsOf(String(number)) === digitsOf(trimmed) ? number : text;
  }
  if (/^"(?:[^"\\]|\\.)*"$/s.test(trimmed)) {
    try {
      return JSON.parse(trimmed) as string;
    } catch {
      return text;
    }
  }
  return text;
}

/** The same for all spellings of a number but its sign: `12e2` for `1200`, `1.2e3` and `1200.0`. */
function digitsOf(text: string): string {
  const [mantissa = "", exponent = "0"] = text.toLowerCase().replace(/^-/, "").split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = whole + fraction;
  const significant = digits.replace(/0+$/, "");
  const zeros = digits.length - significant.length;
  const value = significant.replace(/^0+/, "");
  return value === "" ? "0" : `${value}e${Number(exponent) - fraction.length + zeros}`;
}

export function operandText(value: Operand | undefined): string {
  if (value === undefined) return "";
  if (typeof value !== "string") return String(value);
  return operandOf(value) === value ? value : JSON.stringify(value);
}

/** The same condition with another operator: `exists` takes no value of the old kind. */
export function withOperator<Condition extends { op: Operator; value?: Operand }>(
  condition: Condition,
  op: Operator,
): Condition {
  const { value, ...rest } = condition;
  if (op === "exists") return { ...rest, op } as Condition;
  const wasExists = condition.op === "exists";
  const kept = wasExists || value === undefined ? "" : value;
  const ordered = op === "greater" || op === "less";
  return { ...rest, op, value: ordered && typeof kept === "boolean" ? 0 : kept } as Condition;
}

/** What stops the rule from being asked: the first sentence, or null. */
export function missingIn(rule: Rule): string | null {
  if ("not" in rule) return missingIn(rule.not);
  if (isGroup(rule)) {
    const parts = partsOf(rule);
    if (parts.length === 0) return "A group needs a condition.";
    return parts.map(missingIn).find((sentence) => sentence !== null) ?? null;
  }
  if ("trait" in rule)
    return rule.trait === "" ? "A condition on a trait needs a trait name." : null;
  if (rule.event === "") return "A condition on an event needs an event name.";
  return rule.where?.some(({ property }) => property === "") === true
    ? "A condition on a property needs a property name."
    : null;
}

/**
 * Every condition that stands in the rule, without those that are denied: what a user can do to
 * come in.
 */
export function conditionsOf(
  rule: Rule,
): Exclude<Rule, { all: Rule[] } | { any: Rule[] } | { not: Rule }>[] {
  if ("not" in rule) return conditionsOf(rule.not);
  return isGroup(rule) ? partsOf(rule).flatMap(conditionsOf) : [rule];
}

/** The longest window in it, in days: after so long, time alone may have changed who is in. */
export function longestWindow(rule: Rule): number | null {
  const windows = conditionsOf(rule).flatMap((one) =>
    "event" in one && one.withinDays !== undefined ? [one.withinDays] : [],
  );
  return windows.length === 0 ? null : Math.max(...windows);
}

type Value = Operand | null;
type Compared = Pick<TraitCondition, "op" | "value">;

/** An event that counts for the condition. */
export function sendingEvent({ event, where = [] }: EventCondition): {
  event: string;
  properties: Record<string, Value>;
} {
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
