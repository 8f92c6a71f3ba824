/**
 * Success is answered after the commit, requests that arrive together share one, and without a
 * commit there is no success.
 */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "better-sqlite3";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { startIngestApp, writeKey } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";

const directories: string[] = [];
const opened: Database.Database[] = [];
afterEach(() => {
  for (const db of opened.splice(0)) db.close();
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true });
});

function dataDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "hookyard-ingest-"));
  directories.push(directory);
  return directory;
}

/** Another program's connection to the data file. */
function open(data: string): Database.Database {
  const db = new Database(join(data, "hookyard.db"), { timeout: 0 });
  opened.push(db);
  return db;
}

/** The status of the answer to one track, or the error's code. */
function statusOf(
  port: number,
  agent: Agent,
  message: object,
): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const headers = { Authorization: basic(writeKey) };
    const sent = request(
      { port, host: "127.0.0.1", method: "POST", path: "/v1/track", headers, agent },
      (response) => {
        response.resume().on("end", () => resolve(response.statusCode));
      },
    );
    sent
      .on("error", (error: NodeJS.ErrnoException) => resolve(error.code))
      .end(JSON.stringify(message));
  });
}

const numbered = (n: number) => ({
  type: "track",
  userId: "u",
  event: `Event ${n}`,
  messageId: `m${n}`,
});

test("two hundred single calls at the same time are all answered, and are all there", async () => {
  const data = dataDirectory();
  const app = await startIngestApp({ data });
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => app.send("/v1/track", numbered(n))),
  );
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
  // What was answered is in the file, for anybody to read.
  expect(open(data).prepare("SELECT count(*) FROM messages").pluck().get()).toBe(200);
  expect(new Set((await app.messages()).map(({ event }) => event)).size).toBe(200);
});

test("requests that arrive together share a commit", async () => {
  const data = dataDirectory();
  const app = await startIngestApp({ data });
  const db = open(data);
  /**
   * A commit writes each page that it changed to the log once, so the size of the log tells commits
   * apart.
   */
  async function pagesLogged(requests: Buffer): Promise<number> {
    const count = requests.toString("latin1").split("POST ").length - 1;
    db.pragma("wal_checkpoint(TRUNCATE)");
    expect((await talk(app.port, [requests], { answers: count })).answers).toHaveLength(count);
    const [checkpoint] = db.pragma("wal_checkpoint(PASSIVE)") as { log: number }[];
    return checkpoint?.log ?? 0;
  }
  const request = (n: number) =>
    post("/v1/track", JSON.stringify(numbered(n)), { Authorization: basic(writeKey) });
  const one = await pagesLogged(request(1000));
  expect(one).toBeGreaterThan(1);
  const forty = Buffer.concat(Array.from({ length: 40 }, (_, n) => request(n)));
  // On a busy machine they may arrive one by one.
  while ((await pagesLogged(forty)) >= one * 10);
});

test("while the data file is locked the answer is 503, nothing is written, and the same request is taken later", async () => {
  const data = dataDirectory();
  const app = await startIngestApp({ data });
  const destination = await app.destination({ sourceIds: [app.source.id] });
  await app.send("/v1/track", numbered(0));
  await destination.received();
  const before = await app.call("stats.get", {});

  const db = open(data);
  db.exec("BEGIN EXCLUSIVE");
  const batch = { batch: [numbered(1), numbered(2), { type: "track" }] };
  const refused = await Promise.all([
    app.send("/v1/batch", batch),
    app.send("/v1/track", numbered(3)),
    app.send("/v1/track", "{"),
    app.send("/v1/track", {}, { key: "lost" }),
  ]);
  for (const { status, json } of refused) {
    expect([status, json]).toEqual([
      503,
      { success: false, code: "store_unavailable", message: expect.stringMatching(/locked.*\.$/) },
    ]);
  }
  expect(await app.call("stats.get", {})).toMatchObject({
    trouble: expect.stringMatching(/locked.*\.$/),
  });
  db.exec("ROLLBACK");

  expect(await app.call("stats.get", {})).toMatchObject({
    messages: before.messages,
    deliveries: before.deliveries,
  });
  expect(await app.messages()).toHaveLength(1);
  expect(await app.call("unknownKeys.list", {})).toEqual({ items: [] });
  // Nothing half-remembered: the same ids are no duplicates.
  expect((await app.send("/v1/batch", batch)).json).toMatchObject({
    rejected: [{ index: 2 }],
    duplicates: [],
  });
  expect(await app.call("stats.get", {})).toMatchObject({ trouble: null });
  expect((await app.send("/v1/track", numbered(3))).json).toEqual({ success: true });
  expect((await app.send("/v1/track", numbered(0))).json).toMatchObject({
    duplicates: [{ messageId: "m0" }],
  });
  expect((await destination.received()).map(({ event }) => event ?? "").toSorted()).toEqual([
    "Event 0",
    "Event 1",
    "Event 2",
    "Event 3",
  ]);
  expect((await app.call("stats.get", {})).messages).toMatchObject({
    total: 6,
    byState: { delivered: 4, rejected: 1, duplicate: 1 },
  });
});

test("stopping answers what has arrived", async () => {
  const data = dataDirectory();
  const app = await startIngestApp({ data });
  const answers = Promise.all(
    Array.from({ length: 50 }, (_, n) =>
      talk(app.port, [
        post("/v1/track", JSON.stringify(numbered(n)), { Authorization: basic(writeKey) }),
      ]).catch(() => null),
    ),
  );
  await app.send("/v1/track", numbered(1000));
  await app.stop();
  const succeeded = (await answers).flatMap((talked, n) =>
    talked?.answers[0]?.status === 200 ? [`Event ${n}`] : [],
  );
  const again = await startIngestApp({ data });
  expect((await again.messages()).map(({ event }) => event)).toEqual(
    expect.arrayContaining(succeeded),
  );
});

test("stopping ends a busy connection with the answer that is under way", async () => {
  const data = dataDirectory();
  const app = await startIngestApp({
    data,
    source: { faults: [{ do: "delay", delayMs: 200, times: 1 }] },
  });
  const underWay = new Promise<unknown>((resolve) => {
    subscribe("http.server.request.start", resolve);
    onTestFinished(() => void unsubscribe("http.server.request.start", resolve));
  });
  // One connection, so that the second goes out when the first has been answered.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const outcomes = [0, 1].map((n) => statusOf(app.port, agent, numbered(n)));
  await underWay;
  await app.stop();
  expect(await Promise.all(outcomes)).toEqual([200, expect.stringMatching(/^ECONN/)]);
  const again = await startIngestApp({ data });
  expect(await again.messages()).toMatchObject([{ event: "Event 0" }]);
});
