import { afterEach, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import { startReceiver } from "../../../test/support/webhook-receiver.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { Settings } from "../../domain/configuration.ts";
import type { DeliveryId } from "../../domain/ids.ts";
import { isProblem } from "../../domain/problem.ts";
import {
  expectConsistent,
  moveTo,
  openTestStore,
  request,
  startOfTime,
} from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, Holds, type Origin } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { createDeliveries } from "./deliveries.ts";
import { DeliveryScheduler } from "./delivery-scheduler.ts";
import { createTrust } from "./dial.ts";
import { openConfiguration } from "../configuration.fixture.ts";

afterEach(() => void vi.useRealTimers());

/** A scheduler with one destination, whose receiver answers as it is told. */
async function startScheduler(
  answer: Parameters<typeof startReceiver>[0],
  settings: Partial<Settings> = {},
) {
  const { db, store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  configuration.updateSettings(settings);
  const receiver = await startReceiver(answer);
  const destination = configuration.createDestination({
    name: "One",
    sourceIds: [],
    webhooks: [{ url: receiver.url, headers: {} }],
  });
  if (isProblem(destination)) throw new Error(destination.message);
  const reported: unknown[] = [];
  const activity = new Activity();
  const attempts: number[] = [];
  const scheduler = new DeliveryScheduler({
    ...{ store, configuration, clock, activity, changes, holds: new Holds(), trust: createTrust() },
    cancelOf: (id) => deliveries.cancelOf(id),
    onAttempts: ({ length }) => void attempts.push(length),
    report: (error) => reported.push(error),
  });
  const deliveries = createDeliveries({
    ...{ store, configuration, clock, activity, changes, scheduler },
    report: (error) => reported.push(error),
  });
  onTestFinished(async () => {
    vi.useRealTimers();
    await receiver.stop();
    await scheduler.stop();
    changes.stop();
  });
  return {
    ...{ db, store, clock, configuration, receiver, destination, reported, activity, scheduler },
    /** Attempts that were recorded. */
    attempts: () => attempts.reduce((sum, count) => sum + count, 0),
    commit(count: number, text = "{}", origin: Origin = "own"): void {
      const committed = store.commit([
        request(Array.from({ length: count }, () => ({ to: [destination.id], text }))),
      ]);
      scheduler.onCommitted(committed.flat(), origin);
    },
    count: () => store.countByState(),
  };
}

type Running = Awaited<ReturnType<typeof startScheduler>>;

const full = (): Error => Object.assign(new Error("full"), { code: "SQLITE_FULL" });

/** Throws at the next claims. */
function refuseClaims({ store }: Running, ...errors: Error[]): void {
  const { claim } = store;
  store.claim = (...args) => {
    const error = errors.shift();
    if (error !== undefined) throw error;
    return claim(...args);
  };
}

test("what fails in the middle is reported, unless it is the store's, and tried again after a second", async () => {
  const one = await startScheduler(200);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  refuseClaims(one, new Error("odd"), full());
  one.commit(1);
  await nextTurn();
  expect([one.reported, one.activity.isQuiet(true)]).toEqual([[new Error("odd")], true]);
  one.scheduler.kick();
  await nextTurn();
  expect(one.reported).toHaveLength(1);
  vi.advanceTimersByTime(999);
  await nextTurn();
  expect(one.count()).toMatchObject({ queued: 1 });
  vi.advanceTimersByTime(1);
  await nextTurn();
  expect(one.count()).toMatchObject({ queued: 0, sending: 1 });
  vi.useRealTimers();
  await one.activity.whenQuiet();
  expect([
    one.count().delivered,
    one.receiver.requests.length,
    one.scheduler.attemptsMade,
    one.attempts(),
  ]).toEqual([1, 1, 1, 1]);
});

test("a delivery whose destination was deleted before the result of its round was recorded is cancelled", async () => {
  const one = await startScheduler(503);
  const { record } = one.store;
  one.store.record = () => {
    throw full();
  };
  one.commit(1);
  await until(() => one.reported.length === 1);
  expect(one.count()).toMatchObject({ sending: 1 });
  one.configuration.deleteDestination(one.destination.id);
  one.store.record = record;
  one.scheduler.kick();
  await until(() => one.count().cancelled === 1);
  const states = one.store
    .deliveryDetails(1 as DeliveryId)
    ?.transitions.map(({ state, reason }) => [state, reason]);
  expect(states).toEqual([
    ["waiting", "retry"],
    ["cancelled", "destination_deleted"],
  ]);
  expectConsistent(one.db);
});

test("destinations that have nothing to send or to wait for are passed over", async () => {
  const one = await startScheduler(200);
  for (const name of ["Two", "Three"])
    one.configuration.createDestination({ name, sourceIds: [], webhooks: [] });
  const claims: number[] = [];
  const { claim } = one.store;
  one.store.claim = (id, ...rest) => {
    claims.push(id);
    return claim(id, ...rest);
  };
  one.scheduler.kick();
  await nextTurn();
  expect(claims).toEqual([]);
  one.commit(1);
  await one.activity.whenQuiet();
  expect(new Set(claims)).toEqual(new Set([one.destination.id]));
  claims.length = 0;
  one.scheduler.kick();
  await nextTurn();
  expect(claims).toEqual([]);
});

test("a stop while it waits for another try leaves no timer", async () => {
  const one = await startScheduler(200);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  refuseClaims(one, full(), full());
  one.commit(1);
  await nextTurn();
  one.scheduler.kick();
  await nextTurn();
  expect(vi.getTimerCount()).toBe(1);
  await one.scheduler.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("kicks of one turn look once, and are work until then; an arrival's adds nothing to an own one", async () => {
  const one = await startScheduler(200);
  let looks = 0;
  const { nextDueAt } = one.store;
  one.store.nextDueAt = (...args) => {
    looks += 1;
    return nextDueAt(...args);
  };
  one.activity.beginAdvance();
  const { signal } = new AbortController();
  one.scheduler.kick("arrival");
  let isOver = false;
  void one.activity.whenOwnQuiet({ waits: () => false, signal }).then(() => (isOver = true));
  one.scheduler.kick("arrival");
  one.scheduler.kick("own");
  one.scheduler.kick("own");
  one.scheduler.kick("arrival");
  expect([one.activity.isQuiet(true), isOver]).toEqual([false, false]);
  await nextTurn();
  await nextTurn();
  expect([looks, one.activity.isQuiet(true), isOver]).toEqual([1, true, true]);
});

test("three times as many are claimed as a lane has connections, and more as those end", async () => {
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 2,
  });
  one.commit(20);
  await until(() => kept.length === 2);
  expect(one.count()).toMatchObject({ sending: 6, queued: 14 });
  expect(one.scheduler.hasQueued()).toBe(true);
  kept.shift()?.();
  await until(() => one.count().delivered === 1);
  await until(() => one.count().queued < 14);
  one.configuration.updateSettings({ laneConnections: 64 });
  one.receiver.answer = 200;
  one.scheduler.kick();
  await nextTurn();
  for (const answer of kept.splice(0)) answer();
  await until(() => one.count().delivered === 20);
  await one.activity.whenQuiet();
  expect(one.scheduler.hasQueued()).toBe(false);

  const many = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 64,
  });
  const claims: number[] = [];
  const { claim } = many.store;
  many.store.claim = (destination, now, limit) => {
    const claimed = claim(destination, now, limit);
    claims.push(claimed.length);
    return claimed;
  };
  many.commit(300);
  await until(() => kept.length === 64);
  expect([claims[0], many.count().sending]).toEqual([192, 192]);
});

test("an advance's own delivery waits behind arrivals that fill its lane", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 2 });
  one.activity.beginAdvance();
  one.commit(6, "{}", "arrival");
  await until(() => one.receiver.requests.length === 2);
  expect(one.scheduler.hasOwnWaiting()).toBe(false);
  one.commit(1);
  expect(one.scheduler.hasOwnWaiting()).toBe(true);
});

test.each([
  [1, 192],
  [100, 40],
  [300, 16],
])("each of %i destinations with work has room for %i rounds", async (count, room) => {
  const one = await startScheduler(200);
  const ids = [one.destination.id];
  for (let nth = 2; nth <= count; nth += 1) {
    const draft = { name: `D${nth}`, sourceIds: [], webhooks: one.destination.webhooks };
    const made = one.configuration.createDestination(draft);
    if (isProblem(made)) throw new Error(made.message);
    ids.push(made.id);
  }
  const rooms = new Map<number, number>();
  one.store.claim = (destination, _now, limit) => {
    rooms.set(destination, limit);
    return [];
  };
  one.store.commit([request([{ to: ids }])]);
  one.scheduler.kick();
  await nextTurn();
  expect([rooms.size, ...new Set(rooms.values())]).toEqual([count, room]);
});

test("a turn claims 1,000 messages or 8 MB of all destinations, and the next goes on where it stopped", async () => {
  const one = await startScheduler(200);
  const { store, scheduler } = one;
  const [first] = one.destination.webhooks;
  const ids = [one.destination.id];
  for (const name of ["Two", "Three", "Four"]) {
    const made = one.configuration.createDestination({
      name,
      sourceIds: [],
      webhooks: [{ url: first!.url, headers: {} }],
    });
    if (isProblem(made)) throw new Error(made.message);
    ids.push(made.id);
  }
  const claims: [turn: number, destination: number, deliveries: number][] = [];
  let turn = 0;
  const { claim } = store;
  store.claim = (destination, ...more) => {
    const claimed = claim(destination, ...more);
    if (claimed.length > 0) claims.push([turn, destination, claimed.length]);
    return claimed;
  };
  const looksAt = async (turns: number): Promise<void> => {
    scheduler.kick();
    for (turn = 1; turn <= turns; turn += 1) await nextTurn();
  };
  const mappedTo = ids.map((to) => ({ to, key: "k", size: 600 }));
  store.commit([request(Array.from({ length: 600 }, () => ({ mappedTo })))]);
  await looksAt(2);
  const [a, b, c, d] = ids as number[];
  expect(claims.splice(0)).toEqual([
    [1, a, 1],
    [1, b, 1],
    [2, c, 1],
    [2, d, 1],
  ]);
  await one.activity.whenQuiet();
  claims.length = 0;
  const text = "x".repeat(2_500_000);
  store.commit([
    request([
      { to: [a!], text },
      { to: [a!], text },
      { to: [a!, b!], text },
      { to: [a!, b!], text },
    ]),
  ]);
  await looksAt(2);
  expect(claims.splice(0)).toEqual([
    [1, a, 4],
    [2, b, 2],
  ]);
  await one.activity.whenQuiet();
});

test("overdue deliveries are spread in slices of a thousand, and none is claimed before all are", async () => {
  const one = await startScheduler(200);
  const { id } = one.destination;
  const count = 2500;
  one.store.commit([request(Array.from({ length: count }, () => ({ to: [id] })))]);
  const claimed = one.store.claim(id, startOfTime, count);
  const later = startOfTime + 50_000;
  one.store.record(
    [],
    claimed.map((delivery) => moveTo(delivery.id, "waiting", later)),
  );
  const seen: string[] = [];
  const { claim, spreadOverdue } = one.store;
  one.store.claim = (...args) => {
    seen.push("claim");
    return claim(...args);
  };
  one.store.spreadOverdue = (...args) => {
    const moved = spreadOverdue(...args);
    seen.push(`${moved} spread`);
    return moved;
  };
  one.clock.advanceBy(100_000);
  one.scheduler.spreadOverdue();
  one.scheduler.kick();
  expect([seen, one.activity.isQuiet(true)]).toEqual([["1000 spread"], false]);
  await one.activity.whenQuiet();
  expect(seen.slice(0, 4)).toEqual(["1000 spread", "1000 spread", "500 spread", "claim"]);
  expect(one.count().waiting).toBeGreaterThan(2000);
});

test("one timer waits for the earliest due time, and moves when that does", async () => {
  const one = await startScheduler(503);
  const { id } = one.destination;
  one.store.commit([request(Array.from({ length: 3 }, () => ({ to: [id] })))]);
  const claimed = one.store.claim(id, startOfTime, 3).map((delivery) => delivery.id);
  const wait = (nth: number, ms: number): void =>
    one.store.record([], [moveTo(claimed[nth] as DeliveryId, "waiting", startOfTime + ms)]);
  const look = async (): Promise<number[]> => {
    one.scheduler.kick();
    await nextTurn();
    return one.clock.scheduled().map((at) => at - startOfTime);
  };
  expect(await look()).toEqual([]);
  wait(0, 5000);
  expect(await look()).toEqual([5000]);
  wait(1, 9000);
  expect(await look()).toEqual([5000]);
  wait(2, 1000);
  expect(await look()).toEqual([1000]);
  one.clock.advanceBy(1000);
  await until(() => one.receiver.requests.length === 1);
  await one.activity.whenQuiet();
  expect(one.clock.scheduled()[0]).toBe(startOfTime + 5000);
  one.configuration.deleteDestination(id);
  expect(await look()).toEqual([]);
  one.scheduler.kick();
  await one.scheduler.stop();
  expect(one.clock.scheduled()).toEqual([]);
});

test("a start queues what was being sent, and spaces out what is overdue, four a second, within a minute", async () => {
  for (const [count, last] of [
    [9, 2],
    [400, 60],
  ] as const) {
    const one = await startScheduler((response) => void response.socket?.pause());
    const { id } = one.destination;
    one.store.commit([request(Array.from({ length: count + 1 }, () => ({ to: [id] })))]);
    const claimed = one.store.claim(id, startOfTime, count + 1).slice(1);
    one.store.record(
      [],
      claimed.map((delivery) => moveTo(delivery.id, "waiting", startOfTime - 9000)),
    );
    one.scheduler.start();
    const dueAt = one.db
      .prepare(
        "SELECT next_attempt_at FROM deliveries WHERE next_attempt_at IS NOT NULL ORDER BY 1",
      )
      .pluck();
    const times = (dueAt.all() as number[]).map((at) => at - startOfTime);
    expect([times.length, one.count().queued]).toEqual([count, 1]);
    const seconds = times.map((at) => at / 1000);
    expect(seconds.at(-1)).toBe(last);
    if (count === 9) expect(seconds).toEqual([0, 1, 1, 1, 1, 2, 2, 2, 2]);
    await nextTurn();
    expect(one.count().queued).toBe(0);
  }
});

test("a stop gives attempts three seconds, records those that end, and nothing of those that do not", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 2,
  });
  one.commit(5);
  while (kept.length < 2) await nextTurn();
  let isOver = false;
  const stopped = one.scheduler.stop().then(() => (isOver = true));
  kept[0]?.();
  while (one.scheduler.attemptsMade === 0) {
    one.scheduler.kick();
    await nextTurn();
  }
  vi.advanceTimersByTime(2_999);
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
  expect([isOver, one.receiver.requests.length]).toEqual([false, 2]);
  vi.advanceTimersByTime(1);
  await stopped;
  expect(one.count()).toMatchObject({ delivered: 1, sending: 4 });
  expect([one.attempts(), one.activity.isQuiet(true), vi.getTimerCount() <= 1]).toEqual([
    1,
    true,
    true,
  ]);
});

test("a reset stops what is under way without a record, and what is sent afterwards is delivered", async () => {
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 1,
  });
  one.commit(3);
  await until(() => kept.length === 1);
  await one.scheduler.clear(() => one.store.clearMessages());
  await one.activity.whenQuiet();
  expect([one.count().sending, one.attempts(), one.scheduler.hasOwnWork()]).toEqual([0, 0, false]);
  await expect(
    one.scheduler.clear(() => {
      throw new Error("not empty");
    }),
  ).rejects.toThrow("not empty");
  one.receiver.answer = 200;
  one.commit(4);
  await until(() => one.count().delivered === 4);
  expect([one.reported, one.attempts()]).toEqual([[], 4]);
});

test("a reset makes room for other bodies than those that were under way", async () => {
  const one = await startScheduler(() => undefined);
  one.commit(1, JSON.stringify("x".repeat(33 * 1024 * 1024)));
  await until(() => one.count().sending === 1);
  await one.scheduler.clear(() => one.store.clearMessages());
  one.receiver.answer = 200;
  one.commit(1);
  await until(() => one.count().delivered === 1);
});
