/**
 * Checkpoints of the data file in a thread with a connection of its own. A checkpoint waits for the
 * disk twice, which would block the event loop for 10 to 60 ms.
 *
 * The thread copies what the log has to the data file while commits go on. What they add in the
 * meantime is copied next, and while the last pages are copied, writers that can wait do
 * (`inWritingTurn`): the next commit then begins the log again. Others write all the same, and the
 * log grows until a later checkpoint reaches its end.
 */

import type Database from "better-sqlite3";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";
import { monotonic } from "../engine/real-time.ts";
import type { WritingTurns } from "../engine/profile-ports.ts";

/** A checkpoint begins with as many pages that are only in the log: 8 MB. */
const enoughPages = 2000;

/** Between two looks: the fastest commits write some 150 pages meanwhile. */
const restMs = 20;

/** Writers wait for the rest once it is small, or has not become so. */
const smallRest = 400;
const maxPasses = 4;

/** SQLite's own checkpoints, which block: where there is no thread, and where it does not keep up. */
export const pagesWithoutThread = 1000;
const pagesWithThread = 16_000;

/** As text, because a bundle has no file of its own for it. */
const worker = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.driver);
const state = new Int32Array(workerData.state);
const db = new Database(workerData.file, { fileMustExist: true });
db.pragma("synchronous = NORMAL");
const checkpoint = db.prepare("PRAGMA wal_checkpoint(PASSIVE)");
parentPort.on("message", (what) => {
  if (what === "checkpoint") {
    try {
      checkpoint.get();
    } catch {
      // A full disk, or a fault of it: the pages stay in the log, and the next commit meets it too.
    }
    parentPort.postMessage("done");
    return;
  }
  db.close();
  Atomics.store(state, 0, 1);
  Atomics.notify(state, 0);
  parentPort.close();
});
`;

/** How long a close waits for the last checkpoint. */
const closeMs = 5000;

type Log = { log: number; checkpointed: number };

export class Checkpoints {
  readonly #db: Database.Database;
  readonly #look;
  readonly #closed = new SharedArrayBuffer(4);
  /** Started by the first checkpoint. */
  #thread: Worker | null = null;
  #state: "idle" | "copying" | "last" | "ended" = "idle";
  #passes = 0;
  #lookedAt = -Infinity;
  #due = enoughPages;
  #waiting: (() => void)[] = [];

  constructor(db: Database.Database) {
    this.#db = db;
    this.#look = db.prepare<[], Log>("PRAGMA wal_checkpoint(NOOP)");
    db.pragma(`wal_autocheckpoint = ${pagesWithThread}`);
  }

  readonly inWritingTurn: WritingTurns["inWritingTurn"] = (write) =>
    void setImmediate(() => {
      if (this.#state === "last") this.#waiting.push(write);
      else write();
    });

  /** If the log has grown enough. It is called after each commit, and looking is a statement. */
  begin(): void {
    if (this.#state !== "idle" || monotonic() - this.#lookedAt < restMs) return;
    this.#lookedAt = monotonic();
    const left = this.#left();
    // After a long reader it is high, and the log may have begun again since.
    this.#due = Math.min(this.#due, left + enoughPages);
    if (left < this.#due) return;
    this.#thread ??= this.#start();
    this.#passes = 0;
    this.#pass("copying");
  }

  /** Before the database is closed: the thread has it open too. */
  end(): void {
    if (this.#thread !== null) {
      this.#post("close");
      Atomics.wait(new Int32Array(this.#closed), 0, 0, closeMs);
    }
    this.#end();
  }

  /** How many pages are only in the log. */
  #left(): number {
    try {
      const { log, checkpointed } = this.#look.get() as Log;
      return log - checkpointed;
    } catch {
      // The disk: commits fail and tell so.
      return 0;
    }
  }

  #start(): Worker {
    const driver = createRequire(import.meta.url).resolve("better-sqlite3");
    const thread = new Worker(worker, {
      eval: true,
      workerData: { driver, file: this.#db.name, state: this.#closed },
    });
    thread
      .on("message", () => this.#passed())
      .once("error", () => this.#lost())
      .once("exit", () => this.#lost());
    // A listener for messages would keep the process alive.
    thread.unref();
    return thread;
  }

  #pass(state: "copying" | "last"): void {
    this.#state = state;
    this.#passes += 1;
    this.#post("checkpoint");
  }

  #post(what: "checkpoint" | "close"): void {
    this.#thread?.postMessage(what);
  }

  #passed(): void {
    if (this.#state === "ended") return;
    const left = this.#left();
    if (this.#state === "last" || left === 0) {
      this.#due = left + enoughPages;
      this.#state = "idle";
      this.#go();
    } else if (left <= smallRest || this.#passes === maxPasses) this.#pass("last");
    else this.#pass("copying");
  }

  /** The thread could not be started, or has died. */
  #lost(): void {
    if (this.#state === "ended") return;
    this.#end();
    this.#db.pragma(`wal_autocheckpoint = ${pagesWithoutThread}`);
  }

  #end(): void {
    this.#state = "ended";
    this.#thread = null;
    this.#go();
  }

  #go(): void {
    for (const write of this.#waiting.splice(0)) write();
  }
}
