/**
 * How many messages there are of each source, type and state, and deliveries of each destination and state, kept
 * in the same transactions that change them. Totals of any combination are then a sum over a few rows, with a
 * million messages too. The kinds in memory learn here what changes of a message.
 */

import type { MessageKind, MessageKinds } from "./message-kinds.ts";
import type { Db } from "./open.ts";
import type { Transactions } from "./transactions.ts";

export class Counts {
  #deltas = new Map<string, number>();
  #kinds;
  #transactions;
  #messages;
  #deliveries;
  #rejected;
  /** What rejected and duplicate messages take of their quota; null when it has to be asked of the index. */
  #rejectedBytes: number | null = null;

  constructor(db: Db, kinds: MessageKinds, transactions: Transactions) {
    this.#kinds = kinds;
    this.#transactions = transactions;
    transactions.onReload(() => this.rollback());
    this.#messages = db.prepare<[number, number, number, number]>(
      "INSERT INTO message_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
    this.#deliveries = db.prepare<[number, number, number]>(
      "INSERT INTO delivery_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
    this.#rejected = db
      .prepare<[], number>("SELECT coalesce(sum(quota_bytes), 0) FROM messages INDEXED BY messages_in_quota WHERE quota_bytes IS NOT NULL")
      .pluck();
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
    for (const [kind, n] of [
      [before, -1],
      [after, 1],
    ] as const)
      if (kind !== null) this.#add(`${kind.sourceId} ${kind.type} ${kind.state}`, n);
    this.#kinds.set(id, after);
  }

  delivery(destinationId: number, state: number, n: number): void {
    this.#add(`${destinationId} ${state}`, n);
  }

  flush(): void {
    for (const [key, n] of this.#deltas) {
      const [a, b, c] = key.split(" ").map(Number) as [number, number, number?];
      if (c === undefined) this.#deliveries.run(a, b, n);
      else this.#messages.run(a, b, c, n);
    }
    this.#deltas.clear();
  }

  rollback(): void {
    this.#deltas.clear();
    this.#rejectedBytes = null;
  }

  #add(key: string, n: number): void {
    this.#transactions.changes(this);
    this.#deltas.set(key, (this.#deltas.get(key) ?? 0) + n);
  }
}
