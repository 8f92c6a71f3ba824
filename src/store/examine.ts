/**
 * `hookyard doctor`: everything that can be checked of a data directory, with what to do about each
 * finding. Never changes anything.
 */

import { accessSync, constants, existsSync, readdirSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { OpenError } from "../app-errors.ts";
import { rightsFaultsOf } from "../data-directory.ts";
import { checkDataFile, framesOf, logOf, sizeOf } from "./data-file.ts";
import { checkOf, faultsIn, isDamage } from "./integrity.ts";
import { migrations } from "./migrations/migrations.ts";
import { readMarker, type Marker } from "./marker.ts";
import { dataFileName, lockFileName, openErrorOf, refuseLostFrames, refuseUnfit } from "./open.ts";
import type { Db } from "./transactions.ts";
import { isInUse, openForReading } from "./reading.ts";

type Finding = { level: "error" | "warning"; message: string; cure: string };

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

const counted = [
  "requests",
  "messages",
  "deliveries",
  "attempts",
  "profiles",
  "sources",
  "destinations",
];
const restore =
  "Stop Hookyard, restore a backup into a new directory and start with --data set to it. Keep this one: some of its data may be recoverable.";

const asItSays = "As the sentence says.";

/** Throws an `OpenError` when there is nothing to examine. */
export function examineData(data: string): Examination {
  const file = join(data, dataFileName);
  refuseNothing(data);
  const findings: Finding[] = [];
  const checked: string[] = [];
  const check = <Result>(what: string | null, run: () => Result): Result | null => {
    if (what !== null) checked.push(what);
    try {
      return run();
    } catch (error) {
      findings.push({
        level: "error",
        message: openErrorOf(error, data, "reading").message,
        cure: mayHaveLostData(error) ? restore : asItSays,
      });
      return null;
    }
  };
  const examination: Examination = {
    dataDir: data,
    inUse: check(null, () => isInUse(data)) ?? false,
    sizes: { data: null, log: null, free: null },
    format: null,
    newestFormat: migrations.length,
    rows: {},
    checked,
    findings,
  };
  check("permissions", () => examineRights(data, findings));
  check("room on the disk", () => examineRoom(data, findings));
  check("files against the marker", () => {
    examination.sizes = { data: sizeOf(file), log: sizeOf(logOf(file)), free: null };
    const marker = readMarker(data);
    if (examination.sizes.data !== null) examineBeside(data, marker, findings);
    const left = framesOf(file);
    checkDataFile(file, data, marker);
    const { db, frames, close } = openForReading(data);
    try {
      examination.format = refuseUnfit(db, { file, data, marker });
      refuseLostFrames({ file, data, left, read: frames() });
      examineRows(db, examination);
    } finally {
      close();
    }
  });
  return examination;
}

function refuseNothing(data: string): void {
  try {
    if (statSync(data, { throwIfNoEntry: false })?.isDirectory() !== true)
      throw new OpenError(`There is no data directory ${data}.`);
    if (!readdirSync(data).some((name) => name.startsWith("hookyard.")))
      throw new OpenError(`${data} has no Hookyard data.`);
  } catch (error) {
    throw openErrorOf(error, data, "reading");
  }
}

function examineRights(data: string, findings: Finding[]): void {
  for (const message of rightsFaultsOf(data)) {
    findings.push({
      level: "warning",
      message,
      cure: "Start Hookyard once: it removes the permissions of other users, or reports why it cannot.",
    });
  }
  for (const path of [data, join(data, dataFileName)]) {
    if (!existsSync(path) || isWritable(path)) continue;
    findings.push({
      level: "warning",
      message: `${path} cannot be written to, so Hookyard cannot start with it.`,
      cure: "Check its permissions, that it belongs to the user who starts Hookyard, and that its file system is mounted for writing.",
    });
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** A start needs some 0.4 MB. */
const scarceBytes = 1024 * 1024;

function examineRoom(data: string, findings: Finding[]): void {
  const { bavail, blocks, bsize } = statfsSync(data);
  // Some file systems do not know.
  if (blocks === 0 || bavail * bsize >= scarceBytes) return;
  findings.push({
    level: "warning",
    message: `The disk that holds ${data} is full: it has ${(bavail * bsize).toLocaleString("en")} bytes left.`,
    cure: "Free disk space. Until then Hookyard cannot write, and ingest answers 503.",
  });
}

/** The lock and the marker. */
function examineBeside(data: string, marker: Marker | null, findings: Finding[]): void {
  if (sizeOf(join(data, lockFileName)) === null) {
    findings.push({
      level: "warning",
      message: `${lockFileName} is missing.`,
      cure: "It was deleted, perhaps while Hookyard was running. The next start creates it.",
    });
  }
  if (marker === null) {
    findings.push({
      level: "warning",
      message:
        "The marker, which records what the file must contain, is missing, so lost data cannot be detected.",
      cure: "The next start creates it.",
    });
  }
}

function mayHaveLostData(error: unknown): boolean {
  const { code } = error as { code?: string };
  return isDamage(error) || code?.startsWith("SQLITE_IOERR") === true || code === "EIO";
}

function examineRows(db: Db, { format, sizes, rows, checked, findings }: Examination): void {
  const bytes = sizes.data as number;
  checked.push(`SQLite's ${checkOf(bytes)}`);
  for (const message of faultsIn(db, bytes))
    findings.push({ level: "error", message: `SQLite finds damage: ${message}`, cure: restore });
  sizes.free =
    Number(db.pragma("freelist_count", { simple: true })) *
    Number(db.pragma("page_size", { simple: true }));
  // An older format lacks tables; the next start brings it up to date.
  if (format !== migrations.length) return;
  try {
    checked.push("foreign keys");
    const foreign = db.pragma("foreign_key_check") as { table: string }[];
    if (foreign.length > 0) {
      const tables = [...new Set(foreign.map(({ table }) => table))].join(", ");
      findings.push({
        level: "error",
        message: `${foreign.length} rows of ${tables} refer to rows that do not exist.`,
        cure: restore,
      });
    }
    for (const table of counted)
      rows[table] = db.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() as number;
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
    findings.push({
      level: "error",
      message: `SQLite finds damage: ${(error as Error).message}`,
      cure: restore,
    });
  }
}

/** Its own, and the batches that it is in. */
const deliveriesOfMessage = `SELECT id FROM deliveries WHERE message_id = messages.id
       UNION ALL SELECT delivery_id FROM batch_parts WHERE message_id = messages.id`;

/**
 * What SQLite cannot check: that counts are those of the rows, and that no row belongs to something
 * that is not there. Each finds the rows that are wrong.
 */
const queries: Record<string, string> = {
  "message counts that differ from the rows": `SELECT * FROM (
     SELECT source_id, type, state, n FROM message_counts WHERE n <> 0
     UNION ALL SELECT source_id, type, state, count(*) FROM messages GROUP BY 1, 2, 3)
     GROUP BY 1, 2, 3, 4 HAVING count(*) <> 2`,
  "delivery counts that differ from the rows": `SELECT * FROM (
     SELECT destination_id, state, n FROM delivery_counts WHERE n <> 0
     UNION ALL SELECT destination_id, state, count(*) FROM deliveries GROUP BY 1, 2)
     GROUP BY 1, 2, 3 HAVING count(*) <> 2`,
  "messages without their request":
    "SELECT id FROM messages WHERE request_id NOT IN (SELECT id FROM requests)",
  "requests without messages": `SELECT id FROM requests
     WHERE messages > 0 AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id >= first_message AND messages.id < first_message + requests.messages)`,
  "decisions without their message":
    "SELECT message_id FROM decisions WHERE message_id NOT IN (SELECT id FROM messages)",
  "payloads without their message":
    "SELECT message_id FROM payloads WHERE message_id NOT IN (SELECT id FROM messages)",
  "filtered payloads without their message":
    "SELECT message_id FROM filtered WHERE message_id NOT IN (SELECT id FROM messages)",
  "deliveries without their message":
    "SELECT id FROM deliveries WHERE message_id NOT IN (SELECT id FROM messages)",
  "mapped requests without their delivery":
    "SELECT delivery_id FROM mapped_requests WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "parts of batches without their delivery":
    "SELECT id FROM batch_parts WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "parts of batches without their message":
    "SELECT id FROM batch_parts WHERE message_id IS NOT NULL AND message_id NOT IN (SELECT id FROM messages)",
  "attempts without their delivery":
    "SELECT id FROM attempts WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "transitions without their delivery":
    "SELECT id FROM transitions WHERE delivery_id NOT IN (SELECT id FROM deliveries)",
  "postings without their message":
    "SELECT block FROM postings WHERE NOT EXISTS (SELECT 1 FROM messages WHERE id >= block * 4096 AND id < (block + 1) * 4096)",
  // The last block is still filling, in memory.
  "blocks of messages that postings do not list": `SELECT one FROM (
       SELECT id / 4096 AS one, count(*) AS n FROM messages GROUP BY one
       HAVING one < (SELECT max(id) / 4096 FROM messages) AND n IS NOT (SELECT length(message_ids) / 8 FROM postings WHERE block = one))
     LEFT JOIN posting_segments ON state = 1 AND one * 4096 >= first AND one * 4096 < "end" WHERE first IS NULL`,
  "merged postings of other messages than there are": `SELECT id FROM posting_segments
     WHERE state = 1 AND left <> (SELECT count(*) FROM messages WHERE id >= first AND id < "end")`,
  "blocks of postings that are merged already": `SELECT block FROM postings, posting_segments
     WHERE state = 1 AND block * 4096 >= first AND block * 4096 < "end"`,
  "pieces of merged postings that belong to none":
    "SELECT id FROM posting_pieces WHERE id / 2097152 NOT IN (SELECT id FROM posting_segments)",
  "profiles with a wrong event count":
    "SELECT id FROM profiles WHERE events <> (SELECT count(*) FROM profile_events WHERE profile_id = profiles.id)",
  "users whose id refers to another profile": `SELECT id FROM profiles WHERE user_id IS NOT NULL
     AND id IS NOT (SELECT profile_id FROM identities WHERE kind = 0 AND value = user_id)`,
  "events without their message":
    "SELECT id FROM profile_events WHERE id NOT IN (SELECT id FROM messages)",
  ...Object.fromEntries(
    [
      "identities",
      "profile_traits",
      "profile_emails",
      "profile_events",
      "profile_groups",
      "profile_history",
    ].map((table) => [
      `${table} without their profile`,
      `SELECT profile_id FROM ${table} WHERE profile_id NOT IN (SELECT id FROM profiles)`,
    ]),
  ),
  "messages that are not in the first state of their deliveries": `SELECT id FROM messages
     WHERE state <> (SELECT min(state) FROM deliveries WHERE id IN (${deliveriesOfMessage}))`,
  "messages with a wrong attempt count": `SELECT id FROM messages
     WHERE attempts <> (SELECT count(*) FROM attempts WHERE delivery_id IN (${deliveriesOfMessage}))`,
};

/** What is wrong, and how many rows of it; empty when all is well. */
export function inconsistenciesIn(db: Db): { what: string; rows: number }[] {
  return Object.entries(queries).flatMap(([what, sql]) => {
    const rows = db.prepare<[], number>(`SELECT count(*) FROM (${sql})`).pluck().get() as number;
    return rows === 0 ? [] : [{ what, rows }];
  });
}
