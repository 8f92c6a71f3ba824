/**
 * Shapes that many calls share. A shape with an `id` is a component of the OpenAPI document.
 *
 * Times, ids, cursors and recorded bytes are codecs: callers see text, handlers see the engine's
 * values.
 */

import { z } from "zod";
import type { IdSpelling } from "../domain/ids.ts";
import { messageTypes } from "../domain/states.ts";

const farthestDate = 8.64e15;

/** A date beyond the calendar becomes the last one that has a name. */
export function isoTime(at: number): string {
  return new Date(Math.max(-farthestDate, Math.min(farthestDate, at))).toISOString();
}

/**
 * Not checked when it is encoded: a sender's date beyond the year 9999 has no such spelling, and
 * must not break a list.
 */
const wireTime = z.string().meta({ format: "date-time" });

export const time = z
  .codec(wireTime, z.number(), {
    decode(text, { issues }) {
      const at = Date.parse(text);
      if (Number.isNaN(at))
        issues.push({
          code: "custom",
          message: "it must be a time such as 2026-11-21T12:00:00.000Z",
          input: text,
        });
      return at;
    },
    encode: isoTime,
  })
  .meta({ id: "Time", description: "ISO 8601, UTC, with milliseconds." });

/** For values that are text on both sides, as in a scenario's report. */
export const timeText = wireTime.describe("ISO 8601, UTC, with milliseconds.");

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export type RecordedBytes = string | { base64: string };

export function bytesOf(recorded: RecordedBytes): Uint8Array {
  if (typeof recorded === "string") return new TextEncoder().encode(recorded);
  return Uint8Array.from(atob(recorded.base64), (character) => character.charCodeAt(0));
}

function recordedBytes(raw: Uint8Array): RecordedBytes {
  try {
    return utf8.decode(raw);
  } catch {
    let latin1 = "";
    for (const byte of raw) latin1 += String.fromCharCode(byte);
    return { base64: btoa(latin1) };
  }
}

export const bytes = z
  .codec(
    z.union([z.string(), z.object({ base64: z.string() })]),
    z.custom<Uint8Array>((value) => value instanceof Uint8Array),
    { decode: bytesOf, encode: recordedBytes },
  )
  .meta({
    id: "Bytes",
    description: "Recorded bytes: a string when they are valid UTF-8, else base64.",
  });

/** Text that encodes a value of the engine. `wrong` says why a text encodes none. */
function spelled<Value>(
  { format, parse }: { format(value: Value): string; parse(text: string): Value | null },
  wrong: (text: string) => { message: string; params?: Record<string, unknown> },
) {
  return z.codec(
    z.string(),
    z.custom<Value>((value) => value !== undefined && value !== null),
    {
      decode(text, { issues }) {
        const value = parse(text);
        if (value !== null) return value;
        issues.push({ code: "custom", input: text, ...wrong(text) });
        return z.NEVER;
      },
      encode: format,
    },
  );
}

/** A text in a path that is not an id and may have any characters; `places.ts` encodes it. */
export const textInPath = z
  .string()
  .describe("Because URLs resolve dots, `.` is encoded twice, `%252E`, and `..` `%252E%252E`.");

/** In a path, a text that is no id means that there is no such thing: 404. */
export function idOf<Id extends number>(ids: IdSpelling<Id>) {
  const article = /^[aeiou]/.test(ids.what) ? "an" : "a";
  return spelled(ids, (text) => ({
    message: `${text} is not the id of ${article} ${ids.what}.`,
    params: { missing: ids.what },
  }));
}

export function cursorOf<Place>(places: {
  format(place: Place): string;
  parse(text: string): Place | null;
}) {
  return spelled(places, (text) => ({ message: `${text} is not a cursor of this list.` }));
}

export const recordedHeaders = z
  .array(z.tuple([z.string(), z.string()]))
  .meta({ id: "RecordedHeaders", description: "In the order of the wire." });

/** What was sent and what came back, as they were on the wire. */
export const recordedExchange = {
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
  request: z.object({
    sent: z
      .boolean()
      .describe("False when no byte was sent; line, headers and body are then empty."),
    method: z.string(),
    url: z.string(),
    startLine: z.string().describe("The request line exactly as it was sent."),
    headers: recordedHeaders,
    body: bytes,
  }),
  response: z
    .object({
      status: z.int(),
      startLine: z.string().describe("The status line exactly as received."),
      headers: recordedHeaders,
      body: bytes.describe("The first 64 KB."),
      bodyLength: z.int(),
    })
    .nullable(),
};

export const headers = z.record(z.string(), z.string()).meta({ id: "Headers" });

/**
 * What a sender called things: not copied, because a copy would lose a member with the name
 * `__proto__`.
 */
export const anyMembers = z.unknown().meta({ type: "object" }) as z.ZodType<
  Record<string, unknown>,
  Record<string, unknown>
>;

export const errorAnswer = z
  .object({ code: z.string(), message: z.string(), data: z.unknown().optional() })
  .meta({ id: "Error", description: "A code for programs and a sentence for people." });

export function byId<Id extends z.ZodType>(id: Id) {
  return z.strictObject({ id });
}

/** The id of what was deleted. */
export function deleted<Id extends z.ZodType>(id: Id) {
  return z.object({ id });
}

/** Lists are read in pages, newest first. */
export function page<Cursor extends z.ZodType>(cursor: Cursor) {
  return {
    limit: z.int().min(1).max(1000).default(50),
    cursor: cursor.optional().describe("`nextCursor` of the page before."),
  };
}

/** Over HTTP, a query parameter that may be there several times. */
export function oneOrMany<Value extends z.ZodType>(value: Value) {
  return z.union([value, z.array(value).min(1).max(100)]);
}

export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({ items: z.array(item) });
}

export function pageOf<Item extends z.ZodType, Cursor extends z.ZodType>(
  item: Item,
  cursor: Cursor,
) {
  return z.object({
    items: z.array(item),
    nextCursor: cursor
      .nullable()
      .describe(
        "Null after the last page. A page may be shorter than its limit: an answer stays below 1 MB.",
      ),
    total: z.int().describe("Exact up to 10,000, unless counting would take long."),
    totalCapped: z.boolean().describe("It is not exact: there may be more than `total`."),
  });
}

/** A page of a record that keeps only the newest. */
export function recordedPageOf<Item extends z.ZodType, Cursor extends z.ZodType>(
  item: Item,
  cursor: Cursor,
) {
  return z.object({
    items: z.array(item),
    nextCursor: cursor.nullable(),
    total: z.int(),
    dropped: z.int().describe("Recorded, then removed in favour of newer ones."),
  });
}

export const messageType = z.enum(messageTypes).meta({ id: "MessageType" });

export const answerMode = z.enum(["explain", "production"]);
