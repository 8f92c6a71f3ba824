/**
 * How many messages there are of each source, type and state, and deliveries of each destination
 * and state, kept in the same transactions that change them. Totals of any combination are then a
 * sum over a few rows, with a million messages too. The kinds in memory learn here what changes of
 * a message.
 */

import type { DestinationId } from "../domain/ids.ts";
import { messageStates } from "../domain/states.ts";
import { stateCode } from "./codes.ts";
import type { FactsTest, MessageFacts } from "./message-facts.ts";
import type { Transactions, Db } from "./transactions.ts";

const unsettled: readonly number[] = (["queued", "sending", "waiting"] as const).map(stateCode);

export class Counts {
  /** What the transaction adds, by `kindNumber`. */
  readonly #ofMessages = new Map<number, number>();
  /** The same by destination and state. */
  readonly #ofDeliveries = new Map<number, number>();
  #kinds;
  #facts;
  #transactions;
  #messages;
  #deliveries;
  #rejected;
  /**
   * What rejected and duplicate messages take of their quota; null when it has to be asked of the
   * index.
   */
  #rejectedBytes: number | null = null;
  /**
   * How many deliveries of each destination are in each state that is not settled, by its code,
   * without those that have none; null when it has to be asked of the counts in the file.
   */
  #unsettled: Map<number, number[]> | null = null;
  #unsettledInFile;

  constructor(db: Db, kinds: MessageKinds, facts: MessageFacts, transactions: Transactions) {
    this.#kinds = kinds;
    this.#facts = facts;
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#messages = db.prepare<[number, number, number, number]>(
      "INSERT INTO message_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
    this.#deliveries = db.prepare<[number, number, number]>(
      "INSERT INTO delivery_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
    this.#rejected = db
      .prepare<[], number>(
        "SELECT coalesce(sum(quota_bytes), 0) FROM messages INDEXED BY messages_in_quota WHERE quota_bytes IS NOT NULL",
      )
      .pluck();
    this.#unsettledInFile = db
      .prepare<[], [number, number, number]>(
        `SELECT destination_id, state, n FROM delivery_counts WHERE state IN (${unsettled.join()}) AND n > 0`,
      )
      .raw();
  }

  /** A claim that is not written yet counts as queued here. */
  destinationsWithWork(): ReadonlySet<DestinationId> {
    return new Set(this.#work().keys()) as ReadonlySet<number> as ReadonlySet<DestinationId>;
  }

  /** A state that is not settled. */
  deliveriesIn(destinationId: number, state: number): number {
    return this.#work().get(destinationId)?.[state] ?? 0;
  }

  rejectedBytes(): number {
    this.#rejectedBytes ??= this.#rejected.get() as number;
    return this.#rejectedBytes;
  }

  /** Before its row is written or removed. */
  rejected(bytes: number): void {
    this.#transactions.changes(this);
    this.#rejectedBytes = this.rejectedBytes() + bytes;
  }

  /** Null for what was not there before, or is not any more. */
  message(id: number, before: MessageKind | null, after: MessageKind | null): void {
    if (before !== null) this.#add(this.#ofMessages, kindNumber(before), -1);
    if (after !== null) this.#add(this.#ofMessages, kindNumber(after), 1);
    this.#kinds.set(id, after);
    if (before === null || after === null) this.#facts.changed(id);
  }

  /** Attempts at it were recorded. */
  attempted(id: number): void {
    this.#transactions.changes(this);
    this.#facts.changed(id);
  }

  delivery(destinationId: number, state: number, n: number): void {
    if (unsettled.includes(state)) this.#addWork(this.#work(), destinationId, state, n);
    this.#add(this.#ofDeliveries, destinationId * 16 + state, n);
  }

  #work(): Map<number, number[]> {
    if (this.#unsettled !== null) return this.#unsettled;
    const work = new Map<number, number[]>();
    for (const [destinationId, state, n] of this.#unsettledInFile.all())
      this.#addWork(work, destinationId, state, n);
    this.#unsettled = work;
    return work;
  }

  #addWork(work: Map<number, number[]>, destinationId: number, state: number, n: number): void {
    let states = work.get(destinationId);
    if (states === undefined) {
      states = messageStates.map(() => 0);
      work.set(destinationId, states);
    }
    const left = (states[state] ?? 0) + n;
    states[state] = left;
    if (left <= 0 && states.every((each) => each <= 0)) work.delete(destinationId);
  }

  flush(): void {
    for (const [kind, n] of this.#ofMessages)
      this.#messages.run(Math.floor(kind / 256), (kind >>> 4) & 15, kind & 15, n);
    for (const [key, n] of this.#ofDeliveries)
      this.#deliveries.run(Math.floor(key / 16), key & 15, n);
    this.#ofMessages.clear();
    this.#ofDeliveries.clear();
  }

  rollback(): void {
    this.#ofMessages.clear();
    this.#ofDeliveries.clear();
    this.#rejectedBytes = null;
    this.#unsettled = null;
  }

  #add(added: Map<number, number>, key: number, n: number): void {
    this.#transactions.changes(this);
    added.set(key, (added.get(key) ?? 0) + n);
  }
}

export type MessageKind = { sourceId: number; type: number; state: number };

/** Called with the `kindNumber` of a kind. */
export type KindTest = (kind: number) => boolean;

const blockSize = 4096;

/** 40 MB, for ten million messages. */
const maxBlocks = 2500;

/** Where there is no message: no type has this number. */
const none = 0xff_ff_ff_ff;

export const anyKind: KindTest = (kind) => kind !== none;

const anyPlace = (): boolean => true;

/**
 * Source, type and state of every message, in memory: blocks of 4,096 messages, each read when it
 * is first asked for, which takes a millisecond, and updated by every write. An index in the
 * database would be moved at every change of a state, and answers more slowly.
 */
export class MessageKinds {
  #read;
  #newestBefore;
  #blocks = new Map<number, Uint32Array>();
  #transactions;

  constructor(db: Db, transactions: Transactions) {
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#read = db
      .prepare<[number, number], [number, number]>(
        "SELECT id, source_id * 256 + type * 16 + state FROM messages WHERE id >= ? AND id < ?",
      )
      .raw();
    this.#newestBefore = db
      .prepare<[number], number | null>("SELECT max(id) FROM messages WHERE id < ?")
      .pluck();
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

  /** Ids of the messages that both tests allow, newest first, a block at a time. */
  *matching(allows: KindTest, facts: FactsTest | null, before: number): Generator<number[]> {
    for (let newest = this.#newestBefore.get(before) as number | null; newest !== null;) {
      const first = blockOf(newest) * blockSize;
      const holds = facts === null ? anyPlace : facts(blockOf(newest));
      yield holds === null
        ? []
        : idsIn(this.#block(blockOf(newest)), { first, newest, allows, holds });
      newest = this.#newestBefore.get(first) as number | null;
    }
  }

  /** Those of these ids that both tests allow. */
  among(ids: number[], allows: KindTest, facts: FactsTest | null): number[] {
    let number = -1;
    let holds: ReturnType<FactsTest> = anyPlace;
    return ids.filter((id) => {
      if (facts !== null && blockOf(id) !== number) {
        number = blockOf(id);
        holds = facts(number);
      }
      return allows(this.of(id)) && holds !== null && holds(id % blockSize);
    });
  }

  of(id: number): number {
    return this.#block(blockOf(id))[id % blockSize] as number;
  }

  #block(number: number): Uint32Array {
    const known = this.#blocks.get(number);
    if (known !== undefined) return known;
    const block = new Uint32Array(blockSize).fill(none);
    const first = number * blockSize;
    for (const [id, kind] of this.#read.iterate(first, first + blockSize)) block[id - first] = kind;
    if (this.#blocks.size >= maxBlocks)
      this.#blocks.delete(this.#blocks.keys().next().value as number);
    this.#blocks.set(number, block);
    return block;
  }
}

type Span = { first: number; newest: number; allows: KindTest; holds: (place: number) => boolean };

/** A function of its own, because a generator runs a loop over a million messages half as fast. */
function idsIn(kinds: Uint32Array, { first, newest, allows, holds }: Span): number[] {
  const ids: number[] = [];
  for (let place = newest - first; place >= 0; place -= 1)
    if (holds(place) && allows(kinds[place] as number)) ids.push(first + place);
  return ids;
}

function blockOf(id: number): number {
  return Math.floor(id / blockSize);
}

export function kindNumber({ sourceId, type, state }: MessageKind): number {
  return sourceId * 256 + type * 16 + state;
}

/** What a kind must have; null for any source. */
type Wanted = {
  source: ((id: number) => boolean) | null;
  type: (code: number) => boolean;
  state: (code: number) => boolean;
};

export function kindTest({ source, type, state }: Wanted): KindTest {
  // It is asked for each of a million messages: a look into a table costs less than two into sets.
  const allowed = Array.from({ length: 256 }, (_, kind) => type(kind >>> 4) && state(kind & 15));
  return (kind) =>
    kind !== none && allowed[kind & 255] === true && (source === null || source(kind >>> 8));
}
