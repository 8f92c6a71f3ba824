/**
 * Whether the data file can be trusted and written to. Three things can be wrong; the worst is
 * reported first:
 *
 * - moved: a file of the data has been deleted, replaced or cut off, or cannot be looked at. Over
 *   when the same files are back.
 * - damaged: SQLite, or the check after the start, found damage. Over when a later check finds
 *   none.
 * - failing: the last write failed (a full disk, a lock, an I/O error). Over with the next write
 *   that succeeds; one is tried every second.
 *
 * While it is moved or damaged nothing is written, so that no message is accepted which would be
 * lost.
 */

import type Database from "better-sqlite3";
import { closeSync, fstatSync, openSync, type Stats, statSync } from "node:fs";
import type { Problem } from "../domain/problem.ts";
import type { HealthStore } from "../engine/store-ports.ts";
import { DataFault, storeFailure } from "../engine/store-failure.ts";
import { monotonic, startIdleTimer, type RealTimer } from "../engine/real-time.ts";
import { isWholeLog, logOf, sizeOf } from "./data-file.ts";
import { checkedAtStart, isDamage, startCheck } from "./integrity.ts";
import { removeMarker, writeMarker } from "./marker.ts";

const everyMs = 1_000;

/**
 * A write checks the files first when the last check is older. So nothing is accepted later than
 * this after a file was deleted.
 */
const lookedAtMs = 100;

/** The check of a large file begins after the start, and is repeated as long as it finds damage. */
const checkAfterMs = 1_000;
const checkAgainMs = 60_000;

/**
 * How long a write waits for the lock of another program, whose checkpoint or read takes less.
 * Everybody else waits meanwhile, so only the first one does: until a write succeeds again, each
 * fails at once.
 */
export const lockTimeoutMs = 1_000;

/** A full disk often has room for one page more. */
const triedBytes = 256 * 1024;

/** The data file of a directory; null in memory. */
type DataFile = { data: string; file: string; database: string };

/** `is`: which file it was when the data was opened. */
type Watched = { path: string; is: string | null };

export class StoreHealth {
  readonly #db: Database.Database;
  readonly #file: DataFile | null;
  readonly #files: Watched[];
  #timer: RealTimer | null = null;
  #checkTimer: RealTimer | null = null;
  readonly #beat;
  readonly #tried;
  readonly #totalChanges;
  readonly #logged;
  readonly #pageSize: number;
  /** Kept open: where a process may open no more files, writes go on. */
  #log: number | null = null;
  #logSize = 0;
  #size = 0;
  /**
   * The smallest size that the database has had since it was shortened. A checkpoint may still cut
   * the file down to it, and commits may have lengthened it again in the log by then.
   */
  #least = Infinity;
  #lastBeat = 0;
  #changesAtBeat = -1;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #moved: DataFault | null = null;
  #lostLog = false;
  #damage: Error | null = null;
  #failing: Error | null = null;
  #check: { stop(): void } | null = null;
  #onChange: () => void = () => {};
  #ended = false;

  constructor(db: Database.Database, file: DataFile | null) {
    this.#db = db;
    this.#file = file;
    this.#beat = db
      .prepare<[], string>(
        "UPDATE meta SET value = CAST(value AS INTEGER) + 1 WHERE key = 'beat' RETURNING value",
      )
      .pluck();
    this.#tried = db.prepare("INSERT OR REPLACE INTO meta VALUES ('tried', hex(zeroblob(?)))");
    this.#totalChanges = db.prepare<[], number>("SELECT total_changes()").pluck();
    this.#logged = db.prepare<[], { log: number; checkpointed: number }>(
      "PRAGMA wal_checkpoint(NOOP)",
    );
    this.#pageSize = Number(db.pragma("page_size", { simple: true }));
    if (file !== null) {
      this.#mark();
      // There is none where the file system knows no shared memory.
      if (sizeOf(logOf(file.file)) !== null) this.#log = openSync(logOf(file.file), "r");
    }
    const paths = file === null ? [] : [file.file, logOf(file.file), `${file.file}-shm`];
    this.#files = paths.map((path) => ({ path, is: identityOf(path) }));
  }

  get role(): HealthStore {
    return {
      trouble: () => this.trouble,
      bytes: () => this.#bytes(),
      noteFailure: (error) => this.note(error),
      watch: (onChange) => this.#watch(onChange),
    };
  }

  #bytes(): number {
    if (this.#file === null) return this.#bytesWanted();
    const { file } = this.#file;
    return (sizeOf(file) ?? 0) + (sizeOf(logOf(file)) ?? 0);
  }

  get trouble(): Problem | null {
    const error = this.#moved ?? this.#damage ?? this.#failing;
    return error === null ? null : storeFailure(error);
  }

  note(error: unknown): void {
    if (error instanceof DataFault || storeFailure(error) === null) return;
    if (isDamage(error)) {
      // A check has found it already, and is repeated.
      if (this.#damage instanceof DataFault) return;
      this.#set({ damage: error as Error });
      if (this.#checkTimer === null) this.#startCheck();
    } else this.#set({ failing: error as Error });
  }

  /** Throws while nothing must be written. */
  beforeWrite(): void {
    if (monotonic() - this.#lookedAt > lookedAtMs) this.#look();
    const fault = this.#moved ?? this.#damage;
    if (fault !== null) throw fault;
  }

  /** Pages at the end of the database were given back. */
  shortened(): void {
    this.#least = Math.min(this.#least, this.#bytesWanted());
  }

  wrote(): void {
    if (this.#failing !== null) this.#set({ failing: null });
  }

  /** What the log has for the data file is lost: a checkpoint would write something else there. */
  get lostLog(): boolean {
    return this.#lostLog;
  }

  /** Before the database is closed: from here on SQLite may remove the log. */
  end(): void {
    this.#look();
    this.#ended = true;
    this.#timer?.cancel();
    this.#checkTimer?.cancel();
    this.#check?.stop();
    if (this.#log !== null) closeSync(this.#log);
    this.#log = null;
    if (this.#file === null || this.#lostLog) return;
    const { data, file, database } = this.#file;
    try {
      // What lies there now is not ours to describe.
      if (identityOf(file) !== (this.#files[0] as Watched).is) return;
      writeMarker(data, { database, beat: this.#lastBeat, size: this.#size, hasLog: false });
    } catch {
      removeMarker(data);
    }
  }

  #watch(onChange: () => void): void {
    this.#onChange = onChange;
    const again = (): void => {
      this.#timer = startIdleTimer(everyMs, again);
      this.tick();
    };
    this.#timer = startIdleTimer(everyMs, again);
    // Smaller ones were checked before they were opened.
    if (this.#size > checkedAtStart)
      this.#checkTimer = startIdleTimer(checkAfterMs, () => this.#startCheck());
  }

  /** Every second. */
  tick(): void {
    this.#look();
    if (this.#moved !== null) return;
    try {
      if (this.#failing !== null) {
        this.#tried.run(triedBytes / 2);
        this.#db.prepare("DELETE FROM meta WHERE key = 'tried'").run();
        this.#set({ failing: null });
      }
      if (this.#file !== null && this.#totalChanges.get() !== this.#changesAtBeat) this.#mark();
    } catch (error) {
      this.note(error);
    }
  }

  /**
   * First in the database, then beside it: a kill between the two leaves a marker that asks for
   * less.
   */
  #mark(): void {
    if (this.#file === null) return;
    const { data, file, database } = this.#file;
    this.#lastBeat = Number(this.#beat.get());
    this.#size = Math.max(this.#size, sizeOf(file) as number);
    writeMarker(data, { database, beat: this.#lastBeat, size: this.#size, hasLog: true });
    this.#changesAtBeat = this.#totalChanges.get() as number;
  }

  #look(): void {
    this.#lookedAt = monotonic();
    if (this.#file === null) return;
    const { file } = this.#file;
    let moved: DataFault | null;
    try {
      moved = this.#faultOfFiles(file);
    } catch (error) {
      moved = new DataFault(
        "DATA_MOVED",
        `${file} cannot be looked at: ${(error as Error).message}. Hookyard has stopped writing, and continues when it can be.`,
      );
    }
    this.#set({ moved });
  }

  #lookAtFiles() {
    return this.#files.map(({ path, is }) => {
      // Asked once for both: it may be moved between two questions.
      const found = statSync(path, { throwIfNoEntry: false });
      return { path, found, isOther: identityIn(found) !== is };
    });
  }

  #faultOfFiles(file: string): DataFault | null {
    let looks = this.#lookAtFiles();
    // The data file is the first. It is named where its directory was moved between two of the looks.
    if (looks.some(({ isOther }) => isOther)) looks = this.#lookAtFiles();
    const other = looks.find(({ isOther }) => isOther);
    if (other !== undefined) {
      return new DataFault(
        "DATA_MOVED",
        `${other.path} ${other.found === undefined ? "has been moved or deleted" : "has been replaced"}. Hookyard has stopped writing. Put it back if it was moved; otherwise stop Hookyard, and start it with a restored copy or with another --data directory.`,
      );
    }
    const size = looks[0]?.found?.size ?? 0;
    this.#lostLog = this.#isLogLost();
    if (this.#lostLog) {
      return new DataFault(
        "DATA_DAMAGED",
        `${logOf(file)}, which holds the newest data, has been emptied, cut off or overwritten. Hookyard has stopped writing. Stop Hookyard, and start it with a restored copy or with another --data directory.`,
      );
    }
    if (size >= this.#size && this.#least === Infinity) return null;
    const wanted = this.#bytesWanted();
    if (size < this.#size && Math.min(this.#least, wanted) > size) {
      return new DataFault(
        "DATA_DAMAGED",
        `${file} has been cut off. Hookyard has stopped writing. Stop Hookyard, and start it with a restored copy or with another --data directory.`,
      );
    }
    this.#size = size;
    // Checkpoints have caught up.
    if (size === wanted) this.#least = Infinity;
    return null;
  }

  /**
   * SQLite never shortens it here. Another program may empty it by a checkpoint, and then the data
   * file has everything.
   */
  #isLogLost(): boolean {
    if (this.#log === null) return this.#lostLog;
    const { size } = fstatSync(this.#log);
    if (size < this.#logSize || !isWholeLog(this.#log, 0, this.#pageSize)) {
      // SQLite does not say within a transaction.
      if (this.#db.inTransaction) return this.#lostLog;
      const { log, checkpointed } = this.#logged.get() as { log: number; checkpointed: number };
      if (log > checkpointed && !isWholeLog(this.#log, log, this.#pageSize)) return true;
    }
    this.#logSize = size;
    return false;
  }

  /** Asked of SQLite: to open the file here and close it again would drop SQLite's lock on it. */
  #bytesWanted(): number {
    const asked = (name: string): number => this.#db.pragma(name, { simple: true }) as number;
    return asked("page_count") * asked("page_size");
  }

  #startCheck(): void {
    if (this.#file === null || this.#ended || this.#check !== null) return;
    this.#checkTimer?.cancel();
    this.#checkTimer = null;
    const check = startCheck(this.#file.file, this.#size);
    this.#check = check;
    void check.faults.then((faults) => {
      this.#check = null;
      if (this.#ended) return;
      const first = faults?.[0];
      if (first !== undefined) {
        this.#set({
          damage: new DataFault(
            "DATA_DAMAGED",
            `Hookyard's data file is damaged (${first}). Hookyard has stopped writing. hookyard doctor lists all of it; stop Hookyard, and start it with a restored copy or with another --data directory.`,
          ),
        });
      } else if (faults !== null) return this.#set({ damage: null });
      // It is checked until a check finds nothing, also where none can read it.
      if (this.#damage !== null)
        this.#checkTimer = startIdleTimer(checkAgainMs, () => this.#startCheck());
    });
  }

  #set(change: { moved?: DataFault | null; damage?: Error | null; failing?: Error | null }): void {
    const before = this.trouble?.message;
    if (change.moved !== undefined) this.#moved = change.moved;
    if (change.damage !== undefined) this.#damage = change.damage;
    if (change.failing !== undefined) {
      this.#failing = change.failing;
      this.#waitForLocks(change.failing === null ? lockTimeoutMs : 0);
    }
    if (this.trouble?.message !== before) this.#onChange();
  }

  #waitForLocks(ms: number): void {
    try {
      this.#db.pragma(`busy_timeout = ${ms}`);
    } catch {
      // The disk fails or the database is closed, which is known: writes wait as long as before.
    }
  }
}

/** Null for what is not there. */
const identityIn = (found: Stats | undefined): string | null =>
  found === undefined ? null : `${found.dev} ${found.ino}`;

const identityOf = (path: string): string | null =>
  identityIn(statSync(path, { throwIfNoEntry: false }));

/**
 * Methods that write, by the verbs that store methods begin with. The clock is saved in any case.
 */
const writing =
  /^(add|adopt|atomically|claim|clear|commit|create|delete|forget|give|insert|keep|lift|mark|merge|noteSeen|pin|prepare|put|record|remove|requeue|save(?!Clock)|set|shorten|space|spread|suppress|touch|update)(?=[A-Z]|$)/;

/**
 * The store with every failure noted, wherever it happens, and without writes while they would be
 * lost.
 */
export function guarded<Methods extends object>(store: Methods, health: StoreHealth): Methods {
  const fail = (error: unknown): never => {
    health.note(error);
    throw error;
  };
  const guard = (name: string, method: (...args: unknown[]) => unknown) => {
    const writes = writing.test(name);
    const clears = name === "commit" || name === "record";
    return (...args: unknown[]): unknown => {
      if (writes) health.beforeWrite();
      try {
        const result = method.apply(store, args);
        if (clears) health.wrote();
        if (result instanceof Promise) return result.catch(fail);
        return name.startsWith("walk") ? guarded(result as object, health) : result;
      } catch (error) {
        return fail(error);
      }
    };
  };
  return Object.fromEntries(
    Object.entries(store).map(([name, member]) => [
      name,
      typeof member === "function"
        ? guard(name, member as (...args: unknown[]) => unknown)
        : member,
    ]),
  ) as Methods;
}
