/**
 * What a large message leaves beside the body of its request repeats most of that body: the payload
 * of its deliveries, and the properties of its event. The part that is the same, byte for byte, is
 * stored once: the payload has the place of that part in the body, and properties that are all there
 * have nothing else. What differs (`1.0` becomes `1`, a key comes twice) is stored in full.
 */

import type { JsonObject } from "../domain/json.ts";
import { jsonBytes, type MessageSpan } from "../engine/json-bytes.ts";
import type { Db } from "./transactions.ts";

/** Smaller ones share a page with others anyway. */
const minBytes = 4096;

/** The first byte of a payload without its shared part. JSON begins with none such. */
const mark = 1;
const headBytes = 13;

/** Whether what is stored is a small payload as a whole: SQL of its column. */
export const isSmallText = (column: string): string =>
  `length(${column}) < ${minBytes} AND substr(${column}, 1, 1) <> x'0${mark}'`;

/** Bytes that have to be found in the body, to look further from there. */
const anchorBytes = 48;

const comparedAtOnce = 1024;

/** Places in a message that begin like a text and are compared with all of it. */
const comparedPlaces = 8;

export function withoutSharedPart(
  payload: Uint8Array,
  { body, offset, size }: MessageSpan,
): Uint8Array {
  if (payload.length < minBytes || size < minBytes) return payload;
  const bytes = bufferOf(payload);
  const message = bufferOf(body).subarray(offset, offset + size);
  for (const share of [0.5, 0.25, 0.75]) {
    const at = Math.floor(bytes.length * share);
    const found = message.indexOf(bytes.subarray(at, at + anchorBytes));
    if (found < 0) continue;
    const before = sameBefore(bytes.subarray(0, at), message.subarray(0, found));
    const length = before + sameFrom(bytes.subarray(at), message.subarray(found));
    if (length < minBytes / 2) continue;
    const start = at - before;
    const stored = Buffer.allocUnsafe(headBytes + bytes.length - length);
    stored[0] = mark;
    stored.writeUInt32LE(start, 1);
    stored.writeUInt32LE(offset + found - before, 5);
    stored.writeUInt32LE(length, 9);
    bytes.copy(stored, headBytes, 0, start);
    bytes.copy(stored, headBytes + start, start + length);
    return stored;
  }
  return payload;
}

/** A part of the body that brought a message. */
type PartOf = (messageId: number, offset: number, length: number) => Buffer;

/** Payloads as they were before they were stored. */
export function createPayloadReader(
  db: Db,
  partOf: PartOf = inFile(db),
): <Stored extends Buffer | null | undefined>(
  messageId: number,
  stored: Stored,
) => Stored | Buffer {
  return (messageId, stored) => {
    if (!stored || stored[0] !== mark) return stored;
    const start = headBytes + stored.readUInt32LE(1);
    return Buffer.concat([
      stored.subarray(headBytes, start),
      partOf(messageId, stored.readUInt32LE(5), stored.readUInt32LE(9)),
      stored.subarray(start),
    ]);
  };
}

/** The payload, when the part of the body that it shares has moved. */
export function withMovedPart(
  stored: Buffer | null,
  moved: (offset: number) => number,
): Buffer | null {
  if (stored?.[0] !== mark) return stored;
  const copy = Buffer.from(stored);
  copy.writeUInt32LE(moved(stored.readUInt32LE(5)), 5);
  return copy;
}

function inFile(db: Db): PartOf {
  const part = db
    .prepare<[number, number, number]>(
      "SELECT substr(body, ?, ?) FROM requests WHERE id = (SELECT request_id FROM messages WHERE id = ?)",
    )
    .pluck();
  return (messageId, offset, length) => part.get(offset + 1, length, messageId) as Buffer;
}

/** `@offset:size` for properties that are in the message as `JSON.stringify` writes them. */
export function placeOrText(properties: JsonObject, span: MessageSpan): string {
  const { body, offset, size } = span;
  if (size < minBytes) return JSON.stringify(properties);
  const message = bufferOf(body).subarray(offset, offset + size);
  const bytes = jsonBytes(properties, span);
  if (bytes.length < minBytes) return bytes.toString();
  // Searching for all of a large text costs more than looking where its first bytes are.
  const anchor = bytes.subarray(0, anchorBytes);
  let found = message.indexOf(anchor);
  for (let place = 0; found >= 0 && place < comparedPlaces; place += 1) {
    if (bytes.equals(message.subarray(found, found + bytes.length)))
      return `@${offset + found}:${bytes.length}`;
    found = message.indexOf(anchor, found + 1);
  }
  return bytes.toString();
}

/** The same, when they have moved. */
export const withMovedPlace = (place: string, moved: (offset: number) => number): string =>
  place.replace(/\d+/, (offset) => String(moved(Number(offset))));

/** The properties of a row of `profile_events`. */
export const eventProperties = `iif(substr(properties, 1, 1) = '@', (
  SELECT CAST(substr(body, substr(properties, 2, instr(properties, ':') - 2) + 1, substr(properties, instr(properties, ':') + 1)) AS TEXT)
  FROM requests WHERE requests.id = (SELECT request_id FROM messages WHERE messages.id = profile_events.id)
), properties)`;

/** How many bytes those are, where `eventMembers` reads them: to find one member, SQLite reads all. */
export const eventSize = (members: string): string =>
  members === noMembers
    ? "0"
    : `iif(substr(properties, 1, 1) = '@', CAST(substr(properties, instr(properties, ':') + 1) AS INTEGER), length(properties))`;

export const stepsOfSize = (bytes: number): number => Math.floor(bytes / 500);

/** SQL names a member only when JSON spells its name as it is. */
const plainName = /^[\w .:$-]+$/;

const noMembers = "'{}'";

/** Of more members, each would cost as much as to parse all. */
const maxMembers = 4;

/**
 * The properties of a row of `profile_events`, at least those of `names`: a large event costs far
 * less when only they become JavaScript's. Exact, because each text is written by `JSON.stringify`.
 */
export function eventMembers(names: readonly string[], bind: (value: string) => string): string {
  if (names.length > maxMembers || !names.every((name) => plainName.test(name)))
    return eventProperties;
  const members = names.map(
    (name) =>
      `coalesce(${bind(`,"${name}":`)} || (${eventProperties} -> ${bind(`$."${name}"`)}), '')`,
  );
  return names.length === 0 ? noMembers : `'{' || substr(${members.join(" || ")}, 2) || '}'`;
}

function sameFrom(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most) {
    const end = Math.min(same + comparedAtOnce, most);
    if (a.compare(b, same, end, same, end) !== 0) break;
    same = end;
  }
  while (same < most && a[same] === b[same]) same += 1;
  return same;
}

/** How much of their ends is the same. */
function sameBefore(a: Buffer, b: Buffer): number {
  const most = Math.min(a.length, b.length);
  let same = 0;
  while (same < most) {
    const next = Math.min(same + comparedAtOnce, most);
    if (a.compare(b, b.length - next, b.length - same, a.length - next, a.length - same) !== 0)
      break;
    same = next;
  }
  while (same < most && a[a.length - 1 - same] === b[b.length - 1 - same]) same += 1;
  return same;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
