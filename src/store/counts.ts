/**
 * How many messages there are of each source, type and state, and deliveries of each destination and state, kept
 * in the same transactions that change them. Totals of any combination are then a sum over a few rows, with a
 * million messages too.
 */

import type { Db } from "./open.ts";

export class Counts {
  #deltas = new Map<string, number>();
  #messages;
  #deliveries;

  constructor(db: Db) {
    this.#messages = db.prepare<[number, number, number, number]>(
      "INSERT INTO message_counts VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
    this.#deliveries = db.prepare<[number, number, number]>(
      "INSERT INTO delivery_counts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET n = n + excluded.n",
    );
  }

  message(sourceId: number, type: number, state: number, n: number): void {
    this.#add(`${sourceId} ${type} ${state}`, n);
  }

  delivery(destinationId: number, state: number, n: number): void {
    this.#add(`${destinationId} ${state}`, n);
  }

  /** At the end of a transaction, inside it. */
  flush(): void {
    for (const [key, n] of this.#deltas) {
      if (n === 0) continue;
      const [a = 0, b = 0, c] = key.split(" ").map(Number);
      if (c === undefined) this.#deliveries.run(a, b, n);
      else this.#messages.run(a, b, c, n);
    }
    this.#deltas.clear();
  }

  /** After a transaction that did not come to its end. */
  discard(): void {
    this.#deltas.clear();
  }

  #add(key: string, n: number): void {
    this.#deltas.set(key, (this.#deltas.get(key) ?? 0) + n);
  }
}
