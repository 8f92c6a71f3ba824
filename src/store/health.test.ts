import { once } from "node:events";
import fs, {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { nextTurn } from "../engine/real-time.ts";
import { storeFailure } from "../engine/store-failure.ts";
import { markerName, readMarker } from "./marker.ts";
import { dataFileName } from "./open.ts";
import { openStore } from "./sqlite-store.ts";
import { openTestStore, request, temporaryDirectory } from "./store.fixture.ts";

const failing = (code: string): Error =>
  Object.assign(new Error("as the driver throws it"), { code });
const markerIn = (data: string): { beat: number; hasLog: boolean } =>
  JSON.parse(readFileSync(join(data, markerName), "utf8")) as { beat: number; hasLog: boolean };

const inData =
  (harm: (path: string) => void, suffix = "") =>
  (data: string): void =>
    harm(join(data, `${dataFileName}${suffix}`));

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

test.each([
  "SQLITE_FULL",
  "SQLITE_IOERR_READ",
  "SQLITE_READONLY",
  "SQLITE_CANTOPEN",
  "SQLITE_BUSY",
])("%s is trouble from wherever it comes, until a write succeeds", (code) => {
  const { store } = openTestStore(temporaryDirectory());
  let changes = 0;
  store.watch(() => (changes += 1));
  store.noteFailure(failing("SQLITE_CONSTRAINT"));
  expect(store.trouble()).toBeNull();
  store.noteFailure(failing(code));
  expect(store.trouble()).toMatchObject({ status: 503, data: { sqlite: code } });
  store.commit([request([{}])]);
  expect([store.trouble(), changes]).toEqual([null, 2]);
});

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
  db.exec("DROP TABLE messages");
  await expect(store.messages({ userId: "ada" }, 10, null)).rejects.toThrow("no such table");
  expect(store.trouble()).toBeNull();
  store.noteFailure(failing("SQLITE_NOTADB"));
  expect(store.trouble()).toMatchObject({ data: { sqlite: "SQLITE_NOTADB" } });
  expect(() => store.commit([request([{}])])).toThrow("as the driver throws it");
});

test("what looked like damage is over when a check of the whole file finds none, and not before one can read it", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const data = join(temporaryDirectory(), "data");
  const { store } = openTestStore(data);
  renameSync(data, `${data}-away`);
  store.noteFailure(failing("SQLITE_CORRUPT_INDEX"));
  const [thread] = (await once(process, "worker")) as [Worker];
  await once(thread, "exit");
  await nextTurn();
  renameSync(`${data}-away`, data);
  expect(store.trouble()).not.toBeNull();
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => store.trouble()).toBeNull();
});

test("damage is checked once at a time, and an end stops the check and says nothing more", async () => {
  const threads: Worker[] = [];
  const note = (thread: Worker): void => void threads.push(thread);
  process.on("worker", note);
  onTestFinished(() => void process.off("worker", note));
  const store = openStore(temporaryDirectory());
  let changes = 0;
  store.watch(() => (changes += 1));
  const damage = (): void => store.noteFailure(failing("SQLITE_CORRUPT_INDEX"));
  for (const checks of [1, 2]) {
    damage();
    damage();
    await expect.poll(() => store.trouble()).toBeNull();
    expect([threads.length, changes]).toEqual([checks, 2 * checks]);
  }
  damage();
  const stop = vi.spyOn(Worker.prototype, "terminate");
  onTestFinished(() => stop.mockRestore());
  store.close();
  expect(stop).toHaveBeenCalledTimes(1);
  await once(stop.mock.contexts[0] as Worker, "exit");
  damage();
  await nextTurn();
  expect([threads.length, changes]).toEqual([3, 5]);
});

test("a large file is checked a second after the start, nothing is written from the first finding on, and a minute later it is checked again", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const data = temporaryDirectory();
  const first = openStore(data);
  for (let n = 0; n < 20; n += 1) first.commit([request([{ text: "x".repeat(1024 * 1024) }])]);
  first.close();
  const db = new Database(join(data, dataFileName), { readonly: true });
  // A page that nothing reads at a start.
  const page = Number(
    db
      .prepare("SELECT rootpage FROM sqlite_master WHERE name = 'profile_history_by_profile'")
      .pluck()
      .get(),
  );
  db.close();
  const put = (bytes: Buffer): void => {
    const file = openSync(join(data, dataFileName), "r+");
    writeSync(file, bytes, 0, 4096, 4096 * (page - 1));
    closeSync(file);
  };
  const right = readFileSync(join(data, dataFileName)).subarray(4096 * (page - 1), 4096 * page);
  put(Buffer.alloc(4096, 0x5a));
  const brief = openStore(data);
  brief.watch(() => {});
  brief.close();
  expect(vi.getTimerCount()).toBe(0);
  const { store } = openTestStore(data);
  store.watch(() => {});
  vi.advanceTimersByTime(1000);
  await expect.poll(() => store.trouble()?.message).toMatch(/is damaged \(.+\).*hookyard doctor/);
  try {
    store.commit([request([{}])]);
    expect.unreachable();
  } catch (error) {
    expect(storeFailure(error)).toMatchObject({
      status: 503,
      code: "store_unavailable",
      data: { sqlite: "DATA_DAMAGED" },
    });
  }
  put(right);
  vi.advanceTimersByTime(60_000);
  await expect.poll(() => store.trouble()).toBeNull();
});

test("a failure that is none of the file's, or one that the store has found itself, says nothing new", () => {
  const data = join(temporaryDirectory(), "data");
  const { store, health } = openTestStore(data);
  renameSync(data, `${data}-away`);
  health.tick();
  try {
    store.commit([request([{}])]);
    expect.unreachable();
  } catch (error) {
    store.noteFailure(error);
  }
  renameSync(`${data}-away`, data);
  health.tick();
  expect(store.trouble()).toBeNull();
  store.noteFailure(failing("SQLITE_FULL"));
  store.noteFailure(failing("SQLITE_CONSTRAINT"));
  expect(store.trouble()).toMatchObject({ data: { sqlite: "SQLITE_FULL" } });
});

const fileGone = /hookyard\.db has been moved or deleted/;

test.each<[what: string, harm: (data: string) => void, sentence: RegExp]>([
  ["its directory is deleted", (data) => rmSync(data, { recursive: true }), fileGone],
  ["the data file is deleted", inData(rmSync), fileGone],
  ["the log is deleted", inData(rmSync, "-wal"), /-wal has been moved or deleted/],
  ["the log is emptied", inData(truncateSync, "-wal"), /newest data, has been emptied/],
  ["the index of the log is deleted", inData(rmSync, "-shm"), /-shm has been moved or deleted/],
  [
    "the data file is replaced",
    (data) => {
      const file = join(data, dataFileName);
      writeFileSync(`${file}.new`, readFileSync(file));
      renameSync(`${file}.new`, file);
    },
    /hookyard\.db has been replaced/,
  ],
  [
    "the data file is cut off",
    (data) => truncateSync(join(data, dataFileName), 8192),
    /has been cut off\. Hookyard has stopped writing/,
  ],
])(
  "when %s while it is open, that is trouble at the next look, and nothing more is accepted",
  (_what, harm, sentence) => {
    const data = temporaryDirectory();
    const { db, store, health } = openTestStore(data);
    store.commit([request(Array.from({ length: 100 }, () => ({ text: "x".repeat(500) })))]);
    db.pragma("wal_checkpoint(PASSIVE)");
    health.tick();
    expect(store.trouble()).toBeNull();
    harm(data);
    health.tick();
    expect(store.trouble()).toMatchObject({
      status: 503,
      message: expect.stringMatching(sentence),
    });
    expect(() => store.commit([request([{}])])).toThrow(sentence);
  },
);

function whileStat(answers: (path: fs.PathLike) => fs.Stats | undefined, run: () => void): void {
  vi.spyOn(fs, "statSync").mockImplementation(answers);
  syncBuiltinESMExports();
  try {
    run();
  } finally {
    vi.restoreAllMocks();
    syncBuiltinESMExports();
  }
}

test("a directory that is moved away, between two looks, is trouble, and none when it is back", () => {
  const data = join(temporaryDirectory(), "data");
  const { store, health } = openTestStore(data);
  const stat = fs.statSync;
  const moving = (path: fs.PathLike): fs.Stats | undefined => {
    const found = stat(path, { throwIfNoEntry: false });
    if (fs.existsSync(data)) renameSync(data, `${data}-away`);
    return found;
  };
  whileStat(moving, () => health.tick());
  expect(store.trouble()?.message).toMatch(fileGone);
  renameSync(`${data}-away`, data);
  health.tick();
  expect(store.trouble()).toBeNull();
  expect(store.commit([request([{}])])).toHaveLength(1);
});

test("files that cannot be looked at are trouble, while they are watched on, and none when they can be again", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { store } = openTestStore(temporaryDirectory());
  const closed = openStore(temporaryDirectory());
  let changes = 0;
  store.watch(() => (changes += 1));
  const fails = (): never => {
    throw Object.assign(new Error("EIO: i/o error, stat"), { code: "EIO" });
  };
  whileStat(fails, () => {
    vi.advanceTimersByTime(2000);
    expect([changes, store.trouble()]).toMatchObject([
      1,
      { status: 503, message: expect.stringMatching(/cannot be looked at: EIO/) },
    ]);
    expect(() => store.commit([request([{}])])).toThrow(/cannot be looked at: EIO/);
    closed.close();
  });
  vi.advanceTimersByTime(1000);
  expect([changes, store.trouble()]).toEqual([2, null]);
  expect(store.commit([request([{}])])).toHaveLength(1);
});

test("a write looks at the files when the last look is older than a tenth of a second", () => {
  let now = 5000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
  onTestFinished(() => clock.mockRestore());
  const data = temporaryDirectory();
  const { store } = openTestStore(data);
  store.commit([request([{}])]);
  rmSync(`${join(data, dataFileName)}-shm`);
  now += 100;
  expect(store.commit([request([{}])])).toHaveLength(1);
  now += 1;
  expect(() => store.commit([request([{}])])).toThrow(/-shm has been moved or deleted/);
});

test("a full disk has room again when a quarter of a megabyte can be written", () => {
  const { db, store, health } = openTestStore(temporaryDirectory());
  let changes = 0;
  store.watch(() => (changes += 1));
  store.noteFailure(failing("SQLITE_FULL"));
  const count = (of: string): number => Number(db.pragma(`${of}_count`, { simple: true }));
  const pages = count("page") - count("freelist");
  const troubleWith = (more: number): boolean => {
    db.pragma(`max_page_count = ${pages + more}`);
    health.tick();
    return store.trouble() !== null;
  };
  expect([troubleWith(50), troubleWith(62), changes, troubleWith(70), changes]).toEqual([
    true,
    true,
    1,
    false,
    2,
  ]);
});

test("a trial whose row could not be deleted does not keep the next one from ending the trouble", () => {
  const { db, store, health } = openTestStore();
  db.exec("INSERT INTO meta VALUES ('tried', 'of the trial before')");
  store.noteFailure(failing("SQLITE_IOERR_READ"));
  health.tick();
  expect(health.trouble).toBeNull();
  expect(db.prepare("SELECT count(*) FROM meta WHERE key = 'tried'").pluck().get()).toBe(0);
});

test("only trouble asks for room", () => {
  const { db, health } = openTestStore();
  db.exec(
    "CREATE TRIGGER refuse BEFORE INSERT ON meta WHEN new.key = 'tried' BEGIN SELECT raise(ABORT, 'asked'); END",
  );
  health.tick();
  expect(health.trouble).toBeNull();
});

test("the log may hold pages that the file lacks, and a file that SQLite itself has shortened is whole", () => {
  const data = temporaryDirectory();
  const file = join(data, dataFileName);
  const { db, store, health } = openTestStore(data);
  const size = (): number => readFileSync(file).length;
  const filled = (): void =>
    void store.commit([request(Array.from({ length: 100 }, () => ({ text: "x".repeat(5000) })))]);
  db.pragma("wal_checkpoint(TRUNCATE)");
  health.tick();
  filled();
  health.tick();
  expect(store.trouble()).toBeNull();
  db.pragma("wal_checkpoint(TRUNCATE)");
  health.tick();
  store.commit([request([{}])]);
  health.tick();
  const large = size();
  expect(markerIn(data)).toMatchObject({ size: large });
  store.clearMessages();
  db.exec("VACUUM");
  db.pragma("wal_checkpoint(TRUNCATE)");
  expect(size()).toBeLessThan(large / 2);
  health.tick();
  expect(store.trouble()).toBeNull();
  store.commit([request([{}])]);
  health.tick();
  expect([store.trouble(), markerIn(data)]).toMatchObject([null, { size: size() }]);
});

test("a file that was shortened while commits lengthen it again in the log is whole, and one that was cut off then is not", () => {
  // A write looks at the files only when time has passed.
  const clock = vi.spyOn(performance, "now").mockReturnValue(5000);
  onTestFinished(() => clock.mockRestore());
  const data = temporaryDirectory();
  const file = join(data, dataFileName);
  const { db, store, health } = openTestStore(data);
  const other = new Database(file);
  onTestFinished(() => void other.close());
  const trouble = (): string | undefined => {
    health.tick();
    return store.trouble()?.message;
  };
  const fill = (megabytes: number): void =>
    void store.commit([request([{ text: JSON.stringify("x".repeat(megabytes * 1_000_000)) }])]);
  db.pragma("wal_autocheckpoint = 0");
  fill(12);
  other.pragma("wal_checkpoint(PASSIVE)");
  expect(trouble()).toBeUndefined();
  const large = statSync(file).size;
  store.clearMessages();
  while (store.giveBack(1000) > 0);
  while (Number(db.pragma("freelist_count", { simple: true })) > 0) fill(1);
  expect([trouble(), statSync(file).size]).toEqual([undefined, large]);
  other.pragma("wal_checkpoint(PASSIVE)");
  const small = statSync(file).size;
  fill(1);
  expect(small).toBeLessThan(large);
  expect(trouble()).toBeUndefined();
  other.pragma("wal_checkpoint(PASSIVE)");
  expect(trouble()).toBeUndefined();
  truncateSync(file, small);
  expect(trouble()).toMatch(/has been cut off/);
});

test("at the end the marker describes the file that was open, and nothing else", () => {
  const [replaced, gone, blocked] = [
    temporaryDirectory(),
    temporaryDirectory(),
    temporaryDirectory(),
  ];
  const stores = [replaced, gone, blocked].map((data) => openStore(data));
  const open = markerIn(replaced);
  copyFileSync(join(replaced, dataFileName), join(replaced, "copy"));
  renameSync(join(replaced, "copy"), join(replaced, dataFileName));
  rmSync(join(gone, dataFileName));
  rmSync(join(gone, markerName));
  mkdirSync(join(blocked, `${markerName}.part`));
  for (const store of stores) store.close();
  expect(markerIn(replaced)).toEqual(open);
  expect([existsSync(join(gone, markerName)), existsSync(join(blocked, markerName))]).toEqual([
    false,
    false,
  ]);
});

test("the marker at the end says what the one before said, but for the log", () => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  store.commit([request([{}])]);
  health.tick();
  const last = readMarker(data);
  db.pragma("wal_checkpoint(TRUNCATE)");
  health.end();
  expect(readMarker(data)).toEqual({ ...last, hasLog: false });
});

test("a marker that cannot be written any more is trouble", () => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON meta BEGIN SELECT raise(ABORT, 'not this one'); END",
  );
  store.commit([request([{}])]);
  health.tick();
  expect(store.trouble()).toBeNull();
  const statement = Object.getPrototypeOf(db.prepare("SELECT 1")) as { get: () => unknown };
  vi.spyOn(statement, "get").mockImplementationOnce(() => {
    throw failing("SQLITE_IOERR_WRITE");
  });
  health.tick();
  vi.restoreAllMocks();
  expect(store.trouble()).toMatchObject({ data: { sqlite: "SQLITE_IOERR_WRITE" } });
});

test.each(["SQLITE_CORRUPT_VTAB", "SQLITE_NOTADB"])(
  "%s in memory stays: there is no file to check",
  (code) => {
    const { store, health } = openTestStore();
    store.noteFailure(failing("SQLITE_FULL"));
    store.noteFailure(failing(code));
    health.wrote();
    expect(store.trouble()).toMatchObject({ data: { sqlite: code } });
    expect(() => health.beforeWrite()).toThrow("as the driver throws it");
  },
);

test("a fault that the store has found itself is noted once", () => {
  const { store, health } = openTestStore(temporaryDirectory());
  let changes = 0;
  store.watch(() => (changes += 1));
  store.noteFailure(failing("SQLITE_FULL"));
  store.noteFailure(failing("SQLITE_FULL"));
  expect(changes).toBe(1);
  health.wrote();
  health.wrote();
  expect(changes).toBe(2);
});
