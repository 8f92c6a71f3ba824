/** What a store's refusal means for whoever asked: nothing was written, and why. */

import { problem, type Problem } from "../domain/problem.ts";

const sentences: Readonly<Record<string, string>> = {
  SQLITE_FULL: "The disk is full. Nothing was written; make room and send it again.",
  SQLITE_READONLY: "The data file cannot be written to. Nothing was written; check its rights.",
  SQLITE_BUSY: "The data file is locked by another program. Nothing was written; send it again.",
  SQLITE_LOCKED: "The data file is locked by another program. Nothing was written; send it again.",
  SQLITE_CORRUPT: "The data file is damaged. Nothing was written; restore a copy of it.",
  SQLITE_NOTADB: "The data file is damaged. Nothing was written; restore a copy of it.",
  SQLITE_IOERR: "The disk reports an error. Nothing was written; check the disk and send it again.",
};

/** Null when the error is not the store's. */
export function storeFailure(error: unknown): Problem | null {
  const code = typeof error === "object" && error !== null ? (error as { code?: unknown }).code : undefined;
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return null;
  const general = Object.keys(sentences).find((known) => code.startsWith(known));
  const message = general === undefined ? `The data file could not be used (${code}). Nothing was written.` : sentences[general];
  return problem(503, "store_unavailable", message ?? code, { sqlite: code });
}
