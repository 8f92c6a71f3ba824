/**
 * Messages that have a delivery to some destinations, newest first. Deliveries are in the order of
 * their messages, except batches: those are found by their messages.
 */

import { mappedShape } from "./codes.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import type { Db } from "./transactions.ts";

/** Deliveries of one state that are read at once: a page. */
const readAtOnce = 128;

/** Ids of messages that are looked through at once for parts of batches: some milliseconds' work. */
const partsAtOnce = 2048;

const isBatch = `shape = ${mappedShape} AND EXISTS (SELECT 1 FROM mapped_requests AS r
  WHERE r.delivery_id = deliveries.id AND r.batch_key IS NOT NULL)`;

export function deliveredTo(db: Db, mapped: MappedRequests) {
  const states = db.prepare<[], { destination: number; state: number }>(
    "SELECT destination_id AS destination, state FROM delivery_counts WHERE n > 0",
  );
  const total = db
    .prepare<[number], number>(
      "SELECT coalesce(sum(n), 0) FROM delivery_counts WHERE destination_id = ?",
    )
    .pluck();
  const firstFrom = db
    .prepare<[number], number>(
      `SELECT id FROM deliveries WHERE message_id >= ? AND NOT (${isBatch}) ORDER BY message_id, id LIMIT 1`,
    )
    .pluck();
  const newest = db.prepare<[number, number, number], { id: number; message: number }>(
    `SELECT id, message_id AS message FROM deliveries INDEXED BY deliveries_by_state
     WHERE destination_id = ? AND state = ? AND id < ? AND NOT (${isBatch}) ORDER BY id DESC LIMIT ${readAtOnce}`,
  );
  const destinationOf = db
    .prepare<[number], number>("SELECT destination_id FROM webhooks WHERE id = ?")
    .pluck();
  const partRange = db.prepare<[], { first: number | null; last: number | null }>(
    `SELECT (SELECT min(message_id) FROM batch_parts INDEXED BY batch_parts_by_message WHERE message_id IS NOT NULL) AS first,
            (SELECT max(message_id) FROM batch_parts INDEXED BY batch_parts_by_message WHERE message_id IS NOT NULL) AS last`,
  );
  const parts = db.prepare<[number, number], { message: number; destination: number }>(
    `SELECT batch_parts.message_id AS message, destination_id AS destination
     FROM batch_parts INDEXED BY batch_parts_by_message CROSS JOIN deliveries ON deliveries.id = delivery_id
     WHERE batch_parts.message_id >= ? AND batch_parts.message_id < ? ORDER BY batch_parts.message_id DESC`,
  );

  function* singly(wanted: ReadonlySet<number>, before: number): Generator<number[]> {
    const from = states.all().filter(({ destination }) => wanted.has(destination));
    let bound = firstFrom.get(before) ?? Number.MAX_SAFE_INTEGER;
    let last = before;
    for (;;) {
      const read = from.map(({ destination, state }) => newest.all(destination, state, bound));
      // Below this one, a state may have deliveries that were not read.
      const floor = Math.max(
        0,
        ...read.map((rows) => (rows.length < readAtOnce ? 0 : (rows.at(-1)?.id ?? 0))),
      );
      const messages = read.flatMap((rows) =>
        rows.flatMap(({ id, message }) => (id >= floor && message < last ? [message] : [])),
      );
      const ids = [...new Set(messages)].sort((a, b) => b - a);
      last = ids.at(-1) ?? last;
      yield ids;
      if (floor === 0) return;
      bound = floor;
    }
  }

  function* inBatches(wanted: ReadonlySet<number>, before: number): Generator<number[]> {
    const { first, last } = partRange.get() as { first: number | null; last: number | null };
    if (first === null || last === null) return;
    for (let end = Math.min(before, last + 1); end > first; end -= partsAtOnce) {
      const found = parts.all(end - partsAtOnce, end);
      yield [
        ...new Set(
          found.flatMap(({ message, destination }) => (wanted.has(destination) ? [message] : [])),
        ),
      ];
    }
  }

  return {
    count: (destination: number) => total.get(destination) as number,
    /** Null when one of the webhooks is gone, and its destination with it. */
    destinationsOf(webhooks: readonly number[]): number[] | null {
      const ids = webhooks.flatMap((id) => destinationOf.get(id) ?? []);
      return ids.length === webhooks.length ? [...new Set(ids)] : null;
    },
    to(destinations: readonly number[], before: number): Iterable<number[]> {
      const wanted = new Set(destinations);
      const single = singly(wanted, before);
      return mapped.hasBatches ? together(single, inBatches(wanted, before)) : single;
    },
  };
}

type Stream = { from: Iterator<number[], void>; ids: number[]; isOver: boolean };

/** Two descending streams as one. */
function* together(...streams: Iterator<number[], void>[]): Generator<number[]> {
  const all = streams.map((from): Stream => ({ from, ids: [], isOver: false }));
  for (;;) {
    for (const stream of all) {
      while (!stream.isOver && stream.ids.length === 0) {
        const next = stream.from.next();
        if (next.done === true) stream.isOver = true;
        else if (next.value.length > 0) stream.ids = next.value;
        else yield [];
      }
    }
    if (all.every(({ ids }) => ids.length === 0)) return;
    const floor = Math.max(0, ...all.map(({ ids, isOver }) => (isOver ? 0 : (ids.at(-1) ?? 0))));
    const found = all.flatMap(({ ids }) => ids.filter((id) => id >= floor));
    for (const stream of all) stream.ids = stream.ids.filter((id) => id < floor);
    yield [...new Set(found)].sort((a, b) => b - a);
  }
}
