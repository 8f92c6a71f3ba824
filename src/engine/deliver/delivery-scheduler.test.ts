import { afterEach, expect, test, vi } from "vitest";
import { answering, closed, ok, stopAll } from "../../../test/support/sending.ts";
import { until } from "../../../test/support/running-app.ts";
import type { DeliveryId } from "../../domain/ids.ts";
import { expectConsistent, moveTo, request, startOfTime } from "../../store/store.fixture.ts";
import { nextTurn } from "../real-time.ts";
import { startScheduler, type Running } from "./delivery-scheduler.fixture.ts";

afterEach(() => {
  vi.useRealTimers();
  return stopAll();
});

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
  const begin = vi.spyOn(one.activity, "begin");
  for (const origin of ["arrival", "own", "arrival", "own"] as const) one.scheduler.kick(origin);
  expect(begin).toHaveBeenCalledTimes(2);
  await nextTurn();
  one.activity.endAdvance();
  begin.mockClear();
  for (let nth = 0; nth < 3; nth += 1) one.scheduler.kick("arrival");
  expect(begin).toHaveBeenCalledTimes(1);
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

test("each overdue delivery has its attempt, however soon its window ends", async () => {
  const one = await startScheduler(503);
  const windowMs = 4 * 3_600_000;
  one.commit(100);
  await one.activity.whenQuiet();
  const due = startOfTime + windowMs - 6000;
  for (let id = 1; id <= 100; id += 1)
    one.store.record([], [moveTo(id as DeliveryId, "waiting", due)]);
  one.clock.advanceBy(windowMs - 5000);
  one.scheduler.spreadOverdue();
  for (let ms = 0; ms <= 60_000; ms += 1000, one.clock.advanceBy(1000))
    await one.activity.whenQuiet();
  expect([one.count().expired, one.attempts()]).toEqual([100, 200]);
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

test("nothing is sent before the start, also when messages arrive, and then each of them once", async () => {
  const one = await startScheduler(200, {}, false);
  one.commit(2);
  for (let turn = 0; turn < 5; turn += 1) await nextTurn();
  expect([one.count().queued, one.activity.isQuiet(true)]).toEqual([2, true]);
  one.scheduler.start();
  await until(() => one.count().delivered === 2);
  expect(one.receiver.requests).toHaveLength(2);
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
  one.changes.stop();
  expect([one.attempts(), one.activity.isQuiet(true), vi.getTimerCount()]).toEqual([1, true, 0]);
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

test("a reset that the store refuses stops nothing", async () => {
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 1,
  });
  one.commit(2);
  await until(() => kept.length === 1);
  const refused = one.scheduler.clear(() => {
    throw full();
  });
  await expect(refused).rejects.toThrow("full");
  one.receiver.answer = 200;
  kept[0]?.();
  await until(() => one.count().delivered === 2);
  expect([one.receiver.requests.length, one.attempts(), one.reported]).toEqual([2, 2, []]);
});

test("a start queues interrupted batches until none is left, a thousand messages in a turn", async () => {
  const one = await startScheduler(() => {});
  const { id } = one.destination;
  const mappedTo = [{ to: id, key: "k", size: 1000 }];
  one.store.commit([request(Array.from({ length: 2000 }, () => ({ mappedTo })))]);
  expect(one.store.claim(id, startOfTime, 9)).toHaveLength(2);
  const queued: number[] = [];
  const { requeueInterrupted } = one.store;
  one.store.requeueInterrupted = (...args) => {
    queued.push(requeueInterrupted(...args));
    return queued.at(-1) as number;
  };
  one.scheduler.start();
  expect(queued).toEqual([1]);
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(queued).toEqual([1, 1, 0]);
});

test("a start that cannot go on reports why, unless the store does, and sends what is queued", async () => {
  for (const [error, reported] of [
    [new Error("odd"), [new Error("odd")]],
    [full(), []],
  ] as const) {
    const one = await startScheduler(200);
    one.store.commit([request([{ to: [one.destination.id] }])]);
    let slices = 0;
    one.store.spreadOverdue = () => {
      slices += 1;
      if (slices === 2) throw error;
      return 1000;
    };
    one.scheduler.spreadOverdue();
    await one.activity.whenQuiet();
    expect([slices, one.reported, one.count().delivered]).toEqual([2, reported, 1]);
  }
});

test("a stop while overdue deliveries are spread spreads no more of them", async () => {
  const one = await startScheduler(200);
  let slices = 0;
  one.store.spreadOverdue = () => {
    slices += 1;
    return 1000;
  };
  one.scheduler.spreadOverdue();
  await nextTurn();
  await nextTurn();
  await one.scheduler.stop();
  const before = slices;
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect([slices, one.activity.isQuiet(true)]).toEqual([before, true]);
});

test("while results cannot be recorded, nothing of a deleted destination is cancelled", async () => {
  const one = await startScheduler(200);
  one.commit(1);
  const { record } = one.store;
  one.store.record = () => {
    throw new Error("odd");
  };
  await until(() => one.reported.length === 1);
  one.store.commit([request([{ to: [one.destination.id] }])]);
  one.configuration.deleteDestination(one.destination.id);
  for (let turn = 0; turn < 3; turn += 1) {
    one.scheduler.kick();
    await nextTurn();
  }
  expect(one.reported).toHaveLength(1);
  one.store.record = record;
  one.scheduler.kick();
  await until(() => one.count().cancelled === 1);
  expect(one.count()).toMatchObject({ delivered: 1, queued: 0 });
});

test("a turn cancels one slice of what deleted destinations have", async () => {
  const one = await startScheduler(200);
  const ids = [one.destination.id, one.addDestination().id];
  one.store.commit([request(Array.from({ length: 201 }, () => ({ to: ids })))]);
  for (const id of ids) one.configuration.deleteDestination(id);
  one.scheduler.kick();
  const cancelled: number[] = [];
  for (let turn = 0; turn < 5; turn += 1) {
    await nextTurn();
    cancelled.push(one.count().cancelled);
  }
  expect(cancelled).toEqual([200, 201, 401, 402, 402]);
});

test("the connections of a webhook that is not configured any more are closed, once its attempts have ended", async () => {
  const one = await startScheduler(200);
  const [idle, busy] = [await answering(ok), await answering("HTTP/1.1 200 OK\r\n")];
  const { id } = one.addDestination([idle, busy].map(({ port }) => `http://127.0.0.1:${port}/`));
  one.commit(1, "{}", "own", [id]);
  await until(() => one.count().delivered === 1 && busy.received[0]?.endsWith("{}"));
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const ends = [closed(idle.sockets[0]), closed(busy.sockets[0])];
  one.configuration.deleteDestination(id);
  one.scheduler.onConfigurationChanged();
  await ends[0];
  one.scheduler.kick();
  await nextTurn();
  expect(one.activity.isQuiet(true)).toBe(false);
  busy.sockets[0]?.write("Keep-Alive: timeout=60\r\nContent-Length: 0\r\n\r\n");
  await ends[1];
  expect([idle.sockets.length, busy.sockets.length]).toEqual([1, 1]);
});

test("a stop closes the connections that are kept, and leaves no timer", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const one = await startScheduler(200);
  const there = await answering(ok);
  const { id } = one.addDestination([`http://127.0.0.1:${there.port}/`]);
  one.commit(1, "{}", "own", [id]);
  while (one.count().delivered === 0) await nextTurn();
  const end = closed(there.sockets[0]);
  await one.scheduler.stop();
  one.changes.stop();
  expect(vi.getTimerCount()).toBe(0);
  await end;
});

test("a stop waits for an attempt that a test endpoint holds only while the clock runs", async () => {
  for (const isRunning of [true, false]) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let free = (): void => {};
    const one = await startScheduler((response) => (free = () => void response.end()));
    one.clock.isRunning = () => isRunning;
    let release = (): void => {};
    one.holds.register = (_address, _port, _serverPort, exchange) => {
      setImmediate(() => exchange.hold(startOfTime));
      release = () => exchange.release(startOfTime);
      return () => {};
    };
    one.commit(1);
    while (one.receiver.requests.length === 0) await nextTurn();
    let isOver = false;
    const stopped = one.scheduler.stop().then(() => (isOver = true));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(isOver).toBe(!isRunning);
    release();
    free();
    await stopped;
    one.changes.stop();
    expect([one.count().delivered, vi.getTimerCount()]).toEqual([isRunning ? 1 : 0, 0]);
    vi.useRealTimers();
  }
});

test("a reset counts what has ended before it, and forgets its records", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()));
  one.commit(2);
  while (kept.length < 2) await nextTurn();
  kept[0]?.();
  // Its record waits for others.
  while (one.scheduler.underWay().length === 2) await nextTurn();
  expect(one.attempts()).toBe(0);
  await one.scheduler.clear(() => one.store.clearMessages());
  expect([one.attempts(), one.scheduler.attemptsMade, one.scheduler.underWay()]).toEqual([
    1,
    1,
    [],
  ]);
  await nextTurn();
  expect([one.activity.isQuiet(true), one.reported]).toEqual([true, []]);
});

test("after a reset while results could not be recorded, what comes next is sent", async () => {
  const one = await startScheduler(200);
  const { record } = one.store;
  one.store.record = () => {
    throw full();
  };
  one.commit(1);
  await until(() => one.reported.length === 1);
  await one.scheduler.clear(() => one.store.clearMessages());
  one.store.record = record;
  one.commit(1);
  await until(() => one.count().delivered === 1);
  expect([one.attempts(), one.receiver.requests.length]).toEqual([1, 2]);
});
