/**
 * Turns an error of the store into a problem for the caller: nothing was written, and why.
 * Recognised by its code, so that this file does not need the driver.
 */

import { problem, type Problem } from "../domain/problem.ts";
import type { HealthStore } from "./store-ports.ts";

const sentences: readonly [prefix: string, sentence: string][] = [
  [
    "SQLITE_FULL",
    "The disk that holds Hookyard's data is full. Nothing was written, and no accepted message is lost. Free disk space.",
  ],
  [
    "SQLITE_READONLY",
    "Hookyard's data file cannot be written to. Check the permissions of the file and of its directory.",
  ],
  [
    "SQLITE_BUSY",
    "Hookyard's data file is locked by another program. Nothing was written; close that program and try again.",
  ],
  [
    "SQLITE_LOCKED",
    "Hookyard's data file is locked by another program. Nothing was written; close that program and try again.",
  ],
  [
    "SQLITE_CORRUPT",
    "Hookyard's data file is damaged. Stop Hookyard and restore a copy, or start with another --data directory.",
  ],
  [
    "SQLITE_NOTADB",
    "Hookyard's data file is damaged. Stop Hookyard and restore a copy, or start with another --data directory.",
  ],
  [
    "SQLITE_CANTOPEN",
    "Hookyard's data file cannot be opened. Check that it exists and is readable.",
  ],
  [
    "SQLITE_IOERR",
    "Hookyard's data file cannot be read or written: the disk reports an error. Nothing was written.",
  ],
];

/** What the store itself found wrong with its files; the message is the sentence. */
export class DataFault extends Error {
  override name = "DataFault";
  readonly code: "DATA_MOVED" | "DATA_DAMAGED";

  constructor(code: DataFault["code"], sentence: string) {
    super(sentence);
    this.code = code;
  }
}

/** Null when the error is not the store's. */
export function storeFailure(error: unknown): Problem | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof DataFault)
    return problem(503, "store_unavailable", error.message, { sqlite: error.code });
  const { code } = error as { code?: unknown };
  if (typeof code !== "string") return null;
  const sentence = sentences.find(([prefix]) => code.startsWith(prefix))?.[1];
  return sentence === undefined
    ? null
    : problem(503, "store_unavailable", sentence, { sqlite: code });
}

/**
 * What the store cannot do is its trouble, which the API and the inspector show; every other error
 * is unexpected and reported.
 */
export function reportTo(
  store: Pick<HealthStore, "noteFailure">,
  report: (error: unknown) => void,
): (error: unknown) => void {
  return (error) => {
    if (storeFailure(error) === null) report(error);
    else store.noteFailure(error);
  };
}
