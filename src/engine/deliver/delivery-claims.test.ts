import { afterEach, expect, test, vi } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { moveTo, request, startOfTime } from "../../store/store.fixture.ts";
import { nextTurn } from "../real-time.ts";
import { startScheduler, type Running } from "./delivery-scheduler.fixture.ts";
import { bytesOfRound } from "./rounds.ts";

afterEach(() => void vi.useRealTimers());

/** Who claims, and how many it has room for. */
function watchLimits({ store }: Running): [destination: number, limit: number][] {
  const limits: [number, number][] = [];
  const { claim } = store;
  store.claim = (id, now, limit, room) => {
    limits.push([id, limit]);
    return claim(id, now, limit, room);
  };
  return limits;
}

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

test.each([
  [1, 192],
  [100, 40],
  [300, 16],
])("each of %i destinations with work has room for %i rounds", async (count, room) => {
  const one = await startScheduler(200);
  const ids = [one.destination.id];
  for (let nth = 2; nth <= count; nth += 1) {
    ids.push(one.addDestination().id);
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
  const ids = [one.destination.id, ...Array.from({ length: 3 }, () => one.addDestination().id)];
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
  const [a, b, c, d] = ids.map(Number) as [number, number, number, number];
  const batches = (to: number[], count: number): unknown =>
    store.commit([
      request(
        Array.from({ length: count * 600 }, () => ({
          mappedTo: to.map((id) => ({ to: id, key: "k", size: 600 })),
        })),
      ),
    ]);
  batches([a, b, c, d], 1);
  batches([a], 2);
  await looksAt(3);
  expect(claims.splice(0)).toEqual([
    [1, a, 2],
    [2, b, 1],
    [2, c, 1],
    [3, d, 1],
    [3, a, 1],
  ]);
  await one.activity.whenQuiet();
  claims.length = 0;
  const text = "x".repeat(2_500_000);
  store.commit([
    request([
      { to: [a], text },
      { to: [a], text },
      { to: [a, b], text },
      { to: [a, b], text },
    ]),
  ]);
  await looksAt(2);
  expect(claims.splice(0)).toEqual([
    [1, a, 4],
    [2, b, 2],
  ]);
  await one.activity.whenQuiet();
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

test("a turn claims 1,000 deliveries that are not batches", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 64 });
  const ids = [one.destination.id, ...Array.from({ length: 5 }, () => one.addDestination().id)];
  const last = ids.at(-1);
  one.store.commit([request(Array.from({ length: 200 }, () => ({ to: ids })))]);
  const claims: [destination: number, deliveries: number][] = [];
  const { claim } = one.store;
  one.store.claim = (id, ...more) => {
    const claimed = claim(id, ...more);
    claims.push([id, claimed.length]);
    return claimed;
  };
  one.scheduler.kick();
  await nextTurn();
  expect(claims.splice(0)).toEqual(ids.map((id) => [id, id === last ? 40 : 192]));
  await nextTurn();
  expect(claims).toEqual([[last, 152]]);
});

/** Two rounds of a destination, and a body of one byte, have as much as they may with this one. */
const large = 32 * 1024 * 1024 - 1 - 2 * bytesOfRound;

/** Deliveries whose text is `{}` have a body of this size. What waits in its lane is not sent. */
function withLargeBodies({ store }: Running): void {
  const body = Buffer.alloc(large);
  const { claim } = store;
  store.claim = (...args) =>
    claim(...args).map((delivery) => ({
      ...delivery,
      payload: delivery.payload.length === 2 ? body : delivery.payload,
    }));
}

test("a destination with 32 MB of rounds under way claims more, with another it does not, and after a reset it does", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  withLargeBodies(one);
  one.commit(1, "1");
  one.commit(1);
  await until(() => one.count().sending === 2);
  one.commit(1, "2");
  await until(() => one.count().sending === 3);
  one.configuration.updateSettings({ laneConnections: 3 });
  one.commit(1, "3");
  await nextTurn();
  await nextTurn();
  expect(one.count().queued).toBe(1);
  await one.scheduler.clear(() => one.store.clearMessages());
  one.receiver.answer = 200;
  one.commit(1, "4");
  await until(() => one.count().delivered === 1);
});

test("with 256 MB of rounds of all under way any claims more, and with another only one that has none", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  const eight = [one.destination.id, ...Array.from({ length: 7 }, () => one.addDestination().id)];
  const [ninth, tenth] = [one.addDestination().id, one.addDestination().id];
  withLargeBodies(one);
  one.commit(1, "1", "own", eight);
  one.commit(1, "{}", "own", eight);
  await until(() => one.count().sending === 16);
  const limits = watchLimits(one);
  const look = async (text: string, to: DestinationId[]): Promise<unknown> => {
    one.commit(1, text, "own", to);
    await nextTurn();
    await nextTurn();
    return limits.splice(0);
  };
  expect(await look("1", [one.destination.id])).toEqual([[one.destination.id, 1]]);
  expect(await look("1", [...eight, ninth])).toEqual([[ninth, 3]]);
  expect(await look("1", [ninth, tenth])).toEqual([[tenth, 3]]);
});

test("what is under way is looked for twice in a quarter of a second until none is left, and what fails there is reported", async () => {
  const one = await startScheduler(() => {});
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const left = [true, false, false];
  let looks = 0;
  one.store.recordOlderClaims = () => {
    looks += 1;
    const isLeft = left.shift();
    if (isLeft === undefined) throw new Error("odd");
    return isLeft;
  };
  const claimOne = async (): Promise<void> => {
    one.commit(1);
    await nextTurn();
  };
  const after = (ms: number): number => {
    vi.advanceTimersByTime(ms);
    return looks;
  };
  await claimOne();
  expect([after(124), after(1), after(124), after(1), after(1000)]).toEqual([0, 1, 1, 2, 2]);
  await claimOne();
  expect(after(100)).toBe(2);
  await claimOne();
  expect([after(25), after(100), after(1000)]).toEqual([3, 3, 3]);
  await claimOne();
  expect([after(125), one.reported]).toEqual([4, [new Error("odd")]]);
  left.push(false);
  await claimOne();
  expect(after(125)).toBe(5);
});

test("a stop leaves no timer that looks for what is under way", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const one = await startScheduler(200);
  one.commit(1);
  while (one.count().delivered === 0) await nextTurn();
  await one.scheduler.stop();
  one.changes.stop();
  expect(vi.getTimerCount()).toBe(0);
});

test("a stop writes what is still claimed, and reports when it cannot", async () => {
  const one = await startScheduler(200);
  const seen: string[] = [];
  one.store.recordClaims = () => {
    seen.push("claims");
    throw new Error("no");
  };
  await one.scheduler.stop();
  expect([seen, one.reported]).toEqual([["claims"], [new Error("no")]]);
});

test("an advance has own work until its deliveries are settled, and until an attempt beside a success has ended", async () => {
  const one = await startScheduler(503);
  expect(one.scheduler.hasOwnWork()).toBe(false);
  one.commit(1);
  await one.activity.whenQuiet();
  expect([one.count().waiting, one.scheduler.hasOwnWork()]).toEqual([1, true]);
  one.receiver.answer = 200;
  one.clock.advanceBy(3_600_000);
  await until(() => one.count().delivered === 1);
  await one.activity.whenQuiet();
  expect(one.scheduler.hasOwnWork()).toBe(false);
  const { id } = one.addDestination([one.receiver.url, one.receiver.url]);
  let free = (): void => {};
  one.receiver.answer = (response, _, count) => {
    if (count % 2 === 0) free = () => void response.end();
    else response.end();
  };
  one.commit(1, "{}", "own", [id]);
  await until(() => one.count().delivered === 2);
  expect([one.count().sending, one.scheduler.hasOwnWork()]).toEqual([0, true]);
  free();
  await one.activity.whenQuiet();
  expect(one.scheduler.hasOwnWork()).toBe(false);
});

test("own work waits for a place while there is room or a connection will be free, and not for what only the clock moves", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  const { id, webhooks } = one.addDestination([one.receiver.url, one.receiver.url]);
  const waits = (): boolean => one.scheduler.hasOwnWaiting();
  const { register } = one.holds;
  const holds: ((isHeld: boolean) => void)[] = [];
  one.holds.register = (address, port, serverPort, exchange) => {
    holds.push((isHeld) => (isHeld ? exchange.hold(startOfTime) : exchange.release(startOfTime)));
    return register.call(one.holds, address, port, serverPort, exchange);
  };
  one.activity.beginAdvance();
  one.commit(3, "{}", "arrival", [id]);
  await until(() => one.receiver.requests.length === 2);
  expect([webhooks.length, holds.length, waits()]).toEqual([2, 2, false]);
  one.commit(1, "{}", "own", [id]);
  expect(waits()).toBe(true);
  await nextTurn();
  expect([one.count().queued, waits()]).toEqual([1, true]);
  holds[0]?.(true);
  expect(waits()).toBe(true);
  holds[1]?.(true);
  expect(waits()).toBe(false);
  one.configuration.updateSettings({ laneConnections: 2 });
  expect(waits()).toBe(true);
  one.configuration.updateDestination(id, { enabled: false });
  expect(waits()).toBe(false);
  one.configuration.updateDestination(id, { enabled: true });
  one.configuration.updateSettings({ laneConnections: 1 });
  holds[1]?.(false);
  expect(waits()).toBe(true);
});

test("room for one delivery more is enough to wait for, and in its lane it waits for what moves", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  let hold = (_isHeld: boolean): void => {};
  one.holds.register = (_address, _port, _serverPort, exchange) => {
    hold = (isHeld) => (isHeld ? exchange.hold(startOfTime) : exchange.release(startOfTime));
    return () => {};
  };
  one.activity.beginAdvance();
  one.commit(2, "{}", "arrival");
  await until(() => one.receiver.requests.length === 1);
  expect([one.scheduler.hasOwnWork(), one.scheduler.hasOwnWaiting()]).toEqual([false, false]);
  hold(true);
  one.commit(1);
  expect([one.scheduler.hasOwnWork(), one.scheduler.hasOwnWaiting()]).toEqual([true, true]);
  await nextTurn();
  expect([one.count().queued, one.scheduler.hasOwnWaiting()]).toEqual([0, false]);
  hold(false);
  expect([one.scheduler.hasOwnWork(), one.scheduler.hasOwnWaiting()]).toEqual([true, true]);
});

test("it looks again at once only while there is room for what could be claimed", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  let looks = 0;
  const { nextDueAt } = one.store;
  one.store.nextDueAt = (...args) => {
    looks += 1;
    return nextDueAt(...args);
  };
  const looksAfter = async (act: () => void): Promise<number> => {
    looks = 0;
    act();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return looks;
  };
  expect(await looksAfter(() => one.commit(3))).toBe(1);
  await until(() => one.receiver.requests.length === 1);
  expect(await looksAfter(() => one.commit(1))).toBe(1);
  const { claim } = one.store;
  one.store.claim = (id, now, _limit, room) => claim(id, now, 1, room);
  one.configuration.updateSettings({ laneConnections: 2 });
  expect(await looksAfter(() => one.commit(2))).toBe(3);
  expect(one.count()).toMatchObject({ sending: 6, queued: 0 });
});

test("only what waits for a connection or could be claimed is queued: not what is sent, disabled or due later", async () => {
  const one = await startScheduler(() => {}, { laneConnections: 1 });
  const isQueued = (): boolean => one.scheduler.hasQueued();
  const { id } = one.addDestination();
  one.commit(1);
  expect(isQueued()).toBe(true);
  await until(() => one.receiver.requests.length === 1);
  expect(isQueued()).toBe(false);
  one.configuration.updateDestination(id, { enabled: false });
  one.commit(1, "{}", "own", [id]);
  await nextTurn();
  expect([one.count().queued, isQueued()]).toEqual([1, false]);
  one.commit(1);
  await nextTurn();
  expect([one.count().queued, isQueued()]).toEqual([1, true]);
  const other = await startScheduler(200);
  other.store.commit([request([{ to: [other.destination.id] }])]);
  const [claimed] = other.store.claim(other.destination.id, startOfTime, 1);
  if (claimed === undefined) throw new Error("nothing was claimed");
  other.store.record([], [moveTo(claimed.id, "waiting", startOfTime + 10)]);
  expect(other.scheduler.hasQueued()).toBe(false);
  const { id: later } = other.addDestination();
  other.store.commit([request([{ to: [later] }])]);
  expect(other.scheduler.hasQueued()).toBe(true);
});
