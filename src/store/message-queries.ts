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

/** A filter's kinds with fewer messages than this are walked beside its postings: an id costs less there than a row does. */
const fewEnoughToIntersect = 50_000;

/** Bytes of requests searched between two turns. */
const sliceBytes = 4 * 1024 * 1024;

type Kind = { source_id: number; type: number; state: number; n: number };

type Candidates = Iterable<number> | AsyncIterable<number>;

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

  /** The walk of one filter, and how many rows it would find where that is known without walking. */
  function walk(filter: MessageFilter, before: number): { candidates: Candidates; total: number | null } {
    const rows = rowFilter(filter);
    const all = kinds.all();
    const matching = all.filter(rows.matchesKind);
    const total = matching.reduce((sum, kind) => sum + kind.n, 0);
    const fewOfKind = matching.length < all.length && total < fewEnoughToIntersect;
    const narrowed = (ids: Generator<number>): Candidates => (fewOfKind ? common(ids, merged(rows, before)) : ids);
    if (filter.userId !== undefined) return { candidates: narrowed(posted("users", filter.userId, before)), total: null };
    if (filter.event !== undefined) return { candidates: narrowed(posted("events", filter.event, before)), total: null };
    if (filter.search !== undefined) return { candidates: matchingText(filter.search, before), total: null };
    const candidates = matching.length === all.length ? everything(before) : merged(rows, before);
    const byKindAlone = filter.reason === undefined && filter.status === undefined && filter.attempts === undefined;
    return { candidates, total: byKindAlone ? total : null };
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

  /** One walk per combination, each ordered by the index, merged a stretch at a time: between two of them messages change their state. */
  function* merged(rows: RowFilter, before: number): Generator<number> {
    for (let from = before, step = 64; ; step = slice) {
      const matching = kinds.all().filter(rows.matchesKind);
      const stretch = matching.flatMap(({ source_id, type, state }) => newestOfKind.all(source_id, type, state, from, step));
      stretch.sort((a, b) => b - a);
      const ids = stretch.slice(0, step);
      yield* ids;
      if (ids.length < step) return;
      from = ids.at(-1) ?? 0;
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
    const isOne = (id: number): boolean => {
      if (byPostings && byKind) {
        const kind = kindOf.get(id);
        return kind !== undefined && rows.matchesKind(kind);
      }
      const row = byId.get(id);
      return row !== undefined && matches(row, rows, filter);
    };
    let counted = 0;
    for await (const ids of inSlices(walk(filter, Number.MAX_SAFE_INTEGER).candidates)) {
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
