import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { Store } from "../engine/store-ports.ts";
import { checkOf, faultsIn, startCheck } from "./integrity.ts";
import { markerName, readMarker, removeMarker, writeMarker } from "./marker.ts";
import { dataFileName } from "./open.ts";
import { openStore } from "./sqlite-store.ts";
import { openTestStore, request, temporaryDirectory, refusal } from "./store.fixture.ts";

const pageSize = 4096;

const fill = (store: Store, messages = 600): void =>
  void store.commit([
    request(
      Array.from({ length: messages }, (_, n) => ({
        userId: `user-${n}`,
        to: [1],
        text: `{"n":"${"x".repeat(100)}"}`,
      })),
    ),
  ]);

/** A directory after a clean end. */
function ended(): string {
  const data = temporaryDirectory();
  const store = openStore(data);
  fill(store);
  store.close();
  return data;
}

/**
 * A directory as a kill leaves it, made by copying one that is open: the newest data is in the log
 * only.
 */
function killed(): string {
  const running = ended();
  const { store } = openTestStore(running);
  fill(store, 50);
  const data = temporaryDirectory();
  for (const name of readdirSync(running)) copyFileSync(join(running, name), join(data, name));
  return data;
}

const fileOf = (data: string): string => join(data, dataFileName);
const logOf = (data: string): string => join(data, `${dataFileName}-wal`);

function overwrite(file: string, at: number, bytes: Buffer): void {
  const descriptor = openSync(file, "r+");
  writeSync(descriptor, bytes, 0, bytes.length, at);
  closeSync(descriptor);
}

/** The first page of a table or an index. */
function rootOf(data: string, name: string): number {
  const db = new Database(fileOf(data), { readonly: true });
  const page =
    db
      .prepare<[string], number>("SELECT rootpage FROM sqlite_master WHERE name = ?")
      .pluck()
      .get(name) ?? 0;
  db.close();
  return (page - 1) * pageSize;
}

function withFreePages(): string {
  const data = ended();
  const { db } = openTestStore(data);
  db.exec("DELETE FROM payloads");
  db.pragma("wal_checkpoint(TRUNCATE)");
  const copy = temporaryDirectory();
  copyFileSync(fileOf(data), fileOf(copy));
  return copy;
}

const damageFreePages = (data: string): void =>
  overwrite(
    fileOf(data),
    (readFileSync(fileOf(data)).readUInt32BE(32) - 1) * pageSize,
    Buffer.alloc(8, 0xff),
  );

afterEach(() => void vi.useRealTimers());

const contents = (data: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(data)
      .filter((name) => !/-shm$|\.lock/.test(name))
      .map((name) => [name, readFileSync(join(data, name), "latin1")] as const)
      .filter(([, bytes]) => bytes !== ""),
  );

test("what a kill and a clean end leave behind is opened without a word", () => {
  for (const data of [ended(), killed()]) openStore(data).close();
});

test.each<[what: string, make: () => string, damage: (data: string) => void, sentence: RegExp]>([
  [
    "a zeroed header",
    ended,
    (data) => overwrite(fileOf(data), 0, Buffer.alloc(100)),
    /not a Hookyard data file, or it is damaged/,
  ],
  [
    "a header of zeros with a log beside it",
    killed,
    (data) => overwrite(fileOf(data), 0, Buffer.alloc(100)),
    /is damaged/,
  ],
  [
    "a senseless header",
    ended,
    (data) => overwrite(fileOf(data), 16, Buffer.alloc(12, 0x55)),
    /header is invalid/,
  ],
  [
    "a zeroed page in the middle",
    ended,
    (data) => overwrite(fileOf(data), rootOf(data, "messages"), Buffer.alloc(pageSize)),
    /is damaged/,
  ],
  [
    "a page of noise in the middle",
    ended,
    (data) => overwrite(fileOf(data), rootOf(data, "requests"), Buffer.alloc(pageSize, 0xa5)),
    /is damaged/,
  ],
  [
    "an index that says something else than its table",
    ended,
    (data) =>
      overwrite(
        fileOf(data),
        rootOf(data, "deliveries_by_message") + pageSize - 40,
        Buffer.alloc(40, 0x11),
      ),
    /is damaged/,
  ],
  ["a damaged list of free pages", withFreePages, damageFreePages, /is damaged/],
  [
    "a damaged list of tables",
    ended,
    (data) => overwrite(fileOf(data), 100, Buffer.alloc(8, 0xff)),
    /is damaged/,
  ],
  [
    "a file cut to half",
    ended,
    (data) => truncateSync(fileOf(data), Math.floor(readFileSync(fileOf(data)).length / 2)),
    /cut off after \d+ of \d+ bytes/,
  ],
  [
    "a file cut to half with a log beside it",
    killed,
    (data) => truncateSync(fileOf(data), Math.floor(readFileSync(fileOf(data)).length / 2)),
    /damaged/,
  ],
  [
    "an emptied file",
    ended,
    (data) => truncateSync(fileOf(data), 0),
    /is empty, although it held data/,
  ],
  [
    "an emptied file with a log beside it",
    killed,
    (data) => truncateSync(fileOf(data), 0),
    /is empty, although it held data/,
  ],
  ["a removed file", ended, (data) => rmSync(fileOf(data)), /is missing, although it held data/],
  [
    "a removed file without a marker, but with a log",
    killed,
    (data) => {
      rmSync(fileOf(data));
      rmSync(join(data, markerName));
    },
    /is missing, although its log/,
  ],
  [
    "a removed log",
    killed,
    (data) => rmSync(logOf(data)),
    /missing or empty.*held the newest data/,
  ],
  [
    "an emptied log",
    killed,
    (data) => truncateSync(logOf(data), 0),
    /missing or empty.*held the newest data/,
  ],
  [
    "a log of noise",
    killed,
    (data) => writeFileSync(logOf(data), Buffer.alloc(50_000, 0x77)),
    /-wal is damaged/,
  ],
  [
    "a log that is cut off",
    killed,
    (data) => truncateSync(logOf(data), pageSize * 3),
    /lost its newest data|of its \d+ pages can be read/,
  ],
  [
    "a log with noise in the middle",
    killed,
    (data) => overwrite(logOf(data), 5000, Buffer.alloc(200, 0x99)),
    /lost its newest data/,
  ],
  [
    "an older copy in its place",
    () => {
      const data = ended();
      copyFileSync(fileOf(data), join(data, "older"));
      openStore(data).close();
      return data;
    },
    (data) => renameSync(join(data, "older"), fileOf(data)),
    /older copy/,
  ],
  [
    "another Hookyard's file in its place",
    ended,
    (data) => copyFileSync(fileOf(ended()), fileOf(data)),
    /replaced/,
  ],
  [
    "an empty database in its place",
    ended,
    (data) => {
      rmSync(fileOf(data));
      const db = new Database(fileOf(data));
      db.exec("CREATE TABLE a (b); DROP TABLE a");
      db.close();
    },
    /replaced or emptied/,
  ],
])("%s is told at the start, and nothing is changed", (_what, make, damage, sentence) => {
  const data = make();
  damage(data);
  const before = contents(data);
  expect(refusal(data)).toMatch(sentence);
  expect(contents(data)).toEqual(before);
});

test("without its marker a directory is opened with what is left", () => {
  const data = killed();
  rmSync(logOf(data));
  rmSync(join(data, markerName));
  openStore(data).close();
  expect(existsSync(join(data, markerName))).toBe(true);
});

test("the check finds what an index and its table say differently", () => {
  const data = ended();
  overwrite(
    fileOf(data),
    rootOf(data, "deliveries_by_message") + pageSize - 40,
    Buffer.alloc(40, 0x11),
  );
  const db = new Database(fileOf(data), { readonly: true });
  expect(faultsIn(db, 1)).not.toEqual([]);
  db.close();
});

test("a start that another program's lock refuses asks for no log any more, since its own look at the file may have removed it", () => {
  const data = killed();
  const other = new Database(fileOf(data));
  other.exec("BEGIN IMMEDIATE");
  expect(refusal(data)).toMatch(/in use or locked by another program/);
  other.close();
  expect(readMarker(data)).toMatchObject({ hasLog: false });
});

test("the check is thorough up to 256 MB, and says ten things at most", () => {
  const large = 256 * 1024 * 1024;
  expect([1, large, large + 1].map(checkOf)).toEqual([
    "integrity_check(10)",
    "integrity_check(10)",
    "quick_check(10)",
  ]);
});

test("a check in its thread finds what a check in this one finds, and says nothing where there is no file, or once it is stopped", async () => {
  const data = ended();
  const check = (file = fileOf(data)) => startCheck(file, 1).faults;
  expect(await check()).toEqual([]);
  expect(await check(join(data, "none"))).toBeNull();
  overwrite(
    fileOf(data),
    rootOf(data, "deliveries_by_message") + pageSize - 40,
    Buffer.alloc(40, 0x11),
  );
  expect(await check()).toContainEqual(expect.stringMatching(/index deliveries_by_message/));
  overwrite(fileOf(data), rootOf(data, "messages") + 8, Buffer.alloc(40, 0x11));
  const db = new Database(fileOf(data), { readonly: true });
  const faults = faultsIn(db, 1);
  db.close();
  expect(faults.length).toBeGreaterThan(1);
  for (const fault of faults) expect(fault).not.toMatch(/^\*\*\*|^ok$|\n/);
  expect(await check()).toEqual(faults);
  const stopped = startCheck(fileOf(data), 1);
  stopped.stop();
  expect(await stopped.faults).toBeNull();
  writeFileSync(join(data, "letter"), "This is a letter to my aunt. ".repeat(50));
  expect(await check(join(data, "letter"))).toEqual(["file is not a database"]);
  const letter = new Database(join(data, "letter"), { readonly: true });
  expect(faultsIn(letter, 1)).toEqual(["file is not a database"]);
  letter.close();
  expect(() => faultsIn(letter, 1)).toThrow("not open");
});

test("a check in its thread finds damage in the list of free pages, and in tables of any name", async () => {
  const data = withFreePages();
  const db = new Database(fileOf(data));
  db.exec(
    'CREATE TABLE "an ""odd"" name" (a PRIMARY KEY); INSERT INTO "an ""odd"" name" VALUES (1)',
  );
  db.close();
  const check = () => startCheck(fileOf(data), 1).faults;
  expect(await check()).toEqual([]);
  const index = 'sqlite_autoindex_an "odd" name_1';
  overwrite(fileOf(data), rootOf(data, index), Buffer.alloc(8, 0x11));
  expect(await check()).not.toEqual([]);
  const other = withFreePages();
  damageFreePages(other);
  expect(await startCheck(fileOf(other), 1).faults).not.toEqual([]);
});

test("damage that a check has found is checked once a minute, however often reads meet it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let checks = 0;
  const note = (): void => void (checks += 1);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const data = ended();
  const { store } = openTestStore(data);
  overwrite(fileOf(data), rootOf(data, "profile_history_by_profile"), Buffer.alloc(4096, 0x5a));
  let changes = 0;
  store.watch(() => (changes += 1));
  const isFound = (): boolean => /hookyard doctor/.test(store.trouble()?.message ?? "");
  for (let read = 0; read < 4; read += 1) {
    store.noteFailure(Object.assign(new Error("malformed"), { code: "SQLITE_CORRUPT" }));
    await expect.poll(isFound).toBe(true);
  }
  expect({ checks, changes, timers: vi.getTimerCount() }).toEqual({
    checks: 1,
    changes: 2,
    timers: 2,
  });
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => checks).toBe(2);
});

test("what is no marker is none", () => {
  const data = temporaryDirectory();
  const marker = { database: "one", beat: 1, size: 2, hasLog: true };
  writeMarker(data, marker);
  expect([readMarker(data), readdirSync(data)]).toEqual([marker, [markerName]]);
  expect(statSync(join(data, markerName)).mode & 0o777).toBe(0o600);
  for (const wrong of [{ database: 1 }, { beat: "1" }, { size: null }, { hasLog: 1 }]) {
    writeFileSync(join(data, markerName), JSON.stringify({ ...marker, ...wrong }));
    expect(readMarker(data)).toBeNull();
  }
  for (const _ of [1, 2]) {
    removeMarker(data);
    expect([readMarker(data), readdirSync(data)]).toEqual([null, []]);
  }
});
