/**
 * Free text in the messages: in the bytes as received, in the payloads, in the message ids, which
 * Hookyard creates where a client sent none, and in what a list shows of a message.
 */

import { messageStates, messageTypes, outcomes } from "../domain/states.ts";
import { nextTurn } from "../engine/real-time.ts";
import { stateCode, typeCode } from "./codes.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import { anyMessage, type Course, type MessageFacts, type MessageKind } from "./message-facts.ts";
import type { MessageTest } from "./message-columns.ts";
import type { MessageRow } from "./message-rows.ts";
import type { Postings } from "./postings.ts";
import { createPayloadReader } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";

/** Requests, and bytes of requests, that are searched between two turns of the event loop. */
const requestsPerTurn = 1000;
const bytesPerTurn = 4 * 1024 * 1024;
/** Bytes that are searched in the time in which a message is asked for a word. */
const bytesOfQuestion = 32;

type SearchedRequest = { first: number; body: Buffer };

/** What is read of a message to look for text in it. */
export type SearchedRow = Pick<
  MessageRow,
  "id" | "request_id" | "message_id" | "user_id" | "anonymous_id" | "offset" | "size"
>;
export const searchedColumns = "id, request_id, message_id, user_id, anonymous_id, offset, size";

/** What messages of one request came in, and their rows where they have been read. */
class Searched {
  readonly bytes: Buffer;
  readonly rows: readonly SearchedRow[] | undefined;
  #body: string | undefined;

  constructor(bytes: Buffer, rows?: readonly SearchedRow[]) {
    this.bytes = bytes;
    this.rows = rows;
  }

  /** Most messages carry a word in what a list shows of them, and need no text of all the bytes. */
  get body(): string {
    this.#body ??= this.bytes.toString("utf8");
    return this.#body;
  }
}

/** A text that is looked for. */
type Word = {
  text: string;
  pattern: RegExp;
  /** An id that Hookyard made is not in the bytes of its request. */
  mayBeOfId: boolean;
  /** Of what a list shows of a message, any has to hold. */
  shown: readonly MessageTest[];
};

type Search = { before: number; among: (ids: number[]) => number[]; spent: { bytes: number } };

export type TextSearch = {
  words(texts: readonly string[]): Word[];
  /**
   * Ids of messages that carry every word, newest first, out of those that may be shown; `spent`
   * grows with the bytes that were searched.
   */
  matching(
    words: readonly Word[],
    shown: Iterable<number[]>,
    how: Search,
  ): AsyncGenerator<number[]>;
  /** Those of some rows, newest first, that carry every word and none of others. */
  among<Row extends SearchedRow>(
    rows: readonly Row[],
    words: readonly Word[],
    without: readonly Word[],
  ): Row[];
};

type Sources = {
  db: Db;
  mapped: MappedRequests;
  postings: Postings;
  facts: MessageFacts;
};

export function createTextSearch({ db, mapped, postings, facts }: Sources): TextSearch {
  const messageIdOf = db
    .prepare<[number], string>("SELECT message_id FROM messages WHERE id = ?")
    .pluck();
  const requestOf = db.prepare<[number], SearchedRequest>(
    `SELECT first_message AS first, body
     FROM messages JOIN requests ON requests.id = request_id WHERE messages.id = ?`,
  );
  const bodyOf = db.prepare<[number], Buffer>("SELECT body FROM requests WHERE id = ?").pluck();
  const rowsOf = db.prepare<[number, number], SearchedRow>(
    `SELECT ${searchedColumns} FROM messages WHERE id >= ? AND id <= ?`,
  );
  const payloadsFrom = readingPayloads(db);
  const isMapped = (id: number, wanted: RegExp): boolean =>
    mapped.bodiesOf(id).some((body) => wanted.test(body.toString("utf8")));

  /** Whether a list shows the word in the row of the message. */
  const isShown = ({ shown }: Word, id: number): boolean => shown.some((test) => test.holds(id));

  /** Those of some messages of one request, newest first, that carry every word. */
  function carryAll(ids: readonly number[], words: readonly Word[], searched: Searched): number[] {
    const missing = new Map<number, readonly Word[]>();
    for (const id of ids) {
      const left = words.filter((word) => !isShown(word, id));
      if (left.length > 0) missing.set(id, left);
    }
    if (missing.size === 0) return [...ids];
    const { body, bytes } = searched;
    const ask = (id: number, carries: (word: Word) => boolean): void => {
      const left = missing.get(id)?.filter((word) => !carries(word));
      if (left?.length === 0) missing.delete(id);
      else if (left !== undefined) missing.set(id, left);
    };
    const [newest, oldest] = [ids[0] as number, ids.at(-1) as number];
    // Most requests have nothing of a word, and need no look at each message.
    const inBody = words.filter(({ pattern }) => pattern.test(body));
    const rows =
      searched.rows ??
      (words.some(({ mayBeOfId }) => mayBeOfId) ? rowsOf.all(oldest, newest) : undefined);
    const names = rows?.flatMap(namesOf).join("\n") ?? "";
    const inNames = words.filter(({ pattern }) => pattern.test(names));
    const isSomewhere = inBody.length + inNames.length > 0;
    for (const row of isSomewhere ? (rows ?? rowsOf.all(oldest, newest)) : []) {
      const text = textOf(row, body, bytes);
      ask(
        row.id,
        (word) =>
          (inBody.includes(word) && word.pattern.test(text)) ||
          namesOf(row).some((name) => word.pattern.test(name)),
      );
    }
    for (const [id, sent] of missing.size === 0 ? [] : payloadsFrom(oldest, newest))
      ask(id, ({ pattern }) => sent.some((payload) => pattern.test(payload)));
    for (const id of missing.keys()) ask(id, ({ pattern }) => isMapped(id, pattern));
    return ids.filter((id) => !missing.has(id));
  }

  return {
    words: readingWords(db, facts),

    async *matching(words, shown, { before, among, spent }) {
      // A message id is found at once, however far back.
      const named = [
        ...postings.candidates(
          "message_ids",
          words.length === 1 ? [words[0]?.text ?? ""] : [],
          before,
        ),
      ]
        .flat()
        .filter((id) => messageIdOf.get(id) === words[0]?.text && among([id]).length > 0);
      let last = { first: Infinity, size: 0 };
      let requests = 0;
      let bytes = 0;
      for (const ids of shown) {
        for (let at = 0; at < ids.length;) {
          const start = at;
          const newest = ids[start] as number;
          if (newest < last.first) {
            bytes += last.size;
            spent.bytes += last.size;
            requests += 1;
            if (requests % requestsPerTurn === 0 || bytes > bytesPerTurn) {
              bytes = 0;
              await nextTurn();
            }
          }
          // Retention may have removed or shortened it since the last turn.
          const searched = requestOf.get(newest);
          last = { first: searched?.first ?? newest, size: searched?.body.length ?? 0 };
          if (searched === undefined) {
            at += 1;
            continue;
          }
          const { first, body } = searched;
          const inRequest = new Searched(body);
          while (at < ids.length && (ids[at] as number) >= first) at += 1;
          const ofRequest = ids.slice(start, at);
          bytes += ofRequest.length * words.length * bytesOfQuestion;
          const carrying = carryAll(ofRequest, words, inRequest);
          const upToHere = named.filter((each) => each >= (ofRequest.at(-1) as number));
          named.splice(0, upToHere.length);
          if (carrying.length > 0 || upToHere.length > 0)
            yield [...new Set([...upToHere, ...carrying])].sort((a, b) => b - a);
        }
        yield [];
      }
      yield named;
    },

    among(rows, words, without) {
      const kept = new Set<number>();
      for (let at = 0; at < rows.length;) {
        const start = at;
        const { request_id: request } = rows[start] as SearchedRow;
        while (rows[at]?.request_id === request) at += 1;
        const ofRequest = rows.slice(start, at);
        const bytes = bodyOf.get(request) ?? Buffer.alloc(0);
        const searched = new Searched(bytes, ofRequest);
        let ids = carryAll(
          ofRequest.map(({ id }) => id),
          words,
          searched,
        );
        for (const word of without) {
          const carrying = new Set(carryAll(ids, [word], searched));
          ids = ids.filter((id) => !carrying.has(id));
        }
        for (const id of ids) kept.add(id);
      }
      return rows.filter(({ id }) => kept.has(id));
    },
  };
}

/** The texts of the payloads of the messages from one id to another. */
function readingPayloads(db: Db): (first: number, last: number) => [number, string[]][] {
  const complete = createPayloadReader(db);
  const stored = db
    .prepare<[number, number], [number, Buffer | null, Buffer | null]>(
      "SELECT message_id, documented, full FROM payloads WHERE message_id >= ? AND message_id <= ?",
    )
    .raw();
  return (first, last) =>
    stored
      .all(first, last)
      .map(([id, ...payloads]) => [
        id,
        payloads.flatMap((each) => complete(id, each)?.toString("utf8") ?? []),
      ]);
}

/** A word is also found by the names of sources, states and outcomes, as lists show them. */
function readingWords(db: Db, facts: MessageFacts): TextSearch["words"] {
  const sources = db.prepare<[], { id: number; name: string }>(
    "SELECT id, body ->> 'name' AS name FROM sources",
  );
  return (texts) => {
    const known = sources.all();
    return texts.map((text): Word => {
      const pattern = anyCase(text);
      const from = new Set(known.filter(({ name }) => pattern.test(name)).map(({ id }) => id));
      const states = new Set(messageStates.filter((each) => pattern.test(each)).map(stateCode));
      const types = new Set(messageTypes.filter((each) => pattern.test(each)).map(typeCode));
      const ends = new Set(outcomes.flatMap((each, code) => (pattern.test(each) ? [code] : [])));
      const status = /^[1-9]\d\d$/.test(text) ? Number(text) : null;
      const isNamed = ({ sourceId, type, state }: MessageKind): boolean =>
        types.has(type) || states.has(state) || from.has(sourceId);
      const isEnd = (of: Course["outcomes"][number]): boolean =>
        ends.has(of.outcome) || (status !== null && of.status === status);
      const shown = [
        facts.test({ ...anyMessage, kind: isNamed }),
        facts.test({
          ...anyMessage,
          course: ({ reason, outcomes: made }) =>
            (reason !== null && pattern.test(reason)) || made.some(isEnd),
        }),
        facts.test({ ...anyMessage, event: (name) => name !== null && pattern.test(name) }),
      ];
      return { text, pattern, mayBeOfId: /^[\da-f-]{1,36}$/i.test(text), shown };
    });
  };
}

/** Four times as fast as comparing in lower case. */
function anyCase(text: string): RegExp {
  return new RegExp(RegExp.escape(text), "iu");
}

function namesOf({ message_id, user_id, anonymous_id }: SearchedRow): string[] {
  return [message_id, user_id ?? "", anonymous_id ?? ""];
}

function textOf({ offset, size }: SearchedRow, body: string, bytes: Buffer): string {
  // As many characters as bytes: each is one.
  return body.length === bytes.length
    ? body.slice(offset, offset + size)
    : bytes.toString("utf8", offset, offset + size);
}
