/**
 * Runs every transaction that changes what the store keeps in memory beside the rows: counts,
 * kinds, postings, the next ids, the ids of the last 24 hours. Each of them says that it changes;
 * when the transaction fails, or the part of a larger one that is a savepoint, those that changed
 * within it, and only those, are rolled back with the rows.
 */

import type Database from "better-sqlite3";

export type Db = Database.Database;

export type Cache = {
  /** Writes what it has put off to the end of the transaction, inside it. */
  flush?(): void;
  /** The rows are again those before the transaction. */
  rollback(): void;
};

export class Transactions {
  readonly #inTransaction;
  readonly #checkpoints;
  readonly #reloads: ((isRollback: boolean) => void)[] = [];
  /** What changed in the innermost open transaction, in this order; null when none is open. */
  #changed: Set<Cache> | null = null;

  /** A checkpoint may begin after each transaction. */
  constructor(db: Db, checkpoints: { begin(): void } | null = null) {
    this.#checkpoints = checkpoints;
    this.#inTransaction = db.transaction((write: () => unknown) => write());
  }

  run<Result>(write: () => Result): Result {
    const outer = this.#changed;
    const changed = new Set<Cache>();
    if (outer !== null) flush(outer);
    this.#changed = changed;
    try {
      const result = this.#inTransaction(() => {
        const written = write();
        flush(changed);
        return written;
      }) as Result;
      if (outer !== null) for (const cache of changed) outer.add(cache);
      return result;
    } catch (error) {
      for (const cache of [...changed].reverse()) cache.rollback();
      throw error;
    } finally {
      this.#changed = outer;
      if (outer === null) this.#checkpoints?.begin();
    }
  }

  /** The function, in a transaction of its own each time. */
  wrap<Args extends unknown[], Result>(
    write: (...args: Args) => Result,
  ): (...args: Args) => Result {
    return (...args) => this.run(() => write(...args));
  }

  /** Called by a cache before each change. */
  changes(cache: Cache): void {
    if (this.#changed === null)
      throw new Error("The store's memory changes in a transaction only.");
    this.#changed.add(cache);
  }

  /** Undoes a change of memory that may happen outside of a transaction too. */
  onRollback(undo: (() => void) | Cache): void {
    this.#changed?.add(typeof undo === "function" ? { rollback: undo } : undo);
  }

  /** Called by `reload`, and when that is rolled back; in the order of these calls. */
  onReload(reload: (isRollback: boolean) => void): void {
    this.#reloads.push(reload);
  }

  /** In the transaction that removed all rows. */
  reload(): void {
    const reloadAll = (isRollback: boolean): void => {
      for (const reload of this.#reloads) reload(isRollback);
    };
    this.changes({ rollback: () => reloadAll(true) });
    reloadAll(false);
  }
}

function flush(caches: Iterable<Cache>): void {
  for (const cache of caches) cache.flush?.();
}
