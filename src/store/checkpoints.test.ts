import { closeSync, existsSync, openSync, readSync, rmSync } from "node:fs";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { Worker } from "node:worker_threads";
import Database from "better-sqlite3";
import { expect, onTestFinished, test, vi } from "vitest";
import { Checkpoints, pagesWithoutThread } from "./checkpoints.ts";
import { logOf } from "./data-file.ts";
import { dataFileName } from "./open.ts";
import { openStore } from "./sqlite-store.ts";
import { request, temporaryDirectory } from "./store.fixture.ts";

/** The log begins again with another header. */
function headerOf(log: string): string {
  const header = Buffer.alloc(32);
  const file = openSync(log, "r");
  readSync(file, header);
  closeSync(file);
  return header.toString("hex");
}

/** A table and its checkpoints, without any of SQLite's own. */
function openTable() {
  const file = join(temporaryDirectory(), "table.db");
  const db = new Database(file);
  db.pragma("journal_mode = WAL");
  db.exec("CREATE TABLE rows (text TEXT)");
  const insert = db.prepare("INSERT INTO rows VALUES (hex(zeroblob(200000)))");
  const checkpoints = new Checkpoints(db);
  db.pragma("wal_autocheckpoint = 0");
  onTestFinished(() => {
    checkpoints.end();
    db.close();
  });
  const write = (): void => {
    insert.run();
    checkpoints.begin();
  };
  return {
    db,
    file,
    checkpoints,
    write,
    inTurn: () =>
      new Promise<void>((resolve) =>
        checkpoints.inWritingTurn(() => {
          write();
          resolve();
        }),
      ),
    rows: () => db.prepare("SELECT count(*) FROM rows").pluck().get(),
  };
}

test("the log begins again although the writers never rest", async () => {
  const { file, inTurn } = openTable();
  await inTurn();
  const header = headerOf(logOf(file));
  while (headerOf(logOf(file)) === header) await inTurn();
});

test("who writes without waiting writes all the same", async () => {
  const { write, inTurn, rows } = openTable();
  let written = 0;
  for (; written < 200; written += 1) {
    write();
    await new Promise(setImmediate);
  }
  await inTurn();
  expect(rows()).toBe(201);
});

test("without its thread, SQLite makes the checkpoints", async () => {
  const { db, file, write, inTurn } = openTable();
  rmSync(file);
  const own = (): unknown => db.pragma("wal_autocheckpoint", { simple: true });
  // As many as it takes: the log is not looked at after each of them, and the thread ends by itself.
  for (; own() !== pagesWithoutThread; await new Promise(setImmediate)) write();
  await inTurn();
});

test("after a long reader the thread makes checkpoints again as soon as the log has grown enough", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 1000));
  const posted = vi.spyOn(Worker.prototype, "postMessage");
  onTestFinished(() => void vi.restoreAllMocks());
  const { db, file, write } = openTable();
  const reader = new Database(file, { readonly: true });
  reader.exec("BEGIN; SELECT count(*) FROM rows");
  const writePages = (pages: number): void => {
    for (let written = 0; written < pages; written += 98) write();
  };
  writePages(6000);
  let passes = 0;
  (posted.mock.contexts[0] as Worker).on("message", () => (passes += 1));
  await expect.poll(() => passes).toBe(5);
  reader.close();
  db.pragma("wal_checkpoint(TRUNCATE)");
  writePages(3000);
  expect(posted).toHaveBeenCalledTimes(6);
});

test("a store that is closed during a checkpoint leaves no log, and opens again", async () => {
  const data = temporaryDirectory();
  for (let time = 1; time <= 3; time += 1) {
    const store = openStore(data, true);
    for (let commits = 0; commits < 20; commits += 1)
      store.commit([request(Array.from({ length: 500 }, () => ({ text: "x".repeat(1000) })))]);
    store.close();
    expect(existsSync(logOf(join(data, dataFileName)))).toBe(false);
  }
  const store = openStore(data, true);
  expect(store.newestRows().message).toBe(30_000);
  store.close();
});
