/**
 * `hookyard backup` and `hookyard doctor` as functions: what they write, refuse and leave behind.
 */

import fs, {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { OpenError } from "../app-errors.ts";
import { backUpData } from "./backup.ts";
import { examineData } from "./examine.ts";
import { markerName } from "./marker.ts";
import { dataFileName, lockFileName } from "./open.ts";
import { openStore } from "./sqlite-store.ts";
import {
  expectConsistent,
  giveAway,
  openFilesIn,
  openTestStore,
  request,
  temporaryDirectory,
  whereOthersReach,
  withoutRights,
} from "./store.fixture.ts";

/** A directory that was ended cleanly, with three messages. */
function ended(): string {
  const data = temporaryDirectory();
  const store = openStore(data);
  store.commit([request([{ to: [1] }, {}, {}])]);
  store.close();
  return data;
}

/** Where temporary copies are made, for this file only. */
beforeEach(() => void vi.stubEnv("TMPDIR", temporaryDirectory()));
afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** As the file system refuses it. */
function refuseCopies(code: string): void {
  vi.spyOn(fs, "copyFileSync").mockImplementation(() => {
    throw Object.assign(new Error(`${code}: refused`), { code });
  });
  syncBuiltinESMExports();
}

const readingCopies = (): string[] =>
  readdirSync(tmpdir()).filter((name) => name.startsWith("hookyard-reading-"));

async function refusal(data: string, to: string, force = false): Promise<string> {
  const error = await backUpData({ data, to, force }).then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OpenError);
  expect(openFilesIn(data)).toEqual([]);
  return (error as Error).message;
}

test("a backup is one file with everything in it, which is all that is left of making it", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const before = [readdirSync(data), readingCopies()];
  const file = join(target, "copy.db");
  expect(await backUpData({ data, to: file, force: false })).toEqual({
    file,
    bytes: statSync(file).size,
    messages: 3,
  });
  expect(readdirSync(target)).toEqual(["copy.db"]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect([openFilesIn(data), openFilesIn(target), [readdirSync(data), readingCopies()]]).toEqual([
    [],
    [],
    before,
  ]);
  const restored = temporaryDirectory();
  writeFileSync(join(restored, dataFileName), readFileSync(file));
  const { db, store } = openTestStore(restored);
  expect(store.stats().messages.total).toBe(3);
  expectConsistent(db);
});

test("a backup holds what a Hookyard that runs has written", async () => {
  const data = temporaryDirectory();
  const { store } = openTestStore(data);
  store.commit([request([{}, {}])]);
  const file = join(temporaryDirectory(), "copy.db");
  expect(await backUpData({ data, to: file, force: false })).toMatchObject({ messages: 2 });
  store.commit([request([{}])]);
  expect(await backUpData({ data, to: file, force: true })).toMatchObject({ messages: 3 });
});

test("a file that is there is replaced by force only", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const file = join(target, "copy.db");
  writeFileSync(file, "mine");
  expect(await refusal(data, file)).toBe(`${file} already exists. --force replaces it.`);
  expect(readFileSync(file, "utf8")).toBe("mine");
  expect(await backUpData({ data, to: file, force: true })).toMatchObject({ messages: 3 });
  expect(readdirSync(target)).toEqual(["copy.db"]);
  expect(readFileSync(file, "latin1").startsWith("SQLite format 3")).toBe(true);
});

test.each([
  dataFileName,
  `${dataFileName}-wal`,
  `${dataFileName}-shm`,
  lockFileName,
  markerName,
  "token",
])("a backup is not written over %s of the data itself, even by force", async (name) => {
  const data = ended();
  expect(await refusal(data, join(data, name), true)).toMatch(/is part of the data itself/);
});

test("a backup that cannot be written says why, and leaves no part of it", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  mkdirSync(join(target, "directory"));
  expect(await refusal(data, join(target, "directory"), true)).toMatch(
    /is a directory\. Name a file in it/,
  );
  expect(await refusal(data, join(target, "missing", "copy.db"))).toMatch(
    /copy\.db cannot be written: ENOENT/,
  );
  expect(await refusal(temporaryDirectory(), join(target, "copy.db"))).toMatch(
    /has no Hookyard data/,
  );
  expect(readdirSync(target)).toEqual(["directory"]);
});

test("a file that comes there while the backup is written is not replaced", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const file = join(target, "copy.db");
  const backup = Database.prototype.backup;
  const copies: string[] = [];
  vi.spyOn(Database.prototype, "backup").mockImplementation(function (
    this: Database.Database,
    ...args
  ) {
    // The copy that is read has no name any more: a kill leaves nothing of it.
    copies.push(...readingCopies());
    writeFileSync(file, "mine");
    return backup.apply(this, args);
  });
  expect(await refusal(data, file)).toBe(`${file} already exists. --force replaces it.`);
  expect([readdirSync(target), readFileSync(file, "utf8")]).toEqual([["copy.db"], "mine"]);
  expect(copies).toHaveLength(process.platform === "win32" ? 1 : 0);
});

test("a backup has its name only once it is complete, is never copied again, and leaves nothing when it cannot get it", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const file = join(target, "copy.db");
  const copies = vi.spyOn(fs, "copyFileSync");
  const seen: unknown[] = [];
  const renamed = vi.spyOn(fs, "renameSync").mockImplementationOnce(() => {
    seen.push(statSync(file).size);
    throw new Error("EIO: refused");
  });
  syncBuiltinESMExports();
  expect(await refusal(data, file)).toBe(`${file} cannot be written: EIO: refused`);
  expect([seen, readdirSync(target)]).toEqual([[0], []]);
  expect(await backUpData({ data, to: file, force: false })).toMatchObject({ messages: 3 });
  expect(renamed).toHaveBeenCalledTimes(2);
  expect(copies.mock.calls.map(([, to]) => to)).not.toContain(file);
});

test.each([
  ["SQLITE_FULL", "the disk of the copy"],
  ["SQLITE_IOERR_WRITE", "the disk of the copy"],
  ["SQLITE_IOERR_READ", "the data"],
])("%s while a backup is written is about %s", async (code, what) => {
  const [data, target] = [ended(), temporaryDirectory()];
  const file = join(target, "copy.db");
  vi.spyOn(Database.prototype, "backup").mockRejectedValue(
    Object.assign(new Error("as SQLite says it"), { code }),
  );
  expect(await refusal(data, file)).toBe(
    what === "the data"
      ? `${join(data, dataFileName)} cannot be opened: as SQLite says it`
      : `${file} cannot be written: as SQLite says it`,
  );
  expect(readdirSync(target)).toEqual([]);
});

test("where the temporary directory has no room for a copy, that is said, and nothing of the data", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  refuseCopies("ENOSPC");
  const sentence = `The data is read from a copy in ${tmpdir()}, which cannot be written: ENOSPC: refused. Free space there, or name another directory in TMPDIR (on Windows TEMP).`;
  expect(await refusal(data, join(target, "copy.db"))).toBe(sentence);
  expect(examineData(data).findings).toEqual([
    { level: "error", message: sentence, cure: "As the sentence says." },
  ]);
  expect([readdirSync(target), readingCopies()]).toEqual([[], []]);
  vi.stubEnv("TMPDIR", join(target, "none"));
  expect(await refusal(data, join(target, "copy.db"))).toMatch(
    /^The data is read from a copy in .*none, which cannot be written: ENOENT/,
  );
});

test.each([
  ["SQLITE_BUSY", /^As the sentence says/],
  ["SQLITE_CORRUPT_INDEX", /restore a backup/],
  ["SQLITE_IOERR_READ", /restore a backup/],
])("the cure for %s is a backup only where data may be lost", (code, cure) => {
  const data = ended();
  vi.spyOn(Database.prototype, "pragma").mockImplementationOnce(() => {
    throw Object.assign(new Error("as SQLite says it"), { code });
  });
  expect(examineData(data).findings).toMatchObject([{ cure: expect.stringMatching(cure) }]);
});

test.each<[what: string, make: () => string, harm: (data: string) => void, sentence: RegExp]>([
  [
    "whose log is lost",
    () => killed({ index: false }),
    (data) => rmSync(join(data, `${dataFileName}-wal`)),
    /-wal is missing or empty/,
  ],
  [
    "of another program",
    ended,
    (data) => change(data, "PRAGMA application_id = 7"),
    /is an SQLite file of another program/,
  ],
  [
    "that is an older copy",
    ended,
    (data) => change(data, "UPDATE meta SET value = '0' WHERE key = 'beat'"),
    /has lost its newest data/,
  ],
])("of data %s no backup is written", async (_what, make, harm, sentence) => {
  const [data, target] = [make(), temporaryDirectory()];
  harm(data);
  expect(await refusal(data, join(target, "copy.db"))).toMatch(sentence);
  expect(readdirSync(target)).toEqual([]);
});

test("of data that contradicts itself no backup is written", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const db = new Database(join(data, dataFileName));
  db.exec("UPDATE message_counts SET n = n + 1");
  db.close();
  expect(await refusal(data, join(target, "copy.db"))).toMatch(
    /^No backup was written: the data has \d+ .*hookyard doctor has the details\.$/,
  );
  expect(readdirSync(target)).toEqual([]);
  expect(examineData(data).findings).toMatchObject([
    { level: "error", message: expect.stringMatching(/^\d+ /) },
  ]);
});

test("an examination counts, changes nothing and keeps nothing open", () => {
  const data = ended();
  const before = [readdirSync(data), readingCopies()];
  const { findings, rows, sizes, inUse, format, newestFormat } = examineData(data);
  expect([findings, inUse, format]).toEqual([[], false, newestFormat]);
  expect(rows).toMatchObject({ requests: 1, messages: 3, deliveries: 1, attempts: 0 });
  expect(sizes).toEqual({
    data: statSync(join(data, dataFileName)).size,
    log: null,
    free: expect.any(Number),
  });
  expect([openFilesIn(data), [readdirSync(data), readingCopies()]]).toEqual([[], before]);
});

test("an examination of data in use says so", () => {
  const data = temporaryDirectory();
  openTestStore(data);
  expect(examineData(data)).toMatchObject({ inUse: true, findings: [] });
});

test.each<[string, (data: string) => void, RegExp]>([
  [
    "a row that belongs to nothing",
    (data) => change(data, "UPDATE deliveries SET message_id = 99"),
    /rows? of .*belong|^\d+ /,
  ],
  ["a lock that is gone", (data) => rmSync(join(data, lockFileName)), /hookyard\.lock is missing/],
  [
    "a marker that is gone",
    (data) => rmSync(join(data, markerName)),
    /The marker, which [^]* is missing/,
  ],
  [
    "a lock that is damaged",
    (data) => writeFileSync(join(data, lockFileName), "no database".repeat(100)),
    /hookyard\.lock is damaged\. It holds no data/,
  ],
  [
    "a directory in the place of the lock",
    (data) => {
      rmSync(join(data, lockFileName));
      mkdirSync(join(data, lockFileName));
    },
    /^/,
  ],
  [
    "a directory in the place of the log's index",
    (data) => mkdirSync(join(data, `${dataFileName}-shm`)),
    /cannot be opened for reading/,
  ],
  [
    "a file system that is mounted for reading",
    () => {
      vi.spyOn(fs, "accessSync").mockImplementation(() => {
        throw Object.assign(new Error("EROFS: refused"), { code: "EROFS" });
      });
      syncBuiltinESMExports();
    },
    /hookyard\.db cannot be written to, so Hookyard cannot start with it/,
  ],
  [
    "a disk without room",
    () => {
      vi.spyOn(fs, "statfsSync").mockImplementation(
        () => ({ bavail: 2, blocks: 9, bsize: 4096 }) as fs.StatsFs,
      );
      syncBuiltinESMExports();
    },
    /^The disk that holds .* is full: it has 8,192 bytes left/,
  ],
])("an examination finds %s", (_what, harm, message) => {
  const data = ended();
  harm(data);
  const { findings } = examineData(data);
  expect(findings.map((finding) => finding.message)).toContainEqual(expect.stringMatching(message));
  expect(openFilesIn(data)).toEqual([]);
});

test.skipIf(process.platform === "win32")(
  "what this user may not read is said, for an examination and for a backup",
  async () => {
    const [data, target] = [
      temporaryDirectory(whereOthersReach),
      temporaryDirectory(whereOthersReach),
    ];
    openStore(data).close();
    mkdirSync(join(data, "certificates"), { mode: 0o700 });
    for (const directory of [data, target]) giveAway(directory);
    vi.stubEnv("TMPDIR", target);
    chmodSync(join(data, "certificates"), 0);
    expect(withoutRights(() => examineData(data).findings)).toMatchObject([
      { message: expect.stringMatching(/certificates cannot be opened for reading\. Check its/) },
    ]);
    chmodSync(join(data, dataFileName), 0);
    const sentence = /cannot be opened for reading\. Check its permissions/;
    const to = join(target, "copy.db");
    for (const mode of [0o700, 0]) {
      chmodSync(data, mode);
      const backup = withoutRights(() => backUpData({ data, to, force: false }));
      await expect(backup).rejects.toThrow(sentence);
    }
    expect(() => withoutRights(() => examineData(data))).toThrow(sentence);
    for (const directory of [data, join(data, "certificates")]) chmodSync(directory, 0o700);
  },
);

test("there is nothing to examine where there is no directory, or no data in it", () => {
  const data = temporaryDirectory();
  expect(() => examineData(join(data, "none"))).toThrow(/There is no data directory/);
  expect(() => examineData(data)).toThrow(/has no Hookyard data/);
  expect(existsSync(join(data, dataFileName))).toBe(false);
});

/** With what the log of a kill holds, and with the index of that log or without. */
function killed({ index }: { index: boolean }): string {
  const running = temporaryDirectory();
  const { store } = openTestStore(running);
  store.commit([request([{}, {}])]);
  const data = temporaryDirectory();
  for (const name of readdirSync(running))
    if (index || !name.endsWith("-shm")) copyFileSync(join(running, name), join(data, name));
  return data;
}

test.each([true, false])(
  "what a kill leaves in the log is read, and nothing changed (its index is there: %s)",
  async (index) => {
    const data = killed({ index });
    const before = readdirSync(data);
    const examination = examineData(data);
    expect(examination).toMatchObject({ findings: [], rows: { messages: 2 }, inUse: false });
    expect(examination.sizes.log).toBe(statSync(join(data, `${dataFileName}-wal`)).size);
    expect(
      await backUpData({ data, to: join(temporaryDirectory(), "copy.db"), force: false }),
    ).toMatchObject({ messages: 2 });
    expect([readdirSync(data), readingCopies(), openFilesIn(data)]).toEqual([before, [], []]);
  },
);

test("an examination says what it checked, in which format the file is, and how much of it is free", () => {
  const data = ended();
  change(data, "CREATE TABLE filler AS SELECT zeroblob(100000) AS a; DROP TABLE filler");
  const { checked, sizes, rows } = examineData(data);
  expect(checked).toEqual([
    "permissions",
    "room on the disk",
    "files against the marker",
    "SQLite's integrity_check(10)",
    "foreign keys",
    "counts and references against the rows",
  ]);
  expect(sizes.free).toBeGreaterThan(90_000);
  expect(Object.keys(rows)).toHaveLength(7);
  change(data, "PRAGMA user_version = 3");
  expect(examineData(data)).toMatchObject({ format: 3, rows: {}, findings: [] });
  expect(examineData(data).checked).toHaveLength(4);
});

test("an examination finds rows whose owner is gone, damage, and rights of others", () => {
  const orphaned = ended();
  change(
    orphaned,
    "INSERT INTO webhooks VALUES (1, 99, 0, 'http://127.0.0.1', '{}'), (2, 99, 1, 'http://127.0.0.1', '{}')",
  );
  expect(examineData(orphaned).findings).toMatchObject([
    { level: "error", message: "2 rows of webhooks refer to rows that do not exist." },
  ]);
  const cut = ended();
  writeFileSync(join(cut, dataFileName), damagedIn(cut));
  expect(examineData(cut).findings[0]).toMatchObject({
    level: "error",
    message: expect.stringMatching(/^SQLite finds damage: /),
  });
  expect([openFilesIn(cut), readingCopies()]).toEqual([[], []]);
  const open = ended();
  chmodSync(join(open, dataFileName), 0o666);
  expect(examineData(open).findings).toMatchObject(
    process.platform === "win32" ? [] : [{ level: "warning" }],
  );
});

test("an examination of what is left beside a lost file says that only", () => {
  const data = temporaryDirectory();
  writeFileSync(join(data, markerName), "nothing that can be read", { mode: 0o600 });
  const { findings, sizes, format } = examineData(data);
  expect([findings.map(({ level }) => level), sizes, format]).toEqual([
    ["error"],
    { data: null, log: null, free: null },
    null,
  ]);
  expect(readingCopies()).toEqual([]);
  writeFileSync(join(data, lockFileName), "no database, long enough to be read as one".repeat(20));
  expect(examineData(data).inUse).toBe(false);
  expect(openFilesIn(data)).toEqual([]);
  writeFileSync(join(data, "file"), "");
  expect(() => examineData(join(data, "file"))).toThrow(/There is no data directory/);
});

test("of a damaged file no backup is written, and of one in an older format a backup is", async () => {
  const [data, target] = [ended(), temporaryDirectory()];
  const bytes = readFileSync(join(data, dataFileName));
  writeFileSync(join(data, dataFileName), damagedIn(data));
  expect(await refusal(data, join(target, "copy.db"))).toMatch(
    /^No backup was written: the copy is damaged, and so is the data \(.+\)/,
  );
  expect(readdirSync(target)).toEqual([]);
  writeFileSync(join(data, dataFileName), bytes);
  change(data, "PRAGMA user_version = 3; UPDATE message_counts SET n = 7");
  expect(await backUpData({ data, to: join(target, "copy.db"), force: false })).toMatchObject({
    messages: 3,
  });
});

/** The file with a page of attempts overwritten. */
function damagedIn(data: string): Buffer {
  const db = new Database(join(data, dataFileName), { readonly: true });
  const page = db
    .prepare("SELECT rootpage FROM sqlite_master WHERE name = 'attempts'")
    .pluck()
    .get() as number;
  db.close();
  return readFileSync(join(data, dataFileName)).fill(0x55, (page - 1) * 4096, page * 4096);
}

function change(data: string, sql: string): void {
  const db = new Database(join(data, dataFileName));
  db.pragma("foreign_keys = OFF");
  db.exec(sql);
  db.close();
}
