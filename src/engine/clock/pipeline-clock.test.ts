import { afterEach, describe, expect, test, vi } from "vitest";
import type { DeliveryId } from "../../domain/ids.ts";
import {
  attempt,
  moveTo,
  openTestStore,
  request,
  type TestStore,
} from "../../store/store.fixture.ts";
import { Activity } from "./activity.ts";
import { midnight, newClock, startClock, useFakeTimers } from "./pipeline-clock.fixture.ts";

const hour = 3_600_000;

let wall = 0;

/** What the machine's clock shows, ahead of the real one. */
function setWall(aheadMs: number): void {
  if (wall === 0) {
    const real = Date.now;
    vi.spyOn(Date, "now").mockImplementation(() => real() + wall);
  }
  wall = aheadMs;
}

afterEach(() => {
  wall = 0;
  vi.restoreAllMocks();
});

describe("after a kill the clock is not behind what it has shown", () => {
  test.for([{ mode: "real" }, { mode: "faster", speed: 600 }, { mode: "paused" }] as const)(
    "when the machine's clock had jumped ahead and is back: $mode",
    async (set) => {
      const one = openTestStore();
      const clock = startClock(one);
      clock.set(set.mode, "speed" in set ? set.speed : undefined);
      const before = clock.now();
      setWall(hour);
      const shown = clock.now();
      if (set.mode !== "paused") expect(shown).toBeGreaterThanOrEqual(before + hour);
      setWall(1);
      expect(clock.now()).toBeGreaterThanOrEqual(shown);
      expect(startClock(one).now()).toBeGreaterThanOrEqual(shown);
    },
  );

  test("when the machine's clock had gone on for a while since the jump, and is far back at the start", () => {
    const one = openTestStore();
    const clock = startClock(one);
    for (const ahead of [hour, hour + 400, hour + 800, hour + 1200, hour + 1900]) {
      setWall(ahead);
      clock.now();
    }
    const shown = clock.now();
    setWall(-hour);
    expect(startClock(one).now()).toBeGreaterThanOrEqual(shown);
  });

  test("when the machine's clock was set back while it ran", () => {
    const one = openTestStore();
    const clock = startClock(one);
    const first = clock.now();
    setWall(-hour);
    const second = clock.now();
    expect(second).toBeGreaterThanOrEqual(first);
    expect(second).toBeLessThan(first + hour);
    setWall(-hour + 5000);
    const shown = clock.now();
    expect(shown).toBeGreaterThanOrEqual(second + 5000);
    setWall(-2 * hour);
    expect(startClock(one).now()).toBeGreaterThanOrEqual(shown);
  });

  test("when the machine's clock was set back while it was paused and moved ahead", async () => {
    const one = openTestStore();
    const clock = startClock(one);
    clock.now();
    clock.set("paused");
    await clock.advance({ byMs: 48 * hour });
    const shown = clock.now();
    setWall(-hour);
    clock.set("real");
    expect(clock.now()).toBeGreaterThanOrEqual(shown);
  });

  test("when the stored time is older than what is on record", () => {
    for (const write of [
      ({ store }: TestStore, at: number) => store.commit([{ ...request([{}]), receivedAt: at }]),
      ({ store }: TestStore, at: number) =>
        store.record([{ ...attempt(1 as DeliveryId, { status: 503 }), startedAt: at }], []),
      ({ store }: TestStore, at: number) =>
        store.record([], [{ ...moveTo(1 as DeliveryId, "waiting", at + 1), at }]),
    ]) {
      const one = openTestStore();
      one.store.commit([request([{ to: [1] }])]);
      const at = Date.now() + hour;
      write(one, at);
      one.store.saveClock({ now: Date.now() - hour, wallAt: Date.now(), mode: "paused", speed: 1 });
      expect(startClock(one).now()).toBeGreaterThanOrEqual(at);
    }
  });

  test("and goes on exactly where it stopped after a stop", () => {
    const one = openTestStore();
    setWall(1);
    const stopped = startClock(one);
    vi.spyOn(Date, "now").mockReturnValue(stopped.now() + 10);
    stopped.stop();
    const { now } = one.store.loadClock() ?? { now: 0 };
    expect(startClock(one).now()).toBe(now);
  });
});

test("a running clock is stored once a second of what it shows, and not when nobody looks", () => {
  const one = openTestStore();
  const clock = startClock(one);
  const saves = vi.spyOn(one.store, "saveClock");
  for (let ahead = 1; ahead <= 5000; ahead += 100) {
    setWall(ahead);
    clock.now();
  }
  expect(saves.mock.calls.length).toBeGreaterThanOrEqual(4);
  expect(saves.mock.calls.length).toBeLessThanOrEqual(6);
});

test("a mode that cannot be stored is not set", () => {
  const one = openTestStore();
  const clock = startClock(one);
  clock.set("faster", 10);
  one.db.exec(
    "CREATE TRIGGER refuse BEFORE UPDATE ON meta WHEN old.key = 'clock' BEGIN SELECT raise(ABORT, 'no room'); END",
  );
  expect(() => clock.set("faster", 60)).toThrow("no room");
  expect(clock.state()).toMatchObject({ mode: "faster", speed: 10 });
  expect(() => clock.set("paused")).toThrow("no room");
  expect(clock.state()).toMatchObject({ mode: "faster", speed: 10 });
  one.db.exec("DROP TRIGGER refuse");
  expect(clock.set("paused")).toMatchObject({ mode: "paused" });
});

describe("a start takes up the time that was stored", () => {
  const stored = { now: midnight - 7000, wallAt: midnight - 5000, mode: "real", speed: 1 } as const;

  test.for([
    ["real, after a stop", { ...stored, stopped: true }, midnight - 2000],
    ["real, after a kill", { ...stored }, midnight - 2000],
    ["real, after a kill a moment ago", { ...stored, wallAt: midnight - 400 }, midnight - 6000],
    [
      "real, with the machine's clock set back",
      { ...stored, wallAt: midnight + 5000, stopped: true },
      midnight - 7000,
    ],
    [
      "faster, which passed as slowly as the machine's while it was away",
      { ...stored, mode: "faster", speed: 20 },
      midnight + 18_000,
    ],
    [
      "faster, after a stop",
      { ...stored, mode: "faster", speed: 20, stopped: true },
      midnight - 2000,
    ],
    ["paused", { ...stored, mode: "paused" }, midnight - 7000],
  ] as const)("%s", ([, clock, now]) => {
    useFakeTimers();
    const one = openTestStore();
    one.store.saveClock(clock);
    const started = newClock(one);
    expect(started.now()).toBe(now);
    expect(started.state()).toMatchObject({
      mode: clock.mode,
      speed: clock.mode === "faster" ? 20 : 1,
    });
    expect(started.isRunning()).toBe(clock.mode !== "paused");
  });
});

describe("the time is stored", () => {
  test("ahead of what is shown, and only when it is shown: once a second, at any speed", () => {
    useFakeTimers();
    const one = openTestStore();
    const clock = startClock(one);
    const saves = vi.spyOn(one.store, "saveClock");
    vi.setSystemTime(midnight + 1000);
    clock.now();
    expect(saves).toHaveBeenCalledTimes(0);
    vi.setSystemTime(midnight + 1001);
    clock.now();
    clock.now();
    expect(saves).toHaveBeenCalledTimes(1);
    expect(one.store.loadClock()).toEqual({
      now: midnight + 1001,
      wallAt: midnight + 1001,
      mode: "real",
      speed: 1,
    });
    clock.set("faster", 60);
    saves.mockClear();
    vi.setSystemTime(midnight + 2001);
    clock.now();
    expect(saves).toHaveBeenCalledTimes(0);
    vi.setSystemTime(midnight + 2002);
    expect(clock.now()).toBe(midnight + 1001 + 60_060);
    expect(saves).toHaveBeenCalledTimes(1);
  });

  test("once a second by itself while it runs faster, and not in another mode or after the stop", () => {
    useFakeTimers();
    const one = openTestStore();
    const clock = startClock(one);
    const saves = vi.spyOn(one.store, "saveClock");
    vi.advanceTimersByTime(5000);
    expect(saves).toHaveBeenCalledTimes(0);
    clock.set("faster", 2);
    clock.set("faster", 3);
    saves.mockClear();
    vi.advanceTimersByTime(3000);
    expect(saves).toHaveBeenCalledTimes(3);
    clock.set("real");
    saves.mockClear();
    vi.advanceTimersByTime(3000);
    expect(saves).toHaveBeenCalledTimes(0);
    clock.set("faster", 2);
    clock.stop();
    expect(one.store.loadClock()).toMatchObject({ mode: "faster", speed: 2, stopped: true });
    expect(vi.getTimerCount()).toBe(0);
    vi.setSystemTime(midnight + hour);
    clock.now();
    expect(saves).toHaveBeenCalledTimes(3);
  });

  test("once a second after a start too, when it ran faster before", () => {
    useFakeTimers();
    const one = openTestStore();
    one.store.saveClock({ now: midnight, wallAt: midnight, mode: "faster", speed: 2 });
    startClock(one);
    const saves = vi.spyOn(one.store, "saveClock");
    vi.advanceTimersByTime(3000);
    expect(saves).toHaveBeenCalledTimes(3);
  });

  test("at each jump of an advance, and when it ends", async () => {
    const one = openTestStore();
    const clock = startClock(one);
    clock.set("paused");
    const before = clock.now();
    clock.schedule(before + 1000, () => undefined);
    await clock.advance({ byMs: 5000 });
    expect(one.store.loadClock()).toMatchObject({ now: before + 5000, mode: "paused" });
  });

  test("or why not is reported, and it is tried again after a second; the clock goes on", () => {
    useFakeTimers();
    const one = openTestStore();
    const reported: unknown[] = [];
    const clock = startClock(one, { report: (error) => reported.push(error) });
    const full = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    vi.spyOn(one.store, "saveClock").mockImplementationOnce(() => {
      throw full;
    });
    vi.setSystemTime(midnight + 1500);
    expect([clock.now(), reported]).toEqual([midnight + 1500, [full]]);
    vi.setSystemTime(midnight + 2500);
    expect([clock.now(), one.store.loadClock()?.now]).toEqual([midnight + 2500, midnight]);
    vi.setSystemTime(midnight + 2501);
    expect([clock.now(), one.store.loadClock()?.now]).toEqual([midnight + 2501, midnight + 2501]);
    expect(reported).toEqual([full]);
  });

  test("and a stop that cannot store it reports that", () => {
    const one = openTestStore();
    const reported: unknown[] = [];
    const clock = startClock(one, { report: (error) => reported.push(error) });
    const full = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
    vi.spyOn(one.store, "saveClock").mockImplementation(() => {
      throw full;
    });
    clock.stop();
    expect(reported).toEqual([full]);
  });

  test("and a jump that cannot be stored is not made", async () => {
    const one = openTestStore();
    const clock = startClock(one);
    clock.set("paused");
    const before = clock.now();
    vi.spyOn(one.store, "saveClock").mockImplementationOnce(() => {
      throw new Error("no room");
    });
    await expect(clock.advance({ byMs: 1000 })).rejects.toThrow("no room");
    expect(clock.state()).toMatchObject({ now: before, advance: null });
    expect(await clock.advance({ byMs: 1000 })).toMatchObject({ state: { now: before + 1000 } });
  });
});

test("a speed belongs to the mode that runs faster, which is ten times as fast without one", () => {
  useFakeTimers();
  const changes: unknown[] = [];
  const clock = startClock(openTestStore(), { onChange: (advance) => void changes.push(advance) });
  expect(clock.set("real", 2)).toMatchObject({ status: 400 });
  expect(clock.set("paused", 0)).toMatchObject({ status: 400 });
  expect(changes).toEqual([]);
  expect(clock.set("real", 1)).toMatchObject({ mode: "real", speed: 1 });
  expect(clock.set("faster")).toMatchObject({ mode: "faster", speed: 10 });
  expect(changes).toEqual([null, null]);
  vi.setSystemTime(midnight + 100);
  expect(clock.set("paused")).toEqual({
    now: midnight + 1000,
    mode: "paused",
    speed: 1,
    nextDueAt: null,
    advance: null,
  });
  vi.setSystemTime(midnight + 200);
  expect([clock.now(), clock.isRunning()]).toEqual([midnight + 1000, false]);
});

describe("back to real time", () => {
  test("the clock shows what the machine's does, also one that was set back, runs from there and is stored", () => {
    useFakeTimers();
    const one = openTestStore();
    const changes: unknown[] = [];
    const clock = startClock(one, { onChange: (advance) => void changes.push(advance) });
    clock.set("faster", 60);
    vi.advanceTimersByTime(60_000);
    expect(clock.now()).toBe(midnight + hour);
    const fired: number[] = [];
    clock.schedule(midnight + 3 * hour, () => void fired.push(clock.now()));
    changes.length = 0;
    vi.setSystemTime(midnight - hour);
    let isEmpty = false;
    clock.toRealTime(() => (isEmpty = true));
    const shown = { now: midnight - hour, mode: "real", speed: 1 };
    expect([isEmpty, changes]).toEqual([true, [null]]);
    expect(clock.state()).toMatchObject(shown);
    expect(one.store.loadClock()).toEqual({ ...shown, wallAt: midnight - hour });
    const saves = vi.spyOn(one.store, "saveClock");
    vi.advanceTimersByTime(1000);
    expect([clock.now(), saves.mock.calls.length]).toEqual([midnight - hour + 1000, 0]);
    vi.advanceTimersByTime(1);
    clock.now();
    expect(saves).toHaveBeenCalledTimes(1);
    // Nothing stores it by itself, as in the mode that runs faster.
    vi.advanceTimersByTime(5000);
    expect(saves).toHaveBeenCalledTimes(1);
  });

  test("what is due then fires then", async () => {
    useFakeTimers();
    const clock = startClock(openTestStore());
    clock.set("paused");
    const fired: number[] = [];
    clock.schedule(midnight + 5000, () => void fired.push(clock.now()));
    vi.setSystemTime(midnight + 1000);
    clock.toRealTime(() => {});
    await vi.advanceTimersByTimeAsync(3999);
    expect(fired).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toEqual([midnight + 5000]);
  });

  test("an advance under way ends, and a time that cannot be stored is reported", async () => {
    useFakeTimers();
    const one = openTestStore();
    const reported: unknown[] = [];
    const activity = new Activity();
    activity.begin();
    const clock = startClock(one, { activity, report: (error) => void reported.push(error) });
    const advancing = clock.advance({ byMs: hour });
    await vi.advanceTimersByTimeAsync(1);
    expect(clock.state().advance).not.toBeNull();
    clock.toRealTime(() => {
      vi.spyOn(one.store, "saveClock").mockImplementation(() => {
        throw new Error("no room");
      });
    });
    expect(await advancing).toMatchObject({ endedEarly: { code: "clock_set" } });
    expect([clock.state().advance, activity.isAdvancing]).toEqual([null, false]);
    expect(reported).toEqual([new Error("no room")]);
    vi.restoreAllMocks();
  });
});

test("while an advance waits, a running clock stands and nothing fires; it runs on when that is cancelled or the clock is set", async () => {
  for (const end of ["cancelled", "clock_set"] as const) {
    useFakeTimers();
    const activity = new Activity();
    const clock = startClock(openTestStore(), { activity });
    const fired: number[] = [];
    clock.schedule(midnight + 5000, () => void fired.push(clock.now()));
    const work = activity.begin();
    const advancing = clock.advance({ byMs: 1000 });
    await vi.advanceTimersByTimeAsync(6000);
    // The one that tells the progress.
    expect([fired, clock.now(), vi.getTimerCount()]).toEqual([[], midnight, 1]);
    if (end === "cancelled") expect(clock.cancelAdvance().advance).toBeNull();
    else clock.set("real");
    expect(await advancing).toMatchObject({ endedEarly: { code: end }, state: { now: midnight } });
    await vi.advanceTimersByTimeAsync(4999);
    expect(fired).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toEqual([midnight + 5000]);
    work.end();
    clock.schedule(midnight + hour, () => {});
    clock.set("paused");
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  }
});

test("a clock that stops ends its advances, fires nothing more and takes no other advance", async () => {
  useFakeTimers();
  const one = openTestStore();
  const activity = new Activity();
  const clock = startClock(one, { activity });
  let fired = 0;
  clock.schedule(midnight, () => void (fired += 1));
  clock.schedule(midnight, () => void (fired += 1));
  clock.schedule(midnight + 10, () => void (fired += 1));
  activity.begin();
  const both = [clock.advance({ byMs: 1000 }), clock.advance({ to: "idle" })];
  clock.endAdvances();
  clock.stop();
  const saves = vi.spyOn(one.store, "saveClock");
  for (const end of await Promise.all(both))
    expect(end).toMatchObject({ endedEarly: { code: "stopping" } });
  expect(await clock.advance({ byMs: 1 })).toMatchObject({ status: 409, code: "stopping" });
  await vi.advanceTimersByTimeAsync(1000);
  expect([fired, saves.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0, 0]);
});
