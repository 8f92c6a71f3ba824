/**
 * Opens the data file: takes the lock that keeps a second Hookyard out, refuses what it must not touch, migrates
 * what is older. Whatever goes wrong is an `OpenError` with a sentence; the file is then as it was.
 */

import { existsSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { OpenError } from "../app-errors.ts";
import { makeDataDirectory } from "../data-directory.ts";
import { migrations } from "./migrations/migrations.ts";

export type Db = Database.Database;

export type OpenedDatabase = { db: Db; close(): void };

/** `HKYD` in ASCII: tells our files from other SQLite files. */
const applicationId = 0x484b5944;

export const dataFileName = "hookyard.db";

export function openDatabase(data: string): OpenedDatabase {
  if (data === ":memory:") {
    const db = new Database(":memory:");
    prepare(db, ":memory:");
    return { db, close: () => db.close() };
  }
  const file = join(data, dataFileName);
  makeDataDirectory(data);
  const lock = takeLock(data);
  try {
    inspect(file);
    const db = new Database(file, { timeout: 1000 });
    try {
      prepare(db, file);
    } catch (error) {
      db.close();
      throw error;
    }
    return {
      db,
      close: () => {
        db.close();
        lock.close();
      },
    };
  } catch (error) {
    lock.close();
    throw openErrorOf(error, data);
  }
}

/** What went wrong with the data, as the sentence that the user is told. */
export function openErrorOf(error: unknown, data: string): OpenError {
  return error instanceof OpenError ? error : new OpenError(explain(error, join(data, dataFileName)));
}

/** A lock that the operating system lets go of when the process dies, on a file of its own so that others may read the data. */
function takeLock(data: string): Db {
  const file = join(data, "hookyard.lock");
  try {
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
      throw new OpenError(
        `The data in ${data} is in use by another running Hookyard. Stop it, or start this one with another --data directory.`,
      );
    }
    throw new OpenError(`The data directory ${data} cannot be written to: ${sentenceOf(error)}`);
  }
}

/**
 * Looks at the file through a connection that cannot write, because opening one for writing and closing it again
 * may change what a crash left behind. What cannot be read this way is left to the connection that can write.
 */
function inspect(file: string): void {
  if (!existsSync(file)) return;
  try {
    const db = new Database(file, { readonly: true, timeout: 0 });
    try {
      refuseForeign(db, file);
    } finally {
      db.close();
    }
  } catch (error) {
    if (error instanceof OpenError) throw error;
  }
}

/** Throws when the file is not ours to write to. Answers the version of its format, 0 for an empty one. */
function refuseForeign(db: Db, file: string): number {
  const version = db.pragma("user_version", { simple: true }) as number;
  const id = db.pragma("application_id", { simple: true }) as number;
  const isEmpty = version === 0 && id === 0 && db.prepare("SELECT count(*) FROM sqlite_master").pluck().get() === 0;
  if (!isEmpty && id !== applicationId) {
    throw new OpenError(`${file} is an SQLite file of another program. It has not been touched. Choose another --data directory.`);
  }
  if (version > migrations.length) {
    throw new OpenError(
      `${file} was written by a newer Hookyard (its format is ${version}, this program knows ${migrations.length}). It has not been touched. Update Hookyard, or choose another --data directory.`,
    );
  }
  return version;
}

function prepare(db: Db, file: string): void {
  const version = refuseForeign(db, file);
  db.pragma("journal_mode = WAL");
  db.pragma("synchronous = NORMAL");
  db.pragma("foreign_keys = ON");
  // 32 MB of pages: the upper levels of all trees and the newest rows stay in memory with a million messages on disk.
  db.pragma("cache_size = -32000");
  // What profiles write is scattered over the file, so a checkpoint of 4,000 pages would block the event loop for 90 ms; one of 1,000 stays near 30.
  db.pragma("wal_autocheckpoint = 1000");
  db.transaction(() => {
    for (const [index, sql] of migrations.entries()) if (index >= version) db.exec(sql);
    if (version < migrations.length) db.pragma(`user_version = ${migrations.length}`);
    db.pragma(`application_id = ${applicationId}`);
  })();
}

function explain(error: unknown, file: string): string {
  switch (codeOf(error)) {
    case "SQLITE_NOTADB":
      return `${file} is not a Hookyard data file, or it is damaged. It has not been touched. Restore a copy, or choose another --data directory.`;
    case "SQLITE_CORRUPT":
      return `${file} is damaged. Restore a copy, or choose another --data directory.`;
    case "SQLITE_READONLY":
    case "SQLITE_CANTOPEN":
    case "SQLITE_READONLY_DIRECTORY":
      return `${file} cannot be opened for writing. Check its rights and those of its directory.`;
    case "SQLITE_BUSY":
      return `${file} is locked by another program. Close it and start again.`;
    case "SQLITE_FULL":
      return `The disk that holds ${file} is full. Make room and start again.`;
    default:
      return `${file} cannot be opened: ${sentenceOf(error)}`;
  }
}

function codeOf(error: unknown): string {
  const code = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
