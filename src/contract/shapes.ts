/** Shapes that many calls share. A shape with an `id` is a component of the OpenAPI document. */

import { z } from "zod";

export const time = z.iso.datetime({ precision: 3 }).meta({ id: "Time", description: "ISO 8601, UTC, with milliseconds." });

export const bytes = z
  .union([z.string(), z.object({ base64: z.string() })])
  .meta({ id: "Bytes", description: "Recorded bytes: a string when they are valid UTF-8, else base64." });

export const recordedHeaders = z
  .array(z.tuple([z.string(), z.string()]))
  .meta({ id: "RecordedHeaders", description: "In the order in which they were on the wire." });

export const headers = z.record(z.string(), z.string()).meta({ id: "Headers" });

export const errorAnswer = z
  .object({ code: z.string(), message: z.string(), data: z.unknown().optional() })
  .meta({ id: "Error", description: "A code for programs and a sentence for people." });

export const byId = z.strictObject({ id: z.string() });

/** What was deleted. */
export const deleted = z.object({ id: z.string() }).meta({ id: "Deleted" });

/** Lists are read in pages, newest first. */
export const page = {
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional().describe("`nextCursor` of the page before."),
};

/** Over HTTP, a query parameter that may be there several times. */
export function oneOrMany<Value extends z.ZodType>(value: Value) {
  return z.union([value, z.array(value).min(1).max(100)]);
}

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item) });
}

export function pageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    items: z.array(item),
    nextCursor: z.string().nullable(),
    total: z.int().describe("Exact up to 10,000."),
    totalCapped: z.boolean().describe("There are more than `total`."),
  });
}
