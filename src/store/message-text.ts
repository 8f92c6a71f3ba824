/**
 * Free text in the messages: in the bytes as received, in the payloads, in the message ids, which
 * Hookyard creates where a client sent none, and in what a list shows of a message.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { messageStates, messageTypes, outcomes } from "../domain/states.ts";
import { stateCode, typeCode } from "./codes.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import {
  anyMessage,
  type Course,
  type MessageFacts,
  type MessageKind,
  type MessageTest,
} from "./message-facts.ts";
import type { MessageRow } from "./message-rows.ts";
import type { Postings } from "./postings.ts";
import { createPayloadReader } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";

/** Requests, and bytes of requests, that are searched between two turns of the event loop. */
const requestsPerTurn = 1000;
const bytesPerTurn = 4 * 1024 * 1024;

type SearchedRequest = { first: number; body: Buffer };

/** A text that is looked for. */
type Word = {
  text: string;
  pattern: RegExp;
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
  among(rows: MessageRow[], words: readonly Word[], without: readonly Word[]): MessageRow[];
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
  const span = db.prepare<[number, number], MessageRow>(
    "SELECT * FROM messages WHERE id >= ? AND id < ? ORDER BY id DESC",
  );
  const payloadsFrom = readingPayloads(db);
  const isMapped = (id: number, wanted: RegExp): boolean =>
    mapped.bodiesOf(id).some((body) => wanted.test(body.toString("utf8")));

  /** Whether a list shows the word in the row of the message. */
  const isShown = ({ shown }: Word, id: number): boolean => shown.some((test) => test.holds(id));

  /** Those of some messages of one request that carry every word. */
  function carryAll(ids: number[], words: readonly Word[], body: string, bytes: Buffer): number[] {
    const open = ids
      .map((id) => ({ id, missing: words.filter((word) => !isShown(word, id)) }))
      .toReversed();
    const [first, last] = [open[0]?.id ?? 0, open.at(-1)?.id ?? 0];
    const rest = new Set(open.flatMap(({ missing }) => missing));
    if ([...rest].some(({ pattern }) => pattern.test(body))) {
      const rows = new Map(span.all(first, last + 1).map((row) => [row.id, row]));
      for (const each of open) {
        const row = rows.get(each.id);
        if (row !== undefined)
          each.missing = each.missing.filter(({ pattern }) => !carriesText(row, bytes, pattern));
      }
    }
    if (open.some(({ missing }) => missing.length > 0)) {
      const sent = new Map(payloadsFrom(first, last + 1).map((each) => [each.message_id, each]));
      for (const each of open) {
        const payload = sent.get(each.id);
        if (payload !== undefined)
          each.missing = each.missing.filter(({ pattern }) => !isSent(payload, pattern));
        each.missing = each.missing.filter(({ pattern }) => !isMapped(each.id, pattern));
      }
    }
    return open
      .filter(({ missing }) => missing.length === 0)
      .map(({ id }) => id)
      .toReversed();
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
      let searched: SearchedRequest | undefined;
      let requests = 0;
      let bytes = 0;
      for (const ids of shown) {
        for (let at = 0; at < ids.length;) {
          const start = at;
          const newest = ids[start] as number;
          if (searched === undefined || newest < searched.first) {
            bytes += searched?.body.length ?? 0;
            spent.bytes += searched?.body.length ?? 0;
            searched = requestOf.get(newest);
            requests += 1;
            if (requests % requestsPerTurn === 0 || bytes > bytesPerTurn) {
              bytes = 0;
              await nextTurn();
            }
          }
          // Retention may have removed it since.
          if (searched === undefined) {
            at += 1;
            continue;
          }
          const { first, body } = searched;
          while (at < ids.length && (ids[at] as number) >= first) at += 1;
          const ofRequest = ids.slice(start, at);
          const carrying = carryAll(ofRequest, words, body.toString("utf8"), body);
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
        const { request_id: request } = rows[at] as MessageRow;
        let ids: number[] = [];
        for (; rows[at]?.request_id === request; at += 1) ids.push((rows[at] as MessageRow).id);
        const bytes = bodyOf.get(request) ?? Buffer.alloc(0);
        const body = bytes.toString("utf8");
        if (words.length > 0) ids = carryAll(ids, words, body, bytes);
        for (const word of without) {
          const carrying = new Set(ids.length === 0 ? [] : carryAll(ids, [word], body, bytes));
          ids = ids.filter((id) => !carrying.has(id));
        }
        for (const id of ids) kept.add(id);
      }
      return rows.filter(({ id }) => kept.has(id));
    },
  };
}

/** The payloads of the messages from one id to before another. */
function readingPayloads(db: Db): (first: number, end: number) => Payload[] {
  const complete = createPayloadReader(db);
  const stored = db.prepare<[number, number], Payload>(
    "SELECT message_id, documented, full FROM payloads WHERE message_id >= ? AND message_id < ?",
  );
  return (first, end) =>
    stored.all(first, end).map(({ message_id: id, documented, full }) => ({
      message_id: id,
      documented: complete(id, documented),
      full: complete(id, full),
    }));
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
      return { text, pattern, shown };
    });
  };
}

type Payload = { message_id: number; documented: Buffer | null; full: Buffer | null };

function isSent({ documented, full }: Payload, wanted: RegExp): boolean {
  return [documented, full].some(
    (payload) => payload !== null && wanted.test(payload.toString("utf8")),
  );
}

/** Four times as fast as comparing in lower case. */
function anyCase(text: string): RegExp {
  return new RegExp(RegExp.escape(text), "iu");
}

function carriesText(
  { message_id, user_id, anonymous_id, offset, size }: MessageRow,
  body: Buffer,
  wanted: RegExp,
): boolean {
  return (
    wanted.test(message_id) ||
    wanted.test(body.toString("utf8", offset, offset + size)) ||
    wanted.test(user_id ?? "") ||
    wanted.test(anonymous_id ?? "")
  );
}
