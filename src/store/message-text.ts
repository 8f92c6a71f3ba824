/**
 * Free text in the messages: in the bytes as received, and in the message ids, which Hookyard
 * creates where a client sent none.
 */

import { setImmediate as nextTurn } from "node:timers/promises";
import type { MessageRow } from "./message-rows.ts";
import type { Db } from "./transactions.ts";
import type { Postings } from "./postings.ts";

/** Requests, and bytes of requests, that are searched between two turns of the event loop. */
const requestsPerTurn = 1000;
const bytesPerTurn = 4 * 1024 * 1024;

type SearchedRequest = { id: number; first_message: number; messages: number; size: number };

type TextSearch = {
  /** Ids of the messages that carry a text, newest first. */
  matching(text: string, before: number): AsyncGenerator<number[]>;
  carries(row: MessageRow, text: string): boolean;
};

export function createTextSearch(db: Db, postings: Postings): TextSearch {
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

  async function* inBytes(
    wanted: RegExp,
    before: number,
  ): AsyncGenerator<{ ids: number[]; end: number }> {
    for (let from = requestBefore.get(before), bytes = 0; from !== undefined;) {
      const requests = requestsUpTo.all(from);
      for (const { id, first_message, messages, size } of requests) {
        from = id - 1;
        const body = bodyOf.get(id);
        if (body !== undefined && wanted.test(body.toString("utf8"))) {
          const rows = span.all(first_message, Math.min(before, first_message + messages));
          yield {
            ids: rows.filter((row) => carriesText(row, body, wanted)).map((row) => row.id),
            end: first_message,
          };
        }
        bytes += size;
        if (bytes > bytesPerTurn) {
          bytes = 0;
          await nextTurn();
        }
      }
      if (requests.length < requestsPerTurn) return;
      await nextTurn();
    }
  }

  return {
    async *matching(text, before) {
      const named = [...postings.candidates("message_ids", [text], before)]
        .flat()
        .filter((id) => messageIdOf.get(id) === text);
      for await (const { ids, end } of inBytes(anyCase(text), before)) {
        const upToHere = named.filter((id) => id >= end);
        named.splice(0, upToHere.length);
        yield [...new Set([...upToHere, ...ids])].sort((a, b) => b - a);
      }
      yield named;
    },

    carries(row, text) {
      const body = bodyOf.get(row.request_id);
      return body !== undefined && carriesText(row, body, anyCase(text));
    },
  };
}

/** Four times as fast as comparing in lower case. */
function anyCase(text: string): RegExp {
  return new RegExp(RegExp.escape(text), "iu");
}

function carriesText(
  { message_id, offset, size }: MessageRow,
  body: Buffer,
  wanted: RegExp,
): boolean {
  return wanted.test(message_id) || wanted.test(body.toString("utf8", offset, offset + size));
}
