/**
 * Which messages carry a user or a message id. Ordinary indexes on such scattered values
 * dirty a page per message and cost more than all the rest of ingest; postings are written in
 * blocks of 4,096 messages, each a sorted list of (hash, place in the block), and looked up by
 * binary search from the newest block back. Older blocks are merged into segments. The block that is still filling is in memory and
 * rebuilt from its rows at the start. Results are candidates: a reader that shows a row compares
 * the value itself.
 */

import {
  asDoubles,
  blockEntries,
  blockSize,
  type Entries,
  type Found,
  type PostingField,
  postingFields,
  PostingSegments,
  type SegmentSizes,
} from "./posting-segments.ts";
import type { Transactions, Db } from "./transactions.ts";

export type PostingEntry = {
  id: number;
  messageId: string;
  userId: string | null;
  anonymousId: string | null;
};

type Block = Record<PostingField, number[]>;

const emptyBlock = (): Block => ({ users: [], message_ids: [] });
/** Lists kept in memory, of 32 KB each: more than there are before they are merged. */
const maxKept = 64;

const blockOf = (id: number): number => Math.floor(id / blockSize);
const pack = (value: string, id: number): number => hash40(value) * blockSize + (id % blockSize);

export class Postings {
  #db: Db;
  #transactions;
  #filling = emptyBlock();
  #block = 0;
  #stale = true;
  #insert;
  #one;
  #delete;
  #newestBlock;
  #select: Record<PostingField, { get(block: number): Buffer | undefined }>;
  #segments;
  /** Lists of closed blocks that were read lately, by field and block. */
  #read = new Map<string, Float64Array>();

  constructor(db: Db, transactions: Transactions, sizes?: SegmentSizes) {
    this.#db = db;
    this.#segments = new PostingSegments(db, transactions, sizes);
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    // Events are looked up in memory; lists of them are left from earlier versions.
    this.#insert = db.prepare<[number, Buffer, Buffer]>(
      "INSERT OR REPLACE INTO postings VALUES (?, ?, x'', ?)",
    );
    const list = (field: PostingField) =>
      db.prepare<[number], Buffer>(`SELECT ${field} FROM postings WHERE block = ?`).pluck();
    this.#select = {
      users: list("users"),
      message_ids: list("message_ids"),
    };
    this.#newestBlock = db
      .prepare<[number], number | null>("SELECT max(block) FROM postings WHERE block < ?")
      .pluck();
    this.#one = db.prepare<[number], Record<PostingField, Buffer>>(
      "SELECT users, message_ids FROM postings WHERE block = ?",
    );
    this.#delete = db.prepare<[number]>("DELETE FROM postings WHERE block = ?");
  }

  /** Inside the transaction that inserts the message; ids come in order. */
  add(entry: PostingEntry): void {
    this.#transactions.changes(this);
    this.#catchUp(entry.id);
    const block = blockOf(entry.id);
    if (block !== this.#block) {
      // A segment may have it, when all later messages were removed before a start.
      if (this.#filling.message_ids.length > 0 && !this.#segments.has(this.#block * blockSize))
        this.#write();
      this.#block = block;
      this.#filling = emptyBlock();
    }
    this.#note(entry);
  }

  /** Inside the transaction that removes the messages. */
  remove(ids: ReadonlySet<number>): void {
    this.#transactions.changes(this);
    this.#catchUp();
    this.#segments.remove(ids);
    for (const block of new Set([...ids].map(blockOf))) {
      for (const field of postingFields) this.#read.delete(`${field} ${block}`);
      const stays = (packed: number): boolean => !ids.has(block * blockSize + (packed % blockSize));
      if (block === this.#block) {
        for (const field of postingFields)
          this.#filling[field] = this.#filling[field].filter(stays);
        if (this.#filling.message_ids.length === 0) this.#delete.run(block);
        continue;
      }
      const row = this.#one.get(block);
      if (row === undefined) continue;
      const left = (field: PostingField): Buffer =>
        Buffer.from(asDoubles(row[field]).filter(stays).buffer);
      const messageIds = left("message_ids");
      if (messageIds.length === 0) this.#delete.run(block);
      else this.#insert.run(block, left("users"), messageIds);
    }
  }

  rollback(): void {
    this.#stale = true;
    this.#read.clear();
  }

  /**
   * Rebuilds from its rows the block that is filling; those from `before` on are still to be added.
   */
  #catchUp(before = Number.MAX_SAFE_INTEGER): void {
    if (!this.#stale) return;
    const newest = this.#db
      .prepare<[number], number>("SELECT coalesce(max(id), 0) FROM messages WHERE id < ?")
      .pluck();
    this.#filling = emptyBlock();
    this.#block = blockOf(newest.get(before) as number);
    const rows = this.#db
      .prepare<[number, number], PostingEntry>(
        `SELECT id, message_id AS messageId, user_id AS userId, anonymous_id AS anonymousId
         FROM messages WHERE id >= ? AND id < ? ORDER BY id`,
      )
      .all(this.#block * blockSize, before);
    for (const row of rows) this.#note(row);
    this.#stale = false;
  }

  /** Ids below `before` that may carry any of the values, newest first, a block at a time. */
  *candidates(
    field: PostingField,
    values: readonly string[],
    before = Number.MAX_SAFE_INTEGER,
  ): Generator<number[]> {
    this.#catchUp();
    const hashes = values.map(hash40);
    // Whoever walks may let messages come in between, and another block be the one that is filling.
    const newestBlock = this.#block;
    const filling = Float64Array.from(this.#filling[field]).sort();
    yield idsIn(newestBlock, filling, hashes, before);
    for (let bound = Math.min(before, newestBlock * blockSize); bound > 0;) {
      const found = this.#findBelow(field, hashes, bound);
      if (found === null) return;
      yield found.ids;
      bound = found.bound;
    }
  }

  /** Looks into the newest segment or block below `bound`, which others may have merged by now. */
  #findBelow(field: PostingField, hashes: readonly number[], bound: number): Found | null {
    const segment = this.#segments.newestBelow(bound);
    const block = this.#newestBlock.get(Math.ceil(bound / blockSize)) as number | null;
    if (block !== null && (segment === undefined || block * blockSize >= segment.end)) {
      const ids = idsIn(block, this.#closed(field, block), hashes, bound);
      return { ids, bound: block * blockSize };
    }
    return segment === undefined ? null : this.#segments.find(segment, { field, hashes, bound });
  }

  /** One slice of merging the blocks that are closed; returns whether there is more to do. */
  mergeSlice(): boolean {
    this.#catchUp();
    return this.#segments.mergeSlice(this.#block * blockSize);
  }

  /**
   * The list of a closed block; those read lately are kept, for a lookup goes through all of them.
   */
  #closed(field: PostingField, block: number): Float64Array {
    const key = `${field} ${block}`;
    const known = this.#read.get(key);
    if (known !== undefined) return known;
    const list = Float64Array.from(asDoubles(this.#select[field].get(block) ?? Buffer.alloc(0)));
    if (this.#read.size >= maxKept) this.#read.delete(this.#read.keys().next().value as string);
    this.#read.set(key, list);
    return list;
  }

  /**
   * The entries of one field from a message on, and some of earlier ones, newest blocks first: for
   * what is kept in memory. Nothing may be merged until its end.
   */
  *entries(field: PostingField, fromId: number): Generator<Entries> {
    this.#catchUp();
    const filling = this.#block;
    yield blockEntries(this.#filling[field], filling);
    for (let block = this.#newestBlock.get(filling) as number | null; block !== null;) {
      if ((block + 1) * blockSize <= fromId) break;
      yield blockEntries(asDoubles(this.#select[field].get(block) ?? Buffer.alloc(0)), block);
      block = this.#newestBlock.get(block) as number | null;
    }
    yield* this.#segments.entries(field, fromId);
  }

  #note({ id, messageId, userId, anonymousId }: PostingEntry): void {
    this.#filling.message_ids.push(pack(messageId, id));
    if (userId !== null) this.#filling.users.push(pack(userId, id));
    if (anonymousId !== null && anonymousId !== userId)
      this.#filling.users.push(pack(anonymousId, id));
  }

  #write(): void {
    const list = (field: PostingField) =>
      Buffer.from(Float64Array.from(this.#filling[field]).sort().buffer);
    this.#insert.run(this.#block, list("users"), list("message_ids"));
  }
}

/** Below `before`, newest first. */
function idsIn(
  block: number,
  sorted: Float64Array,
  hashes: readonly number[],
  before: number,
): number[] {
  const ids = hashes.flatMap((hash) => idsWith(hash, block, sorted)).filter((id) => id < before);
  return hashes.length === 1 ? ids : [...new Set(ids)].sort((a, b) => b - a);
}

/** Newest first. */
function idsWith(hash: number, block: number, sorted: Float64Array): number[] {
  const low = hash * blockSize;
  const ids: number[] = [];
  for (let i = lowerBound(sorted, low + blockSize) - 1; i >= 0; i -= 1) {
    const entry = sorted[i] as number;
    if (entry < low) break;
    ids.push(block * blockSize + (entry - low));
  }
  return ids;
}

/** The first place whose entry is not below `value`. */
function lowerBound(sorted: Float64Array, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((sorted[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * 40 bits of a string: few enough to pack with a place in a block into a double, many enough that
 * two of a million strings hardly ever meet.
 */
export function hash40(value: string): number {
  // As the database will give it back: a lone surrogate is not UTF-8.
  const text = value.toWellFormed();
  let a = 0x811c9dc5;
  let b = 0x9747b28c;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x5bd1e995);
  }
  a ^= a >>> 15;
  b ^= b >>> 13;
  return (a >>> 0) * 256 + (b & 0xff);
}
