/**
 * `hookyard backup`: a copy of the data as one file, made in one read transaction while a Hookyard
 * goes on writing, and verified.
 */

import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import Database from "better-sqlite3";
import { OpenError } from "../app-errors.ts";
import { createPrivateFile } from "../data-directory.ts";
import { inconsistenciesIn } from "./examine.ts";
import { checkDataFile, logOf, sizeOf } from "./data-file.ts";
import { faultsIn } from "./integrity.ts";
import { markerName, readMarker } from "./marker.ts";
import { migrations } from "./migrations/migrations.ts";
import { dataFileName, lockFileName, openErrorOf, refuseUnfit } from "./open.ts";
import { openForReading } from "./reading.ts";

export type Backup = { file: string; bytes: number; messages: number };

/** What the disk of the copy causes: the data is only read. */
const ofCopy = /^SQLITE_(FULL|IOERR(?!_(SHORT_)?READ))/;

/** Throws an `OpenError` with a sentence; the file is then as it was. */
export async function backUpData({
  data,
  to,
  force,
  temporary,
}: {
  data: string;
  to: string;
  force: boolean;
  /** Where the data is copied to if it has to be; the system's directory when left out. */
  temporary?: string;
}): Promise<Backup> {
  const target = resolve(to);
  const part = `${target}.part-${process.pid}`;
  try {
    refuseTarget(data, target, force);
    await copy(data, part, temporary);
    const messages = verify(part);
    if (force) renameSync(part, target);
    else putWithoutReplacing(part, target);
    return { file: target, bytes: statSync(target).size, messages };
  } catch (error) {
    for (const path of [part, logOf(part), `${part}-shm`]) rmSync(path, { force: true });
    if (error instanceof OpenError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") throw new OpenError(`${target} already exists. --force replaces it.`);
    throw code?.startsWith("SQLITE_") === true && !ofCopy.test(code)
      ? openErrorOf(error, data, "reading")
      : new OpenError(
          `${target} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
        );
  }
}

/** What the data causes, and not the copy. */
function ofData<Result>(data: string, read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw openErrorOf(error, data, "reading");
  }
}

/** A rename replaces what is there, so it replaces an empty file that only this can have created. */
function putWithoutReplacing(part: string, target: string): void {
  closeSync(openSync(target, "wx", 0o600));
  try {
    renameSync(part, target);
  } catch (error) {
    rmSync(target, { force: true });
    throw error;
  }
}

function refuseTarget(data: string, target: string, force: boolean): void {
  const file = join(data, dataFileName);
  if (ofData(data, () => sizeOf(file)) === null && readMarker(data) === null)
    throw new OpenError(`${data} has no Hookyard data.`);
  const own = [
    dataFileName,
    `${dataFileName}-wal`,
    `${dataFileName}-shm`,
    lockFileName,
    markerName,
    "token",
  ];
  if (own.some((name) => join(resolve(data), name) === target))
    throw new OpenError(`${target} is part of the data itself. Name another file.`);
  if (!existsSync(target)) return;
  if (statSync(target).isDirectory())
    throw new OpenError(`${target} is a directory. Name a file in it.`);
  if (!force) throw new OpenError(`${target} already exists. --force replaces it.`);
}

async function copy(data: string, part: string, temporary?: string): Promise<void> {
  const file = join(data, dataFileName);
  const marker = readMarker(data);
  createPrivateFile(part);
  const { db, close } = ofData(data, () => {
    checkDataFile(file, data, marker);
    return openForReading(data, temporary);
  });
  try {
    refuseUnfit(db, { file, data, marker });
    // All pages in one step: a copy in several begins again whenever the Hookyard that runs has
    // written.
    await db.backup(part, { progress: () => 0x7fff_ffff });
  } finally {
    close();
  }
  // As one file without a log: the copy has the mode of the original.
  const made = new Database(part);
  made.pragma("journal_mode = DELETE");
  made.close();
}

/** Returns how many messages are in it. */
function verify(part: string): number {
  const db = new Database(part, { readonly: true });
  try {
    const [fault] = faultsIn(db, statSync(part).size);
    const [wrong] =
      db.pragma("user_version", { simple: true }) === migrations.length
        ? inconsistenciesIn(db)
        : [];
    if (fault !== undefined)
      throw new OpenError(
        `No backup was written: the copy is damaged, and so is the data (${fault}). hookyard doctor has the details.`,
      );
    if (wrong !== undefined)
      throw new OpenError(
        `No backup was written: the data has ${wrong.rows} ${wrong.what}. hookyard doctor has the details.`,
      );
    return db.prepare<[], number>("SELECT count(*) FROM messages").pluck().get() as number;
  } finally {
    db.close();
  }
}
