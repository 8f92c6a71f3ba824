import { closeSync, openSync, readFileSync, renameSync, rmSync, truncateSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, test, vi } from "vitest";
import { storeFailure } from "../engine/store-failure.ts";
import { markerName } from "./marker.ts";
import { dataFileName } from "./open.ts";
import { openStore } from "./sqlite-store.ts";
import { openTestStore, request, temporaryDirectory } from "./store.fixture.ts";

const failing = (code: string): Error => Object.assign(new Error("as the driver throws it"), { code });
const markerIn = (data: string): { beat: number; hasLog: boolean } =>
  JSON.parse(readFileSync(join(data, markerName), "utf8")) as { beat: number; hasLog: boolean };

afterEach(() => void vi.useRealTimers());

test("the files are looked at every second, and not any more after the end", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const data = join(temporaryDirectory(), "data");
  const store = openStore(data);
  let changes = 0;
  store.watch(() => (changes += 1));
  for (const [from, to, isTrouble] of [
    [data, `${data}-away`, true],
    [`${data}-away`, data, false],
  ] as const) {
    renameSync(from, to);
    vi.advanceTimersByTime(999);
    expect(changes).toBe(isTrouble ? 0 : 1);
    vi.advanceTimersByTime(1);
    expect([store.trouble() !== null, changes]).toEqual([isTrouble, isTrouble ? 1 : 2]);
  }
  store.close();
  expect(vi.getTimerCount()).toBe(0);
});

test.each(["SQLITE_FULL", "SQLITE_IOERR_READ", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_BUSY"])(
  "%s is trouble from wherever it comes, until a write succeeds",
  (code) => {
    const { store } = openTestStore(temporaryDirectory());
    let changes = 0;
    store.watch(() => (changes += 1));
    store.noteFailure(failing("SQLITE_CONSTRAINT"));
    expect(store.trouble()).toBeNull();
    store.noteFailure(failing(code));
    expect(store.trouble()).toMatchObject({ status: 503, data: { sqlite: code } });
    store.commit([request([{}])]);
    expect([store.trouble(), changes]).toEqual([null, 2]);
  },
);

test("on a full disk trouble lasts until there is room again, without anybody asking", () => {
  const { db, store, health } = openTestStore(temporaryDirectory());
  store.commit([request([{}])]);
  db.pragma(`max_page_count = ${Number(db.pragma("page_count", { simple: true }))}`);
  expect(() => store.commit([request([{ text: "x".repeat(100_000) }])])).toThrow("full");
  health.tick();
  expect(store.trouble()).toMatchObject({ data: { sqlite: "SQLITE_FULL" } });
  db.pragma("max_page_count = 1000000");
  health.tick();
  expect(store.trouble()).toBeNull();
  expect(db.prepare("SELECT count(*) FROM meta WHERE key = 'tried'").pluck().get()).toBe(0);
});

test("a reader that fails, now or later, sets trouble too", async () => {
  const { db, store } = openTestStore();
  db.exec("DROP TABLE postings");
  await expect(store.messages({ userId: "ada" }, 10, null)).rejects.toThrow("no such table");
  expect(store.trouble()).toBeNull();
  store.noteFailure(failing("SQLITE_NOTADB"));
  expect(store.trouble()).toMatchObject({ data: { sqlite: "SQLITE_NOTADB" } });
  expect(() => store.commit([request([{}])])).toThrow("as the driver throws it");
});

test("what looked like damage is over when a check of the whole file finds none", async () => {
  const { store } = openTestStore(temporaryDirectory());
  store.noteFailure(failing("SQLITE_CORRUPT_INDEX"));
  expect(store.trouble()).not.toBeNull();
  await expect.poll(() => store.trouble()).toBeNull();
});

test("a large file is checked after the start, and from the first finding on nothing is written", async () => {
  const data = temporaryDirectory();
  const first = openStore(data);
  for (let n = 0; n < 20; n += 1) first.commit([request([{ text: "x".repeat(1024 * 1024) }])]);
  first.close();
  const db = new Database(join(data, dataFileName), { readonly: true });
  // A page that nothing reads at a start.
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'profile_history_by_profile'").pluck().get());
  db.close();
  const file = openSync(join(data, dataFileName), "r+");
  writeSync(file, Buffer.alloc(4096, 0x5a), 0, 4096, 4096 * (page - 1));
  closeSync(file);
  const { store } = openTestStore(data);
  store.watch(() => {});
  await expect.poll(() => store.trouble()?.message).toMatch(/is damaged \(.+\).*hookyard doctor/);
  try {
    store.commit([request([{}])]);
    expect.unreachable();
  } catch (error) {
    expect(storeFailure(error)).toMatchObject({ status: 503, code: "store_unavailable", data: { sqlite: "DATA_DAMAGED" } });
  }
});

test.each<[what: string, harm: (data: string) => void, sentence: RegExp]>([
  ["its directory is deleted", (data) => rmSync(data, { recursive: true }), /hookyard\.db has been moved or deleted/],
  ["the data file is deleted", (data) => rmSync(join(data, dataFileName)), /hookyard\.db has been moved or deleted/],
  ["the log is deleted", (data) => rmSync(join(data, `${dataFileName}-wal`)), /-wal has been moved or deleted/],
  ["the index of the log is deleted", (data) => rmSync(join(data, `${dataFileName}-shm`)), /-shm has been moved or deleted/],
  [
    "the data file is replaced",
    (data) => {
      const file = join(data, dataFileName);
      writeFileSync(`${file}.new`, readFileSync(file));
      renameSync(`${file}.new`, file);
    },
    /hookyard\.db has been replaced/,
  ],
  ["the data file is cut off", (data) => truncateSync(join(data, dataFileName), 8192), /has been cut off\. Hookyard has stopped writing/],
])("when %s while it is open, that is trouble at the next look, and nothing more is accepted", (_what, harm, sentence) => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  store.commit([request(Array.from({ length: 100 }, () => ({ text: "x".repeat(500) })))]);
  db.pragma("wal_checkpoint(PASSIVE)");
  health.tick();
  expect(store.trouble()).toBeNull();
  harm(data);
  health.tick();
  expect(store.trouble()).toMatchObject({ status: 503, message: expect.stringMatching(sentence) });
  expect(() => store.commit([request([{}])])).toThrow(sentence);
});

test("a directory that is moved away is trouble, and none when it is back", () => {
  const data = join(temporaryDirectory(), "data");
  const { store, health } = openTestStore(data);
  renameSync(data, `${data}-away`);
  health.tick();
  expect(store.trouble()).not.toBeNull();
  renameSync(`${data}-away`, data);
  health.tick();
  expect(store.trouble()).toBeNull();
  expect(store.commit([request([{}])])).toHaveLength(1);
});

test("the marker is never ahead of the data: it follows each second in which something was written", () => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  const beat = (): number => Number(db.prepare("SELECT value FROM meta WHERE key = 'beat'").pluck().get());
  const first = markerIn(data);
  expect(first).toMatchObject({ beat: beat(), hasLog: true });
  health.tick();
  expect(markerIn(data)).toEqual(first);
  store.commit([request([{}])]);
  health.tick();
  expect(markerIn(data)).toMatchObject({ beat: first.beat + 1, hasLog: true });
  expect(beat()).toBe(first.beat + 1);
});

test("after a clean end no log is asked for", () => {
  const data = temporaryDirectory();
  openStore(data).close();
  expect(markerIn(data).hasLog).toBe(false);
});
