/** The language of audiences' rules and of computed traits. */

import { z } from "zod";
import { checkRule, maxConditions, maxRuleDepth } from "../domain/check-rule.ts";
import { aggregates, operators, type Rule } from "../domain/rules.ts";

const operand = z.union([z.string().max(1000), z.number(), z.boolean()]);
const op = z
  .enum(operators)
  .describe(
    "`is` and `isNot` compare value and type (`isNot` also holds where there is no value); `exists` wants a value that is not null (with `value: false`, none); `contains` finds text in a string or a value in a list; `greater` and `less` compare numbers, or strings by code point.",
  );
const name = z.string().min(1).max(500);
const comparison = { op, value: operand.optional().describe("All operators but `exists` need one.") };

type Comparison = { op: (typeof operators)[number]; value?: string | number | boolean | undefined };
const isComplete = ({ op, value }: Comparison): boolean =>
  op === "exists" ? value === undefined || typeof value === "boolean" : value !== undefined;
const incomplete = { message: "an operator other than `exists` needs a `value`, and `exists` takes true, false or none", path: ["value"] };

export const propertyCondition = z
  .strictObject({ property: name, ...comparison })
  .refine(isComplete, incomplete)
  .meta({ id: "PropertyCondition" });
const where = z.array(propertyCondition).max(20).optional().describe("Only events with all of these properties count.");
const withinDays = z.number().gt(0).max(36_500).optional().describe("Only events of the last so many days of the clock count.");

const traitCondition = z
  .strictObject({ trait: name, ...comparison })
  .refine(isComplete, incomplete)
  .meta({ id: "TraitCondition" });
const eventCondition = z
  .strictObject({
    event: name,
    atLeast: z.int().min(1).max(1_000_000).optional().describe("How often; 1 when left out."),
    withinDays,
    where,
  })
  .meta({ id: "EventCondition" });

const part: z.ZodType<Rule> = z
  .lazy(() =>
    z.union([
      traitCondition,
      eventCondition,
      z.strictObject({ all: z.array(part).min(1).describe("All of these hold.") }),
      z.strictObject({ any: z.array(part).min(1).describe("At least one of these holds.") }),
      z.strictObject({ not: part }),
    ]),
  )
  .meta({
    id: "Rule",
    description: `A condition on a trait, a condition on an event, or several joined, nested at most ${maxRuleDepth} deep, with at most ${maxConditions} conditions. Example: {"all":[{"trait":"plan","op":"is","value":"pro"},{"event":"Order Completed","atLeast":2,"withinDays":7,"where":[{"property":"total","op":"greater","value":50}]}]}`,
  });

/** Looked at for its size first: what is nested without end would otherwise be followed to its end. */
export const rule: z.ZodType<Rule, Rule> = z.preprocess((value, context) => {
  const message = checkRule(value);
  if (message !== null) context.addIssue({ code: "custom", message });
  return value;
}, part);

export const computation = z
  .strictObject({
    aggregate: z
      .enum(aggregates)
      .describe(
        "`count` of the event; of a property: `unique` values, the `first`, `last` and `mostFrequent` one, and `sum`, `average`, `min`, `max` of its numbers.",
      ),
    event: name,
    property: name.optional().describe("All but `count` need one."),
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
  .meta({ id: "Sync", description: "When differences are sent: by hand, after each event, or on a period of the clock." });
