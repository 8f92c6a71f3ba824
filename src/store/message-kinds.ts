/**
 * Source, type and state of every message, in memory: blocks of 4,096 messages, each read when it is first asked for,
 * which takes a millisecond, and updated by every write. An index in the database would be moved at every change of a state,
 * and answers more slowly.
 */

import type { Db } from "./open.ts";
import type { Transactions } from "./transactions.ts";

export type MessageKind = { sourceId: number; type: number; state: number };

/** Called with the `kindNumber` of a kind. */
export type KindTest = (kind: number) => boolean;

const blockSize = 4096;

/** 40 MB, for ten million messages. */
const maxBlocks = 2500;

/** Where there is no message: no type has this number. */
const none = 0xff_ff_ff_ff;

export const anyKind: KindTest = (kind) => kind !== none;

export class MessageKinds {
  #read;
  #newestBefore;
  #blocks = new Map<number, Uint32Array>();
  #transactions;

  constructor(db: Db, transactions: Transactions) {
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#read = db
      .prepare<[number, number], [number, number]>("SELECT id, source_id * 256 + type * 16 + state FROM messages WHERE id >= ? AND id < ?")
      .raw();
    this.#newestBefore = db.prepare<[number], number | null>("SELECT max(id) FROM messages WHERE id < ?").pluck();
  }

  /** In the transaction that writes the row, or removes it. */
  set(id: number, kind: MessageKind | null): void {
    this.#transactions.changes(this);
    const block = this.#blocks.get(blockOf(id));
    if (block !== undefined) block[id % blockSize] = kind === null ? none : kindNumber(kind);
  }

  rollback(): void {
    this.#blocks.clear();
  }

  /** Ids of the messages that the test allows, newest first, a block at a time. */
  *matching(allows: KindTest, before: number): Generator<number[]> {
    for (let newest = this.#newestBefore.get(before) as number | null; newest !== null;) {
      const first = blockOf(newest) * blockSize;
      const kinds = this.#block(blockOf(newest));
      const ids: number[] = [];
      for (let place = newest - first; place >= 0; place -= 1) if (allows(kinds[place] as number)) ids.push(first + place);
      yield ids;
      newest = this.#newestBefore.get(first) as number | null;
    }
  }

  /** Those of these ids that the test allows; all of them are of one block. */
  among(ids: number[], allows: KindTest): number[] {
    const [first] = ids;
    if (first === undefined) return ids;
    const kinds = this.#block(blockOf(first));
    return ids.filter((id) => allows(kinds[id % blockSize] as number));
  }

  #block(number: number): Uint32Array {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const block = new Uint32Array(blockSize).fill(none);
    const first = number * blockSize;
    for (const [id, kind] of this.#read.iterate(first, first + blockSize)) block[id - first] = kind;
    if (this.#blocks.size >= maxBlocks) this.#blocks.delete(this.#blocks.keys().next().value as number);
    this.#blocks.set(number, block);
    return block;
  }
}

function blockOf(id: number): number {
  return Math.floor(id / blockSize);
}

export function kindNumber({ sourceId, type, state }: MessageKind): number {
  return sourceId * 256 + type * 16 + state;
}

/** What a kind must have; null for any. */
type Wanted = Record<"sourceIds" | "types" | "states", ReadonlySet<number> | null>;

export function kindTest({ sourceIds, types, states }: Wanted): KindTest {
  // It is asked for each of a million messages: a look into a table costs less than two into sets.
  const allowed = Array.from({ length: 256 }, (_, kind) => (types?.has(kind >>> 4) ?? true) && (states?.has(kind & 15) ?? true));
  return (kind) => allowed[kind & 255] === true && (sourceIds?.has(kind >>> 8) ?? true);
}
