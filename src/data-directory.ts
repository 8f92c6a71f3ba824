/**
 * The directory that holds the data, and the rights of what Hookyard keeps there: the owner's
 * alone, because it holds secrets.
 */

import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { OpenError } from "./app-errors.ts";

const directoryMode = 0o700;
export const fileMode = 0o600;
const othersMode = 0o077;
const stickyMode = 0o1000;

/**
 * Files that Hookyard keeps in a data directory. Other files there are not ours to change; the
 * directory's mode protects them.
 */
const ownFile = /^(hookyard\..*|token|window\.json)$/;
const ownDirectories = ["certificates"];

/**
 * Creates the directory where it is missing, and takes all rights from others: from the directory
 * and from Hookyard's files in it.
 */
export function makeDataDirectory(path: string): void {
  try {
    makeDirectory(path);
  } catch (error) {
    throw new OpenError(`The data directory ${path} cannot be created: ${sentenceOf(error)}`);
  }
  restrictDirectory(path);
}

/**
 * A file of mode 0600 before anything is written to it: SQLite gives its log and its index the mode
 * of the data file.
 */
export function createPrivateFile(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, "a", fileMode));
}

/**
 * Makes a directory and those above it. Step by step and not with `recursive`, which tries for ever
 * where a file system answers that there is no such directory although its parent is there, as
 * `/proc` does.
 */
function makeDirectory(path: string): void {
  if (existsSync(path)) {
    if (!statSync(path).isDirectory()) throw new Error("it is a file.");
    return;
  }
  const parent = dirname(path);
  if (parent !== path) makeDirectory(parent);
  try {
    mkdirSync(path, { mode: directoryMode });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    // Unless another program made it meanwhile.
    if (!existsSync(path))
      throw new Error(`${path} is a link to something that does not exist.`, {
        cause: error,
      });
  }
}

function restrictDirectory(path: string): void {
  // Windows keeps rights in access lists that a home directory hands down.
  if (process.platform === "win32") return;
  const { uid, mode } = statSync(path);
  if (uid !== process.geteuid?.()) {
    throw new OpenError(
      `The data directory ${path} belongs to another user (uid ${uid}), who could read and change what Hookyard keeps there. Choose another --data directory, or give it to this user with chown.`,
    );
  }
  if ((mode & stickyMode) !== 0) {
    throw new OpenError(
      `${path} is shared by all users of this machine. Choose a --data directory inside it, such as ${join(path, "hookyard")}.`,
    );
  }
  for (const own of ownPathsIn(path)) restrict(own);
}

/** The directory, and what Hookyard keeps in it. */
function ownPathsIn(path: string): string[] {
  const directories = [
    path,
    ...ownDirectories.map((name) => join(path, name)).filter((directory) => existsSync(directory)),
  ];
  return directories.flatMap((directory) => [
    directory,
    ...readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isFile() && (directory !== path || ownFile.test(entry.name)))
      .map((entry) => join(directory, entry.name)),
  ]);
}

/** What other users could read of a data directory, a sentence each. */
export function rightsFaultsOf(path: string): string[] {
  if (process.platform === "win32") return [];
  const { uid } = statSync(path);
  const owner =
    uid === process.geteuid?.() ? [] : [`${path} belongs to another user (uid ${uid}).`];
  const open = ownPathsIn(path).flatMap((own) => {
    const mode = statSync(own).mode & 0o777;
    return (mode & othersMode) === 0
      ? []
      : [`Other users can read ${own} (its mode is ${mode.toString(8)}).`];
  });
  return [...owner, ...open];
}

/** Only takes rights away: what its owner made read-only stays so. */
function restrict(path: string): void {
  try {
    const stat = statSync(path);
    const allowed = stat.isDirectory() ? directoryMode : fileMode;
    if ((stat.mode & 0o777 & ~allowed) === 0) return;
    chmodSync(path, stat.mode & allowed);
    if ((statSync(path).mode & othersMode) === 0) return;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return;
    throw new OpenError(
      `Other users can read ${path}, and its permissions cannot be changed: ${sentenceOf(error)}. Choose another --data directory.`,
    );
  }
  throw new OpenError(
    `Other users can read ${path}, and its file system does not support permissions. Choose a --data directory on a file system that does.`,
  );
}

function sentenceOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
