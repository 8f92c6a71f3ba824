import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId } from "../../domain/ids.ts";
import { attempt, moveTo, openTestStore, request } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity } from "../clock/activity.ts";
import type { Change } from "../pipeline.ts";
import { Recorder } from "./recorder.ts";

const id = 1 as DeliveryId;
const row = 1 as MessageRowId;

const ended = (...of: Parameters<typeof attempt>) => ({
  ...attempt(...of),
  messageRow: row,
  destinationId: 1 as DestinationId,
});

afterEach(() => void vi.useRealTimers());

/** A recorder with one delivery; `ready` counts how often it asked to be flushed. */
function startRecorder({ underWay = 1 } = {}) {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { db, store } = openTestStore();
  store.commit([request([{ to: [1] }])]);
  const feed = createChangeFeed();
  const changes: Change[] = [];
  feed.subscribe((lines) => void changes.push(...lines));
  const seen = { ready: 0, recorded: [] as number[], reported: [] as unknown[] };
  const recorder = new Recorder({
    store,
    changes: feed,
    attemptsUnderWay: () => underWay,
    onReady: () => void (seen.ready += 1),
    onRecorded: ({ length }) => void seen.recorded.push(length),
    report: (error) => void seen.reported.push(error),
  });
  onTestFinished(() => feed.stop());
  return {
    db,
    recorder,
    seen,
    /** What the feed tells, gathered until now: areas with their ids. */
    noted(): [string, string[]][] {
      vi.advanceTimersByTime(60);
      expect(changes.every(({ added }) => added === 0)).toBe(true);
      return changes.splice(0).map(({ area, ids }) => [area, ids]);
    },
    attempts: () => db.prepare("SELECT count(*) FROM attempts").pluck().get(),
    refuse: () =>
      db.exec(
        "CREATE TRIGGER full BEFORE INSERT ON attempts BEGIN SELECT RAISE(ABORT, 'full'); END",
      ),
    allow: () => db.exec("DROP TRIGGER full"),
  };
}

test("a record waits three milliseconds for others, and not at all when nothing is under way or 256 wait", () => {
  const { recorder, seen } = startRecorder();
  recorder.attempt(ended(id), [row]);
  recorder.attempt(ended(id, { round: 2 }), [row]);
  vi.advanceTimersByTime(2);
  expect(seen.ready).toBe(0);
  vi.advanceTimersByTime(1);
  expect(seen.ready).toBe(1);
  recorder.flush();
  for (let round = 3; round < 258; round += 1) recorder.attempt(ended(id, { round }), [row]);
  expect(seen.ready).toBe(1);
  recorder.attempt(ended(id, { round: 258 }), [row]);
  expect(seen.ready).toBe(2);
  recorder.flush();
  vi.advanceTimersByTime(100);
  expect([seen.ready, recorder.attempts, seen.recorded]).toEqual([2, 258, [2, 256]]);
  const idle = startRecorder({ underWay: 0 });
  idle.recorder.transition(moveTo(id, "delivered"), []);
  expect(idle.seen.ready).toBe(1);
});

test("a flush writes everything once, tells what changed, and ends the work", () => {
  const { recorder, seen, noted, attempts } = startRecorder();
  const activity = new Activity();
  recorder.attempt(ended(id), [row]);
  recorder.transition(moveTo(id, "delivered"), [row]);
  recorder.endWhenRecorded(activity.begin());
  expect(activity.isQuiet(true)).toBe(false);
  recorder.flush();
  expect([activity.isQuiet(true), attempts(), recorder.attempts, seen.recorded]).toEqual([
    true,
    1,
    1,
    [1],
  ]);
  expect(noted()).toEqual([
    ["deliveries", ["dlv_000000001"]],
    ["messages", ["msg_000000001"]],
  ]);
  recorder.attempt(ended(id, { round: 2 }), [row]);
  recorder.flush();
  recorder.flush();
  expect([attempts(), recorder.attempts, seen.recorded]).toEqual([2, 2, [1, 1]]);
  expect(noted()).toEqual([]);
});

test("work alone is ended by a flush, and a change of state without a message names none", () => {
  const { recorder, noted } = startRecorder();
  const activity = new Activity();
  recorder.endWhenRecorded(activity.begin());
  recorder.flush();
  expect(activity.isQuiet(true)).toBe(true);
  recorder.transition(moveTo(id, "delivered"), []);
  recorder.flush();
  expect(noted()).toEqual([["deliveries", ["dlv_000000001"]]]);
});

test("what the store refuses is reported once, kept, and tried again every half second until it is written", () => {
  const { recorder, seen, attempts, refuse, allow, noted } = startRecorder();
  const activity = new Activity();
  refuse();
  recorder.attempt(ended(id), [row]);
  recorder.endWhenRecorded(activity.begin());
  recorder.flush();
  expect(recorder.failure).toMatchObject({ message: "full" });
  recorder.transition(moveTo(id, "delivered"), [row]);
  vi.advanceTimersByTime(499);
  expect(seen.ready).toBe(0);
  vi.advanceTimersByTime(1);
  expect(seen.ready).toBe(1);
  recorder.flush();
  expect([seen.reported.length, recorder.attempts, activity.isQuiet(true)]).toEqual([1, 0, false]);
  vi.advanceTimersByTime(500);
  expect(seen.ready).toBe(2);
  allow();
  recorder.flush();
  expect([recorder.failure, attempts(), recorder.attempts, activity.isQuiet(true)]).toEqual([
    null,
    1,
    1,
    true,
  ]);
  expect(noted().map(([area]) => area)).toEqual(["deliveries", "messages"]);
  vi.advanceTimersByTime(2000);
  expect([seen.ready, vi.getTimerCount()]).toEqual([2, 0]);
  recorder.attempt(ended(id, { round: 2 }), [row]);
  vi.advanceTimersByTime(3);
  expect(seen.ready).toBe(3);
});

test("what belongs to deleted deliveries is forgotten: written by nobody, told to nobody, and no longer work", () => {
  const { recorder, attempts, noted, seen } = startRecorder();
  const activity = new Activity();
  recorder.attempt(ended(id), [row]);
  recorder.transition(moveTo(id, "delivered"), [row]);
  recorder.endWhenRecorded(activity.begin());
  recorder.forget();
  expect(activity.isQuiet(true)).toBe(true);
  recorder.transition(moveTo(id, "queued"), []);
  recorder.flush();
  expect([attempts(), recorder.attempts, seen.recorded]).toEqual([0, 0, [0]]);
  expect(noted()).toEqual([["deliveries", ["dlv_000000001"]]]);
});

test("what was refused and is then forgotten is no failure any more, and what comes next is written", () => {
  const { recorder, seen, attempts, refuse, allow } = startRecorder();
  refuse();
  recorder.attempt(ended(id), [row]);
  recorder.flush();
  recorder.forget();
  expect([recorder.failure, recorder.hasWaiting, vi.getTimerCount()]).toEqual([null, false, 0]);
  allow();
  recorder.attempt(ended(id), [row]);
  vi.advanceTimersByTime(3);
  expect(seen.ready).toBe(1);
  recorder.flush();
  expect([attempts(), recorder.attempts]).toEqual([1, 1]);
  recorder.attempt(ended(id, { round: 2 }), [row]);
  recorder.forget();
  for (let round = 3; round < 258; round += 1) recorder.attempt(ended(id, { round }), [row]);
  expect(seen.ready).toBe(1);
  recorder.attempt(ended(id, { round: 258 }), [row]);
  expect(seen.ready).toBe(2);
});

const rows = (count: number) => Array.from({ length: count }, (_, nth) => nth as MessageRowId);

test("a flush writes 2,000 messages at most, or one larger batch, and asks for the next", () => {
  const { recorder, seen, attempts } = startRecorder({ underWay: 1000 });
  const activity = new Activity();
  const end = (nth: number, messages: number): void => {
    recorder.attempt(ended(nth as DeliveryId), rows(messages));
    recorder.endWhenRecorded(activity.begin());
    recorder.transition(moveTo(nth as DeliveryId, "delivered"), rows(messages));
  };
  for (const [nth, messages] of [1500, 500, 1, 2500, 1999].entries()) end(nth + 1, messages);
  const steps = [1, 2, 3, 4].map(() => {
    recorder.flush();
    return [seen.recorded.at(-1), seen.ready, recorder.hasWaiting, activity.isQuiet(true)];
  });
  expect(steps).toEqual([
    [2, 1, true, false],
    [1, 2, true, false],
    [1, 3, true, false],
    [1, 3, false, true],
  ]);
  // Only the first is in the store.
  expect([attempts(), recorder.attempts]).toEqual([1, 5]);
});

test("a flush writes 8 MB of heads and answers at most, and a stop writes all", () => {
  const { recorder, seen } = startRecorder();
  const response = { status: 200, head: "h", body: Buffer.alloc(3_999_999), bodyLength: 1 };
  for (let nth = 1; nth < 7; nth += 1)
    recorder.attempt(ended(nth as DeliveryId, { response: { ...response }, requestHead: "" }), [
      row,
    ]);
  recorder.flush();
  expect(seen.recorded).toEqual([2]);
  recorder.stop();
  expect(seen.recorded).toEqual([2, 2, 2]);
});

test("a stop writes what waits, and nothing after that", () => {
  const { recorder, attempts } = startRecorder();
  recorder.attempt(ended(id), [row]);
  recorder.stop();
  expect([attempts(), vi.getTimerCount()]).toEqual([1, 0]);
  recorder.attempt(ended(id, { round: 2 }), [row]);
  recorder.flush();
  expect(attempts()).toBe(1);
  vi.advanceTimersByTime(3);
});

test("a stop while the store refuses leaves no timer", () => {
  const { recorder, refuse } = startRecorder();
  refuse();
  recorder.attempt(ended(id), [row]);
  recorder.stop();
  expect(vi.getTimerCount()).toBe(0);
});
