/**
 * The disk that a simulated Hookyard writes to: better-sqlite3 with failures. A statement may be
 * the last thing that the process does (`killAt`), before it is carried out or right after; or the
 * disk may refuse statements for a while (`fail`). Databases that `open` has made are the
 * simulation's own, and nothing happens to them.
 */

import Database from "better-sqlite3";
import { Killed } from "./platform.ts";
import { Random } from "./random.ts";

type DiskFailure = {
  code: "SQLITE_FULL" | "SQLITE_IOERR_WRITE" | "SQLITE_IOERR_READ";
  chance: number;
};

type Statement = { database: Database.Database; readonly: boolean; source: string };

export class Disk {
  statements = 0;
  /** Statements that failed in this process. */
  refused = 0;
  refusedAt = -Infinity;
  dead = false;
  /** Set while the simulation looks at the process: nothing happens then. */
  still = false;
  /** Set: the disk refuses. */
  failure: DiskFailure | null = null;
  #killAt = Infinity;
  #random = new Random(0, 0);
  readonly #onKill: () => void;
  readonly #own = new WeakSet<Database.Database>();
  readonly #open = new Set<Database.Database>();

  constructor(onKill: () => void) {
    this.#onKill = onKill;
    const probe = new Database(":memory:");
    const statement = Object.getPrototypeOf(probe.prepare("SELECT 1")) as Record<
      string,
      (this: Statement, ...args: unknown[]) => unknown
    >;
    probe.close();
    const meet = (one: Statement, run: () => unknown): unknown =>
      this.#own.has(one.database) ? run() : this.#carryOut(one, run);
    for (const method of ["run", "get", "all", "iterate"]) {
      const original = statement[method] as (this: Statement, ...args: unknown[]) => unknown;
      statement[method] = function (this: Statement, ...args: unknown[]): unknown {
        return meet(this, () => original.apply(this, args));
      };
    }
    const { prepare, exec } = Database.prototype;
    const opened = (db: Database.Database): void => void (this.#own.has(db) || this.#open.add(db));
    Database.prototype.prepare = function (this: Database.Database, sql: string) {
      opened(this);
      return prepare.call(this, sql);
    } as typeof prepare;
    Database.prototype.exec = function (this: Database.Database, sql: string) {
      return meet({ database: this, readonly: false, source: sql }, () =>
        exec.call(this, sql),
      ) as Database.Database;
    };
  }

  /** A disk as new, for the next run. */
  begin(random: Random): void {
    this.revive();
    this.#random = random;
    this.statements = 0;
    this.failure = null;
  }

  /** To look at the file from outside. */
  open(file: string): Database.Database {
    const db = new Database(file, { readonly: true });
    this.#own.add(db);
    const prepared = new Map<string, Database.Statement>();
    db.prepare = ((sql: string) => {
      const statement = prepared.get(sql) ?? Database.prototype.prepare.call(db, sql);
      prepared.set(sql, statement);
      return statement;
    }) as typeof db.prepare;
    return db;
  }

  /** The process dies after so many statements. */
  killAfter(statements: number): void {
    this.#killAt = this.statements + statements;
  }

  /** Dies now, if it has not yet. */
  kill(): void {
    if (this.dead) return;
    this.dead = true;
    this.#killAt = Infinity;
    this.#onKill();
  }

  /** Releases what the dead process had open; what it had not committed is in none of the files. */
  revive(): void {
    this.refused = 0;
    this.refusedAt = -Infinity;
    for (const db of this.#open) {
      try {
        db.close();
      } catch {
        // An iterator is still open: it ends with the garbage.
      }
    }
    this.#open.clear();
    this.dead = false;
    this.#killAt = Infinity;
  }

  #carryOut<Result>({ database, readonly, source }: Statement, run: () => Result): Result {
    if (this.dead) throw new Killed("The process is dead.");
    if (this.still) return run();
    this.statements += 1;
    if (this.statements >= this.#killAt) {
      if (this.#random.chance(0.5)) run();
      this.kill();
      throw new Killed("The process is dead.");
    }
    const { failure } = this;
    if (
      failure !== null &&
      this.#meets(failure, readonly, source) &&
      this.#random.chance(failure.chance)
    ) {
      this.refused += 1;
      this.refusedAt = performance.now();
      // SQLite may end the whole transaction, or leave that to the program.
      if (database.inTransaction && this.#random.chance(0.5)) this.#aside(database, "ROLLBACK");
      throw new Database.SqliteError(
        failure.code === "SQLITE_FULL" ? "database or disk is full" : "disk I/O error",
        failure.code,
      );
    }
    const result = run();
    // Only the machine could lose what the disk has not been told to keep, and it does not die
    // here.
    if (source.startsWith("PRAGMA synchronous = "))
      this.#aside(database, "PRAGMA synchronous = OFF");
    return result;
  }

  /**
   * Reading does not need room. SQLite calls what ends a transaction read-only, though that writes.
   */
  #meets({ code }: DiskFailure, readonly: boolean, source: string): boolean {
    return (
      !source.startsWith("ROLLBACK") &&
      (code === "SQLITE_IOERR_READ" || !readonly || source === "COMMIT")
    );
  }

  #aside(database: Database.Database, sql: string): void {
    this.#own.add(database);
    database.exec(sql);
    this.#own.delete(database);
  }
}
