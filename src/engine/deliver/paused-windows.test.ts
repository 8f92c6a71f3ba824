import { expect, onTestFinished, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { DeliveryId, DestinationId, MessageRowId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  request,
  startOfTime,
} from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, Holds } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { DeliveryScheduler } from "./delivery-scheduler.ts";
import { createTrust } from "./dial.ts";
import { openConfiguration } from "../configuration.fixture.ts";

/**
 * A scheduler with two disabled destinations, each of which holds a delivery whose first attempt
 * was at the start of time.
 */
function startWithHeld() {
  const { db, store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  for (const name of ["One", "Other"]) {
    const made = configuration.createDestination({
      name,
      sourceIds: [],
      webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
    });
    if (isProblem(made)) throw new Error(made.message);
    store.commit([request([{ to: [made.id] }])]);
    const [held] = store.claim(made.id, startOfTime, 1);
    const id = held?.id as DeliveryId;
    store.record([attempt(id, { status: 503 })], [moveTo(id, "waiting", startOfTime + 60_000)]);
    configuration.updateDestination(made.id, { enabled: false });
  }
  const reported: unknown[] = [];
  const scheduler = new DeliveryScheduler({
    store,
    configuration,
    clock,
    activity: new Activity(),
    holds: new Holds(),
    trust: createTrust(),
    changes,
    cancelOf: () => false,
    onAttempts: () => {},
    report: (error) => reported.push(error),
  });
  onTestFinished(() => scheduler.stop());
  return { db, store, clock, configuration, scheduler, reported };
}

test("while the store refuses records, held deliveries whose window has ended are not expired again and again", async () => {
  const { db, store, clock, scheduler, reported } = startWithHeld();
  scheduler.start();
  await nextTurn();
  db.exec(
    "CREATE TRIGGER full BEFORE INSERT ON transitions BEGIN SELECT RAISE(ABORT, 'full'); END",
  );
  clock.advanceBy(5 * 60 * 60 * 1000);
  for (let turn = 0; turn < 5; turn += 1) {
    scheduler.kick();
    await nextTurn();
  }
  expect(clock.scheduled()).toEqual([]);
  expect(store.countByState()).toMatchObject({ waiting: 2, expired: 0 });
  db.exec("DROP TRIGGER full");
  scheduler.kick();
  await nextTurn();
  expect(store.countByState()).toMatchObject({ waiting: 0, expired: 2 });
  const expired = db
    .prepare(
      "SELECT delivery_id FROM transitions WHERE reason = 'window_closed_while_disabled' ORDER BY 1",
    )
    .pluck();
  expect(expired.all()).toEqual([1, 2]);
  expect(reported).toHaveLength(1);
  expectConsistent(db);
});

test("a disabled destination's deliveries wait for the end of the earliest window, next to what is due", async () => {
  const { db, store, clock, scheduler } = startWithHeld();
  scheduler.start();
  await nextTurn();
  const [end] = clock.scheduled();
  expect(clock.scheduled()).toHaveLength(1);
  store.record([attempt(2 as DeliveryId, { status: 503, startedAt: startOfTime + 60_000 })], []);
  db.exec(`UPDATE deliveries SET first_attempt_at = first_attempt_at + 60000 WHERE id = 2`);
  clock.advanceBy((end ?? 0) - startOfTime - 1);
  await nextTurn();
  expect(store.countByState()).toMatchObject({ waiting: 2, expired: 0 });
  clock.advanceBy(1);
  await nextTurn();
  await nextTurn();
  expect(store.countByState()).toMatchObject({ waiting: 1, expired: 1 });
  expect(clock.scheduled()).toEqual([(end ?? 0) + 60_000]);
  expect(store.destinationsWithWork()).toEqual(new Set([2]));
});

test("the earliest of what is due and of what ends is waited for, whichever it is", async () => {
  const { db, store, clock, scheduler, configuration } = startWithHeld();
  scheduler.start();
  await nextTurn();
  const end = (clock.scheduled()[0] ?? 0) - startOfTime;
  configuration.updateDestination(2 as DestinationId, { enabled: true });
  for (const [due, first] of [
    [end - 1, end - 1],
    [end + 1, end],
    [60_000, 60_000],
  ] as const) {
    db.exec(`UPDATE deliveries SET next_attempt_at = ${startOfTime + due} WHERE id = 2`);
    scheduler.kick();
    await nextTurn();
    expect(clock.scheduled()).toEqual([startOfTime + first]);
  }
  expect(store.countByState()).toMatchObject({ waiting: 2 });
  const looked: number[] = [];
  store.pausedPastWindow = (id) => {
    looked.push(id);
    return [];
  };
  scheduler.kick();
  await nextTurn();
  expect(looked).toEqual([1]);
});

test("what expires in one turn has 2,000 messages at most, of all destinations together", async () => {
  const { store, clock, scheduler } = startWithHeld();
  const rooms: [destination: number, messages: number][] = [];
  store.pausedPastWindow = (id, _now, _windowMs, messages) => {
    rooms.push([id, messages]);
    return [];
  };
  scheduler.start();
  await nextTurn();
  expect(rooms.splice(0)).toEqual([
    [1, 2000],
    [2, 2000],
  ]);
  const { record } = store;
  store.record = () => {};
  store.pausedPastWindow = (id, _now, _windowMs, messages) => {
    rooms.push([id, messages]);
    const ids = Array.from({ length: 700 }, (_, nth) => (nth + 1) as MessageRowId);
    return [{ id: id as number as DeliveryId, messages: ids }];
  };
  clock.advanceBy(1);
  scheduler.kick();
  await nextTurn();
  expect(rooms).toEqual([
    [1, 2000],
    [2, 1300],
  ]);
  store.record = record;
});
