/**
 * The list of messages, newest first, and one message with everything that resulted from it.
 *
 * A walk goes from the newest message back, a stretch of ids at a time, along what the filter
 * offers (`message-walk.ts`). The page then reads the rows of what was found and keeps those that
 * match every condition. A walk may go far: now and then the event loop has a turn.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type {
  MessageDetails,
  MessageFilter,
  MessageSummary,
  Page,
  QueryStore,
} from "../engine/ports.ts";
import { nextTurn } from "../engine/real-time.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import type { MessageFacts } from "./message-facts.ts";
import { createMessageReader, type MessageRow } from "./message-rows.ts";
import { createTextSearch, searchedColumns, type SearchedRow } from "./message-text.ts";
import { createWalks, type Walk } from "./message-walk.ts";
import type { Db } from "./transactions.ts";
import { stateCode } from "./codes.ts";
import type { Postings } from "./postings.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/**
 * What is read for a total alone, where rows or bytes have to be looked at: some milliseconds'
 * work.
 */
const maxCountedRows = 1000;
const maxCountedBytes = 512 * 1024;

/** Rows of one read. */
const readAtOnce = 128;

/**
 * Pieces of a walk between two turns of the event loop: a block of kinds, facts or postings that is
 * read for the first time takes some milliseconds.
 */
const piecesPerTurn = 4;

/**
 * A row of the list has a mark for each attempt: after so many the event loop has a turn, and with
 * the message that brings them to the other number the page ends.
 */
const marksPerTurn = 5000;
const maxMarksOfPage = 100_000;

type MessageQueries = Pick<
  QueryStore,
  "messages" | "message" | "decisionAt" | "messageSource" | "pin" | "unlikeHosted"
>;

/** How many of the newest messages are looked at for what differs from the hosted service. */
const lintedMessages = 5000;

type Sources = {
  db: Db;
  mapped: MappedRequests;
  postings: Postings;
  facts: MessageFacts;
};

/** `most`: rows of a page. */
type Look = { before: number; most: number; counts: boolean };
type Found = { rows: MessageRow[]; counted: number; isPartial: boolean };

export function createMessageQueries(sources: Sources): MessageQueries {
  const { db, mapped } = sources;
  const reader = createMessageReader(db, mapped);
  const text = createTextSearch(sources);
  const walks = createWalks({ ...sources, text });
  const byId = db.prepare<[number], MessageRow>("SELECT * FROM messages WHERE id = ?");
  const decision = db.prepare<[number, number], { reason: string }>(
    "SELECT reason FROM decisions WHERE message_id = ? AND destination_id = ?",
  );

  /** Reads rows, those that match every condition, newest first; or counts them. */
  function reading({ condition: { sql, values }, words, without }: Walk) {
    const prepared = <Row>(columns: string) =>
      db.prepare<unknown[], Row>(
        `SELECT ${columns} FROM messages WHERE id IN (SELECT value FROM json_each(?)) AND ${sql}`,
      );
    const found = prepared<MessageRow>("*");
    const hasWords = words.length + without.length > 0;
    const counted = hasWords ? null : prepared<number>("count(*)").pluck();
    const searched = hasWords ? prepared<SearchedRow>(searchedColumns) : null;
    const carrying = <Row extends SearchedRow>(rows: Row[]): Row[] => {
      rows.sort((a, b) => b.id - a.id);
      return hasWords ? text.among(rows, words, without) : rows;
    };
    return {
      rows: (ids: number[]) => carrying(found.all(JSON.stringify(ids), ...values)),
      count: (ids: number[]): number =>
        counted?.get(JSON.stringify(ids), ...values) ??
        carrying(searched?.all(JSON.stringify(ids), ...values) ?? []).length,
    };
  }

  /**
   * One walk finds the rows of a page, and one more where there are more, and counts: exactly up to
   * one above the cap, unless too much would have to be read for it.
   */
  async function look(filter: MessageFilter, { before, most, counts }: Look): Promise<Found> {
    const walk = walks(filter);
    const matching = reading(walk);
    const rows: MessageRow[] = [];
    const spent = { bytes: 0 };
    let counted = 0;
    let read = 0;
    let isPartial = false;
    let isCounting = counts && walk.total === null;
    const isFull = (): boolean => rows.length >= most;
    const maxPiece = (): number => (walk.isExact && isFull() ? Infinity : readAtOnce);
    for await (const ids of inPieces(walk.from(before, spent), maxPiece)) {
      const found = isFull() ? null : matching.rows(ids);
      rows.push(...(found ?? []));
      if (isCounting) {
        counted += walk.isExact ? ids.length : (found?.length ?? matching.count(ids));
        read += walk.isExact ? 0 : ids.length;
        isPartial = read > maxCountedRows || spent.bytes > maxCountedBytes;
        isCounting = counted <= totalCap && !isPartial;
      }
      if (isFull() && !isCounting) break;
    }
    if (counts && !isFull()) return { rows, counted: rows.length, isPartial: false };
    return { rows, counted: walk.total === null ? counted : walk.total(), isPartial };
  }

  return {
    unlikeHosted: lint(db, reader),
    async messages(filter, limit, before): Promise<Page<MessageSummary, MessageRowId>> {
      const start = Number.MAX_SAFE_INTEGER;
      const counts = before === null;
      const page = await look(filter, { before: before ?? start, most: limit + 1, counts });
      const rows = page.rows.slice(0, limit);
      const more = page.rows.length > limit;
      const items = await summariesOf(rows, reader);
      const all = counts ? page : await look(filter, { before: start, most: 0, counts: true });
      // At least what is on the page, where counting ended early.
      const counted = Math.max(all.counted, rows.length);
      return {
        items,
        nextCursor: more || items.length < rows.length ? (items.at(-1)?.id ?? null) : null,
        total: Math.min(counted, totalCap),
        totalCapped: all.isPartial || counted > totalCap,
      };
    },

    message(id): MessageDetails | null {
      const row = byId.get(id);
      return row === undefined ? null : reader.details(row);
    },

    decisionAt: (id, destination) => decision.get(id, destination) ?? null,
    messageSource(id) {
      const row = byId.get(id);
      if (row === undefined) return null;
      const { offset, size, state } = row;
      const timestamp = state === stateCode("rejected") ? null : row.timestamp;
      return { request: reader.request(row), span: { offset, size }, timestamp };
    },

    pin: (id, pinned) =>
      db.prepare("UPDATE messages SET pinned = ? WHERE id = ?").run(pinned ? 1 : 0, id).changes > 0,
  };
}

/** As the list shows them: all, unless they have very many attempts. */
async function summariesOf(
  rows: readonly MessageRow[],
  reader: ReturnType<typeof createMessageReader>,
): Promise<MessageSummary[]> {
  const items: MessageSummary[] = [];
  let marks = 0;
  let inTurn = 0;
  for (const row of rows) {
    if (inTurn >= marksPerTurn) {
      await nextTurn();
      inTurn = 0;
    }
    items.push(reader.summary(row));
    marks += row.attempts;
    inTurn += row.attempts;
    if (marks >= maxMarksOfPage) break;
  }
  return items;
}

/** Of the newest messages, those that the hosted service would treat differently. */
function lint(db: Db, reader: ReturnType<typeof createMessageReader>): QueryStore["unlikeHosted"] {
  const newest = db.prepare<[], number | null>("SELECT max(id) FROM messages").pluck();
  const miscased = db.prepare<[number], MessageRow>(
    `SELECT * FROM messages WHERE id IN (
       SELECT message_id FROM decisions WHERE message_id > ? AND warnings LIKE '%case-sensitive%'
     ) ORDER BY id DESC LIMIT 3`,
  );
  const longIds = db.prepare<[number, number], MessageRow>(
    "SELECT * FROM messages WHERE id > ? AND length(message_id) >= ? ORDER BY id DESC LIMIT 3",
  );
  return (longId) => {
    const after = (newest.get() ?? 0) - lintedMessages;
    return {
      miscased: miscased.all(after).map(reader.summary),
      longIds: longIds.all(after, longId).map(reader.summary),
    };
  };
}

/** Pieces of so many ids at most, with a turn of the event loop now and then. */
async function* inPieces(
  stretches: Iterable<number[]> | AsyncIterable<number[]>,
  maxPiece: () => number,
): AsyncGenerator<number[]> {
  let pieces = 0;
  for await (const ids of stretches) {
    for (let from = 0; from === 0 || from < ids.length;) {
      const piece = ids.slice(from, from + maxPiece());
      yield piece;
      from += piece.length === 0 ? 1 : piece.length;
      pieces += 1;
      if (pieces % piecesPerTurn === 0) await nextTurn();
    }
  }
}
