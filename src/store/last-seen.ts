/**
 * When each profile was last seen, in memory, because the list of profiles is in this order: an index
 * of these times would change two more pages of the file for most messages. It is read when a list
 * first asks for it, and takes 8 bytes a profile.
 */

import type { Db, Transactions } from "./transactions.ts";

type Place = { at: number; id: number };

const all = Number.MAX_SAFE_INTEGER;

/** More than a page of the list; those who need more get four times as many each time. */
const firstRun = 256;

export class LastSeen {
  readonly #transactions;
  readonly #after;
  /** By the id of the profile; -Infinity where there is none. */
  #times = new Float64Array(0);
  /** Those with higher ids are not read yet. */
  #readUpTo = 0;

  constructor(db: Db, transactions: Transactions) {
    this.#transactions = transactions;
    this.#after = db
      .prepare<[number, number], [id: number, at: number]>(
        "SELECT id, last_seen_at FROM profiles WHERE id > ? ORDER BY id LIMIT ?",
      )
      .raw();
    transactions.onReload(() => this.rollback());
  }

  /** Reads at most so many more; returns whether none is left. */
  read(limit: number): boolean {
    if (this.#readUpTo === all) return true;
    const rows = this.#after.all(this.#readUpTo, limit);
    for (const [id, at] of rows) this.#set(id, at);
    this.#readUpTo = rows.length < limit ? all : (rows.at(-1)?.[0] as number);
    return this.#readUpTo === all;
  }

  note(id: number, at: number): void {
    if (id > this.#readUpTo) return;
    this.#transactions.onRollback(this);
    this.#set(id, Math.max(at, this.#times[id] ?? -Infinity));
  }

  merge(from: number, into: number): void {
    if (from <= this.#readUpTo) this.note(into, this.#times[from] as number);
    this.remove(from);
  }

  remove(id: number): void {
    if (id > this.#readUpTo) return;
    this.#transactions.onRollback(this);
    this.#times[id] = -Infinity;
  }

  rollback(): void {
    this.#times = new Float64Array(0);
    this.#readUpTo = 0;
  }

  /** The ids of the profiles seen before this, the latest first, and of those as late the newest. */
  *before(place: Place): Generator<number> {
    while (!this.read(100_000));
    for (let last: Place | null = place, length = firstRun; last !== null; length *= 4) {
      const latest = this.#latest(last, length);
      for (const { id } of latest) yield id;
      last = latest.length < length ? null : (latest.at(-1) ?? null);
    }
  }

  /** Of these profiles, the ones seen before this, the latest first. */
  latestOf(ids: readonly number[], { at, id: below, limit }: Place & { limit: number }): number[] {
    while (!this.read(100_000));
    return ids
      .map((id) => ({ id, seen: this.#times[id] ?? -Infinity }))
      .filter(({ id, seen }) => seen > -Infinity && (seen < at || (seen === at && id < below)))
      .sort((a, b) => b.seen - a.seen || b.id - a.id)
      .slice(0, limit)
      .map(({ id }) => id);
  }

  /** A heap of the latest so far, whose first is the earliest of them; then in their order. */
  #latest({ at, id: below }: Place, length: number): Place[] {
    const times = this.#times;
    const isEarlier = (a: number, b: number): boolean => {
      const [ofA, ofB] = [times[a] as number, times[b] as number];
      return ofA < ofB || (ofA === ofB && a < b);
    };
    const heap: number[] = [];
    const up = (place: number, id: number): void => {
      for (let child = place; ;) {
        const parent = (child - 1) >> 1;
        if (child === 0 || !isEarlier(id, heap[parent] as number)) return void (heap[child] = id);
        heap[child] = heap[parent] as number;
        child = parent;
      }
    };
    const down = (id: number): void => {
      for (let parent = 0; ;) {
        let child = 2 * parent + 1;
        if (child + 1 < length && isEarlier(heap[child + 1] as number, heap[child] as number))
          child += 1;
        if (child >= length || !isEarlier(heap[child] as number, id))
          return void (heap[parent] = id);
        heap[parent] = heap[child] as number;
        parent = child;
      }
    };
    // Newer profiles were often seen later: most of the others are then passed over.
    for (let id = times.length - 1; id > 0; id -= 1) {
      const seen = times[id] as number;
      if (seen === -Infinity || seen > at || (seen === at && id >= below)) continue;
      if (heap.length < length) up(heap.length, id);
      else if (isEarlier(heap[0] as number, id)) down(id);
    }
    return heap
      .sort((a, b) => (isEarlier(a, b) ? 1 : -1))
      .map((id) => ({ at: times[id] as number, id }));
  }

  #set(id: number, at: number): void {
    if (id >= this.#times.length) {
      const times = new Float64Array(Math.max(1024, 2 * id)).fill(-Infinity);
      times.set(this.#times);
      this.#times = times;
    }
    this.#times[id] = at;
  }
}
