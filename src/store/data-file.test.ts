import { copyFileSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { checkDataFile, framesOf, sizeOf } from "./data-file.ts";
import type { Marker } from "./marker.ts";
import { dataFileName } from "./open.ts";
import { openFilesIn, openTestStore, request, temporaryDirectory } from "./store.fixture.ts";

const marker: Marker = { database: "one", beat: 1, size: 0, hasLog: false };

type Header = {
  pageSize?: number;
  versions?: [number, number];
  pages?: number;
  counters?: [number, number];
};

function headerOf({
  pageSize = 4096,
  versions = [2, 2],
  pages = 3,
  counters = [7, 7],
}: Header): Buffer {
  const header = Buffer.alloc(100);
  header.write("SQLite format 3\0", "latin1");
  header.writeUInt16BE(pageSize, 16);
  header.set(versions, 18);
  header.writeUInt32BE(counters[0], 24);
  header.writeUInt32BE(pages, 28);
  header.writeUInt32BE(counters[1], 92);
  return header;
}

/**
 * The headers of logs as SQLite writes them where numbers begin with their low byte, and where with
 * their high byte.
 */
const logHeaders = [
  "377f0682002de218000010000000000112345678abcdef01",
  "377f0683002de218000010000000000112345678abcdef01",
].map((start) => {
  const header = Buffer.alloc(32);
  header.write(start, "hex");
  const words = Array.from({ length: 6 }, (_, n) =>
    start.startsWith("377f0683") ? header.readUInt32BE(4 * n) : header.readUInt32LE(4 * n),
  );
  let sums = [0n, 0n] as [bigint, bigint];
  for (const [n, word] of words.entries()) {
    const [own, other] = [sums[n % 2] as bigint, sums[1 - (n % 2)] as bigint];
    const sum = (own + BigInt(word) + other) % 2n ** 32n;
    sums = n % 2 === 0 ? [sum, sums[1]] : [sums[0], sum];
  }
  header.writeUInt32BE(Number(sums[0]), 24);
  header.writeUInt32BE(Number(sums[1]), 28);
  return header;
});

/**
 * What is said about a file of this size with this header, beside a log; null when nothing is wrong
 * with it.
 */
function said(
  header: Header | Buffer,
  size: number,
  { log = null as Buffer | null, marker: given = null as Marker | null } = {},
): string | null {
  const data = temporaryDirectory();
  const file = join(data, dataFileName);
  writeFileSync(file, Buffer.isBuffer(header) ? header : headerOf(header));
  truncateSync(file, size);
  if (log !== null) writeFileSync(`${file}-wal`, log);
  try {
    checkDataFile(file, data, given);
    return null;
  } catch (error) {
    return (error as Error).message.slice(file.length);
  } finally {
    expect(openFilesIn(data)).toEqual([]);
  }
}

test.each<[what: string, header: Header, isRight: boolean]>([
  ["pages of 512 bytes", { pageSize: 512 }, true],
  ["pages of 256 bytes", { pageSize: 256 }, false],
  ["pages of 1,000 bytes", { pageSize: 1000 }, false],
  ["pages of 64 KB", { pageSize: 1 }, true],
  ["the oldest versions", { versions: [1, 1] }, true],
  ["a version for writing that does not exist", { versions: [3, 2] }, false],
  ["a version for reading that does not exist", { versions: [2, 3] }, false],
])("a header with %s makes sense: %#", (_what, header, isRight) => {
  const message = said({ pages: 1, ...header }, 65_536);
  if (isRight) expect(message).toBeNull();
  else expect(message).toMatch(/header is invalid/);
});

test("a file that ends within its header is damaged", () => {
  for (const size of [1, 15, 16, 50, 99])
    expect(said({}, size)).toMatch(/^ is not a Hookyard data file, or it is damaged\./);
  const wrong = headerOf({});
  wrong.write("x", 15);
  expect(said(wrong, 4096 * 3)).toMatch(/^ is not a Hookyard data file, or it is damaged\./);
});

test("a file has at least the pages that its header says, where that is current", () => {
  expect(said({}, 4096 * 3)).toBeNull();
  expect(said({}, 4096 * 4)).toBeNull();
  expect(said({}, 4096 * 3 - 1)).toMatch(
    /^ is damaged: it is cut off after 12287 of 12288 bytes\./,
  );
  expect(said({ pageSize: 1, pages: 2 }, 65_536)).toMatch(/cut off after 65536 of 131072 bytes/);
  expect(said({ counters: [7, 8] }, 4096)).toBeNull();
});

test("beside a log a file has at least the size that the marker says, because a kill may leave a header that is ahead", () => {
  const [log] = logHeaders as [Buffer];
  const besideLog = (size: number, of: Marker | null) => said({}, size, { log, marker: of });
  expect(besideLog(4096, null)).toBeNull();
  expect(besideLog(4096, { ...marker, size: 4096 })).toBeNull();
  expect(besideLog(4096, { ...marker, size: 4097 })).toMatch(/cut off after 4096 of 12288 bytes/);
  expect(said({}, 4096 * 3, { marker: { ...marker, size: 4096 * 9 } })).toBeNull();
});

test("a log that must be there has a frame at least", () => {
  const [header] = logHeaders as [Buffer];
  const withLog = (length: number | null) => {
    const log =
      length === null ? null : Buffer.concat([header, Buffer.alloc(100)]).subarray(0, length);
    return said({}, 4096 * 3, { log, marker: { ...marker, hasLog: true } });
  };
  expect([null, 0].map(withLog)).toEqual([
    expect.stringContaining("missing or empty"),
    expect.stringContaining("missing or empty"),
  ]);
  expect([1, 55].map(withLog)).toEqual([
    expect.stringContaining("-wal is cut off"),
    expect.stringContaining("-wal is cut off"),
  ]);
  expect(withLog(56)).toBeNull();
});

test("the header of a log is right with every byte of its sums, in both orders of bytes, and wrong with any other", () => {
  for (const header of logHeaders) {
    expect(said({}, 4096 * 3, { log: header })).toBeNull();
    for (let at = 0; at < 32; at += 1) {
      const wrong = Buffer.from(header);
      wrong[at] = (wrong[at] as number) ^ 0x04;
      expect({ at, said: said({}, 4096 * 3, { log: wrong }) }).toEqual({
        at,
        said: expect.stringMatching(/^-wal is damaged/),
      });
    }
    for (const length of [1, 31])
      expect(said({}, 4096 * 3, { log: header.subarray(0, length) })).toMatch(/^-wal is damaged/);
  }
  expect(said({}, 4096 * 3, { log: Buffer.alloc(32) })).toMatch(/^-wal is damaged/);
  expect(said({}, 4096 * 3, { log: Buffer.alloc(0) })).toBeNull();
});

test("without a file there is neither a log nor a marker", () => {
  const data = temporaryDirectory();
  const file = join(data, dataFileName);
  const check = (of: Marker | null) => () => checkDataFile(file, data, of);
  expect(check(null)).not.toThrow();
  expect(check(marker)).toThrow(/is missing, although it held data/);
  writeFileSync(`${file}-wal`, "");
  expect(check(null)).not.toThrow();
  writeFileSync(`${file}-wal`, "x");
  expect(check(null)).toThrow(/is missing, although its log .*-wal holds data/);
  writeFileSync(file, "");
  expect(check(null)).toThrow(/is empty, although its log/);
});

test("the index beside a log says which frames are committed", () => {
  const data = temporaryDirectory();
  const { store } = openTestStore(data);
  store.commit([request([{}, {}])]);
  const file = join(data, dataFileName);
  const log = readFileSync(`${file}-wal`);
  expect(framesOf(file)).toEqual({
    salts: log.toString("hex", 16, 24),
    frames: (log.length - 32) / (24 + 4096),
  });
  const copy = join(temporaryDirectory(), dataFileName);
  expect([framesOf(copy), sizeOf(copy)]).toEqual([null, null]);
  copyFileSync(`${file}-shm`, `${copy}-shm`);
  truncateSync(`${copy}-shm`, 48);
  expect(framesOf(copy)).toEqual(framesOf(file));
  truncateSync(`${copy}-shm`, 47);
  expect(framesOf(copy)).toBeNull();
  expect(sizeOf(`${copy}-shm`)).toBe(statSync(`${copy}-shm`).size);
});
