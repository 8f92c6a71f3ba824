/**
 * How many messages there are of each source, type and state, and deliveries of each destination
 * and state, kept in the same transactions that change them. Totals of any combination are then a
 * sum over a few rows, with a million messages too. The facts in memory learn here what changes of
 * a message.
 */

import type { DestinationId } from "../domain/ids.ts";
import { messageStates } from "../domain/states.ts";
import { stateCode } from "./codes.ts";
import { kindNumber, type MessageFacts, type MessageKind } from "./message-facts.ts";
import type { Transactions, Db } from "./transactions.ts";

const unsettled: readonly number[] = (["queued", "sending", "waiting"] as const).map(stateCode);

export class Counts {
  /** What the transaction adds, by `kindNumber`. */
  readonly #ofMessages = new Map<number, number>();
  /** The same by destination and state. */
  readonly #ofDeliveries = new Map<number, number>();
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

  constructor(db: Db, facts: MessageFacts, transactions: Transactions) {
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
    this.#facts.set(id, before, after);
  }

  /** Attempts at it were recorded. */
  attempted(id: number): void {
    this.#facts.attempted(id);
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
