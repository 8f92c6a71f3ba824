/**
 * Finds the original of a message: the same message id from the same source, accepted in the last
 * 24 hours. The hashes of these ids are in memory; the row decides.
 *
 * An accepted id is stored under a hash of the id and its source, and only for its newest message,
 * because equal hashes would form one long run. An id read from postings is stored under the hash of the
 * id alone, because its source is not known without its row; for later postings with the same hash, the
 * row is read.
 */

import type { MessageRowId } from "../domain/ids.ts";
import type { IncomingRequest, NewMessage } from "../engine/ports.ts";
import { stateCode } from "./codes.ts";
import { hash40, type Postings } from "./postings.ts";
import type { Db } from "./transactions.ts";

/** The same message id from the same source within this time is a duplicate. */
const duplicateWindowMs = 24 * 60 * 60 * 1000;

const rejected = stateCode("rejected");
const duplicate = stateCode("duplicate");

/** Ids that are read, or moved in memory, between two turns of the event loop: some milliseconds' work. */
const readAtOnce = 8000;
/** Ids that are read in the time of two rows. */
const idsPerRows = 20;

type DuplicatesOptions = {
  db: Db;
  postings: Pick<Postings, "entries">;
  newestReceivedAt: () => number;
};

export class Duplicates {
  readonly #postings;
  readonly #firstInWindow;
  readonly #candidate;
  readonly #recent;
  readonly #newest;
  /** What is still to be read; null when all is. */
  #loading: Generator<void> | null = null;
  #newestToLoad = 0;

  constructor({ db, postings, newestReceivedAt }: DuplicatesOptions) {
    const firstSince = firstMessageSince(db);
    this.#postings = postings;
    this.#newest = db.prepare<[], number>("SELECT coalesce(max(id), 0) FROM messages").pluck();
    this.#firstInWindow = (): number => firstSince(newestReceivedAt() - duplicateWindowMs);
    this.#recent = new RecentIds(this.#firstInWindow);
    this.#candidate = db.prepare<
      [number],
      { message_id: string; source_id: number; received_at: number; state: number }
    >("SELECT message_id, source_id, received_at, state FROM messages WHERE id = ?");
    this.reload();
  }

  /** Forgets all, to read the ids again. */
  reload(): void {
    this.#newestToLoad = this.#newest.get() as number;
    this.#recent.clear(this.#newestToLoad - this.#firstInWindow());
    this.#loading = this.#load();
  }

  *#load(): Generator<void> {
    const from = this.#firstInWindow();
    let read = 0;
    for (const { hashes, ids } of this.#postings.entries("message_ids", from)) {
      for (let at = 0; at < ids.length; at += 1) {
        const id = ids[at] as number;
        // What was committed meanwhile has been added.
        if (id >= from && id <= this.#newestToLoad)
          read += this.#addLoaded(hashes[at] as number, id);
      }
      read += ids.length;
      if (read < readAtOnce) continue;
      read = 0;
      yield;
    }
  }

  /** Returns how much work it was beside reading the id, in such ids. */
  #addLoaded(hash: number, id: number): number {
    if (!this.#recent.has(hash)) return this.#recent.add(hash, id);
    const row = this.#candidate.get(id);
    if (row !== undefined && row.state !== rejected && row.state !== duplicate) {
      const own = withSource(hash, row.source_id);
      const known = this.#find(own, row.message_id, row.source_id);
      if (known === null || known < id) this.#replace(own, known, id);
    }
    return idsPerRows;
  }

  /** Reads some of the ids, if any are left; returns whether more are. */
  loadSlice(): boolean {
    if (this.#loading?.next().done === true) this.#loading = null;
    return this.#loading !== null;
  }

  originalOf(request: IncomingRequest, { messageId }: NewMessage): MessageRowId | null {
    while (this.loadSlice());
    const { sourceId, receivedAt } = request;
    const since = receivedAt - duplicateWindowMs;
    const hash = hash40(messageId);
    return (
      this.#find(withSource(hash, sourceId), messageId, sourceId, since) ??
      this.#find(hash, messageId, sourceId, since)
    );
  }

  /** Among the ids with this hash. */
  #find(
    hash: number,
    messageId: string,
    sourceId: number,
    since = Number.NEGATIVE_INFINITY,
  ): MessageRowId | null {
    if (!this.#recent.has(hash)) return null;
    for (const id of this.#recent.find(hash)) {
      const row = this.#candidate.get(id);
      if (
        row === undefined ||
        row.message_id !== messageId.toWellFormed() ||
        row.source_id !== sourceId
      )
        continue;
      if (row.state === rejected || row.state === duplicate) continue;
      if (row.received_at >= since) return id as MessageRowId;
    }
    return null;
  }

  /**
   * A message that has been accepted: only such a message can be an original. It takes the place of
   * an earlier one with its id, which is returned.
   */
  add(messageId: string, sourceId: number, id: number): number | null {
    const hash = withSource(hash40(messageId), sourceId);
    const earlier = this.#find(hash, messageId, sourceId);
    this.#replace(hash, earlier, id);
    return earlier;
  }

  /** `earlier` is what `add` returned. */
  remove(messageId: string, sourceId: number, id: number, earlier: number | null): void {
    this.#replace(withSource(hash40(messageId), sourceId), id, earlier);
  }

  #replace(hash: number, old: number | null, id: number | null): void {
    if (old !== null) this.#recent.remove(hash, old);
    if (id !== null) this.#recent.add(hash, id);
  }
}

/** Of 40 bits as well. Sources begin with 1, so it is not that of the id alone. */
function withSource(hash: number, sourceId: number): number {
  return (hash + sourceId * 0x9e3779b1) % 2 ** 40;
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

const tables = 64;
/** Places of an empty table. */
const smallest = 256;
const emptyKey = 0;

/**
 * `oldestRelevant` returns the first row that is still within the 24 hours; called when a table is
 * full.
 */
type OldestRelevant = () => number;

/**
 * The message ids of the last 24 hours, in memory, by hash: it takes a few nanoseconds to see that
 * a message id is new. A hit is only a candidate; the row itself decides. 64 tables instead of one,
 * because a table grows in one go: a large one would stop the event loop for as long as a frame or
 * four.
 */
export class RecentIds {
  #oldestRelevant: OldestRelevant;
  /** Each is created when it is first asked. */
  #tables: (Table | undefined)[] = [];
  #room = 0;

  constructor(oldestRelevant: OldestRelevant) {
    this.#oldestRelevant = oldestRelevant;
  }

  /** Returns how many others it moved. */
  add(hash: number, id: number): number {
    return this.#tableOf(hash).add(hash, id);
  }

  remove(hash: number, id: number): void {
    this.#tableOf(hash).remove(hash, id);
  }

  /** Rows whose message id has this hash. */
  find(hash: number): Iterable<number> {
    return this.#tableOf(hash).find(hash);
  }

  has(hash: number): boolean {
    return this.#tableOf(hash).has(hash);
  }

  /** `expected`: how many are to be added soon, at once in their place instead of moved as it grows. */
  clear(expected = 0): void {
    this.#room = expected / tables;
    this.#tables = [];
  }

  #tableOf(hash: number): Table {
    return (this.#tables[hash % tables] ??= new Table(this.#oldestRelevant, this.#room));
  }
}

/**
 * Open addressing over two flat arrays, a quarter to half full: 16 to 32 bytes an id. Both have 32
 * bits of what they stand for: others may have the same hash, and an id is the newest that is not
 * above the newest of all and ends with these bits.
 */
class Table {
  #keys;
  #ids;
  #size = 0;
  #newest = 0;
  #oldestRelevant: OldestRelevant;

  constructor(oldestRelevant: OldestRelevant, expected: number) {
    this.#oldestRelevant = oldestRelevant;
    const capacity = capacityFor(expected);
    this.#keys = new Uint32Array(capacity);
    this.#ids = new Uint32Array(capacity);
  }

  add(hash: number, id: number): number {
    const isFull = this.#size * 2 >= this.#keys.length;
    this.#newest = Math.max(this.#newest, id);
    if (isFull) this.#rebuild();
    const moved = isFull ? this.#size : 0;
    this.#place(keyOf(hash), id);
    return moved;
  }

  remove(hash: number, id: number): void {
    const wanted = keyOf(hash);
    const mask = this.#keys.length - 1;
    let gap = spread(wanted) & mask;
    while (this.#keys[gap] !== emptyKey && (this.#keys[gap] !== wanted || this.#idAt(gap) !== id))
      gap = (gap + 1) & mask;
    if (this.#keys[gap] === emptyKey) return;
    // What was placed behind it, because its own place was taken, moves up: a search ends at the
    // first gap.
    for (let at = (gap + 1) & mask; this.#keys[at] !== emptyKey; at = (at + 1) & mask) {
      const key = this.#keys[at] as number;
      if (((at - spread(key)) & mask) < ((at - gap) & mask)) continue;
      this.#keys[gap] = key;
      this.#ids[gap] = this.#ids[at] as number;
      gap = at;
    }
    this.#keys[gap] = emptyKey;
    this.#size -= 1;
  }

  *find(hash: number): Generator<number> {
    const key = keyOf(hash);
    const mask = this.#keys.length - 1;
    for (let at = spread(key) & mask; this.#keys[at] !== emptyKey; at = (at + 1) & mask) {
      if (this.#keys[at] === key) yield this.#idAt(at);
    }
  }

  has(hash: number): boolean {
    const key = keyOf(hash);
    const mask = this.#keys.length - 1;
    for (let at = spread(key) & mask; this.#keys[at] !== emptyKey; at = (at + 1) & mask) {
      if (this.#keys[at] === key) return true;
    }
    return false;
  }

  #idAt(place: number): number {
    return this.#newest - ((this.#newest - (this.#ids[place] as number)) >>> 0);
  }

  #place(key: number, id: number): void {
    const mask = this.#keys.length - 1;
    let at = spread(key) & mask;
    while (this.#keys[at] !== emptyKey) at = (at + 1) & mask;
    this.#keys[at] = key;
    this.#ids[at] = id;
    this.#size += 1;
  }

  #rebuild(): void {
    const oldest = this.#oldestRelevant();
    const kept: number[] = [];
    for (let at = 0; at < this.#keys.length; at += 1)
      if (this.#keys[at] !== emptyKey && this.#idAt(at) >= oldest) kept.push(at);
    const keys = this.#keys;
    const ids = kept.map((at) => this.#idAt(at));
    const capacity = capacityFor(kept.length * 2);
    this.#keys = new Uint32Array(capacity);
    this.#ids = new Uint32Array(capacity);
    this.#size = 0;
    for (const [nth, at] of kept.entries()) this.#place(keys[at] as number, ids[nth] as number);
  }
}

function capacityFor(room: number): number {
  let capacity = smallest;
  while (capacity < room * 2) capacity *= 2;
  return capacity;
}

/** What all of a table have in common is left out, and the two highest of 40 bits. */
function keyOf(hash: number): number {
  return Math.floor(hash / tables) >>> 0 || 1;
}

/** The low bits of a key are those of one short hash; this brings all of them down. */
function spread(key: number): number {
  return Math.imul(key ^ (key >>> 15), 0x9e3779b1) >>> 8;
}
