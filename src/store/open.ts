/**
 * Opens the data file: takes the locks that keep a second Hookyard out, refuses what it must not
 * touch and what is damaged, migrates what is older. Whatever goes wrong is an `OpenError` with a
 * sentence; the file is then as it was.
 */

import { randomUUID } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { DataInUse, OpenError } from "../app-errors.ts";
import { createPrivateFile, makeDataDirectory } from "../data-directory.ts";
import { acceptLoss, checkDataFile, framesOf, logOf, sizeOf } from "./data-file.ts";
import { lockTimeoutMs, StoreHealth } from "./health.ts";
import { checkedAtStart, faultsIn, isDamage } from "./integrity.ts";
import { compilingLate } from "./late-statements.ts";
import { readMarker, writeMarker, type Marker } from "./marker.ts";
import { migrations } from "./migrations/migrations.ts";
import { schema, schemaNames } from "./schema.ts";
import type { Db } from "./transactions.ts";

export type OpenedDatabase = { db: Db; health: StoreHealth; close(): void };

/** `HKYD` in ASCII: distinguishes our files from other SQLite files. */
const applicationId = 0x484b5944;

export const dataFileName = "hookyard.db";
export const lockFileName = "hookyard.lock";

export function openDatabase(data: string): OpenedDatabase {
  if (data === ":memory:") {
    const db = compilingLate(new Database(":memory:"));
    prepare(db, { file: ":memory:", data, marker: null });
    const health = new StoreHealth(db, null);
    const close = (): void => {
      health.end();
      db.close();
    };
    return { db, health, close };
  }
  try {
    makeDataDirectory(data);
  } catch (error) {
    throw openErrorOf(error, data);
  }
  const lock = takeLock(data);
  try {
    const { db, health } = openFile(data);
    return {
      db,
      health,
      close: () => {
        health.end();
        closeFile(db, health);
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw openErrorOf(error, data);
  }
}

function openFile(data: string): { db: Db; health: StoreHealth } {
  const file = join(data, dataFileName);
  const marker = readMarker(data);
  const opening: Opening = { file, data, marker };
  checkDataFile(file, data, marker);
  inspect(opening);
  if (sizeOf(file) !== null) closeSync(openSync(file, "r+"));
  // From here to the first commit the log may go: `refuseSecond` closes a connection, and SQLite
  // then removes it.
  if (marker !== null) writeMarker(data, { ...marker, hasLog: false });
  refuseSecond(file);
  createPrivateFile(file);
  const db = compilingLate(new Database(file, { timeout: lockTimeoutMs }));
  try {
    prepare(db, opening);
    const database = metaOf(db, "database") as string;
    return { db, health: new StoreHealth(db, { data, file, database }) };
  } catch (error) {
    // The marker may ask for a log by now, and SQLite may remove the log when the connection
    // closes.
    const written = readMarker(data);
    if (written !== null) writeMarker(data, { ...written, hasLog: false });
    db.close();
    throw error;
  }
}

/**
 * The last connection that can write makes a checkpoint when it closes. Beside one that cannot, it
 * makes none, and the data file stays as the last checkpoint left it.
 */
function closeFile(db: Db, { lostLog }: StoreHealth): void {
  if (!lostLog) return void db.close();
  let reader: Db | null = null;
  try {
    reader = new Database(db.name, { readonly: true });
    reader.pragma("user_version");
  } catch {
    // The log cannot be read, but the connection has its lock; or the data file is not there.
  }
  db.close();
  reader?.close();
}

/** The error with the sentence that the user sees. */
export function openErrorOf(
  error: unknown,
  data: string,
  purpose: "writing" | "reading" = "writing",
): OpenError {
  return error instanceof OpenError
    ? error
    : new OpenError(explain(error, join(data, dataFileName), purpose));
}

/**
 * A lock that the operating system releases when the process dies, on a file of its own so that
 * others may read the data.
 */
function takeLock(data: string): Db {
  const file = join(data, lockFileName);
  try {
    createPrivateFile(file);
    const lock = new Database(file, { timeout: 0 });
    try {
      lock.pragma("journal_mode = MEMORY");
      lock.pragma("locking_mode = EXCLUSIVE");
      lock.exec("BEGIN EXCLUSIVE");
    } catch (error) {
      lock.close();
      throw error;
    }
    return lock;
  } catch (error) {
    if (codeOf(error).startsWith("SQLITE_BUSY")) {
      throw new DataInUse(data);
    }
    if (isDamage(error)) throw new OpenError(damagedLock(file));
    throw new OpenError(`The data directory ${data} cannot be written to: ${sentenceOf(error)}`);
  }
}

export const damagedLock = (file: string): string =>
  `${file} is damaged. It holds no data: delete it while no Hookyard runs, and start again.`;

/**
 * The lock file may have been deleted under the process that holds it. Whoever has the data file
 * open holds a shared lock on that too, so this fails then, with SQLITE_BUSY; and also while
 * `hookyard backup` or `hookyard doctor` read it.
 */
function refuseSecond(file: string): void {
  if (!sizeOf(file)) return;
  const db = new Database(file, { timeout: lockTimeoutMs });
  try {
    db.pragma("locking_mode = EXCLUSIVE");
    db.exec("BEGIN EXCLUSIVE; ROLLBACK");
  } finally {
    db.close();
  }
}

type Opening = { file: string; data: string; marker: Marker | null };

/**
 * Looks at the file through a connection that cannot write, because opening one for writing and
 * closing it again may change what a crash left behind. What cannot be read this way is left to the
 * connection that can write.
 */
function inspect(opening: Opening): void {
  const { file, data } = opening;
  const size = sizeOf(file);
  if (!size) return;
  const left = framesOf(file);
  try {
    const db = new Database(file, { readonly: true, timeout: 0 });
    try {
      refuseUnfit(db, opening);
      // SQLite has read the log by now, up to where it stops making sense.
      refuseLostFrames({ file, data, left, read: framesOf(file) });
      const [fault] = size <= checkedAtStart ? faultsIn(db, size) : [];
      if (fault !== undefined) throw new OpenError(damaged(file, ` (${fault})`));
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof OpenError || isDamage(error)) throw error;
  }
}

type Frames = ReturnType<typeof framesOf>;

/** `left`: the index beside the log before SQLite read the log; `read`: the same afterwards. */
export function refuseLostFrames({
  file,
  data,
  left,
  read,
}: {
  file: string;
  data: string;
  left: Frames;
  read: Frames;
}): void {
  if (left === null || read === null || left.salts !== read.salts || read.frames >= left.frames)
    return;
  throw new OpenError(
    `${logOf(file)} is damaged or cut off: ${read.frames} of its ${left.frames} pages can be read. It held the newest data. ${acceptLoss(data)}`,
  );
}

/**
 * Throws when the file is not ours to write to, or was replaced. Returns the version of its format,
 * 0 for an empty file.
 */
export function refuseUnfit(db: Db, { file, data, marker }: Opening): number {
  const version = db.pragma("user_version", { simple: true }) as number;
  const id = db.pragma("application_id", { simple: true }) as number;
  const isEmpty =
    version === 0 &&
    id === 0 &&
    db.prepare("SELECT count(*) FROM sqlite_master").pluck().get() === 0;
  if (!isEmpty && id !== applicationId) {
    throw new OpenError(
      `${file} is an SQLite file of another program. It was not changed. Choose another --data directory.`,
    );
  }
  if (version > migrations.length) {
    throw new OpenError(
      `${file} was written by a newer Hookyard (its format is ${version}, this program knows ${migrations.length}). It was not changed. Update Hookyard, or choose another --data directory.`,
    );
  }
  if (marker !== null) {
    const database = isEmpty ? null : metaOf(db, "database");
    if (database !== marker.database) {
      throw new OpenError(
        `${file} is not the data file that Hookyard last used here: it has been replaced or emptied. ${acceptLoss(data)}`,
      );
    }
    if (Number(metaOf(db, "beat")) < marker.beat) {
      throw new OpenError(
        `${file} has lost its newest data: it is an older copy, or its log is damaged. ${acceptLoss(data)}`,
      );
    }
  }
  return version;
}

function metaOf(db: Db, key: string): string | undefined {
  return db.prepare<[string], string>("SELECT value FROM meta WHERE key = ?").pluck().get(key);
}

function prepare(db: Db, opening: Opening): void {
  const version = refuseUnfit(db, opening);
  // Only a file without tables takes it: what retention frees can then go back to the disk.
  if (version === 0) db.pragma("auto_vacuum = INCREMENTAL");
  db.pragma("journal_mode = WAL");
  // 16 MB of pages: the upper levels of all trees and the newest rows stay in memory with a million
  // messages on disk. With 32 MB, ingest, following and pages of the list took the same processor
  // time.
  db.pragma("cache_size = -16000");
  // What profiles write is scattered over the file, so a checkpoint of 4,000 pages would block the
  // event loop for 90 ms; one of 1,000 stays near 30.
  db.pragma("wal_autocheckpoint = 1000");
  db.transaction(() => {
    if (version === 0) db.exec(schema);
    else for (const sql of migrations.slice(version)) db.exec(sql);
    const lost = missingIn(db);
    if (lost !== null) throw new OpenError(damaged(opening.file, `: ${lost} is missing`));
    if (version < migrations.length) db.pragma(`user_version = ${migrations.length}`);
    db.pragma(`application_id = ${applicationId}`);
    const insert = db.prepare("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING");
    insert.run("data", randomUUID());
    if (opening.file === ":memory:") return;
    insert.run("database", randomUUID());
    insert.run("beat", "0");
  })();
}

/** A table, index or trigger that the file has lost. */
function missingIn(db: Db): string | null {
  const there = new Set(db.prepare("SELECT name FROM sqlite_master").pluck().all());
  return schemaNames.find((name) => !there.has(name)) ?? null;
}

function damaged(file: string, details = ""): string {
  return `${file} is damaged${details}. It was not changed. Restore a copy into a new directory and start with --data set to it; hookyard doctor has the details.`;
}

function explain(error: unknown, file: string, purpose: "writing" | "reading"): string {
  switch (codeOf(error)) {
    case "SQLITE_NOTADB":
      return `${file} is not a Hookyard data file, or it is damaged. It was not changed. Restore a copy, or choose another --data directory.`;
    case "SQLITE_CORRUPT":
      return damaged(file);
    case "SQLITE_READONLY":
    case "SQLITE_CANTOPEN":
    case "SQLITE_READONLY_DIRECTORY":
    case "EACCES":
    case "EPERM":
    case "EROFS":
    case "EISDIR":
      return `${pathOf(error) ?? file} cannot be opened for ${purpose}. Check its permissions and those of its directory.`;
    case "SQLITE_BUSY":
      return `${file} is in use or locked by another program: another Hookyard, hookyard backup or hookyard doctor. Wait for it or stop it, or start this one with another --data directory.`;
    case "SQLITE_FULL":
    case "ENOSPC":
      return `The disk that holds ${file} is full. Free disk space and start again.`;
    default:
      return `${file} cannot be opened: ${sentenceOf(error)}`;
  }
}

/** Of the file system's errors. */
const pathOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).path;

function codeOf(error: unknown): string {
  const code =
    typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
