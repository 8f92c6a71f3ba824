/**
 * What was read last of a table, up to a number of rows: reading one again costs a statement. Whoever
 * writes a row says so, and a transaction that fails forgets all.
 */

import type { Transactions } from "./transactions.ts";

export class Recent<Key, Value> {
  readonly #transactions;
  readonly #max;
  readonly #read;
  readonly #values = new Map<Key, Value>();

  constructor(transactions: Transactions, max: number, read: (key: Key) => Value) {
    this.#transactions = transactions;
    this.#max = max;
    this.#read = read;
    transactions.onReload(() => this.rollback());
  }

  get(key: Key): Value {
    const known = this.#values.get(key);
    if (known !== undefined) return known;
    const value = this.#read(key);
    this.put(key, value);
    return value;
  }

  put(key: Key, value: Value): void {
    // The row may be of a transaction that fails later.
    this.#transactions.onRollback(this);
    if (this.#values.size >= this.#max) this.rollback();
    this.#values.set(key, value);
  }

  forget(key: Key): void {
    this.#values.delete(key);
  }

  rollback(): void {
    this.#values.clear();
  }
}
