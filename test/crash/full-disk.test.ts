import type { ServerResponse } from "node:http";
import { expect, onTestFinished, test } from "vitest";
import { isProblem } from "../../src/domain/problem.ts";
import { createChangeFeed } from "../../src/engine/changes.ts";
import { Activity, Holds } from "../../src/engine/clock/activity.ts";
import { PipelineClock } from "../../src/engine/clock/pipeline-clock.ts";
import { createConfiguration } from "../../src/engine/configuration.ts";
import { DeliveryScheduler } from "../../src/engine/deliver/delivery-scheduler.ts";
import { createTrust } from "../../src/engine/deliver/dial.ts";
import { Ingest } from "../../src/engine/ingest/ingest.ts";
import {
  expectConsistent,
  openTestStore,
  temporaryDirectory,
} from "../../src/store/store.fixture.ts";
import { startReceiver } from "../support/webhook-receiver.ts";

/** Ingest and delivery on a store whose database is in hand, so that it can be given less room. */
async function startOnSmallDisk(url: string) {
  const { db, store } = openTestStore(temporaryDirectory());
  const reported: unknown[] = [];
  const report = (error: unknown): void => void reported.push(error);
  const changes = createChangeFeed();
  const activity = new Activity();
  const clock: PipelineClock = new PipelineClock({
    store,
    activity,
    work: {
      isPending: () => scheduler.hasOwnWork(),
      isWaiting: () => scheduler.hasOwnWaiting(),
      attemptsMade: () => scheduler.attemptsMade,
      trouble: () => store.trouble(),
    },
    onOverdue: () => scheduler.spreadOverdue(),
    onChange: () => {},
    report,
  });
  const configuration = createConfiguration({
    store,
    now: () => clock.now(),
    changes,
    onChange: () => {},
    onDestinationDeleted: () => {},
  });
  const scheduler: DeliveryScheduler = new DeliveryScheduler({
    store,
    configuration,
    clock,
    activity,
    holds: new Holds(),
    trust: createTrust(),
    changes,
    cancelOf: () => false,
    onAttempts: () => {},
    report,
  });
  const ingest = new Ingest({
    store,
    configuration,
    clock,
    activity,
    changes,
    isSuppressed: () => false,
    onCommitted: (messages, origin) => scheduler.onCommitted(messages, origin),
    onRefused: () => {},
    report,
    host: "127.0.0.1",
    port: 0,
    tlsPort: null,
    identity: () => ({ cert: "", key: "" }),
    log: () => {},
  });

  const source = configuration.createSource({ name: "Shop", writeKey: "key" });
  if (isProblem(source)) throw new Error(source.message);
  configuration.createDestination({
    name: "Out",
    sourceIds: [source.id],
    webhooks: [{ url, headers: {} }],
  });
  const { url: ingestUrl } = await ingest.start();
  scheduler.start();
  onTestFinished(async () => {
    await ingest.stop();
    await scheduler.stop();
    changes.stop();
  });

  let made = 0;
  const accepted: string[] = [];
  const refused: string[] = [];
  return {
    db,
    store,
    clock,
    scheduler,
    reported,
    accepted,
    refused,
    settled: () => activity.whenQuiet({ includeHeld: true }),
    /** A batch of messages; answers the status and what was said. */
    async send(count: number, size = 800): Promise<{ status: number; code?: string }> {
      const batch = Array.from({ length: count }, () => ({
        type: "track",
        messageId: `m-${made++}`,
        userId: "ada",
        event: "x".repeat(size),
      }));
      const response = await fetch(`${ingestUrl}/v1/batch`, {
        method: "POST",
        headers: { Authorization: `Basic ${btoa("key:")}` },
        body: JSON.stringify({ batch }),
      });
      const { code } = (await response.json()) as { code?: string };
      (response.status === 200 ? accepted : refused).push(
        ...batch.map(({ messageId }) => messageId),
      );
      return { status: response.status, ...(code === undefined ? {} : { code }) };
    },
    /** As a disk that is full to the last page. */
    leaveNoRoom: (): void =>
      void db.pragma(`max_page_count = ${Number(db.pragma("page_count", { simple: true }))}`),
    makeRoom: (): void => void db.pragma("max_page_count = 1000000"),
    messageIds: () => db.prepare("SELECT message_id FROM messages ORDER BY id").pluck().all(),
    attempts: () => db.prepare("SELECT count(*) FROM attempts").pluck().get(),
  };
}

test("on a full disk ingest answers 503 and keeps nothing by halves; attempts are kept and go on record when there is room", async () => {
  const held: ServerResponse[] = [];
  const out = await startReceiver((response) => void held.push(response));
  onTestFinished(() => out.stop());
  const disk = await startOnSmallDisk(out.url);

  expect(await disk.send(40)).toMatchObject({ status: 200 });
  await out.whenReceived(40);
  disk.leaveNoRoom();
  for (const count of [50, 5, 1]) {
    let answer = await disk.send(count);
    while (answer.status === 200) answer = await disk.send(count);
    expect(answer).toEqual({ status: 503, code: "store_unavailable" });
  }
  expect(disk.messageIds()).toEqual(disk.accepted);
  expect(disk.refused.length).toBeGreaterThanOrEqual(56);
  expectConsistent(disk.db);

  // The attempts in progress end now, and there is no room to write that down.
  out.answer = 200;
  const underWay = held.splice(0);
  const before = disk.attempts();
  for (const response of underWay)
    response.writeHead(200, { "Content-Type": "text/plain" }).end("y".repeat(3000));
  await expect
    .poll(() => disk.reported)
    .toContainEqual(expect.objectContaining({ code: "SQLITE_FULL" }));
  expect(disk.attempts()).toBe(before);
  expect(disk.store.countByState()).toMatchObject({ delivered: 0 });
  expectConsistent(disk.db);
  expect(await disk.send(50)).toEqual({ status: 503, code: "store_unavailable" });

  disk.makeRoom();
  expect(await disk.send(3)).toMatchObject({ status: 200 });
  await disk.settled();
  expect(disk.messageIds()).toEqual(disk.accepted);
  expect(disk.store.countByState()).toMatchObject({
    delivered: disk.accepted.length,
    queued: 0,
    sending: 0,
    waiting: 0,
  });
  expect(disk.attempts()).toBe(disk.accepted.length);
  expect(
    out.requests
      .map(({ body }) => (JSON.parse(body) as { messageId: string }).messageId)
      .toSorted(),
  ).toEqual(disk.accepted.toSorted());
  expect(disk.reported.every((error) => (error as { code?: string }).code === "SQLITE_FULL")).toBe(
    true,
  );
  expectConsistent(disk.db);
});

test("on a full disk an advance of the clock gets an answer, and goes on from there when there is room", async () => {
  const out = await startReceiver((response) => response.writeHead(503).end("y".repeat(3000)));
  onTestFinished(() => out.stop());
  const disk = await startOnSmallDisk(out.url);
  disk.clock.set("paused");
  expect(await disk.send(40)).toMatchObject({ status: 200 });
  await disk.settled();
  disk.leaveNoRoom();
  const refused = await disk.clock.advance({ to: "idle" });
  expect(refused).toMatchObject({ status: 503, code: "store_unavailable" });
  expect(disk.store.trouble()).toMatchObject({ code: "store_unavailable" });
  expect(disk.clock.state().advance).toBeNull();

  disk.makeRoom();
  await expect.poll(() => disk.store.trouble()).toBeNull();
  expect(await disk.clock.advance({ to: "idle" })).toMatchObject({ endedEarly: null });
  expect(disk.store.countByState()).toMatchObject({ expired: 40, waiting: 0, sending: 0 });
  expectConsistent(disk.db);
});

test("a clock whose time cannot be stored does not move, says why, and moves when it can", async () => {
  const out = await startReceiver(200);
  onTestFinished(() => out.stop());
  const disk = await startOnSmallDisk(out.url);
  const { now } = disk.clock.set("paused") as { now: number };
  disk.db.pragma("query_only = ON");
  await expect(disk.clock.advance({ byMs: 1000 })).rejects.toMatchObject({
    code: "SQLITE_READONLY",
  });
  expect(() => disk.clock.set("real")).toThrow(
    expect.objectContaining({ code: "SQLITE_READONLY" }),
  );
  expect(disk.clock.state()).toMatchObject({ now, mode: "paused", advance: null });
  expect(disk.store.trouble()).toMatchObject({ status: 503, code: "store_unavailable" });

  disk.db.pragma("query_only = OFF");
  expect(await disk.clock.advance({ byMs: 1000 })).toMatchObject({
    state: { now: now + 1000 },
    endedEarly: null,
  });
});
