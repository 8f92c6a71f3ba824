/**
 * Writes JSON of what a large message brought, in the bytes of `JSON.stringify`. Most large messages
 * are large because of a long text, and writing one letter by letter costs more than all else that
 * is done with it: so its bytes are those of the message, when they need no escapes. Used for
 * payloads, and for the properties of events.
 */

import { isObject, type JsonObject } from "../domain/json.ts";

/** Shorter texts are written as fast as they are found. */
const minLength = 4096;

/** Of the beginning of a text, to find it in the message. */
const anchorLength = 48;

/** Members of members: the properties of a payload. */
const maxDepth = 1;

/** In place of a long text. A message that has such a text itself is written letter by letter. */
const mark = "\u0000";
const markText = JSON.stringify(mark);

/** Bytes that the spelling of a text in JSON has nowhere, or only before an escape. */
const excluded = ["\\", "\n", "\r", "\t"];

/** Where a message is in the body of its request, which is JSON and UTF-8. */
export type MessageSpan = { body: Uint8Array; offset: number; size: number };

/** The long texts of `value` are looked for in the message. */
export function jsonBytes(value: JsonObject, { body, offset, size }: MessageSpan): Buffer {
  if (size >= minLength) {
    const texts: Buffer[] = [];
    const message = Buffer.from(body.buffer, body.byteOffset + offset, size);
    const marked = withMarks(value, message, texts, maxDepth);
    const pieces = texts.length === 0 ? [] : JSON.stringify(marked).split(markText);
    if (pieces.length === texts.length + 1)
      return Buffer.concat(
        pieces.flatMap((piece, place) => [Buffer.from(piece), ...texts.slice(place, place + 1)]),
      );
  }
  return Buffer.from(JSON.stringify(value));
}

/** A copy where it has long texts, which are added to `texts` in the order of the JSON. */
function withMarks(value: JsonObject, message: Buffer, texts: Buffer[], depth: number): JsonObject {
  let marked = value;
  for (const name in value) {
    const member = value[name];
    if (typeof member === "string" && member.length >= minLength) {
      const text = spellingIn(message, member);
      if (text === null) continue;
      texts.push(text);
      marked = { ...marked, [name]: mark };
    } else if (depth > 0 && isObject(member)) {
      const inside = withMarks(member, message, texts, depth - 1);
      if (inside !== member) marked = { ...marked, [name]: inside };
    }
  }
  return marked;
}

/** With its quotes. */
function spellingIn(message: Buffer, text: string): Buffer | null {
  const start = message.indexOf(`"${text.slice(0, anchorLength)}`);
  const end = start < 0 ? -1 : message.indexOf('"', start + 1);
  if (end < 0 || message.toString("utf8", start + 1, end) !== text) return null;
  // The quotes may also be those around what stands between two texts.
  const spelling = message.subarray(start, end + 1);
  return excluded.some((letter) => spelling.includes(letter)) ? null : spelling;
}
