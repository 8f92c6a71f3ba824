/**
 * Free text in the messages: in the bytes as received, in the payloads, in the message ids, which
 * Hookyard creates where a client sent none, and in what a list shows of a message.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import { messageStates, messageTypes, outcomes } from "../domain/states.ts";
import { stateCode, typeCode } from "./codes.ts";
import type { KindTest, MessageKinds } from "./counts.ts";
import type { MappedRequests } from "./mapped-requests.ts";
import type { FactsTest, MessageFacts } from "./message-facts.ts";
import type { MessageRow } from "./message-rows.ts";
import { blockSize } from "./posting-segments.ts";
import type { Postings } from "./postings.ts";
import { createPayloadReader } from "./shared-bytes.ts";
import type { Db } from "./transactions.ts";

/** Requests, and bytes of requests, that are searched between two turns of the event loop. */
const requestsPerTurn = 1000;
const bytesPerTurn = 4 * 1024 * 1024;
/** Bytes that are searched in the time in which a message is asked for a word. */
const bytesOfQuestion = 32;

type SearchedRequest = { id: number; first_message: number; messages: number; size: number };

/** A text that is looked for. */
type Word = {
  text: string;
  pattern: RegExp;
  kind: KindTest;
  facts: FactsTest;
};

export type TextSearch = {
  words(texts: readonly string[]): Word[];
  /**
   * Ids of messages that carry every word, newest first, out of those that may be shown; `spent`
   * grows with the bytes that were searched.
   */
  matching(
    words: readonly Word[],
    among: (ids: number[]) => number[],
    before: number,
    spent: { bytes: number },
  ): AsyncGenerator<number[]>;
  /** Whether a row carries one of these words; to be asked of rows that are read together. */
  carrying(words: readonly Word[]): (row: MessageRow, word: Word) => boolean;
};

type Sources = {
  db: Db;
  mapped: MappedRequests;
  postings: Postings;
  kinds: MessageKinds;
  facts: MessageFacts;
};

export function createTextSearch({ db, mapped, postings, kinds, facts }: Sources): TextSearch {
  const messageIdOf = db
    .prepare<[number], string>("SELECT message_id FROM messages WHERE id = ?")
    .pluck();
  const requestBefore = db
    .prepare<[number], number>(
      "SELECT request_id FROM messages WHERE id < ? ORDER BY id DESC LIMIT 1",
    )
    .pluck();
  const requestsUpTo = db.prepare<[number], SearchedRequest>(
    `SELECT id, first_message, messages, length(body) AS size FROM requests WHERE id <= ? ORDER BY id DESC LIMIT ${requestsPerTurn}`,
  );
  const bodyOf = db.prepare<[number], Buffer>("SELECT body FROM requests WHERE id = ?").pluck();
  const span = db.prepare<[number, number], MessageRow>(
    "SELECT * FROM messages WHERE id >= ? AND id < ? ORDER BY id DESC",
  );
  const payloadsFrom = readingPayloads(db);
  const isMapped = (id: number, wanted: RegExp): boolean =>
    mapped.bodiesOf(id).some((body) => wanted.test(body.toString("utf8")));

  /** Whether a list shows the word in the row of a message. Each block is asked once. */
  function showing(word: Word): (id: number) => boolean {
    let block = -1;
    let test: ReturnType<FactsTest> = null;
    return (id) => {
      const number = Math.floor(id / blockSize);
      if (number !== block) [block, test] = [number, word.facts(number)];
      return word.kind(kinds.of(id)) || test?.(id % blockSize) === true;
    };
  }

  /** Those of some messages of one request that carry every word. */
  function carryAll(ids: number[], words: readonly Word[], body: string, bytes: Buffer): number[] {
    const shown = words.map(showing);
    const open = ids
      .map((id) => ({ id, missing: words.filter((_, place) => shown[place]?.(id) !== true) }))
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

    async *matching(words, among, before, spent) {
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
      let bytes = 0;
      for (let from = requestBefore.get(before); from !== undefined;) {
        const requests = requestsUpTo.all(from);
        for (const { id, first_message, messages, size } of requests) {
          from = id - 1;
          const end = Math.min(before, first_message + messages);
          const ids: number[] = [];
          for (let each = end - 1; each >= first_message; each -= 1) ids.push(each);
          const shown = among(ids);
          const body = shown.length === 0 ? undefined : bodyOf.get(id);
          if (body !== undefined) {
            const carrying = carryAll(shown, words, body.toString("utf8"), body);
            const upToHere = named.filter((each) => each >= first_message);
            named.splice(0, upToHere.length);
            if (carrying.length > 0 || upToHere.length > 0)
              yield [...new Set([...upToHere, ...carrying])].sort((a, b) => b - a);
            bytes += size + shown.length * words.length * bytesOfQuestion;
            spent.bytes += size;
          }
          if (bytes > bytesPerTurn) {
            bytes = 0;
            await nextTurn();
          }
        }
        if (requests.length < requestsPerTurn) break;
        await nextTurn();
      }
      yield named;
    },

    carrying(words) {
      const shown = new Map(words.map((word) => [word, showing(word)]));
      let request = -1;
      let body: Buffer | undefined;
      return (row, word) => {
        if (shown.get(word)?.(row.id) === true) return true;
        if (row.request_id !== request)
          [request, body] = [row.request_id, bodyOf.get(row.request_id)];
        if (body !== undefined && carriesText(row, body, word.pattern)) return true;
        return (
          payloadsFrom(row.id, row.id + 1).some((payload) => isSent(payload, word.pattern)) ||
          isMapped(row.id, word.pattern)
        );
      };
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
  const always = { since: -Infinity, until: Infinity };
  return (texts) => {
    const known = sources.all();
    return texts.map((text): Word => {
      const pattern = anyCase(text);
      const from = new Set(known.filter(({ name }) => pattern.test(name)).map(({ id }) => id));
      const states = new Set(messageStates.filter((each) => pattern.test(each)).map(stateCode));
      const types = new Set(messageTypes.filter((each) => pattern.test(each)).map(typeCode));
      const ends = new Set(outcomes.flatMap((each, code) => (pattern.test(each) ? [code] : [])));
      const status = /^[1-9]\d\d$/.test(text) ? Number(text) : null;
      const inKind = tableOf((kind) => types.has(kind >>> 4) || states.has(kind & 15));
      const course = facts.test({
        ...always,
        event: null,
        course: ({ reason, outcomes: made }) =>
          (reason !== null && pattern.test(reason)) ||
          made.some(
            (each) => ends.has(each.outcome) || (status !== null && each.status === status),
          ),
      });
      const event = facts.test({
        ...always,
        event: (name) => name !== null && pattern.test(name),
        course: null,
      });
      return {
        text,
        pattern,
        kind: (kind) => inKind[kind & 255] === true || from.has(kind >>> 8),
        facts: (block) => {
          const [ofCourse, ofEvent] = [course(block), event(block)];
          return (place) => ofCourse?.(place) === true || ofEvent?.(place) === true;
        },
      };
    });
  };
}

type Payload = { message_id: number; documented: Buffer | null; full: Buffer | null };

function tableOf(test: (kind: number) => boolean): boolean[] {
  return Array.from({ length: 256 }, (_, kind) => test(kind));
}

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
