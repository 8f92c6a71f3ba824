/**
 * A data file for those who only read it, `hookyard doctor` and `hookyard backup`, whether a
 * Hookyard runs on it or not. Changes nothing in the directory: where SQLite would create files
 * beside the data, a temporary copy is read instead.
 */

import { constants, copyFileSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { OpenError } from "../app-errors.ts";
import { framesOf, logOf } from "./data-file.ts";
import { isDamage } from "./integrity.ts";
import { damagedLock, dataFileName, lockFileName } from "./open.ts";
import type { Db } from "./transactions.ts";

/** A writer that is committing, or cleaning up after a kill, is done by then. */
const timeout = 5_000;

/** `frames`: those of the log that SQLite has read. */
type Reading = { db: Db; frames(): ReturnType<typeof framesOf>; close(): void };

/**
 * Throws what SQLite throws, or an `OpenError` when there is no room for a copy, which is made in
 * `temporary`.
 */
export function openForReading(data: string, temporary = tmpdir()): Reading {
  const file = join(data, dataFileName);
  if (existsSync(logOf(file)) && existsSync(`${file}-shm`)) {
    const db = new Database(file, { readonly: true, timeout });
    return { db, frames: () => framesOf(file), close: () => void db.close() };
  }
  const copies = makeDirectory(temporary);
  let db: Db | null = null;
  try {
    const copy = join(copies, dataFileName);
    for (const [from, to] of [
      [file, copy],
      [logOf(file), logOf(copy)],
    ] as const)
      if (existsSync(from)) copyFileSync(from, to, constants.COPYFILE_FICLONE);
    const read = new Database(copy, { readonly: true, timeout });
    db = read;
    // Opens the log and its index too.
    read.pragma("schema_version");
    const frames = framesOf(copy);
    // An open file needs no name, but on Windows: so nothing is left, whatever ends this process.
    const remove = (): void => rmSync(copies, { recursive: true, force: true });
    if (process.platform !== "win32") remove();
    const close = (): void => {
      read.close();
      remove();
    };
    return { db: read, frames: () => frames, close };
  } catch (error) {
    db?.close();
    rmSync(copies, { recursive: true });
    throw noRoom.has((error as NodeJS.ErrnoException).code) ? notCopied(error) : error;
  }
}

/** Of the disk of the copy; other errors may be those of the data. */
const noRoom: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

function makeDirectory(within: string): string {
  try {
    return mkdtempSync(join(within, "hookyard-reading-"));
  } catch (error) {
    throw notCopied(error);
  }
}

const notCopied = (error: unknown): OpenError =>
  new OpenError(
    `The data is read from a copy in ${tmpdir()}, which cannot be written: ${(error as Error).message}. Free space there, or name another directory in TMPDIR (on Windows TEMP).`,
  );

/** Whether a Hookyard holds the directory's lock. */
export function isInUse(data: string): boolean {
  const file = join(data, lockFileName);
  if (!existsSync(file)) return false;
  const lock = new Database(file, { readonly: true, timeout: 0 });
  try {
    lock.prepare("SELECT count(*) FROM sqlite_master").get();
    return false;
  } catch (error) {
    if ((error as { code: string }).code.startsWith("SQLITE_BUSY")) return true;
    throw isDamage(error) ? new OpenError(damagedLock(file)) : error;
  } finally {
    lock.close();
  }
}
