/** The clock as it was stored last, and how late the record says that it was. */

import type { ClockStore, StoredClock } from "../engine/ports.ts";
import type { Db } from "./open.ts";

/** Rows are in the order in which they were written. Those written close together may be out of the order of their times. */
const newestRows = 256;

export function createClockStore(db: Db): ClockStore {
  const load = db.prepare<[], string>("SELECT value FROM meta WHERE key = 'clock'").pluck();
  const save = db.prepare<[string]>("INSERT INTO meta VALUES ('clock', ?) ON CONFLICT DO UPDATE SET value = excluded.value");
  /** Times of the clock that the pipeline has written; what users and receivers say in a message is none of them. */
  const recorded: readonly [table: string, time: string][] = [
    ["messages", "received_at"],
    ["attempts", "started_at"],
    ["transitions", "at"],
    ["unknown_key_requests", "received_at"],
    ["deletions", "requested_at"],
  ];
  const latest = recorded.map(([table, time]) =>
    db.prepare<[], number | null>(`SELECT max(${time}) FROM ${table} WHERE id > (SELECT max(id) FROM ${table}) - ${newestRows}`).pluck(),
  );

  return {
    loadClock() {
      const value = load.get();
      return value === undefined ? null : (JSON.parse(value) as StoredClock);
    },
    saveClock: (clock) => void save.run(JSON.stringify(clock)),
    latestRecordedAt: () => Math.max(0, ...latest.map((each) => each.get() ?? 0)),
  };
}
