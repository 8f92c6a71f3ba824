/**
 * Finds the original of a message: the same message id from the same source, accepted in the last 24 hours. The
 * hashes of these ids are in memory; the row decides.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type { IncomingRequest, NewMessage } from "../engine/ports.ts";
import { stateCode } from "./codes.ts";
import { hash40 } from "./hash.ts";
import type { Db } from "./open.ts";
import type { Postings } from "./postings.ts";
import { RecentIds } from "./recent-ids.ts";

/** The same message id from the same source within this time is a duplicate. */
const duplicateWindowMs = 24 * 60 * 60 * 1000;

const rejected = stateCode("rejected");
const duplicate = stateCode("duplicate");

type DuplicatesOptions = { db: Db; postings: Postings; newestReceivedAt: () => number };

export class Duplicates {
  readonly #postings;
  readonly #firstInWindow;
  readonly #candidate;
  readonly #recent;

  constructor({ db, postings, newestReceivedAt }: DuplicatesOptions) {
    const firstSince = firstMessageSince(db);
    this.#postings = postings;
    this.#firstInWindow = (): number => firstSince(newestReceivedAt() - duplicateWindowMs);
    this.#recent = new RecentIds(this.#firstInWindow);
    this.#candidate = db.prepare<[number], { message_id: string; source_id: number; received_at: number; state: number }>(
      "SELECT message_id, source_id, received_at, state FROM messages WHERE id = ?",
    );
  }

  load(): void {
    this.#recent.clear();
    const from = this.#firstInWindow();
    this.#postings.forEach("message_ids", from, (hash, id) => {
      if (id >= from) this.#recent.add(hash, id);
    });
  }

  originalOf(request: IncomingRequest, { messageId }: NewMessage): MessageRowId | null {
    const hash = hash40(messageId);
    if (!this.#recent.has(hash)) return null;
    for (const id of this.#recent.find(hash)) {
      const row = this.#candidate.get(id);
      if (row === undefined || row.message_id !== messageId.toWellFormed() || row.source_id !== request.sourceId) continue;
      if (row.state === rejected || row.state === duplicate) continue;
      if (request.receivedAt - row.received_at <= duplicateWindowMs) return id as MessageRowId;
    }
    return null;
  }

  /** A message that has been accepted: only such a message can be an original. */
  add(messageId: string, id: number): void {
    this.#recent.add(hash40(messageId), id);
  }

  remove(messageId: string, id: number): void {
    this.#recent.remove(hash40(messageId), id);
  }
}

/** Rows are in the order of their time, so the first one of a time is found by halving. */
function firstMessageSince(db: Db): (at: number) => number {
  const newest = db.prepare<[], number>("SELECT coalesce(max(id), 0) FROM messages").pluck();
  const atOrAfter = db.prepare<[number], { id: number; received_at: number }>(
    "SELECT id, received_at FROM messages WHERE id >= ? ORDER BY id LIMIT 1",
  );
  return (at) => {
    let from = 0;
    let to = newest.get() as number;
    while (from < to) {
      const middle = Math.floor((from + to) / 2);
      const row = atOrAfter.get(middle);
      if (row === undefined || row.received_at >= at) to = middle;
      else from = row.id + 1;
    }
    return from;
  };
}
