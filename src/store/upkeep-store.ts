/**
 * Retention and reset. Messages go oldest first, with everything that resulted from them; what
 * still moves, what is pinned, and what is not in the profiles yet stays. Of a profile only the
 * event goes that the message was.
 */

import { randomUUID } from "node:crypto";
import { deliveryStates, isSettled } from "../domain/states.ts";
import type { UpkeepStore } from "../engine/store-ports.ts";
import { wallClockNow } from "../engine/real-time.ts";
import { deliveryStateAt, stateCode, typeCode } from "./codes.ts";
import type { Counts } from "./counts.ts";
import {
  deliveriesOfMessage,
  removingFromBatches,
  type MappedRequests,
} from "./mapped-requests.ts";
import type { MessageKind } from "./message-facts.ts";
import { shrinkingRequests } from "./partial-requests.ts";
import type { Postings } from "./postings.ts";
import type { RequestBodies } from "./request-bodies.ts";
import type { Transactions, Db } from "./transactions.ts";

type Old = MessageKind & {
  id: number;
  request_id: number;
  offset: number;
  quotaBytes: number | null;
};

const oldColumns =
  "id, request_id, offset, source_id AS sourceId, type, state, quota_bytes AS quotaBytes";

const deleteType = typeCode("delete");
const movingStates: ReadonlySet<number> = new Set(
  deliveryStates.filter((state) => !isSettled(state)).map(stateCode),
);

/** How many messages that have to stay are passed over at once: some milliseconds' work. */
const maxPassedOver = 5000;

/**
 * A call ends with the message that brings what it removes to this many deliveries and attempts,
 * some 50 ms: one with two hundred destinations takes as long as two hundred others.
 */
const maxRows = 2500;

/** Free pages that stay in the file in any case, 4 MB: new messages take them soon. */
const keptFree = 1000;

/**
 * The file begins to shrink when a quarter of it is free, and stops at an eighth. With one limit
 * for both, retention in steady use would shrink it and make it grow again with every slice.
 */
const tooFree = 1 / 4;
const freeEnough = 1 / 8;

/**
 * When the messages take less than a tenth of the allowed size, something else fills the file, and
 * removing the newest would not help. Many deliveries of these are counted in some milliseconds.
 */
const keptNewest = 1000;
const keptShare = 1 / 10;

/** Of a message, its request, and each attempt, beside their bodies. */
const bytesOfRow = 2000;

/** Between two turns: their bodies are written again where accepted messages are left in them. */
const maxBatches = 50;

const recordTables = [
  "requests",
  "messages",
  "message_counts",
  "postings",
  "posting_segments",
  "posting_pieces",
  "decisions",
  "payloads",
  "filtered",
  "mapped_requests",
  "batch_parts",
  "deliveries",
  "delivery_counts",
  "attempts",
  "transitions",
  "unknown_key_requests",
  "computed_values",
  "computed_counts",
  "deletions",
  "deletion_users",
  "deletion_messages",
  "suppressions",
];
const profileTables = [
  "profiles",
  "identities",
  "profile_traits",
  "profile_emails",
  "profile_events",
  "groups",
  "profile_groups",
  "profile_history",
  "seen_names",
];
const configurationTables = [
  ...["sources", "webhooks", "destinations", "endpoints", "retry_profiles", "clients"],
  ...["audiences", "computed_traits"],
];

type RemovingOptions = {
  db: Db;
  bodies: RequestBodies;
  counts: Counts;
  postings: Postings;
  mapped: MappedRequests;
};

export function createUpkeepStore({
  db,
  bodies,
  counts,
  postings,
  mapped,
  transactions,
  health,
}: RemovingOptions & {
  transactions: Transactions;
  health: { shortened(): void };
}): Omit<UpkeepStore, "prepareLookups"> {
  const accepted = db
    .prepare<[], number>(
      `SELECT coalesce(sum(n), 0) FROM message_counts WHERE state NOT IN (${stateCode("rejected")}, ${stateCode("duplicate")})`,
    )
    .pluck();
  const usedBytes = db
    .prepare<[], number>(
      "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size",
    )
    .pluck();
  const freePages = db.prepare<[], { free: number; pages: number }>(
    "SELECT freelist_count AS free, page_count AS pages FROM pragma_freelist_count, pragma_page_count",
  );
  const unknownKeyBytes = db
    .prepare<[], number>(
      "SELECT coalesce(sum(length(body) + length(headers) + length(path)), 0) FROM unknown_key_requests",
    )
    .pluck();
  const oldest = db.prepare<[number, number], Old>(
    `SELECT ${oldColumns} FROM messages
     WHERE id > ? AND id <= CAST((SELECT value FROM meta WHERE key = 'followed') AS INTEGER) AND pinned = 0 ORDER BY id LIMIT ?`,
  );
  const newest = db
    .prepare<{ limit: number }, number>(
      `SELECT ${bytesOfRow} + size + (
         SELECT coalesce(sum(${bytesOfRow} + coalesce(length(response_body), 0)), 0) FROM deliveries
         JOIN attempts ON attempts.delivery_id = deliveries.id WHERE deliveries.message_id = messages.id
       ) FROM messages WHERE quota_bytes IS NULL AND id > (SELECT max(id) FROM messages) - 10 * @limit
       ORDER BY id DESC LIMIT @limit`,
    )
    .pluck();
  const wallAt = db.prepare<[number], number>("SELECT wall_at FROM requests WHERE id = ?").pluck();
  const removal = removing({ db, bodies, counts, postings, mapped });

  /** Where the last pass stopped: messages before it are pinned or still moving. */
  let passed = 0;
  const place = { rollback: () => void (passed = 0) };
  let isShrinking = false;
  transactions.onReload(place.rollback);

  /** Whether the file holds more than it may, beside what was not accepted. */
  function createSizeTest(maxBytes: number | null): () => boolean {
    if (maxBytes === null) return () => false;
    const unknown = unknownKeyBytes.get() as number;
    return () => (usedBytes.get() as number) - counts.rejectedBytes() - unknown > maxBytes;
  }

  /** How many messages may go because the file is too large. */
  function removableForSize(maxBytes: number): number {
    const all = accepted.get() as number;
    if (all > 2 * keptNewest) return all - keptNewest;
    let bytes = 0;
    let kept = 0;
    for (const size of newest.iterate({ limit: keptNewest })) {
      bytes += size;
      if (bytes > maxBytes * keptShare) break;
      kept += 1;
    }
    return Math.max(0, all - kept);
  }

  type Excess = {
    count: number;
    removableForSize: number;
    isTooLarge: () => boolean;
    olderThanWall: number | null;
  };

  const remove = transactions.wrap(
    ({ count, removableForSize: removable, isTooLarge, olderThanWall }: Excess, limit: number) => {
      transactions.changes(place);
      const now = wallClockNow();
      const removed: Old[] = [];
      let acceptedRemoved = 0;
      let rows = 0;
      let more = true;
      /** Null when it has to be asked. */
      let tooLarge: boolean | null = null;
      for (
        let passedOver = 0;
        more && removed.length === 0 && passedOver < maxPassedOver && rows < maxRows;
        passedOver += limit
      ) {
        const messages = oldest.all(passed, limit);
        more = messages.length === limit;
        for (const message of messages) {
          if (rows >= maxRows) {
            more = true;
            break;
          }
          const tooMany =
            acceptedRemoved < count || (acceptedRemoved < removable && (tooLarge ??= isTooLarge()));
          const arrivedAt =
            olderThanWall === null ? null : (wallAt.get(message.request_id) as number);
          const tooOld = arrivedAt !== null && arrivedAt < (olderThanWall as number);
          // It arrived while the machine's clock was wrong, and newer ones may be too old.
          const isAhead = arrivedAt !== null && arrivedAt > now;
          if (!tooMany && !tooOld && !isAhead) {
            more = false;
            break;
          }
          passed = message.id;
          // What was not accepted has a quota of its own, and makes no room for the rest.
          const isAccepted = message.quotaBytes === null;
          if (!tooOld && !(tooMany && isAccepted)) continue;
          const removedRows = removal.removeWithAll(message);
          if (removedRows === null) continue;
          rows += removedRows;
          tooLarge = null;
          if (isAccepted) acceptedRemoved += 1;
          removed.push(message);
        }
      }
      removal.finish(removed);
      if (!more) passed = 0;
      return { removed: removed.length, more };
    },
  );

  return {
    removeOld({ maxMessages, maxBytes = null, olderThanWall }, limit) {
      const count =
        maxMessages === null ? 0 : Math.max(0, (accepted.get() as number) - maxMessages);
      const isTooLarge = createSizeTest(maxBytes);
      const removable = maxBytes !== null && isTooLarge() ? removableForSize(maxBytes) : 0;
      const full = maxBytes !== null && removable === 0 && isTooLarge() ? { isFull: true } : {};
      if (count === 0 && olderThanWall === null && removable === 0)
        return { removed: 0, more: false, ...full };
      const limits = { count, removableForSize: removable, isTooLarge, olderThanWall };
      return { ...remove(limits, limit), ...full };
    },
    ...quotaOfRejected({ db, counts, transactions, removal }),
    giveBack(limit) {
      const { free, pages } = freePages.get() as { free: number; pages: number };
      const spare = Math.floor(free - Math.max(keptFree, pages * freeEnough));
      isShrinking = spare > 0 && (isShrinking || free >= pages * tooFree);
      if (!isShrinking) return 0;
      db.exec(`PRAGMA incremental_vacuum(${Math.min(limit, spare)})`);
      health.shortened();
      return pages - (freePages.get() as { pages: number }).pages;
    },
    clearMessages: () => clear(db, transactions, [...recordTables, ...profileTables]),
    clearEverything: () =>
      clear(db, transactions, [...recordTables, ...profileTables, ...configurationTables]),
  };
}

type QuotaOptions = {
  db: Db;
  counts: Counts;
  transactions: Transactions;
  removal: ReturnType<typeof removing>;
};

/** Rejected and duplicate messages have a quota of their own. */
function quotaOfRejected({
  db,
  counts,
  transactions,
  removal,
}: QuotaOptions): Pick<UpkeepStore, "rejectedBytes" | "removeRejected"> {
  const oldestRejected = db.prepare<[number], Old>(
    `SELECT ${oldColumns} FROM messages
     WHERE quota_bytes IS NOT NULL AND pinned = 0 AND id < (SELECT max(id) FROM messages) ORDER BY id LIMIT ?`,
  );

  return {
    rejectedBytes: () => counts.rejectedBytes(),
    removeRejected: transactions.wrap((maxBytes: number, limit: number): number => {
      const removed: Old[] = [];
      const batches = new Set<number>();
      for (const message of oldestRejected.all(limit)) {
        if (counts.rejectedBytes() <= maxBytes || batches.size > maxBatches) break;
        if (removal.removeWithAll(message) === null) continue;
        removed.push(message);
        if (message.offset > 0) batches.add(message.request_id);
      }
      removal.finish(removed);
      return removed.length;
    }),
  };
}

/**
 * Removes messages with everything that belongs to them, inside a transaction; `finish` comes after
 * all of them.
 */
function removing({ db, bodies, counts, postings, mapped }: RemovingOptions) {
  type Delivery = { id: number; destination_id: number; state: number; shape: number };
  const deliveriesOf = db.prepare<[number], Delivery>(
    "SELECT id, destination_id, state, shape FROM deliveries WHERE message_id = ?",
  );
  const allDeliveriesOf = db.prepare<[number], Delivery>(deliveriesOfMessage);
  const batches = removingFromBatches(db, mapped);
  const removeAttempts = db.prepare("DELETE FROM attempts WHERE delivery_id = ?");
  const removeTransitions = db.prepare("DELETE FROM transitions WHERE delivery_id = ?");
  const removeDeliveries = db.prepare("DELETE FROM deliveries WHERE message_id = ?");
  const removeDecisions = db.prepare("DELETE FROM decisions WHERE message_id = ?");
  const removePayloads = db.prepare("DELETE FROM payloads WHERE message_id = ?");
  const removeFiltered = db.prepare("DELETE FROM filtered WHERE message_id = ?");
  const removeEvent = db
    .prepare<[number], number>("DELETE FROM profile_events WHERE id = ? RETURNING profile_id")
    .pluck();
  const countEvent = db.prepare<[number]>("UPDATE profiles SET events = events - 1 WHERE id = ?");
  const removeMessage = db.prepare("DELETE FROM messages WHERE id = ?");
  /** A deletion request keeps the state of a delete message that goes. */
  const keepState = db.prepare("UPDATE deletion_messages SET state = ? WHERE message_id = ?");
  const shrink = shrinkingRequests(db, bodies);
  const removeEmptyRequest = db.prepare(
    `DELETE FROM requests WHERE id = ? AND NOT EXISTS
       (SELECT 1 FROM messages WHERE messages.id >= first_message AND messages.id < first_message + requests.messages)`,
  );

  /**
   * Returns how many deliveries and attempts went with the message, or null for one that is still
   * moving: it stays.
   */
  function removeWithAll({ id, sourceId, type, state, quotaBytes }: Old): number | null {
    // A message has the state of the delivery that is furthest from its end.
    if (movingStates.has(state)) return null;
    const isMoving = ({ state: of }: Delivery): boolean => !isSettled(deliveryStateAt(of));
    if ((mapped.hasBatches ? allDeliveriesOf : deliveriesOf).all(id).some(isMoving)) return null;
    batches.leave(id);
    let rows = 0;
    for (const delivery of deliveriesOf.all(id)) {
      batches.removeDelivery(delivery);
      rows += 1 + removeAttempts.run(delivery.id).changes;
      removeTransitions.run(delivery.id);
      counts.delivery(delivery.destination_id, delivery.state, -1);
    }
    removeDeliveries.run(id);
    removeDecisions.run(id);
    removePayloads.run(id);
    removeFiltered.run(id);
    const profile = removeEvent.get(id);
    if (profile !== undefined) countEvent.run(profile);
    if (quotaBytes !== null) counts.rejected(-quotaBytes);
    removeMessage.run(id);
    if (type === deleteType) keepState.run(state, id);
    counts.message(id, { sourceId, type, state }, null);
    return rows;
  }

  function finish(removed: readonly Old[]): void {
    postings.remove(new Set(removed.map(({ id }) => id)));
    for (const [id, gone] of Map.groupBy(removed, ({ request_id }) => request_id))
      if (removeEmptyRequest.run(id).changes === 0) shrink(id, gone);
  }

  return { removeWithAll, finish };
}

function clear(db: Db, transactions: Transactions, tables: string[]): void {
  const isAll = tables.includes("sources");
  transactions.run(() => {
    for (const table of tables) db.exec(`DELETE FROM ${table}`);
    // What destinations were not sent is of values that are gone.
    for (const table of ["audiences", "computed_traits"])
      db.exec(
        `UPDATE ${table} SET body = json_remove(body, '$.skipped') WHERE body -> '$.skipped' IS NOT NULL`,
      );
    db.exec(
      `DELETE FROM meta WHERE key IN ('followed', 'removing', 'moving'${isAll ? ", 'demo'" : ""})`,
    );
    db.exec(`DELETE FROM sqlite_sequence ${isAll ? "" : "WHERE name = 'profiles'"}`);
    if (isAll) db.prepare("UPDATE meta SET value = ? WHERE key = 'data'").run(randomUUID());
    transactions.reload();
  });
}
