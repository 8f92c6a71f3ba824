/** `hookyard doctor`: everything that can be checked of a data directory, with what to do about each finding. Never changes anything. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { OpenError } from "../app-errors.ts";
import { rightsFaultsOf } from "../data-directory.ts";
import { inconsistenciesIn } from "./consistency.ts";
import { checkDataFile, framesOf, logOf, sizeOf } from "./data-file.ts";
import { checkOf, faultsIn, isDamage } from "./integrity.ts";
import { migrations } from "./migrations/migrations.ts";
import { readMarker } from "./marker.ts";
import { dataFileName, lockFileName, openErrorOf, refuseLostFrames, refuseUnfit, type Db } from "./open.ts";
import { isInUse, openForReading } from "./reading.ts";

export type Finding = { level: "error" | "warning"; message: string; cure: string };

export type Examination = {
  dataDir: string;
  inUse: boolean;
  /** Bytes; null for what is not there. */
  sizes: { data: number | null; log: number | null; free: number | null };
  /** The format of the file, and the newest that this program knows. */
  format: number | null;
  newestFormat: number;
  /** Rows of the tables that hold most. */
  rows: Record<string, number>;
  checked: string[];
  findings: Finding[];
};

const counted = ["requests", "messages", "deliveries", "attempts", "profiles", "sources", "destinations"];
const restore =
  "Stop Hookyard, restore a backup into a new directory and start with --data set to it. Keep this one: some of its data may be recoverable.";

/** Throws an `OpenError` when there is nothing to examine. */
export function examineData(data: string): Examination {
  const file = join(data, dataFileName);
  if (statSync(data, { throwIfNoEntry: false })?.isDirectory() !== true) throw new OpenError(`There is no data directory ${data}.`);
  if (!readdirSync(data).some((name) => name.startsWith("hookyard."))) throw new OpenError(`${data} has no Hookyard data.`);
  const examination: Examination = {
    dataDir: data,
    inUse: isInUse(data),
    sizes: { data: sizeOf(file), log: sizeOf(logOf(file)), free: null },
    format: null,
    newestFormat: migrations.length,
    rows: {},
    checked: ["permissions"],
    findings: rightsFaultsOf(data).map((message) => ({
      level: "warning",
      message,
      cure: "Start Hookyard once: it removes the permissions of other users, or reports why it cannot.",
    })),
  };
  const { findings, checked } = examination;
  const marker = readMarker(data);
  if (sizeOf(join(data, lockFileName)) === null && sizeOf(file) !== null) {
    findings.push({
      level: "warning",
      message: `${lockFileName} is missing.`,
      cure: "It was deleted, perhaps while Hookyard was running. The next start creates it.",
    });
  }
  if (marker === null && sizeOf(file) !== null) {
    findings.push({
      level: "warning",
      message: "The marker, which records what the file must contain, is missing, so lost data cannot be detected.",
      cure: "The next start creates it.",
    });
  }
  const left = framesOf(file);
  try {
    checked.push("files against the marker");
    checkDataFile(file, data, marker);
    const { db, file: read, close } = openForReading(data);
    try {
      examination.format = refuseUnfit(db, { file, data, marker });
      refuseLostFrames({ file, data, left, read: framesOf(read) });
      examineRows(db, examination);
    } finally {
      close();
    }
  } catch (error) {
    findings.push({
      level: "error",
      message: openErrorOf(error, data).message,
      cure: error instanceof OpenError ? "As the sentence says." : restore,
    });
  }
  return examination;
}

function examineRows(db: Db, { format, sizes, rows, checked, findings }: Examination): void {
  const bytes = sizes.data as number;
  checked.push(`SQLite's ${checkOf(bytes)}`);
  for (const message of faultsIn(db, bytes)) findings.push({ level: "error", message: `SQLite finds damage: ${message}`, cure: restore });
  sizes.free = Number(db.pragma("freelist_count", { simple: true })) * Number(db.pragma("page_size", { simple: true }));
  // An older format lacks tables; the next start brings it up to date.
  if (format !== migrations.length) return;
  try {
    checked.push("foreign keys");
    const foreign = db.pragma("foreign_key_check") as { table: string }[];
    if (foreign.length > 0) {
      const tables = [...new Set(foreign.map(({ table }) => table))].join(", ");
      findings.push({ level: "error", message: `${foreign.length} rows of ${tables} refer to rows that do not exist.`, cure: restore });
    }
    for (const table of counted) rows[table] = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() as number;
    checked.push("counts and references against the rows");
    for (const { what, rows: wrong } of inconsistenciesIn(db)) {
      findings.push({
        level: "error",
        message: `${wrong} ${what}.`,
        cure: "No messages are lost, but the inspector may show wrong figures. Please report it; Reset messages in Settings clears it.",
      });
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    findings.push({ level: "error", message: `SQLite finds damage: ${(error as Error).message}`, cure: restore });
  }
}
