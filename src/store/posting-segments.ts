/**
 * Postings of many blocks in one, so that a lookup asks some dozens of lists with millions of
 * messages too. Sixteen blocks become a segment, sixteen segments a larger one. A segment is cut
 * into pieces of the size of a page, and its directory, which is in memory, says which piece can
 * have an entry: a lookup reads that one. Upkeep merges in slices, each a transaction. A segment
 * replaces what it was made of with the last slice; one that a crash left unfinished is removed and
 * written again.
 */

import type { Db, Transactions } from "./transactions.ts";

export const postingFields = ["users", "message_ids"] as const;
export type PostingField = (typeof postingFields)[number];

/** Messages of a block share all but so many low values of their ids. */
export const blockSize = 4096;

/** What is merged into one; entries of a piece, which fill a page; pieces of one slice: 2 ms. */
const defaultSizes = { fanOut: 16, pieceEntries: 500, piecesPerSlice: 16 };
export type SegmentSizes = typeof defaultSizes;

/** Segments of the last level have 16,777,216 messages: a place in them has 24 bits. */
const levels = 3;
const placesPerHash = 2 ** 24;

const piecesPerField = 2 ** 20;

/** Pieces that one slice removes. */
const removedAtOnce = 64;

const [writing, inUse, replaced] = [0, 1, 2];

type Segment = {
  id: number;
  level: number;
  first: number;
  end: number;
  entries: number;
  left: number;
};

/** What a look into one segment found, and the id below which the next look begins. */
export type Found = { ids: number[]; bound: number };

type Merge = Pick<Segment, "id" | "level" | "first" | "end"> & {
  inputs: readonly Segment[];
  field: number;
  cursors: Cursor[];
  /** Those that are written of this field: two numbers each. */
  directory: number[];
  /** Messages that it may list: one that is removed while it is written can be in one field only. */
  entries: number;
};

export class PostingSegments {
  readonly #db;
  readonly #transactions;
  readonly #sizes;
  readonly #existing;
  readonly #piece;
  readonly #statements;
  /** Those in use, oldest first; null when they have to be read. */
  #list: Segment[] | null = null;
  readonly #directories = new Map<number, Uint32Array>();
  #merge: Merge | null = null;

  constructor(db: Db, transactions: Transactions, sizes: SegmentSizes = defaultSizes) {
    this.#db = db;
    this.#transactions = transactions;
    this.#sizes = sizes;
    transactions.onReload(() => this.rollback());
    this.#existing = db
      .prepare<[string], number>(
        "SELECT id FROM messages WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id DESC",
      )
      .pluck();
    this.#piece = db
      .prepare<[number], Buffer>("SELECT entries FROM posting_pieces WHERE id = ?")
      .pluck();
    this.#statements = writingStatements(db);
  }

  rollback(): void {
    this.#list = null;
    this.#directories.clear();
    this.#merge = null;
  }

  #inUse(): Segment[] {
    this.#list ??= this.#db
      .prepare<[], Segment>(
        `SELECT id, level, first, "end", entries, left FROM posting_segments WHERE state = ${inUse}`,
      )
      .all()
      .sort((a, b) => a.first - b.first);
    return this.#list;
  }

  /** The one with the newest messages that are older than `bound`. */
  newestBelow(bound: number): Segment | undefined {
    return this.#inUse().findLast(({ first }) => first < bound);
  }

  has(id: number): boolean {
    const segment = this.newestBelow(id + 1);
    return segment !== undefined && id < segment.end;
  }

  /** Messages below `bound` that may carry a value with one of these hashes, newest first. */
  find(
    segment: Segment,
    { field, hashes, bound }: { field: PostingField; hashes: readonly number[]; bound: number },
  ): Found {
    const found = hashes.map((hash) => this.#findOne(segment, field, hash, bound));
    // Below this one, some of them have not been looked for.
    const floor = Math.max(...found.map((each) => each.bound));
    const ids = found.flatMap((each) => each.ids.filter((id) => id >= floor));
    const sorted = hashes.length === 1 ? ids : [...new Set(ids)].sort((a, b) => b - a);
    const isExact = segment.left === segment.entries || sorted.length === 0;
    return { ids: isExact ? sorted : this.#existing.all(JSON.stringify(sorted)), bound: floor };
  }

  #findOne(segment: Segment, field: PostingField, hash: number, bound: number): Found {
    const { id, first, end } = segment;
    const [high, from] = [Math.floor(hash / 256), (hash % 256) * placesPerHash];
    const to = from + Math.min(bound, end) - first;
    const key = pieceKey(id, postingFields.indexOf(field));
    const piece = lowerBound(this.#directory(key), high, to);
    const entries = piece === 0 ? nothing : asNumbers(this.#piece.get(key + piece));
    const ids: number[] = [];
    let at = lowerBound(entries, high, to) - 1;
    for (; at >= 0 && entries[at * 2] === high; at -= 1) {
      const low = entries[at * 2 + 1] as number;
      if (low < from) break;
      ids.push(first + low - from);
    }
    // The piece before this one may have more.
    return { ids, bound: at < 0 ? (ids.at(-1) ?? first) : first };
  }

  #directory(key: number): Uint32Array {
    let directory = this.#directories.get(key);
    if (directory === undefined) {
      directory = asNumbers(this.#piece.get(key));
      this.#directories.set(key, directory);
    }
    return directory;
  }

  /** What the segments in use now list of one field, a piece at a time, newest segment first. */
  *entries(field: PostingField, fromId: number): Generator<Entries> {
    for (const segment of this.#inUse().toReversed())
      if (segment.end > fromId) yield* this.#piecesOf(segment, postingFields.indexOf(field));
  }

  /** Inside the transaction that removes messages: those of them that segments list. */
  remove(ids: Iterable<number>): void {
    const removed = new Map<Segment, number>();
    for (const id of ids) {
      const segment = this.newestBelow(id + 1);
      if (segment !== undefined && id < segment.end)
        removed.set(segment, (removed.get(segment) ?? 0) + 1);
    }
    if (removed.size === 0) return;
    this.#transactions.changes(this);
    for (const [segment, n] of removed) {
      segment.left -= n;
      this.#statements.setLeft.run(segment.left, segment.id);
      if (segment.left === 0) this.#replace(segment);
    }
  }

  #replace({ id }: Segment): void {
    this.#statements.setState.run(replaced, id);
    this.#list = this.#inUse().filter((each) => each.id !== id);
    for (const field of postingFields.keys()) this.#directories.delete(pieceKey(id, field));
  }

  /**
   * A slice of the work: merging what is older than `closed`, or removing what was merged. Returns
   * whether there is more to do.
   */
  mergeSlice(closed: number): boolean {
    return this.#transactions.run(() => {
      this.#transactions.changes(this);
      if (this.#merge === null) {
        if (this.#removePieces()) return true;
        this.#merge = this.#begin(closed);
        return this.#merge !== null;
      }
      this.#continue(this.#merge);
      return true;
    });
  }

  #removePieces(): boolean {
    const { unused, removePieces, removeSegment } = this.#statements;
    const id = unused.get();
    if (id === undefined) return false;
    const { changes } = removePieces.run(pieceKey(id, 0), pieceKey(id + 1, 0), removedAtOnce);
    if (changes === 0) removeSegment.run(id);
    return true;
  }

  #begin(closed: number): Merge | null {
    const { oldestBlock, insert } = this.#statements;
    const rangeOf = (id: number, level: number): { level: number; first: number; end: number } => {
      const size = blockSize * this.#sizes.fanOut ** level;
      const first = Math.floor(id / size) * size;
      return { level, first, end: first + size };
    };
    const start = (range: ReturnType<typeof rangeOf>, inputs: readonly Segment[]): Merge => {
      const id = insert.get(range.level, range.first, range.end) as number;
      const entries =
        inputs.length > 0
          ? inputs.reduce((sum, input) => sum + input.entries, 0)
          : this.#messagesIn(range);
      return { id, ...range, inputs, field: 0, directory: [], entries, cursors: [] };
    };
    const block = oldestBlock.get();
    if (block !== undefined && block !== null) {
      const range = rangeOf(block * blockSize, 1);
      if (range.end <= closed) return this.#open(start(range, []));
    }
    for (let level = 2; level <= levels; level += 1) {
      const smaller = this.#inUse().filter((each) => each.level < level);
      for (const { first } of smaller) {
        const range = rangeOf(first, level);
        const inputs = smaller.filter((each) => each.first >= range.first && each.end <= range.end);
        if (inputs.length > 1 && range.end <= closed) return this.#open(start(range, inputs));
      }
    }
    return null;
  }

  /** The lists of the next field, from the beginning. */
  #open(merge: Merge): Merge {
    const { first, end, field, inputs } = merge;
    merge.directory = [];
    merge.cursors =
      inputs.length > 0
        ? inputs.map((input) => new Cursor(this.#piecesOf(input, field)))
        : this.#statements.blocks
            .all(first / blockSize, end / blockSize)
            .map((row) => new Cursor([blockEntries(asDoubles(row[field] as Buffer), row[2])]));
    return merge;
  }

  *#piecesOf({ id, first }: Segment, field: number): Generator<Entries> {
    for (let n = pieceKey(id, field) + 1; ; n += 1) {
      const piece = this.#piece.get(n);
      if (piece === undefined) return;
      yield decoded(asNumbers(piece), first);
    }
  }

  #continue(merge: Merge): void {
    const { id, first, directory, field, cursors } = merge;
    const { insertPiece } = this.#statements;
    const key = pieceKey(id, field);
    for (let piece = 0; piece < this.#sizes.piecesPerSlice; piece += 1) {
      const entries = nextEntries(cursors, first, this.#sizes.pieceEntries);
      if (entries.length === 0) {
        insertPiece.run(key, asBytes(Uint32Array.from(directory)));
        merge.field += 1;
        if (merge.field === postingFields.length) this.#finish(merge);
        else this.#open(merge);
        return;
      }
      directory.push(entries[0] as number, entries[1] as number);
      insertPiece.run(key + directory.length / 2, asBytes(entries));
    }
  }

  /** That blocks list. */
  #messagesIn({ first, end }: Pick<Merge, "first" | "end">): number {
    return this.#statements.countBlocks.get(first / blockSize, end / blockSize) as number;
  }

  /** The segment replaces what it was made of. */
  #finish({ id, first, end, inputs, entries }: Merge): void {
    const { removeBlocks, finish } = this.#statements;
    // Messages may have been removed since this began.
    const current = this.#inUse().filter((each) => inputs.some((input) => input.id === each.id));
    const left = current.reduce(
      (sum, each) => sum + each.left,
      inputs.length > 0 ? 0 : this.#messagesIn({ first, end }),
    );
    for (const each of current) this.#replace(each);
    if (inputs.length === 0) removeBlocks.run(first / blockSize, end / blockSize);
    finish.run(left === 0 ? replaced : inUse, entries, left, id);
    this.#list = null;
    this.#merge = null;
  }
}

function writingStatements(db: Db) {
  return {
    unused: db
      .prepare<[], number>(`SELECT id FROM posting_segments WHERE state <> ${inUse} LIMIT 1`)
      .pluck(),
    insert: db
      .prepare<[number, number, number], number>(
        `INSERT INTO posting_segments (level, first, "end", state, entries, left)
         VALUES (?, ?, ?, ${writing}, 0, 0) RETURNING id`,
      )
      .pluck(),
    finish: db.prepare<[number, number, number, number]>(
      "UPDATE posting_segments SET state = ?, entries = ?, left = ? WHERE id = ?",
    ),
    setLeft: db.prepare<[number, number]>("UPDATE posting_segments SET left = ? WHERE id = ?"),
    setState: db.prepare<[number, number]>("UPDATE posting_segments SET state = ? WHERE id = ?"),
    removeSegment: db.prepare<[number]>("DELETE FROM posting_segments WHERE id = ?"),
    insertPiece: db.prepare<[number, Buffer]>("INSERT INTO posting_pieces VALUES (?, ?)"),
    removePieces: db.prepare<[number, number, number]>(
      `DELETE FROM posting_pieces WHERE id IN
         (SELECT id FROM posting_pieces WHERE id >= ? AND id < ? ORDER BY id LIMIT ?)`,
    ),
    oldestBlock: db.prepare<[], number | null>("SELECT min(block) FROM postings").pluck(),
    blocks: db
      .prepare<[number, number], [Buffer, Buffer, number]>(
        "SELECT users, message_ids, block FROM postings WHERE block >= ? AND block < ? ORDER BY block",
      )
      .raw(),
    countBlocks: db
      .prepare<[number, number], number>(
        "SELECT coalesce(sum(length(message_ids) / 8), 0) FROM postings WHERE block >= ? AND block < ?",
      )
      .pluck(),
    removeBlocks: db.prepare<[number, number]>(
      "DELETE FROM postings WHERE block >= ? AND block < ?",
    ),
  };
}

export type Entries = { hashes: Float64Array; ids: Float64Array };

/** Goes along a list that is read a part at a time. */
class Cursor {
  readonly #parts: Iterator<Entries>;
  #part: Entries = { hashes: new Float64Array(), ids: new Float64Array() };
  #at = 0;
  /** Infinity at the end. */
  hash = Infinity;
  id = 0;

  constructor(parts: Iterable<Entries>) {
    this.#parts = parts[Symbol.iterator]();
    this.next();
  }

  next(): void {
    while (this.#at >= this.#part.ids.length) {
      const { value, done } = this.#parts.next();
      if (done === true) {
        this.hash = Infinity;
        return;
      }
      this.#part = value;
      this.#at = 0;
    }
    this.hash = this.#part.hashes[this.#at] as number;
    this.id = this.#part.ids[this.#at] as number;
    this.#at += 1;
  }
}

/** The next of several lists in the order of hash and id; a later list has later ids. */
function nextEntries(cursors: readonly Cursor[], first: number, limit: number): Uint32Array {
  // Retention may have removed all blocks since the field before this one.
  if (cursors.length === 0) return nothing;
  const entries = new Uint32Array(limit * 2);
  let length = 0;
  while (length < entries.length) {
    let least = cursors[0] as Cursor;
    for (const cursor of cursors) if (cursor.hash < least.hash) least = cursor;
    const { hash } = least;
    if (hash === Infinity) break;
    entries[length] = Math.floor(hash / 256);
    entries[length + 1] = (hash % 256) * placesPerHash + least.id - first;
    length += 2;
    least.next();
  }
  return entries.subarray(0, length);
}

function decoded(entries: Uint32Array, first: number): Entries {
  const n = entries.length / 2;
  const [hashes, ids] = [new Float64Array(n), new Float64Array(n)];
  for (let at = 0; at < n; at += 1) {
    const low = entries[at * 2 + 1] as number;
    hashes[at] = (entries[at * 2] as number) * 256 + (low >>> 24);
    ids[at] = first + (low & (placesPerHash - 1));
  }
  return { hashes, ids };
}

/** Of a block, whose entries are packed into a number each. */
export function blockEntries(packed: ArrayLike<number>, block: number): Entries {
  const [hashes, ids] = [new Float64Array(packed.length), new Float64Array(packed.length)];
  for (let at = 0; at < packed.length; at += 1) {
    const place = (packed[at] as number) % blockSize;
    hashes[at] = ((packed[at] as number) - place) / blockSize;
    ids[at] = block * blockSize + place;
  }
  return { hashes, ids };
}

const pieceKey = (segment: number, field: number): number =>
  (segment * postingFields.length + field) * piecesPerField;

/** The first place whose entry is not below (high, low). */
function lowerBound(entries: Uint32Array, high: number, low: number): number {
  let from = 0;
  let to = entries.length / 2;
  while (from < to) {
    const middle = (from + to) >>> 1;
    const ofHigh = (entries[middle * 2] as number) - high;
    if (ofHigh < 0 || (ofHigh === 0 && (entries[middle * 2 + 1] as number) < low))
      from = middle + 1;
    else to = middle;
  }
  return from;
}

const nothing = new Uint32Array();

export function asDoubles(list: Buffer): Float64Array {
  if (list.byteOffset % 8 === 0)
    return new Float64Array(list.buffer, list.byteOffset, list.byteLength / 8);
  return new Float64Array(Uint8Array.from(list).buffer);
}

function asNumbers(list: Buffer | undefined): Uint32Array {
  if (list === undefined) return nothing;
  if (list.byteOffset % 4 === 0)
    return new Uint32Array(list.buffer, list.byteOffset, list.byteLength / 4);
  return new Uint32Array(Uint8Array.from(list).buffer);
}

function asBytes(numbers: Uint32Array): Buffer {
  return Buffer.from(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
