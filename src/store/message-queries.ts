/**
 * The list of messages, newest first, and one message with everything that resulted from it.
 *
 * A walk goes from the newest message back, a stretch of ids at a time, along what the filter
 * offers: postings for a user or an event, the bytes of the requests for free text, the rows for
 * how deliveries went, and else the kinds in memory. The page then reads the rows of what was found
 * and keeps those that match every condition. A walk may go far: now and then the event loop has a
 * turn.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { MessageRowId } from "../domain/ids.ts";
import type {
  MessageDetails,
  MessageFilter,
  MessageSummary,
  Page,
  QueryStore,
  OneOrMany,
} from "../engine/ports.ts";
import { anyKind, kindNumber, kindTest, type KindTest, type MessageKinds } from "./counts.ts";
import { createMessageReader, type MessageRow } from "./message-rows.ts";
import { createTextSearch } from "./message-text.ts";
import type { Db } from "./transactions.ts";
import type { Postings } from "./postings.ts";
import { stateCode, typeCode } from "./codes.ts";

/** A total is counted exactly up to here. */
const totalCap = 10_000;

/** Rows of one read. */
const readAtOnce = 128;

/** Messages whose rows are looked through at once: a millisecond's work or two. */
const scannedAtOnce = 8192;

/**
 * Pieces of a walk between two turns of the event loop: a block of kinds or postings that is read
 * for the first time takes a millisecond.
 */
const piecesPerTurn = 8;

type Walk = {
  stretches: Iterable<number[]> | AsyncIterable<number[]>;
  /**
   * Whether it finds only what the filter means, so that no row has to be read to count them: 40
   * bits of hash distinguish a million values.
   */
  isExact: boolean;
};

type MessageQueries = Pick<QueryStore, "messages" | "message" | "messageSource" | "pin">;

export function createMessageQueries(
  db: Db,
  postings: Postings,
  kinds: MessageKinds,
): MessageQueries {
  const reader = createMessageReader(db);
  const text = createTextSearch(db, postings);
  const walk = walking({ db, postings, kinds, text });
  const byId = db.prepare<[number], MessageRow>("SELECT * FROM messages WHERE id = ?");
  const kindCounts = db.prepare<[], { sourceId: number; type: number; state: number; n: number }>(
    "SELECT source_id AS sourceId, type, state, n FROM message_counts WHERE n > 0",
  );

  /** Reads rows, newest first: those of them that match every condition. */
  function rowsBy(filter: MessageFilter): (ids: number[]) => MessageRow[] {
    const { search } = filter;
    const { sql, values } = rowCondition(filter);
    const rows = db.prepare<unknown[], MessageRow>(
      `SELECT * FROM messages WHERE id IN (SELECT value FROM json_each(?)) AND ${sql}`,
    );
    return (ids) => {
      const matching = rows.all(JSON.stringify(ids), ...values).sort((a, b) => b.id - a.id);
      return search === undefined ? matching : matching.filter((row) => text.carries(row, search));
    };
  }

  async function page(
    filter: MessageFilter,
    limit: number,
    before: number,
  ): Promise<{ rows: MessageRow[]; more: boolean }> {
    const matching = rowsBy(filter);
    const rows: MessageRow[] = [];
    for await (const ids of inPieces(walk(filter, before).stretches, readAtOnce)) {
      rows.push(...matching(ids));
      if (rows.length > limit) return { rows: rows.slice(0, limit), more: true };
    }
    return { rows, more: false };
  }

  /** Exact up to one above the cap. */
  async function count(filter: MessageFilter): Promise<number> {
    const { userId, event, search } = filter;
    if (userId === undefined && event === undefined && search === undefined && !asksOfRows(filter))
      return countOfKinds(filter);
    const { stretches, isExact } = walk(filter, Number.MAX_SAFE_INTEGER);
    const matching = rowsBy(filter);
    let counted = 0;
    for await (const ids of inPieces(stretches, isExact ? Infinity : readAtOnce)) {
      counted += isExact ? ids.length : matching(ids).length;
      if (counted > totalCap) break;
    }
    return counted;
  }

  function countOfKinds(filter: MessageFilter): number {
    const allows = kindTestOf(filter);
    return kindCounts
      .all()
      .reduce((sum, kind) => (allows === null || allows(kindNumber(kind)) ? sum + kind.n : sum), 0);
  }

  return {
    async messages(filter, limit, before): Promise<Page<MessageSummary, MessageRowId>> {
      const { rows, more } = await page(filter, limit, before ?? Number.MAX_SAFE_INTEGER);
      const items = rows.map(reader.summary);
      const counted = before === null && !more ? rows.length : await count(filter);
      return {
        items,
        nextCursor: more ? (items.at(-1) as MessageSummary).id : null,
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
      return row === undefined
        ? null
        : { request: reader.request(row), span: { offset: row.offset, size: row.size } };
    },

    pin: (id, pinned) =>
      db.prepare("UPDATE messages SET pinned = ? WHERE id = ?").run(pinned ? 1 : 0, id).changes > 0,
  };
}

type Sources = {
  db: Db;
  postings: Postings;
  kinds: MessageKinds;
  text: ReturnType<typeof createTextSearch>;
};

/** Where a walk finds its ids: by what the filter asks for, the narrowest first. */
function walking({
  db,
  postings,
  kinds,
  text,
}: Sources): (filter: MessageFilter, before: number) => Walk {
  const newestBefore = db
    .prepare<[number], number | null>("SELECT max(id) FROM messages WHERE id < ?")
    .pluck();

  /** Along the user, if there is one: most have fewer messages than an event. */
  function* posted(
    { userId, event = [] }: MessageFilter,
    allows: KindTest | null,
    before: number,
  ): Generator<number[]> {
    const [field, values] =
      userId === undefined ? (["events", event] as const) : (["users", userId] as const);
    for (const ids of postings.candidates(field, valuesOf(values), before))
      yield allows === null ? ids : kinds.among(ids, allows);
  }

  function* scanned(filter: MessageFilter, before: number): Generator<number[]> {
    const { sql, values } = rowCondition(filter);
    const matching = db
      .prepare<unknown[], number>(
        `SELECT id FROM messages WHERE id > ? AND id <= ? AND ${sql} ORDER BY id DESC`,
      )
      .pluck();
    for (let newest = newestBefore.get(before) as number | null; newest !== null;) {
      const end = newest - scannedAtOnce;
      yield matching.all(end, newest, ...values);
      newest = newestBefore.get(end + 1) as number | null;
    }
  }

  return (filter, before) => {
    const { userId, event, search } = filter;
    const byRows = asksOfRows(filter);
    const allows = kindTestOf(filter);
    if (userId !== undefined || event !== undefined) {
      const isExact =
        !byRows && search === undefined && (userId === undefined || event === undefined);
      return { stretches: posted(filter, allows, before), isExact };
    }
    if (search !== undefined)
      return { stretches: text.matching(search, before), isExact: !byRows && allows === null };
    if (byRows) return { stretches: scanned(filter, before), isExact: true };
    return { stretches: kinds.matching(allows ?? anyKind, before), isExact: true };
  };
}

/** Pieces of so many ids at most, with a turn of the event loop now and then. */
async function* inPieces(stretches: Walk["stretches"], maxPiece: number): AsyncGenerator<number[]> {
  let pieces = 0;
  for await (const ids of stretches) {
    for (let from = 0; from === 0 || from < ids.length; from += maxPiece) {
      yield ids.slice(from, from + maxPiece);
      pieces += 1;
      if (pieces % piecesPerTurn === 0) await nextTurn();
    }
  }
}

/** SQL with a `?` for each of its values. */
type Condition = { sql: string; values: (string | number)[] };

/** Null for a filter that names no source, type or state. */
function kindTestOf({ sourceId, type, state }: MessageFilter): KindTest | null {
  if (sourceId === undefined && type === undefined && state === undefined) return null;
  return kindTest({
    sourceIds: sourceId === undefined ? null : new Set(valuesOf(sourceId)),
    types: type === undefined ? null : new Set(valuesOf(type).map(typeCode)),
    states: state === undefined ? null : new Set(valuesOf(state).map(stateCode)),
  });
}

/** Whether it needs values that only the rows have. */
function asksOfRows({ reason, status, attempts }: MessageFilter): boolean {
  return reason !== undefined || status !== undefined || attempts !== undefined;
}

/**
 * What all but the free text asks of a row. Several values of one member mean any of them; several
 * members, all of them.
 */
function rowCondition(filter: MessageFilter): Condition {
  const userIs = (values: readonly string[]): Condition =>
    anyOf([isOneOf("user_id", values), isOneOf("anonymous_id", values)]);
  const asked = [
    given(filter.sourceId, (values) => isOneOf("source_id", values)),
    given(filter.type, (values) => isOneOf("type", values.map(typeCode))),
    given(filter.state, (values) => isOneOf("state", values.map(stateCode))),
    given(filter.userId, userIs),
    given(filter.event, (values) => isOneOf("event", values)),
    given(filter.reason, (values) => isOneOf("reason", values)),
    given(filter.status, (values) => anyOf(values.map(statusIs))),
    given(filter.attempts, (values) => anyOf(values.map(attemptsAre))),
  ];
  return joined(asked.flat(), " AND ");
}

function valuesOf<Value extends string | number>(value: OneOrMany<Value>): readonly Value[] {
  return typeof value === "object" ? value : [value];
}

function given<Value extends string | number>(
  value: OneOrMany<Value> | undefined,
  condition: (values: readonly Value[]) => Condition,
): Condition[] {
  return value === undefined ? [] : [condition(valuesOf(value))];
}

function isOneOf(column: string, values: readonly (string | number)[]): Condition {
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, values: [...values] };
}

/** `503`, or `5xx` for the whole class. */
function statusIs(text: string): Condition {
  const from = Number(text.replace("xx", "00"));
  return {
    sql: "last_status BETWEEN ? AND ?",
    values: [from, text.endsWith("xx") ? from + 99 : from],
  };
}

/** `3`, `>3`, `>=3`, `<3`, `<=3`. */
function attemptsAre(text: string): Condition {
  const [, sign = "=", digits] = /^([<>]=?)?(\d+)$/.exec(text) as RegExpExecArray;
  return { sql: `attempts ${sign} ?`, values: [Number(digits)] };
}

function anyOf(conditions: Condition[]): Condition {
  return joined(conditions, " OR ");
}

function joined(conditions: Condition[], by: " AND " | " OR "): Condition {
  if (conditions.length === 0) return { sql: by === " AND " ? "TRUE" : "FALSE", values: [] };
  return {
    sql: `(${conditions.map(({ sql }) => sql).join(by)})`,
    values: conditions.flatMap(({ values }) => values),
  };
}
