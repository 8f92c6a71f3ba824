/**
 * Requests of which only some messages are left, used by retention. Accepted and rejected messages
 * have quotas of their own, so those of one batch go at different times, and none may hold the bytes
 * of the others. The body says `null` where a message was; what comes after it moves forward, and
 * with it the places in the body that payloads and events refer to (`shared-bytes.ts`).
 */

import { measureJson } from "../domain/json.ts";
import type { RequestBodies } from "./request-bodies.ts";
import { withMovedPart, withMovedPlace } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";

const left = Buffer.from("null");

/** To write a body again costs as much as the body: less than this share of it stays. */
const minShare = 1 / 64;

/** `spare`: the bytes of the body that are not of messages that are left. */
type Request = { first: number; end: number; bytes: number; spare: number };
type Place = { offset: number; size: number };
type Left = { id: number; offset: number; quotaBytes: number | null };
type Payload = { id: number; documented: Buffer | null; full: Buffer | null };

/** Returns what gives back the bytes of messages that are gone. It is called in a transaction. */
export function shrinkingRequests(
  db: Db,
  bodies: RequestBodies,
): (id: number, gone: readonly Pick<Left, "quotaBytes">[]) => void {
  const find = db.prepare<[number], Request>(
    `SELECT first_message AS first, first_message + messages AS end, length(body) AS bytes,
       length(body) - (SELECT sum(size) FROM messages WHERE messages.id >= first_message AND messages.id < first_message + requests.messages) AS spare
     FROM requests WHERE id = ?`,
  );
  const inRange = (id: string): string => `${id} >= @first AND ${id} < @end`;
  const messages = db.prepare<Request, Left>(
    `SELECT id, offset, quota_bytes AS quotaBytes FROM messages WHERE ${inRange("id")}`,
  );
  const payloads = db.prepare<Request, Payload>(
    `SELECT message_id AS id, documented, full FROM payloads
     WHERE ${inRange("message_id")} AND x'01' IN (substr(documented, 1, 1), substr(full, 1, 1))`,
  );
  const events = db.prepare<Request, { id: number; properties: string }>(
    `SELECT id, properties FROM profile_events WHERE ${inRange("id")} AND substr(properties, 1, 1) = '@'`,
  );
  const putOffset = db.prepare("UPDATE messages SET offset = ? WHERE id = ?");
  const putPayload = db.prepare(
    "UPDATE payloads SET documented = ?, full = ? WHERE message_id = ?",
  );
  const putProperties = db.prepare("UPDATE profile_events SET properties = ? WHERE id = ?");
  const putBody = db.prepare("UPDATE requests SET body = ? WHERE id = ?");

  return (id, gone) => {
    const request = find.get(id);
    if (request === undefined || request.spare < request.bytes * minShare) return;
    const kept = messages.all(request);
    // Of a request that was accepted as a whole, the rest goes next.
    if (![...gone, ...kept].some(({ quotaBytes }) => quotaBytes !== null)) return;
    const body = bodies.get(id) as Buffer;
    const spans = placesOfGone(body, request, kept);
    const freed = spans.reduce((sum, { size }) => sum + size - left.length, 0);
    if (freed < request.bytes * minShare) return;
    const moved = (offset: number): number =>
      spans.reduce(
        (at, span) => (span.offset < offset ? at - span.size + left.length : at),
        offset,
      );
    putBody.run(without(spans, body), id);
    bodies.remove(id);
    for (const message of kept) putOffset.run(moved(message.offset), message.id);
    for (const { id: message, documented, full } of payloads.all(request))
      putPayload.run(withMovedPart(documented, moved), withMovedPart(full, moved), message);
    for (const { id: message, properties } of events.all(request))
      putProperties.run(withMovedPlace(properties, moved), message);
  };
}

/** Those that are not `null` yet. What is over the limit of a batch is its last message. */
function placesOfGone(body: Buffer, { first, end }: Request, kept: readonly Left[]): Place[] {
  const ids = new Set(kept.map(({ id }) => id));
  const items = measureJson(body).batch ?? [];
  const places = items.slice(0, end - first).map(({ start, end: itemEnd }, place) => {
    const isLast = first + place === end - 1;
    return { offset: start, size: (isLast ? (items.at(-1)?.end ?? 0) : itemEnd) - start };
  });
  return places.filter(({ size }, place) => size > left.length && !ids.has(first + place));
}

function without(spans: readonly Place[], body: Buffer): Buffer {
  let from = 0;
  const pieces = spans.flatMap(({ offset, size }) => {
    const before = body.subarray(from, offset);
    from = offset + size;
    return [before, left];
  });
  return Buffer.concat([...pieces, body.subarray(from)]);
}
