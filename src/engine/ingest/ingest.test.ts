/**
 * What was kept for a write key is accepted once, however often the key is adopted, and whatever
 * happens in between.
 */

import { expect, onTestFinished, test, vi } from "vitest";
import type { Destination } from "../../domain/configuration.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import {
  expectConsistent,
  openTestStore,
  startOfTime,
  type TestStore,
} from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity } from "../clock/activity.ts";
import { storeFailure } from "../store-failure.ts";
import { Ingest } from "./ingest.ts";
import { openConfiguration } from "../configuration.fixture.ts";

const bodies = [
  `{"userId":"u","event":"first"}`,
  `no JSON`,
  `{"userId":"u","event":"second"}`,
  `{"userId":"u","event":"third"}`,
];

function keepRequests({ store }: TestStore): void {
  for (const body of bodies) {
    store.keepUnknownKeyRequest(
      {
        writeKey: "lost",
        receivedAt: startOfTime,
        wallAt: startOfTime,
        method: "POST",
        path: "/v1/track",
        headers: [],
        ip: "127.0.0.1",
        body: Buffer.from(body),
      },
      1_000_000,
    );
  }
}

function startOn({ store }: TestStore, reported?: unknown[]) {
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const activity = new Activity();
  const configuration = openConfiguration({ store, clock, changes });
  const created =
    configuration.sourceByWriteKey("lost") ??
    configuration.createSource({ name: "Found", writeKey: "lost" });
  if (!("writeKey" in created)) throw new Error(created.message);
  const ingest = new Ingest({
    store,
    configuration,
    clock,
    activity,
    changes,
    isSuppressed: () => false,
    onCommitted: () => {},
    onRefused: () => {},
    report: (error) => {
      if (reported === undefined) throw error;
      reported.push(error);
    },
    host: "127.0.0.1",
    port: 0,
    tlsPort: null,
    identity: () => ({ cert: "", key: "" }),
    log: () => {},
  });
  return { configuration, source: created, activity, ingest, adopt: () => ingest.adopt("lost") };
}

test("a request that fails by itself is answered 500 and reported, and one that the store cannot keep says why", async () => {
  const one = openTestStore();
  const reported: unknown[] = [];
  const { ingest } = startOn(one, reported);
  const { url } = await ingest.start();
  onTestFinished(() => ingest.stop());
  const commit = vi.spyOn(one.store, "commit");
  const send = async (error: Error): Promise<unknown> => {
    commit.mockImplementation(() => {
      throw error;
    });
    const body = JSON.stringify({ writeKey: "lost", userId: "u", event: "e" });
    const answer = await fetch(`${url}/v1/track`, { method: "POST", body });
    return { status: answer.status, ...((await answer.json()) as object) };
  };
  const odd = new Error("odd");
  expect(await send(odd)).toMatchObject({ status: 500, success: false, code: "internal" });
  expect(reported).toEqual([odd]);
  const full = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  const answer = await send(full);
  expect(answer).toMatchObject({ success: false, code: storeFailure(full)?.code });
  expect(answer).toMatchObject({ status: storeFailure(full)?.status });
  expect(reported).toEqual([odd]);
  expect(ingest.peakRequests).toBeGreaterThan(0);
});

/** It gets messages of no source. */
const elsewhere = { id: 1, sourceIds: [], mappings: [], filters: [] } as unknown as Destination;

test("what is not on record, or whose source is gone, is neither replayed nor routed or sent again", async () => {
  const one = openTestStore();
  keepRequests(one);
  const { adopt, configuration, source, ingest } = startOn(one);
  await adopt();
  const refusals = async (id: MessageRowId) => [
    await ingest.replay(id),
    ingest.routedAgain(id, []),
    ingest.sendAgain(id, "m", elsewhere),
  ];
  const missing = {
    problem: true,
    status: 404,
    message: expect.stringContaining("msg_") as string,
  };
  expect(await refusals(99 as MessageRowId)).toMatchObject([missing, missing, null]);
  const [id] = one.db.prepare<[], MessageRowId>("SELECT id FROM messages").pluck().all();
  if (id === undefined) throw new Error("There is no message.");
  expect(ingest.routedAgain(id, [])).toMatchObject({ decisions: [] });
  expect(await ingest.sendAgain(id, "m", elsewhere)).toBeNull();
  expect(await ingest.replay(id)).toMatchObject({ messageId: expect.any(String) as string });
  configuration.deleteSource(source.id);
  const gone = { problem: true, status: 409, code: "source_deleted" };
  expect(await refusals(id)).toMatchObject([gone, gone, null]);
});

const events = ({ db }: TestStore) =>
  db.prepare("SELECT event FROM messages ORDER BY id").pluck().all();

test("adopted twice at once, every request is accepted once, in order", async () => {
  const one = openTestStore();
  keepRequests(one);
  const { adopt } = startOn(one);
  await Promise.all([adopt(), adopt()]);
  expect(events(one)).toEqual(["first", "second", "third"]);
  expect(one.store.unknownKeys()).toEqual([]);
  expectConsistent(one.db);
});

test("what the store refuses half-way stays kept, and the next adoption goes on there, also after a restart", async () => {
  const one = openTestStore();
  keepRequests(one);
  one.db.exec(
    `CREATE TRIGGER full BEFORE INSERT ON messages WHEN NEW.event = 'third' BEGIN SELECT RAISE(ABORT, 'full'); END`,
  );
  await expect(startOn(one).adopt()).rejects.toThrow("full");
  expect(events(one)).toEqual(["first", "second"]);
  expect(one.store.unknownKeys()).toMatchObject([{ writeKey: "lost", requests: 1 }]);
  one.db.exec("DROP TRIGGER full");
  const again = one.restarted();
  await startOn(again).adopt();
  expect(events(again)).toEqual(["first", "second", "third"]);
  expect(again.store.unknownKeys()).toEqual([]);
  expectConsistent(again.db);
});

test("it is work until all is accepted, and when its source is deleted meanwhile the rest stays kept", async () => {
  const one = openTestStore();
  keepRequests(one);
  const { adopt, activity, configuration, source } = startOn(one);
  const adopted = adopt();
  expect(activity.isQuiet(true)).toBe(false);
  configuration.deleteSource(source.id);
  await adopted;
  expect(activity.isQuiet(true)).toBe(true);
  expect(events(one)).toEqual(["first"]);
  expect(one.store.unknownKeys()).toMatchObject([{ writeKey: "lost", requests: 3 }]);
});
