/**
 * What the bytes of a data file and its log say before SQLite opens them, because opening repairs:
 * it deletes the log of an empty file, and cuts a log off where it stops making sense. Never
 * writes.
 */

import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { OpenError } from "../app-errors.ts";
import { markerName, type Marker } from "./marker.ts";

const headerSize = 100;
const logHeaderSize = 32;
const frameHeaderSize = 24;
const indexHeaderSize = 48;
const magic = "SQLite format 3\0";

export const logOf = (file: string): string => `${file}-wal`;

const restore =
  "It was not changed. Restore a copy into a new directory and start with --data set to it";

/** How to go on with less than there was, when that is what the user wants. */
export const acceptLoss = (data: string): string =>
  `${restore}; or, to continue with what is left, delete ${markerName} in ${data} and start again.`;

/** Throws an `OpenError` for what can be seen without reading more than the headers. */
export function checkDataFile(file: string, data: string, marker: Marker | null): void {
  const size = sizeOf(file);
  const logSize = sizeOf(logOf(file)) ?? 0;
  if (size === null || size === 0) {
    const state = size === null ? "is missing" : "is empty";
    if (marker !== null)
      throw new OpenError(
        `${file} ${state}, although it held data when Hookyard last used it. ${acceptLoss(data)}`,
      );
    if (logSize > 0)
      throw new OpenError(
        `${file} ${state}, although its log ${logOf(file)} holds data. ${restore}.`,
      );
    return;
  }
  const header = readStart(file, headerSize);
  const damage = faultOfHeader(
    header,
    size,
    logSize === 0 || (marker !== null && size < marker.size),
  );
  if (damage !== null) throw new OpenError(`${file} ${damage}. ${restore}.`);
  if (marker?.hasLog === true && logSize < logHeaderSize + frameHeaderSize) {
    throw new OpenError(
      `${logOf(file)} is ${logSize === 0 ? "missing or empty" : "cut off"}. It held the newest data, because Hookyard was killed. ${acceptLoss(data)}`,
    );
  }
  if (logSize > 0 && !isLogHeader(readStart(logOf(file), logHeaderSize))) {
    throw new OpenError(
      `${logOf(file)} is damaged. It holds the newest data, because Hookyard was killed. ${restore}; or, to continue without it, move it away and delete ${markerName} in ${data}.`,
    );
  }
}

/**
 * `frames`: as many must be in it. An open log may be read at any time: SQLite's locks are on the
 * data file and the index.
 */
export function isWholeLog(log: number, frames: number, pageSize: number): boolean {
  return (
    fstatSync(log).size >= logHeaderSize + frames * (frameHeaderSize + pageSize) &&
    isLogHeader(startOf(log, logHeaderSize))
  );
}

/**
 * The number of committed frames of the log according to the index beside it, or null where there
 * is none.
 */
export function framesOf(file: string): { salts: string; frames: number } | null {
  const index = `${file}-shm`;
  if (Number(sizeOf(index)) < indexHeaderSize) return null;
  const header = readStart(index, indexHeaderSize);
  return { salts: header.toString("hex", 32, 40), frames: header.readUInt32LE(16) };
}

/**
 * `isWhole`: nothing that its header asks for may be missing. A kill in a checkpoint leaves a
 * header that is ahead.
 */
function faultOfHeader(header: Buffer, size: number, isWhole: boolean): string | null {
  if (header.length < headerSize || header.toString("latin1", 0, magic.length) !== magic)
    return "is not a Hookyard data file, or it is damaged";
  const pageSize = pageSizeOf(header);
  if (
    pageSize < 512 ||
    (pageSize & (pageSize - 1)) !== 0 ||
    header.readUInt8(18) > 2 ||
    header.readUInt8(19) > 2
  )
    return "is damaged: its header is invalid";
  const isCurrent = header.readUInt32BE(24) === header.readUInt32BE(92);
  if (isCurrent && isWhole && wantedSize(header) > size)
    return `is damaged: it is cut off after ${size} of ${wantedSize(header)} bytes`;
  return null;
}

const pageSizeOf = (header: Buffer): number =>
  header.readUInt16BE(16) === 1 ? 65_536 : header.readUInt16BE(16);
const wantedSize = (header: Buffer): number => header.readUInt32BE(28) * pageSizeOf(header);

/**
 * Its first 24 bytes are summed up in the last 8 (https://sqlite.org/fileformat2.html#walformat).
 */
function isLogHeader(header: Buffer): boolean {
  const kind = header.length < logHeaderSize ? 0 : header.readUInt32BE(0);
  if (kind !== 0x377f0682 && kind !== 0x377f0683) return false;
  const word = (at: number): number =>
    kind === 0x377f0683 ? header.readUInt32BE(at) : header.readUInt32LE(at);
  let [one, two] = [0, 0];
  for (let at = 0; at < 24; at += 8) {
    one = (one + word(at) + two) >>> 0;
    two = (two + word(at + 4) + one) >>> 0;
  }
  return header.readUInt32BE(24) === one && header.readUInt32BE(28) === two;
}

/** Null for what is not there. */
export function sizeOf(file: string): number | null {
  return statSync(file, { throwIfNoEntry: false })?.size ?? null;
}

function readStart(file: string, length: number): Buffer {
  const descriptor = openSync(file, "r");
  try {
    return startOf(descriptor, length);
  } finally {
    closeSync(descriptor);
  }
}

function startOf(descriptor: number, length: number): Buffer {
  const bytes = Buffer.alloc(Math.min(length, fstatSync(descriptor).size));
  readSync(descriptor, bytes, 0, bytes.length, 0);
  return bytes;
}
