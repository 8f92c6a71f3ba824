import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  chmodSync,
  copyFileSync,
  truncateSync,
} from "node:fs";
import { join } from "node:path";
import Database from "better-sqlite3";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { OpenError } from "../app-errors.ts";
import { markerName, readMarker } from "./marker.ts";
import { migrations } from "./migrations/migrations.ts";
import { dataFileName, lockFileName, openDatabase, openErrorOf } from "./open.ts";
import { createStore, openStore } from "./sqlite-store.ts";
import {
  expectConsistent,
  openFilesIn,
  openTestStore,
  request,
  schemaOf,
  temporaryDirectory,
  type TestStore,
  giveAway,
  refusal,
  whereOthersReach,
  withoutRights,
} from "./store.fixture.ts";

const ourId = 0x484b5944;

/**
 * A directory whose data file another program made, with a log that was left beside it when
 * `crashed`.
 */
function fileOfAnother(make: (db: Database.Database) => void, { crashed = false } = {}): string {
  const [workshop, data] = [temporaryDirectory(), temporaryDirectory()];
  const db = new Database(join(workshop, dataFileName));
  make(db);
  if (!crashed) db.close();
  for (const name of readdirSync(workshop))
    if (!name.endsWith("-shm")) copyFileSync(join(workshop, name), join(data, name));
  db.close();
  return data;
}

/** The data file and its logs; an empty log says as much as none. */
function bytesIn(directory: string): Record<string, string> {
  const names = readdirSync(directory).filter(
    (name) => !name.endsWith("-shm") && !name.startsWith("hookyard.lock"),
  );
  const contents = names
    .map((name) => [name, readFileSync(join(directory, name))] as const)
    .filter(([, bytes]) => bytes.length > 0);
  return Object.fromEntries(
    contents.map(([name, bytes]) => [name, createHash("sha256").update(bytes).digest("hex")]),
  );
}

describe("a data file", () => {
  test("that is new has the newest format", () => {
    const { db } = openTestStore(temporaryDirectory());
    expect(db.pragma("user_version", { simple: true })).toBe(migrations.length);
    expect(db.pragma("application_id", { simple: true })).toBe(ourId);
    expect(db.pragma("journal_mode", { simple: true })).toBe("wal");
    for (const [name, value] of Object.entries({
      foreign_keys: 1,
      cache_size: -16_000,
      wal_autocheckpoint: 1000,
      busy_timeout: 1000,
    })) {
      expect([name, db.pragma(name, { simple: true })]).toEqual([name, value]);
    }
  });

  test("is safe against the death of the process, and against a power cut where the settings say so, also after a start", () => {
    const one = openTestStore(temporaryDirectory());
    const synchronous = ({ db }: TestStore) => db.pragma("synchronous", { simple: true });
    expect(synchronous(one)).toBe(1);
    one.store.saveSettings({ ...one.store.settings(), synchronous: "FULL" });
    one.store.setSynchronous("FULL");
    expect(synchronous(one)).toBe(2);
    one.db.pragma("synchronous = NORMAL");
    expect(synchronous(one.restarted())).toBe(2);
  });

  test("is opened again with all that is in it, in a directory that did not exist", () => {
    const data = join(temporaryDirectory(), "deep", "down");
    const first = openStore(data);
    first.commit([request([{ messageId: "a", to: [1] }, { messageId: "b" }])]);
    first.close();
    const { db, store } = openTestStore(data);
    expect(db.prepare("SELECT message_id FROM messages").pluck().all()).toEqual(["a", "b"]);
    expect(store.commit([request([{ messageId: "c" }])])).toMatchObject([[{ id: 3 }]]);
    expectConsistent(db);
  });

  test.each(migrations.map((_, version) => version))(
    "of version %i is brought to the newest format",
    (version) => {
      const data = fileOfAnother((db) => {
        for (const sql of migrations.slice(0, version)) db.exec(sql);
        if (version === 0) return;
        db.pragma(`user_version = ${version}`);
        db.pragma(`application_id = ${ourId}`);
      });
      const { db } = openTestStore(data);
      expect(db.pragma("user_version", { simple: true })).toBe(migrations.length);
      expect(schemaOf(db)).toEqual(schemaOf(openTestStore().db));
    },
  );

  test("keeps the sources of its profiles, and the names that were seen", () => {
    const data = fileOfAnother((db) => {
      for (const sql of migrations.slice(0, 11)) db.exec(sql);
      db.pragma("user_version = 11");
      db.pragma(`application_id = ${ourId}`);
      db.exec(`
        INSERT INTO profiles VALUES (1, 'ada', 1, 2, 0), (2, NULL, 1, 3, 0);
        INSERT INTO identities VALUES (0, 'ada', 1, 1, 1);
        INSERT INTO profile_emails VALUES (1, 'ada@example.com');
        INSERT INTO profile_sources VALUES (1, 5), (1, 3);
        INSERT INTO seen_names VALUES (0, '', 'city', 1), (0, '', 'plan', 2), (1, '', 'Bought', 4),
          (2, 'Bought', 'sku', 3), (2, 'Bought', 'total', 4)`);
    });
    const { db, store } = openTestStore(data);
    const [ada, other] = store.profiles({}, 2, null).items.toReversed();
    expect([ada, other]).toMatchObject([{ userId: "ada" }, { userId: null }]);
    if (ada !== undefined)
      expect(store.knownAs(ada.id)).toEqual({ userId: "ada", sources: [3, 5] });
    if (other !== undefined) expect(store.knownAs(other.id).sources).toEqual([]);
    expect(store.emailsOf("ada")).toEqual(["ada@example.com"]);
    expect(store.seenNames()).toEqual({
      traits: ["plan", "city"],
      events: [{ event: "Bought", properties: ["total", "sku"] }],
    });
    expectConsistent(db);
  });

  test.each([true, false])(
    "left behind by a crash in its very first moment is created again (a journal beside it: %s)",
    (journal) => {
      const data = temporaryDirectory();
      writeFileSync(join(data, dataFileName), "");
      if (journal) writeFileSync(join(data, `${dataFileName}-journal`), "");
      expect(openTestStore(data).db.pragma("user_version", { simple: true })).toBe(
        migrations.length,
      );
    },
  );
});

const newer = (db: Database.Database): void => {
  db.pragma("journal_mode = WAL");
  for (const sql of migrations) db.exec(sql);
  db.exec("CREATE TABLE of_the_future (a); INSERT INTO of_the_future VALUES (1)");
  db.pragma(`user_version = ${migrations.length + 1}`);
  db.pragma(`application_id = ${ourId}`);
};

const ofAnotherProgram = (db: Database.Database): void => {
  db.pragma("journal_mode = WAL");
  db.exec("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1)");
};

describe("refused with a sentence, and not one byte changed", () => {
  test.each<[string, () => string, RegExp]>([
    ["a newer file", () => fileOfAnother(newer), /newer Hookyard.*was not changed/],
    [
      "a newer file with the log of a crash",
      () => fileOfAnother(newer, { crashed: true }),
      /newer Hookyard.*was not changed/,
    ],
    [
      "a file of another program",
      () => fileOfAnother(ofAnotherProgram),
      /another program.*was not changed/,
    ],
    [
      "a file of another program with the log of a crash",
      () => fileOfAnother(ofAnotherProgram, { crashed: true }),
      /another program/,
    ],
    [
      "another program's file with a higher version",
      () => fileOfAnother((db) => void db.pragma("user_version = 900")),
      /another program/,
    ],
    [
      "another program's empty file",
      () => fileOfAnother((db) => void db.pragma("application_id = 7")),
      /another program/,
    ],
  ])("%s", (_what, make, sentence) => {
    const data = make();
    const before = bytesIn(data);
    expect(Object.keys(before)).toContain(dataFileName);
    expect(refusal(data)).toMatch(sentence);
    expect(bytesIn(data)).toEqual(before);
  });

  test("something that is not a database", () => {
    const data = temporaryDirectory();
    writeFileSync(join(data, dataFileName), "This is a letter to my aunt. ".repeat(500));
    const before = bytesIn(data);
    expect(refusal(data)).toMatch(/not a Hookyard data file, or it is damaged.*was not changed/);
    expect(bytesIn(data)).toEqual(before);
  });

  test("a file of ours with a damaged middle", () => {
    const data = temporaryDirectory();
    const store = openStore(data);
    store.commit([
      request(Array.from({ length: 2000 }, (_, n) => ({ userId: `user-${n}`, to: [1] }))),
    ]);
    store.close();
    const bytes = readFileSync(join(data, dataFileName));
    bytes.fill(0x55, 4096);
    writeFileSync(join(data, dataFileName), bytes);
    expect(refusal(data)).toMatch(/is damaged.*was not changed\. Restore a copy/);
    expect(readFileSync(join(data, dataFileName)).equals(bytes)).toBe(true);
  });
});

test("a file that cannot be brought to the newest format is as it was, and nothing of it stays open", () => {
  const data = fileOfAnother((db) => {
    db.exec(migrations[0] ?? "");
    // What a later format makes is there already.
    db.exec("CREATE TABLE identities (a)");
    db.pragma("user_version = 1");
    db.pragma(`application_id = ${ourId}`);
  });
  expect(refusal(data)).toMatch(/cannot be opened: .*identities/);
  const db = new Database(join(data, dataFileName), { readonly: true });
  expect(db.pragma("user_version", { simple: true })).toBe(1);
  db.close();
  // The lock of the directory is free again.
  expect(refusal(data)).toMatch(/cannot be opened: .*identities/);
});

test.each(["TABLE attempts", "INDEX deliveries_due", "TRIGGER computed_value_told"])(
  "a file that lacks its %s is refused, and nothing of it stays open",
  (lost) => {
    const data = temporaryDirectory();
    openStore(data).close();
    const db = new Database(join(data, dataFileName));
    db.exec(`DROP ${lost}`);
    db.close();
    expect(refusal(data)).toMatch(
      new RegExp(
        `is damaged: ${lost.split(" ")[1]} is missing. It was not changed. Restore a copy`,
      ),
    );
    expect(openFilesIn(data)).toEqual([]);
  },
);

/** Calls it, and fails when `fails` says so afterwards. */
function failingAfter(method: "exec" | "get", fails: (sql: unknown) => boolean): void {
  const db = new Database(":memory:");
  const owner = Object.getPrototypeOf(method === "exec" ? db : db.prepare("SELECT 1")) as {
    [name in typeof method]: (...args: unknown[]) => unknown;
  };
  db.close();
  const call = owner[method];
  const spy = vi.spyOn(owner, method).mockImplementation(function (this: unknown, ...args) {
    const result = call.apply(this, args);
    if (fails(args[0])) throw new Error("in the middle");
    return result;
  });
  onTestFinished(() => spy.mockRestore());
}

test.each<[where: string, fail: (data: string) => void]>([
  [
    "after its look at the file",
    () => failingAfter("exec", (sql) => String(sql).endsWith("ROLLBACK")),
  ],
  [
    "after its first sign of life",
    (data) => failingAfter("get", () => readMarker(data)?.hasLog === true),
  ],
])(
  "a start that fails %s asks for no log, which SQLite has removed, and the next one has everything",
  (_where, fail) => {
    const [running, data] = [temporaryDirectory(), temporaryDirectory()];
    openTestStore(running).store.commit([request([{}, {}])]);
    for (const name of readdirSync(running)) copyFileSync(join(running, name), join(data, name));
    fail(data);
    expect(refusal(data)).toMatch(/cannot be opened: in the middle/);
    vi.restoreAllMocks();
    expect(openTestStore(data).store.stats().messages.total).toBe(2);
  },
);

test("only the first write waits for the lock of another program, until one succeeds again", () => {
  const data = temporaryDirectory();
  const { db, store, health } = openTestStore(data);
  const waitMs = (): unknown => db.pragma("busy_timeout", { simple: true });
  const other = new Database(join(data, dataFileName));
  other.exec("BEGIN IMMEDIATE");
  expect(waitMs()).toBe(1000);
  const time = { now: 5, wallAt: 6, mode: "paused", speed: 1 } as const;
  expect(() => store.saveClock(time)).toThrow("locked");
  expect(waitMs()).toBe(0);
  expect(() => store.saveClock(time)).toThrow("locked");
  other.exec("ROLLBACK");
  other.close();
  health.tick();
  expect([store.trouble(), waitMs()]).toEqual([null, 1000]);
  store.close();
  // A failure may be reported after the end.
  store.noteFailure(Object.assign(new Error("locked"), { code: "SQLITE_BUSY" }));
  expect(store.trouble()).toMatchObject({ code: "store_unavailable" });
});

test("an end closes every file of the directory", () => {
  const data = temporaryDirectory();
  const store = openStore(data);
  expect(openFilesIn(data).length > 0).toBe(process.platform === "linux");
  store.close();
  expect(openFilesIn(data)).toEqual([]);
});

test("an end copies nothing from a log that was emptied to the data file, which keeps what the last checkpoint left there", () => {
  const data = temporaryDirectory();
  const [file, log] = [join(data, dataFileName), join(data, `${dataFileName}-wal`)];
  const { db, health, close } = openDatabase(data);
  const store = createStore({ db, health, close });
  store.commit([request([{}, {}])]);
  db.pragma("wal_checkpoint(PASSIVE)");
  const bytes = readFileSync(file);
  store.commit([request([{}])]);
  truncateSync(log);
  // The clock is saved in any case.
  store.saveClock({ now: 5, wallAt: 6, mode: "paused", speed: 1 });
  store.close();
  expect(readFileSync(file).equals(bytes)).toBe(true);
  expect(refusal(data)).toMatch(/-wal is damaged\. It holds the newest data/);
  for (const path of [log, join(data, markerName)]) rmSync(path);
  expect(openTestStore(data).store.stats().messages.total).toBe(2);
});

describe("said in a sentence", () => {
  test("that another Hookyard uses the data, which goes on undisturbed", () => {
    const data = temporaryDirectory();
    const first = openStore(data);
    expect(refusal(data)).toMatch(/in use by another running Hookyard/);
    expect(first.commit([request([{}])])).toHaveLength(1);
    first.close();
    openStore(data).close();
  });

  test("that the lock was deleted under a Hookyard that still runs", () => {
    const data = temporaryDirectory();
    const first = openStore(data);
    rmSync(join(data, lockFileName));
    expect(refusal(data)).toMatch(/in use or locked by another program/);
    expect(first.commit([request([{}])])).toHaveLength(1);
  });

  test.each<[error: unknown, sentence: RegExp]>([
    [new OpenError("As it is."), /^As it is\.$/],
    ["a text", /hookyard\.db cannot be opened: a text$/],
    [null, /hookyard\.db cannot be opened: null$/],
    [new Error("It broke."), /hookyard\.db cannot be opened: It broke\.$/],
    [Object.assign(new Error("It broke."), { code: 7 }), /cannot be opened: It broke\.$/],
    ...["SQLITE_FULL", "ENOSPC"].map((code): [unknown, RegExp] => [
      { code },
      /^The disk that holds .*hookyard\.db is full/,
    ]),
    ...[
      "SQLITE_READONLY",
      "SQLITE_CANTOPEN",
      "SQLITE_READONLY_DIRECTORY",
      "EACCES",
      "EPERM",
      "EROFS",
      "EISDIR",
    ].map((code): [unknown, RegExp] => [{ code }, /hookyard\.db cannot be opened for writing/]),
    [{ code: "SQLITE_BUSY" }, /is in use or locked by another program/],
    [{ code: "SQLITE_CORRUPT" }, /hookyard\.db is damaged\. It was not/],
    [{ code: "SQLITE_NOTADB" }, /is not a Hookyard data file, or it is damaged/],
  ])("what went wrong: %o", (error, sentence) => {
    expect(openErrorOf(error, "data")).toBeInstanceOf(OpenError);
    expect(openErrorOf(error, "data").message).toMatch(sentence);
  });

  test("that another program has locked the file", () => {
    const data = temporaryDirectory();
    openStore(data).close();
    const other = new Database(join(data, dataFileName));
    other.pragma("locking_mode = EXCLUSIVE");
    other.exec("BEGIN EXCLUSIVE");
    const sentence = refusal(data);
    other.close();
    expect(sentence).toMatch(/in use or locked by another program/);
    openStore(data).close();
  });

  test.each<[string, (path: string) => void, RegExp?]>([
    ["a file stands where the directory should be", (path) => writeFileSync(path, "")],
    [
      "a directory stands where the data file should be",
      (path) => mkdirSync(join(path, dataFileName), { recursive: true }),
    ],
    [
      "a directory stands where the lock should be",
      (path) => mkdirSync(join(path, "hookyard.lock"), { recursive: true }),
    ],
    [
      "the lock is damaged",
      (path) => {
        mkdirSync(path);
        writeFileSync(join(path, lockFileName), "no database".repeat(100));
      },
      /lock is damaged\. It holds no data: delete it/,
    ],
  ])("that %s", (_what, put, sentence = /cannot be (created|opened|written)/) => {
    const data = join(temporaryDirectory(), "data");
    put(data);
    expect(refusal(data)).toMatch(sentence);
  });

  test.skipIf(process.platform === "win32")("that the directory is read-only", () => {
    const data = temporaryDirectory(whereOthersReach);
    openStore(data).close();
    const before = bytesIn(data);
    giveAway(data);
    chmodSync(data, 0o555);
    expect(withoutRights(() => refusal(data))).toMatch(/cannot be (written to|opened for writing)/);
    expect(bytesIn(data)).toEqual(before);
    chmodSync(data, 0o755);
  });

  test.skipIf(process.platform === "win32")("that a directory in it cannot be read", () => {
    const data = temporaryDirectory(whereOthersReach);
    openStore(data).close();
    mkdirSync(join(data, "certificates"));
    giveAway(data);
    chmodSync(join(data, "certificates"), 0);
    expect(withoutRights(() => refusal(data))).toMatch(/certificates cannot be opened for writing/);
    chmodSync(join(data, "certificates"), 0o700);
  });

  test.skipIf(process.platform === "win32")("that the file is read-only", () => {
    const data = temporaryDirectory(whereOthersReach);
    openStore(data).close();
    const before = bytesIn(data);
    giveAway(data);
    chmodSync(join(data, dataFileName), 0o444);
    expect(withoutRights(() => refusal(data))).toMatch(/cannot be opened for writing/);
    expect(bytesIn(data)).toEqual(before);
  });
});
