/**
 * The store has some 360 statements, and a start uses few of them: SQLite compiles each at its
 * first use. `query-plans.test.ts` compiles them all.
 */

import type { Statement } from "better-sqlite3";
import type { Db } from "./transactions.ts";

/** The database, with statements that are compiled when they are first used. */
export function compilingLate(db: Db): Db {
  const compile = db.prepare.bind(db);
  db.prepare = ((sql: string) =>
    new LateStatement(() => compile(sql))) as unknown as typeof db.prepare;
  return db;
}

type Used = Pick<Statement, "get" | "all" | "run" | "iterate">;

class LateStatement implements Used {
  #compile: () => Statement;
  #compiled: Statement | null = null;

  constructor(compile: () => Statement) {
    this.#compile = compile;
  }

  get #statement(): Statement {
    return (this.#compiled ??= this.#compile());
  }

  pluck(): this {
    return this.#as((statement) => statement.pluck());
  }

  raw(): this {
    return this.#as((statement) => statement.raw());
  }

  #as(change: (statement: Statement) => Statement): this {
    const compile = this.#compile;
    this.#compile = () => change(compile());
    return this;
  }

  get(...bound: unknown[]): unknown {
    return this.#statement.get(...bound);
  }

  all(...bound: unknown[]): unknown[] {
    return this.#statement.all(...bound);
  }

  run(...bound: unknown[]): ReturnType<Statement["run"]> {
    return this.#statement.run(...bound);
  }

  iterate(...bound: unknown[]): IterableIterator<unknown> {
    return this.#statement.iterate(...bound);
  }
}
