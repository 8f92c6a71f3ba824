/** The language of audiences' rules and of computed traits. */

import { z } from "zod";
import {
  checkRule,
  maxConditions,
  maxRuleDepth,
  aggregates,
  type Computation,
  type Rule,
} from "../domain/rules.ts";
import { isObject, type Json } from "../domain/json.ts";
import { reporting } from "./issues.ts";

const text = z.string().max(1000);
const name = z.string().min(1).max(500);
const sameOrWithin = z
  .enum(["is", "isNot", "contains"])
  .describe(
    "`is` and `isNot` compare value and type (`isNot` also holds where there is no value); `contains` finds text in a string, or a value in a list.",
  );
const ordered = z
  .enum(["greater", "less"])
  .describe("By size for numbers, by code point for strings.");
const existing = z
  .literal("exists")
  .describe("There is a value that is not null; with `value: false`, there is none.");

/** What an operator needs is written at each operator, so that the schema has it too. */
function comparison<Name extends "trait" | "property">(of: Name) {
  const named = { [of]: name } as Record<Name, typeof name>;
  return z.discriminatedUnion("op", [
    z.strictObject({ ...named, op: sameOrWithin, value: z.union([text, z.number(), z.boolean()]) }),
    z.strictObject({ ...named, op: ordered, value: z.union([text, z.number()]) }),
    z.strictObject({ ...named, op: existing, value: z.boolean().optional() }),
  ]);
}

const propertyCondition = comparison("property").meta({ id: "PropertyCondition" });
const where = z
  .array(propertyCondition)
  .max(20)
  .optional()
  .describe("Only events with all of these properties count.");
const withinDays = z
  .number()
  .gt(0)
  .max(36_500)
  .optional()
  .describe("Only events of this many last days, in clock time, count.");

const traitCondition = comparison("trait").meta({ id: "TraitCondition" });
const eventCondition = z
  .strictObject({
    event: name,
    atLeast: z.int().min(1).max(1_000_000).optional().describe("How often; 1 when left out."),
    withinDays,
    where,
  })
  .meta({ id: "EventCondition" });

const listed = (description: string) =>
  z
    .array(z.lazy(() => part))
    .min(1)
    .describe(description);
const all = z.strictObject({ all: listed("All of these hold.") });
const any = z.strictObject({ any: listed("At least one of these holds.") });
const not = z.strictObject({ not: z.lazy(() => part) });

const part: z.ZodType<Rule, Rule> = z
  .lazy(() => z.union([traitCondition, eventCondition, all, any, not]))
  .meta({
    id: "Rule",
    description: `A condition on a trait, a condition on an event, or several joined, nested at most ${maxRuleDepth} deep, with at most ${maxConditions} conditions. Example: {"all":[{"trait":"plan","op":"is","value":"pro"},{"event":"Order Completed","atLeast":2,"withinDays":7,"where":[{"property":"total","op":"greater","value":50}]}]}`,
  });

/**
 * By the member that says what a part of a rule is, what it has to be itself; the parts of a join
 * are looked at one by one.
 */
const parts = {
  trait: traitCondition,
  event: eventCondition,
  all: z.strictObject({ all: z.array(z.unknown()).min(1) }),
  any: z.strictObject({ any: z.array(z.unknown()).min(1) }),
  not: z.strictObject({ not: z.unknown() }),
};
const naming = Object.keys(parts) as (keyof typeof parts)[];

type Misfit = z.core.$ZodIssue;

/**
 * What is wrong in a rule, by its place. The union could only say of each alternative why it is not
 * that one.
 */
function misfitsOf(value: unknown, path: PropertyKey[]): Misfit[] {
  if (!isObject(value as Json))
    return [{ code: "invalid_type", expected: "object", input: value, path, message: "" }];
  const [name, another] = naming.filter((name) => Object.hasOwn(value as object, name));
  if (name === undefined)
    return [{ code: "custom", path, message: `one of ${namesOf(naming)} has to say what it is` }];
  if (another !== undefined) {
    const message = `${namesOf([name, another])} cannot be combined; make two parts of them and join these by \`all\` or \`any\``;
    return [{ code: "custom", path, message }];
  }
  const { error } = parts[name].safeParse(value, reporting);
  if (error !== undefined)
    return error.issues.map((issue) => ({ ...issue, path: [...path, ...issue.path] }));
  const inside = (value as Record<string, unknown>)[name];
  if (name === "not") return misfitsOf(inside, [...path, name]);
  return Array.isArray(inside)
    ? inside.flatMap((one, index) => misfitsOf(one, [...path, name, index]))
    : [];
}

function namesOf(names: readonly string[]): string {
  const quoted = names.map((name) => `\`${name}\``);
  return `${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)}`;
}

export const rule = withCheck(part, (value) => {
  const size = checkRule(value);
  return size === null ? misfitsOf(value, []) : [{ code: "custom", path: [], message: size }];
});

/**
 * Checks an input before the schema looks at it, so that endless nesting is not followed to its
 * end. `z.preprocess` does the same, but its schemas cannot be encoded.
 */
function withCheck<Value>(
  schema: z.ZodType<Value, Value>,
  check: (value: unknown) => Misfit[],
): z.ZodType<Value, Value> {
  const checked = z.lazy(() => schema);
  const { run } = checked._zod;
  checked._zod.run = (payload, context) => {
    const misfits = context.direction === "backward" ? [] : check(payload.value);
    for (const misfit of misfits) payload.issues.push(misfit as z.core.$ZodRawIssue);
    return misfits.length === 0 ? run(payload, context) : payload;
  };
  return checked;
}

export const computation: z.ZodType<Computation, Computation> = z
  .strictObject({
    aggregate: z
      .enum(aggregates)
      .describe(
        "`count` of the event; of a property: `unique` values, the `first`, `last` and `mostFrequent` one, and `sum`, `average`, `min`, `max` of its numbers.",
      ),
    event: name,
    property: name.optional().describe("Required by all but `count`."),
    withinDays,
    where,
  })
  .refine(({ aggregate, property }) => (aggregate === "count") === (property === undefined), {
    message: "`count` takes no `property`, and every other aggregate needs one",
    path: ["property"],
  })
  .meta({ id: "Computation" });

export const sync = z
  .union([
    z.enum(["manual", "each-event"]),
    z.strictObject({
      everyMs: z
        .int()
        .min(1000)
        .max(366 * 24 * 60 * 60 * 1000),
    }),
  ])
  .meta({
    id: "Sync",
    description:
      "When differences are sent: manually, after each event, or at a fixed interval of clock time.",
  });
