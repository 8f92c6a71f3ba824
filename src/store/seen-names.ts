/** Names of traits, events and properties for suggestions, with how often each was seen. */

import type { ProfileStore, SeenNames } from "../engine/profile-ports.ts";
import type { Db, Transactions } from "./transactions.ts";

const traitKind = 0;
const eventKind = 1;
const propertyKind = 2;

/**
 * Names kept of traits, of events, and of the properties of one event: more than a person chooses
 * from.
 */
const kept = 500;

/** Seldom enough that clearing out costs nothing, also where every event has a name of its own. */
const tooMany = 2 * kept;

/** A name this long suggests nothing. */
const maxLength = 200;

/** Names in memory, of all kinds and events together: 20 MB at most. */
const maxKnown = 100_000;

type Counts = Map<string, number>;

/**
 * The names for suggestions, with how often each was seen. Bounded: rare names are removed first.
 */
export function createSeenNames(
  db: Db,
  transactions: Transactions,
): Pick<ProfileStore, "noteSeen" | "seenNames"> {
  const put = db.prepare<[number, string, string]>(
    "INSERT INTO seen_names VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET names = excluded.names",
  );
  const one = db
    .prepare<[number, string], string>("SELECT names FROM seen_names WHERE kind = ? AND event = ?")
    .pluck();
  const ofKind = db.prepare<[number], { event: string; names: string }>(
    "SELECT event, names FROM seen_names WHERE kind = ?",
  );
  const remove = db.prepare<[number, string]>(
    "DELETE FROM seen_names WHERE kind = ? AND event = ?",
  );

  /** As in the rows. */
  const known = new Map<string, Counts>();
  let size = 0;
  const forget = (): void => {
    known.clear();
    size = 0;
  };
  const cache = { rollback: forget };
  transactions.onReload(forget);

  function countsOf(kind: number, event: string): Counts {
    const key = `${kind} ${event}`;
    let counts = known.get(key);
    if (counts === undefined) {
      counts = countsIn(one.get(kind, event));
      if (size > maxKnown) forget();
      known.set(key, counts);
      size += counts.size;
    }
    return counts;
  }

  function note(kind: number, event: string, names: Iterable<readonly [string, number]>): void {
    const counts = countsOf(kind, event);
    const before = counts.size;
    let isChanged = false;
    for (const [name, times] of names) {
      if (name.length > maxLength) continue;
      const stored = name.toWellFormed();
      counts.set(stored, (counts.get(stored) ?? 0) + times);
      isChanged = true;
    }
    if (!isChanged) return;
    if (counts.size > tooMany) clearOut(kind, counts);
    size += counts.size - before;
    put.run(kind, event, JSON.stringify([...counts]));
  }

  function clearOut(kind: number, counts: Counts): void {
    for (const name of mostFrequent(counts).slice(kept)) {
      counts.delete(name);
      if (kind !== eventKind) continue;
      size -= known.get(`${propertyKind} ${name}`)?.size ?? 0;
      known.delete(`${propertyKind} ${name}`);
      remove.run(propertyKind, name);
    }
  }

  return {
    noteSeen: transactions.wrap(({ traits, events }: SeenNames) => {
      transactions.changes(cache);
      note(traitKind, "", traits);
      // Before the events: those that go take their properties with them.
      for (const [event, { properties }] of events)
        if (event.length <= maxLength) note(propertyKind, event.toWellFormed(), properties);
      note(
        eventKind,
        "",
        [...events].map(([name, { times }]) => [name, times] as const),
      );
    }),
    seenNames() {
      const ofEvents = new Map(
        ofKind.all(propertyKind).map(({ event, names }) => [event, countsIn(names)]),
      );
      return {
        traits: mostFrequent(countsIn(one.get(traitKind, ""))),
        events: mostFrequent(countsIn(one.get(eventKind, ""))).map((event) => ({
          event,
          properties: mostFrequent(ofEvents.get(event) ?? new Map()),
        })),
      };
    },
  };
}

function countsIn(names: string | undefined): Counts {
  return new Map(names === undefined ? [] : (JSON.parse(names) as [string, number][]));
}

function mostFrequent(counts: Counts): string[] {
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1)).map(([name]) => name);
}
