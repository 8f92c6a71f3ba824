/**
 * The list of messages, newest first, and one message with all that came of it.
 *
 * A page walks candidates from the newest back and keeps those that match every condition. Where the candidates come from
 * depends on the filter: postings for a user or an event, the bytes of the requests for free text, else the
 * index on (source, type, state), one walk per combination that has messages, merged. Walks that may go far
 * give the event loop a turn after each slice.
 */

import type { DestinationId, MessageRowId, RequestId, SourceId } from "../domain/ids.ts";
import type { Decision, MessageDetails, MessageFilter, MessageSummary, Page, QueryStore } from "../engine/ports.ts";
import { messageStateAt, shapeAt, stateCode, typeAt, typeCode } from "./codes.ts";
import type { Db } from "./open.ts";
import { deliveriesOfMessage } from "./delivery-queries.ts";
import type { Postings } from "./postings.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** Rows or requests looked at between two turns of the event loop: a few milliseconds' worth. */
const slice = 1000;

/** Bytes of requests searched between two turns. */
const sliceBytes = 4 * 1024 * 1024;

type MessageRow = {
  id: number;
  request_id: number;
  offset: number;
  size: number;
  message_id: string;
  source_id: number;
  type: number;
  state: number;
  user_id: string | null;
  anonymous_id: string | null;
  event: string | null;
  received_at: number;
  timestamp: number;
  reason: string | null;
  extra: string | null;
  attempts: number;
  last_status: number | null;
  pinned: number;
};

type Extra = { warnings?: string[]; detail?: string; duplicateOf?: number; replayOf?: number };

type Kind = { source_id: number; type: number; state: number; n: number };

type Candidates = Iterable<number> | AsyncIterable<number>;

export function createMessageQueries(db: Db, postings: Postings): Pick<QueryStore, "messages" | "message" | "messageSource" | "pin"> {
  const byId = db.prepare<[number], MessageRow>("SELECT * FROM messages WHERE id = ?");
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

  async function* matchingText(needle: string, before: number): AsyncGenerator<number> {
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
    if (filter.userId !== undefined) return { candidates: postings.candidates("users", filter.userId, before), total: null };
    if (filter.event !== undefined) return { candidates: postings.candidates("events", filter.event, before), total: null };
    if (filter.search !== undefined) return { candidates: matchingText(filter.search, before), total: null };
    const all = kinds.all();
    const matching = all.filter((kind) => matchesKind(kind, filter));
    const total = matching.reduce((sum, kind) => sum + kind.n, 0);
    const candidates = matching.length === all.length ? everything(before) : merged(filter, before);
    return { candidates, total: filter.reason === undefined ? total : null };
  }

  /** The free text too, where another walk than its own has found the row. */
  function matches(row: MessageRow, filter: MessageFilter): boolean {
    if (!matchesRow(row, filter)) return false;
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
  function* merged(filter: MessageFilter, before: number): Generator<number> {
    for (let from = before, step = 64; ; step = slice) {
      const matching = kinds.all().filter((kind) => matchesKind(kind, filter));
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
      const items: MessageSummary[] = [];
      let more = false;
      let looked = 0;
      for await (const id of candidates) {
        const row = byId.get(id);
        if (row !== undefined && matches(row, filter)) {
          if (items.length === limit) {
            more = true;
            break;
          }
          items.push(summary(row));
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
      return row === undefined ? null : details(db, row);
    },

    messageSource(id) {
      const row = byId.get(id);
      if (row === undefined) return null;
      const request = requestOf(db, row.request_id);
      if (request === null) return null;
      const { first_message: _first, messages, ...rest } = request;
      return { request: rest, span: { offset: row.offset, size: row.size }, batched: messages > 1 || row.offset > 0 };
    },

    pin: (id, pinned) => db.prepare("UPDATE messages SET pinned = ? WHERE id = ?").run(pinned ? 1 : 0, id).changes > 0,
  };

  /** Values are not compared again where a single hash is all that is asked: 40 bits tell a million values apart. */
  async function count(filter: MessageFilter): Promise<number> {
    const single = Object.values(filter).filter((value) => value !== undefined).length === 1;
    const trusted = single && (filter.userId !== undefined || filter.event !== undefined || filter.search !== undefined);
    let counted = 0;
    let looked = 0;
    for await (const id of walk(filter, Number.MAX_SAFE_INTEGER).candidates) {
      if (trusted) counted += 1;
      else {
        const row = byId.get(id);
        if (row !== undefined && matches(row, filter)) counted += 1;
      }
      if (counted > totalCap) break;
      looked += 1;
      if (looked % slice === 0) await nextTurn();
    }
    return counted;
  }
}

function matchesKind(kind: { source_id: number; type: number; state: number }, filter: MessageFilter): boolean {
  return (
    (filter.sourceId === undefined || kind.source_id === filter.sourceId) &&
    (filter.type === undefined || kind.type === typeCode(filter.type)) &&
    (filter.state === undefined || kind.state === stateCode(filter.state))
  );
}

function carriesText(row: MessageRow, body: Buffer, lowerCaseNeedle: string): boolean {
  return (
    row.message_id.toLowerCase().includes(lowerCaseNeedle) ||
    includesText(body.subarray(row.offset, row.offset + row.size), lowerCaseNeedle)
  );
}

/** All but the free text. */
function matchesRow(row: MessageRow, filter: MessageFilter): boolean {
  return (
    matchesKind(row, filter) &&
    (filter.userId === undefined || row.user_id === filter.userId || row.anonymous_id === filter.userId) &&
    (filter.event === undefined || row.event === filter.event) &&
    (filter.reason === undefined || row.reason === filter.reason)
  );
}

function includesText(bytes: Buffer, lowerCaseNeedle: string): boolean {
  return bytes.toString("utf8").toLowerCase().includes(lowerCaseNeedle);
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function summary(row: MessageRow): MessageSummary {
  const replayOf = row.extra === null ? undefined : (JSON.parse(row.extra) as Extra).replayOf;
  return {
    id: row.id as MessageRowId,
    messageId: row.message_id,
    sourceId: row.source_id as SourceId,
    type: typeAt(row.type),
    userId: row.user_id,
    anonymousId: row.anonymous_id,
    event: row.event,
    receivedAt: row.received_at,
    timestamp: row.timestamp,
    state: messageStateAt(row.state),
    reason: row.reason,
    attempts: row.attempts,
    lastStatus: row.last_status,
    pinned: row.pinned === 1,
    replayOf: (replayOf ?? null) as MessageRowId | null,
  };
}

type RequestRow = {
  sourceId: SourceId;
  receivedAt: number;
  wallAt: number;
  method: string;
  path: string;
  headers: [string, string][];
  body: Buffer;
  first_message: number;
  messages: number;
};

function requestOf(db: Db, id: number): RequestRow | null {
  const row = db
    .prepare<[number], Omit<RequestRow, "headers"> & { headers: string }>(
      `SELECT source_id AS sourceId, received_at AS receivedAt, wall_at AS wallAt, method, path, headers, body, first_message, messages
       FROM requests WHERE id = ?`,
    )
    .get(id);
  return row === undefined ? null : { ...row, headers: JSON.parse(row.headers) as [string, string][] };
}

function details(db: Db, row: MessageRow): MessageDetails {
  const extra: Extra = row.extra === null ? {} : (JSON.parse(row.extra) as Extra);
  const request = requestOf(db, row.request_id);
  const body = request?.body ?? Buffer.alloc(0);
  const decisions = db
    .prepare<[number], { destination_id: number; reason: string; detail: string; warnings: string | null; shape: number }>(
      "SELECT destination_id, reason, detail, warnings, shape FROM decisions WHERE message_id = ? ORDER BY destination_id",
    )
    .all(row.id)
    .map((decision): Decision => ({
      destinationId: decision.destination_id as DestinationId,
      routed: decision.reason === "routed",
      reason: decision.reason,
      detail: decision.detail,
      warnings: decision.warnings === null ? [] : (JSON.parse(decision.warnings) as string[]),
      payload: shapeAt(decision.shape),
    }));
  return {
    ...summary(row),
    requestId: row.request_id as RequestId,
    detail: extra.detail ?? null,
    duplicateOf: (extra.duplicateOf ?? null) as MessageRowId | null,
    warnings: extra.warnings ?? [],
    raw: body.subarray(row.offset, row.offset + row.size),
    request: {
      method: request?.method ?? "",
      path: request?.path ?? "",
      headers: request?.headers ?? [],
      size: body.length,
      messages: request?.messages ?? 0,
    },
    decisions,
    deliveries: deliveriesOfMessage(db, row.id as MessageRowId),
  };
}
