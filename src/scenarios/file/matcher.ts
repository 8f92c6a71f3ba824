/** What a scenario may say of a value: the value itself, or a mapping that says how it must be. */

import { z } from "zod";
import { isObject, type Json } from "../../domain/json.ts";
import { durationPattern, formatDuration, parseDuration } from "./duration.ts";
import { members } from "./members.ts";

export const duration = z
  .string({ error: "a duration such as 10s, 90m or 1h30m" })
  .regex(durationPattern, "a duration such as 10s, 90m or 1h30m")
  .transform(parseDuration)
  .describe("Clock time, such as 10s, 90m or 1h30m.");

const pattern = z
  .string({ error: "a regular expression in quotes" })
  .refine(isPattern, { error: "matches is not a valid regular expression.", abort: true });

const nothingFits = "atLeast is more than atMost, so nothing fits.";

const isOrdered = ({ atLeast = -Infinity, atMost = Infinity }: Bounds): boolean =>
  atLeast <= atMost;

const valueMatcher = members({
  is: z
    .unknown()
    .optional()
    .describe("The value equals this, with the members of objects in any order."),
  isNot: z.unknown().optional().describe("It exists, and does not equal this."),
  exists: z
    .boolean({ error: "true or false" })
    .optional()
    .describe("It exists, or with false, it does not."),
  contains: z.unknown().optional().describe("A text that contains this, or a list with this item."),
  matches: pattern.optional().describe("A text with a match for this regular expression."),
  atLeast: z.number({ error: "a number" }).optional(),
  atMost: z.number({ error: "a number" }).optional(),
})
  .refine((matcher) => Object.values(matcher).some((value) => value !== undefined), {
    error:
      "An empty mapping says nothing about the value. Use is, isNot, exists, contains, matches, atLeast or atMost.",
  })
  .refine(isOrdered, { error: nothingFits })
  .meta({ id: "ScenarioValue" });

const plainValue = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown())]);

export const expectedValue = z
  .union([plainValue, valueMatcher])
  .describe("The value itself, or a mapping of conditions on it.");
export type ExpectedValue = z.output<typeof expectedValue>;

/**
 * Why a value is not as expected is said by showing the two; this only says whether. `undefined` is
 * a value that is not there.
 */
export function fits(value: Json | undefined, expected: ExpectedValue): boolean {
  if (!isMatcher(expected)) return value !== undefined && equalJson(value, expected as Json);
  if (expected.exists === false) return value === undefined;
  if (value === undefined) return false;
  const { is, isNot, contains, matches, atLeast, atMost } = expected;
  if (is !== undefined && !equalJson(value, is as Json)) return false;
  if (isNot !== undefined && equalJson(value, isNot as Json)) return false;
  if (contains !== undefined && !hasInIt(value, contains as Json)) return false;
  if (matches !== undefined && !(typeof value === "string" && new RegExp(matches, "u").test(value)))
    return false;
  if (atLeast !== undefined && !(typeof value === "number" && value >= atLeast)) return false;
  return atMost === undefined || (typeof value === "number" && value <= atMost);
}

export function isMatcher(
  expected: ExpectedValue,
): expected is Exclude<ExpectedValue, z.output<typeof plainValue>> {
  return isObject(expected as Json);
}

function hasInIt(value: Json, part: Json): boolean {
  if (typeof value === "string") return typeof part === "string" && value.includes(part);
  return Array.isArray(value) && value.some((item) => equalJson(item, part));
}

function equalJson(one: Json | undefined, other: Json | undefined): boolean {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => equalJson(item, other[index]))
    );
  }
  if (!isObject(one) || !isObject(other)) return false;
  const names = Object.keys(one);
  return (
    names.length === Object.keys(other).length &&
    names.every((name) => Object.hasOwn(other, name) && equalJson(one[name], other[name]))
  );
}

function isPattern(text: string): boolean {
  try {
    return new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
}

const wholeFrom = (least: number) =>
  z.int({ error: `a whole number from ${least}` }).min(least, `a whole number from ${least}`);

const bounds = <Bound extends z.ZodType<number>>(bound: Bound) =>
  members({ atLeast: bound.optional(), atMost: bound.optional() }).refine(isOrdered, {
    error: nothingFits,
  });

/** Of something that there must be: none is said with `never`. */
export const expectedCount = z
  .union([
    z.int({ error: "a whole number" }).min(1, "at least 1; for none, write never: true"),
    bounds(wholeFrom(1)),
  ])
  .describe("How many: a number, or atLeast and atMost.");

/** Of something that may be none. */
export const expectedNumber = z
  .union([wholeFrom(0), bounds(wholeFrom(0))])
  .describe("A number, or atLeast and atMost.");

export const expectedDuration = z
  .union([duration, bounds(duration)])
  .describe("A duration, or atLeast and atMost.");

type Bounds = { atLeast?: number | undefined; atMost?: number | undefined };
export type Range = number | Bounds;

export function isWithin(value: number, range: Range): boolean {
  if (typeof range === "number") return value === range;
  return (
    (range.atLeast === undefined || value >= range.atLeast) &&
    (range.atMost === undefined || value <= range.atMost)
  );
}

export function rangeText(range: Range, show: (value: number) => string = String): string {
  if (typeof range === "number") return show(range);
  const { atLeast, atMost } = range;
  if (atLeast === undefined && atMost === undefined) return "any";
  if (atLeast === undefined) return `at most ${show(atMost ?? 0)}`;
  return atMost === undefined ? `at least ${show(atLeast)}` : `${show(atLeast)} to ${show(atMost)}`;
}

export const durationRangeText = (range: Range): string => rangeText(range, formatDuration);
