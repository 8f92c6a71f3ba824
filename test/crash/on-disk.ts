/** What a data file holds, read by another process than the one that writes it. Never writes. */

import { join } from "node:path";
import Database from "better-sqlite3";
import { expect } from "vitest";
import { expectConsistent } from "../../src/store/store.fixture.ts";

const sending = 0;
const waiting = 2;

export function readData(data: string) {
  const db = new Database(join(data, "hookyard.db"), { readonly: true });
  const newAttempts = db.prepare<[number], { id: number }>(
    "SELECT * FROM attempts WHERE id > ? ORDER BY id",
  );
  const inState = db.prepare<[number], { id: number; attempts: number }>(
    "SELECT id, (SELECT count(*) FROM attempts WHERE delivery_id = deliveries.id) AS attempts FROM deliveries WHERE state = ?",
  );
  return {
    /** Attempts on record that are not in `seen` yet are put there; their ids have no gaps. */
    noteAttempts(seen: Map<number, string>): void {
      for (const row of newAttempts.all(seen.size)) seen.set(row.id, JSON.stringify(row));
    },
    attempts: (): Map<number, string> =>
      new Map(newAttempts.all(0).map((row) => [row.id, JSON.stringify(row)])),
    messageIds: () =>
      new Set(db.prepare<[], string>("SELECT message_id FROM messages").pluck().all()),
    sending: () => inState.all(sending),
    waiting: () => inState.all(waiting),
    /** Deliveries that were queued again because of a restart. */
    restarted: () =>
      db
        .prepare<[], number>(
          "SELECT DISTINCT delivery_id FROM transitions WHERE reason = 'restarted'",
        )
        .pluck()
        .all(),
    attemptsOf: (delivery: number) =>
      db
        .prepare<[number], number>("SELECT count(*) FROM attempts WHERE delivery_id = ?")
        .pluck()
        .get(delivery) ?? 0,
    states: () => db.prepare("SELECT state, count(*) AS n FROM deliveries GROUP BY state").all(),
    /** How far the profiles have followed the messages. */
    followed: () =>
      db
        .prepare<[], { upTo: number; newest: number }>(
          `SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = 'followed'), 0) AS upTo,
             (SELECT coalesce(max(id), 0) FROM messages) AS newest`,
        )
        .get() ?? { upTo: 0, newest: 0 },
    expectSound(): void {
      expect(db.pragma("integrity_check", { simple: true })).toBe("ok");
      expectConsistent(db);
    },
    close: () => void db.close(),
  };
}
