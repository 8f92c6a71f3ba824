/** The names for suggestions, with how often each was seen. Bounded: rare names are removed first. */

import type { ProfileStore, SeenNames } from "../engine/profile-ports.ts";
import type { Db } from "./open.ts";
import type { Transactions } from "./transactions.ts";

const traitKind = 0;
const eventKind = 1;
const propertyKind = 2;

/** Names kept of traits, of events, and of the properties of one event: more than a person chooses from. */
const kept = 500;

/** Seldom enough that clearing out costs nothing, also where every event has a name of its own. */
const tooMany = 2 * kept;

/** A name this long suggests nothing. */
const maxLength = 200;

type Seen = { kind: number; event: string; name: string };

export function createSeenNames(db: Db, transactions: Transactions): Pick<ProfileStore, "noteSeen" | "seenNames"> {
  const count = db.prepare<[number, string, string, number]>(
    "INSERT INTO seen_names VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
  );
  const all = db.prepare<[], Seen>("SELECT kind, event, name FROM seen_names ORDER BY n DESC, kind, event, name");
  const ofKind = db.prepare<[number, string], number>("SELECT count(*) FROM seen_names WHERE kind = ? AND event = ?").pluck();
  const seldom = db
    .prepare<[number, string, number], string>("SELECT name FROM seen_names WHERE kind = ? AND event = ? ORDER BY n, name DESC LIMIT ?")
    .pluck();
  const remove = db.prepare<[number, string, string]>("DELETE FROM seen_names WHERE kind = ? AND event = ? AND name = ?");
  const removeProperties = db.prepare<[number, string]>("DELETE FROM seen_names WHERE kind = ? AND event = ?");

  /** Those that were counted before: only a name that may be new can make too many. */
  const known = new Set<string>();
  const cache = { rollback: () => known.clear() };
  transactions.onReload(cache.rollback);

  function note(kind: number, event: string, names: Iterable<readonly [string, number]>): void {
    let fresh = false;
    for (const [name, times] of names) {
      if (name.length > maxLength) continue;
      count.run(kind, event, name, times);
      const key = `${kind} ${event} ${name}`;
      if (known.has(key)) continue;
      known.add(key);
      fresh = true;
    }
    if (fresh) clearOut(kind, event);
  }

  function clearOut(kind: number, event: string): void {
    // A name that is removed here is counted as new once more.
    if (known.size > 10 * tooMany) known.clear();
    const n = ofKind.get(kind, event) as number;
    if (n <= tooMany) return;
    for (const name of seldom.all(kind, event, n - kept)) {
      remove.run(kind, event, name);
      if (kind === eventKind) removeProperties.run(propertyKind, name);
    }
  }

  return {
    noteSeen: transactions.wrap(({ traits, events }: SeenNames) => {
      transactions.changes(cache);
      note(traitKind, "", traits);
      // Before the events: those that go take their properties with them.
      for (const [event, { properties }] of events) if (event.length <= maxLength) note(propertyKind, event, properties);
      note(
        eventKind,
        "",
        [...events].map(([name, { times }]) => [name, times] as const),
      );
    }),
    seenNames() {
      const traits: string[] = [];
      const events = new Map<string, string[]>();
      const properties: Seen[] = [];
      for (const seen of all.all()) {
        if (seen.kind === traitKind) traits.push(seen.name);
        else if (seen.kind === eventKind) events.set(seen.name, []);
        else properties.push(seen);
      }
      for (const { event, name } of properties) events.get(event)?.push(name);
      return { traits, events: [...events].map(([event, names]) => ({ event, properties: names })) };
    },
  };
}
