/**
 * The list of messages, newest first, and one message with all that came of it.
 *
 * A page walks candidates from the newest back and keeps those that match every condition. Where the candidates come from
 * depends on the filter: postings for a user or an event, the bytes of the requests for free text, else the
 * index on (source, type, state), one walk per combination that has messages, merged. Walks that may go far
 * give the event loop a turn after each slice.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type { MessageDetails, MessageFilter, MessageSummary, OneOrMany, Page, QueryStore } from "../engine/ports.ts";
import { carriesText, includesText, rowFilter, valuesOf, type RowFilter } from "./message-filter.ts";
import { createMessageReader, type MessageRow } from "./message-rows.ts";
import type { Db } from "./open.ts";
import type { PostingField, Postings } from "./postings.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** Rows or requests looked at between two turns of the event loop: a few milliseconds' worth. */
const slice = 1000;

/** Values with more postings than this are walked beside the filter's kinds: an id costs less there than a row does. */
const manyPostings = 5000;

/** Ids that a walk over kinds takes at once when it goes far: a millisecond's work or two. */
const longestStretch = 4096;

/** Bytes of requests searched between two turns. */
const sliceBytes = 4 * 1024 * 1024;

type Kind = { source_id: number; type: number; state: number; n: number };

type Candidates = Iterable<number> | AsyncIterable<number>;

/** The walk of one filter. */
type Walk = {
  candidates: Candidates;
  /** How many rows it would find, where that is known without walking. */
  total: number | null;
  /** Whether all candidates are of the kinds that the filter names. */
  isOfKind: boolean;
};

export function createMessageQueries(db: Db, postings: Postings): Pick<QueryStore, "messages" | "message" | "messageSource" | "pin"> {
  const reader = createMessageReader(db);
  const byId = db.prepare<[number], MessageRow>("SELECT * FROM messages WHERE id = ?");
  const kindOf = db.prepare<[number], Omit<Kind, "n">>("SELECT source_id, type, state FROM messages WHERE id = ?");
  const kinds = db.prepare<[], Kind>("SELECT source_id, type, state, n FROM message_counts WHERE n > 0");
  const newest = db.prepare<[number, number], number>("SELECT id FROM messages WHERE id < ? ORDER BY id DESC LIMIT ?").pluck();
  const newestOfKind = db
    .prepare<[number, number, number, number, number], number>(
      `SELECT id FROM messages INDEXED BY messages_by_kind
     WHERE source_id = ? AND type = ? AND state = ? AND id < ? ORDER BY id DESC LIMIT ?`,
    )
    .pluck();

  const requestBefore = db.prepare<[number], number>("SELECT request_id FROM messages WHERE id < ? ORDER BY id DESC LIMIT 1").pluck();
  const requestsUpTo = db.prepare<[number], { id: number; first_message: number; messages: number; size: number }>(
    `SELECT id, first_message, messages, length(body) AS size FROM requests WHERE id <= ? ORDER BY id DESC LIMIT ${slice}`,
  );
  const bodyOf = db.prepare<[number], Buffer>("SELECT body FROM requests WHERE id = ?").pluck();
  const span = db.prepare<[number, number], MessageRow>("SELECT * FROM messages WHERE id >= ? AND id < ? ORDER BY id DESC");

  /** Ids found by a whole message id too, which need not be in the bytes: Hookyard makes one where the client sent none. */
  async function* matchingText(needle: string, before: number): AsyncGenerator<number> {
    const named = [...postings.candidates("message_ids", needle, before)].filter((id) => byId.get(id)?.message_id === needle);
    for await (const id of inBytes(needle, before)) {
      while ((named[0] ?? 0) > id) yield named.shift() ?? 0;
      if (named[0] === id) named.shift();
      yield id;
    }
    yield* named;
  }

  async function* inBytes(needle: string, before: number): AsyncGenerator<number> {
    const wanted = needle.toLowerCase();
    for (let from = requestBefore.get(before), bytes = 0; from !== undefined;) {
      const found = requestsUpTo.all(from);
      for (const request of found) {
        from = request.id - 1;
        const text = bodyOf.get(request.id);
        if (text !== undefined && includesText(text, wanted)) {
          for (const row of span.all(request.first_message, Math.min(before, request.first_message + request.messages))) {
            if (carriesText(row, text, wanted)) yield row.id;
          }
        }
        bytes += request.size;
        if (bytes > sliceBytes) {
          bytes = 0;
          await nextTurn();
        }
      }
      if (found.length < slice) return;
      await nextTurn();
    }
  }

  function walk(filter: MessageFilter, before: number): Walk {
    const rows = rowFilter(filter);
    const all = kinds.all();
    const matching = all.filter(rows.matchesKind);
    const total = matching.reduce((sum, kind) => sum + kind.n, 0);
    const [field, value] = filter.userId !== undefined ? (["users", filter.userId] as const) : (["events", filter.event] as const);
    if (value !== undefined) {
      const ids = posted(field, value, before);
      const beside = matching.length < all.length && valuesOf(value).some((each) => postings.isMoreThan(manyPostings, field, each));
      return {
        candidates: beside ? common(ids, merged(rows, before)) : ids,
        total: null,
        isOfKind: beside || matching.length === all.length,
      };
    }
    if (filter.search !== undefined) return { candidates: matchingText(filter.search, before), total: null, isOfKind: false };
    const candidates = matching.length === all.length ? everything(before) : merged(rows, before);
    const byKindAlone = filter.reason === undefined && filter.status === undefined && filter.attempts === undefined;
    return { candidates, total: byKindAlone ? total : null, isOfKind: true };
  }

  /** Candidates of any of several values, each id once, newest first. */
  function* posted(field: PostingField, value: OneOrMany<string>, before: number): Generator<number> {
    const walks = valuesOf(value).map((each) => postings.candidates(field, each, before));
    const heads = walks.map((each) => each.next());
    for (let last = before; ;) {
      let newestHead = -1;
      for (const [place, head] of heads.entries()) {
        const best = heads[newestHead];
        if (head.done !== true && (best === undefined || best.done === true || head.value > best.value)) newestHead = place;
      }
      const head = heads[newestHead];
      const next = walks[newestHead]?.next();
      if (head === undefined || head.done === true || next === undefined) return;
      heads[newestHead] = next;
      if (head.value !== last) yield head.value;
      last = head.value;
    }
  }

  /** The free text too, where another walk than its own has found the row. */
  function matches(row: MessageRow, rows: RowFilter, filter: MessageFilter): boolean {
    if (!rows.matchesRow(row)) return false;
    if (filter.search === undefined || (filter.userId === undefined && filter.event === undefined)) return true;
    const body = bodyOf.get(row.request_id);
    return body !== undefined && carriesText(row, body, filter.search.toLowerCase());
  }

  function* everything(before: number): Generator<number> {
    for (let from = before, step = 64; ; step = slice) {
      const ids = newest.all(from, step);
      yield* ids;
      if (ids.length < step) return;
      from = ids.at(-1) ?? 0;
    }
  }

  /**
   * One walk per combination, each ordered by the index, merged a stretch at a time: between two of them messages change
   * their state. Of each combination comes its share of the stretch; what lies below the newest of their ends is left to the next one.
   */
  function* merged(rows: RowFilter, before: number): Generator<number> {
    for (let from = before, step = 64; ; step = Math.min(step * 8, longestStretch)) {
      const matching = kinds.all().filter(rows.matchesKind);
      const total = matching.reduce((sum, kind) => sum + kind.n, 0);
      let end = 0;
      const stretch = matching.flatMap(({ source_id, type, state, n }) => {
        const share = Math.ceil((step * n) / total) + 16;
        const ids = newestOfKind.all(source_id, type, state, from, share);
        if (ids.length === share) end = Math.max(end, ids.at(-1) ?? 0);
        return ids;
      });
      yield* stretch.filter((id) => id >= end).sort((a, b) => b - a);
      if (end === 0) return;
      from = end;
    }
  }

  return {
    async messages(filter, limit, before): Promise<Page<MessageSummary, MessageRowId>> {
      const { candidates, total } = walk(filter, before ?? Number.MAX_SAFE_INTEGER);
      const rows = rowFilter(filter);
      const items: MessageSummary[] = [];
      let more = false;
      let looked = 0;
      for await (const id of candidates) {
        const row = byId.get(id);
        if (row !== undefined && matches(row, rows, filter)) {
          if (items.length === limit) {
            more = true;
            break;
          }
          items.push(reader.summary(row));
        }
        looked += 1;
        if (looked % slice === 0) await nextTurn();
      }
      const counted = total ?? (await count(filter));
      return {
        items,
        nextCursor: more ? (items.at(-1)?.id ?? null) : null,
        total: Math.min(counted, totalCap),
        totalCapped: counted > totalCap,
      };
    },

    message(id): MessageDetails | null {
      const row = byId.get(id);
      return row === undefined ? null : reader.details(row);
    },

    messageSource(id) {
      const row = byId.get(id);
      const request = row === undefined ? null : reader.request(row);
      return row === undefined || request === null ? null : { request, span: { offset: row.offset, size: row.size } };
    },

    pin: (id, pinned) => db.prepare("UPDATE messages SET pinned = ? WHERE id = ?").run(pinned ? 1 : 0, id).changes > 0,
  };

  /**
   * Where postings and kinds are all that is asked, rows are not read: 40 bits of hash tell a million values apart, and
   * the three columns of the kind are enough for the rest.
   */
  async function count(filter: MessageFilter): Promise<number> {
    const rows = rowFilter(filter);
    const { userId, event, search, reason, status, attempts } = filter;
    const byPostings = (userId === undefined) !== (event === undefined) && search === undefined;
    const byKind = reason === undefined && status === undefined && attempts === undefined;
    const { candidates, isOfKind } = walk(filter, Number.MAX_SAFE_INTEGER);
    const isOne = (id: number): boolean => {
      if (byPostings && byKind) {
        if (isOfKind) return true;
        const kind = kindOf.get(id);
        return kind !== undefined && rows.matchesKind(kind);
      }
      const row = byId.get(id);
      return row !== undefined && matches(row, rows, filter);
    };
    let counted = 0;
    for await (const ids of inSlices(candidates)) {
      for (const id of ids) {
        if (isOne(id)) counted += 1;
        if (counted > totalCap) return counted;
      }
      await nextTurn();
    }
    return counted;
  }
}

/** A walk in slices: a promise for each single id would cost more than the id. */
async function* inSlices(candidates: Candidates): AsyncGenerator<number[]> {
  let ids: number[] = [];
  if (Symbol.asyncIterator in candidates) {
    for await (const id of candidates) {
      ids.push(id);
      if (ids.length < slice) continue;
      yield ids;
      ids = [];
    }
  } else {
    for (const id of candidates) {
      ids.push(id);
      if (ids.length < slice) continue;
      yield ids;
      ids = [];
    }
  }
  if (ids.length > 0) yield ids;
}

/** What two walks, both newest first, have in common. */
function* common(first: Generator<number>, second: Generator<number>): Generator<number> {
  let a = first.next();
  let b = second.next();
  while (a.done !== true && b.done !== true) {
    if (a.value === b.value) {
      yield a.value;
      a = first.next();
      b = second.next();
    } else if (a.value > b.value) a = first.next();
    else b = second.next();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
