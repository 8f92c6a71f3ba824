/**
 * SQLite's own check of a data file, through a connection that cannot write. A large file is
 * checked in a thread of its own while everything else runs. `open.ts` calls it before it writes,
 * `health.ts` after the start, and `hookyard doctor`.
 */

import type Database from "better-sqlite3";
import { createRequire } from "node:module";
import { Worker } from "node:worker_threads";

/** Up to here a start waits for the check: some 50 ms. */
export const checkedAtStart = 16 * 1024 * 1024;

/**
 * Above it only the structure is compared, not each index with its table: that would keep a core
 * busy for a minute per gigabyte.
 */
const comparedInFull = 256 * 1024 * 1024;

const reported = 10;

const pragmaFor = (size: number): string =>
  size > comparedInFull ? "quick_check" : "integrity_check";

export const checkOf = (size: number): string => `${pragmaFor(size)}(${reported})`;

/** What is wrong, in SQLite's words; empty when nothing is. */
export function faultsIn(db: Database.Database, size: number): string[] {
  try {
    return db
      .prepare<[], string>(`PRAGMA ${checkOf(size)}`)
      .pluck()
      .all()
      .flatMap((text) => text.split("\n"))
      .filter(isFault);
  } catch (error) {
    // Some damage ends the check itself.
    if (isDamage(error)) return [(error as Error).message];
    throw error;
  }
}

/** `*** in database main ***` is a heading. */
const isFault = (line: string): boolean => line !== "ok" && !line.startsWith("***");

export function isDamage(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined;
  return typeof code === "string" && /^SQLITE_(CORRUPT|NOTADB)/.test(code);
}

/**
 * As text, because a bundle has no file of its own for it. Nothing interrupts a statement, and a
 * process does not end before its threads: so each table is checked by a statement of its own, and
 * a stop waits for one of them. `sqlite_schema` includes the list of free pages. Pages that nothing
 * uses are found by a check of the whole file only.
 */
const worker = `
const { parentPort, workerData } = require("node:worker_threads");
const Database = require(workerData.driver);
const tables = "SELECT 'sqlite_schema' UNION ALL SELECT name FROM sqlite_schema WHERE type = 'table'";
let texts = [];
try {
  const db = new Database(workerData.file, { readonly: true, fileMustExist: true });
  for (const table of db.prepare(tables).pluck().all()) {
    const name = '"' + table.replaceAll('"', '""') + '"';
    const check = db.prepare("PRAGMA " + workerData.pragma + "(" + name + ")").pluck();
    for (const text of check.iterate()) texts.push(text);
  }
  db.close();
} catch (error) {
  // What is so damaged that the check ends is a finding.
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(error.code)) texts.push(error.message);
  else texts = null;
}
parentPort.postMessage(texts);
`;

/** Resolves with what is wrong, or with null when the file could not be checked to its end. */
export function startCheck(
  file: string,
  size: number,
): { faults: Promise<string[] | null>; stop(): void } {
  const driver = createRequire(import.meta.url).resolve("better-sqlite3");
  const thread = new Worker(worker, {
    eval: true,
    workerData: { driver, file, pragma: pragmaFor(size) },
  });
  thread.unref();
  const faults = new Promise<string[] | null>((resolve) => {
    thread
      .once("message", (texts: string[] | null) =>
        resolve(
          texts === null
            ? null
            : texts
                .flatMap((text) => text.split("\n"))
                .filter(isFault)
                .slice(0, reported),
        ),
      )
      .once("error", () => resolve(null))
      .once("exit", () => resolve(null));
  });
  return { faults, stop: () => void thread.terminate() };
}
