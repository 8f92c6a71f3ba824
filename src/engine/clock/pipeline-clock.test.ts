import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { DeliveryId } from "../../domain/ids.ts";
import { attempt, moveTo, openTestStore, request, type TestStore } from "../../store/store.fixture.ts";
import { Activity } from "./activity.ts";
import { PipelineClock } from "./pipeline-clock.ts";

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

/** As a process that is started on what another one left; a kill is one that is never stopped. */
function newClock({ store }: TestStore): PipelineClock {
  const clock = new PipelineClock({
    store,
    activity: new Activity(),
    work: { isPending: () => false, isWaiting: () => false, attemptsMade: () => 0, trouble: () => null },
    onOverdue: () => {},
    onChange: () => {},
    report: (error) => {
      throw error;
    },
  });
  onTestFinished(() => {
    try {
      clock.stop();
    } catch {
      // The store may be closed by then; this is for the clock's timers.
    }
  });
  return clock;
}

function startClock(one: TestStore): PipelineClock {
  const clock = newClock(one);
  clock.start();
  return clock;
}

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

  test("when the stored time is older than what is on record", () => {
    for (const write of [
      ({ store }: TestStore, at: number) => store.commit([{ ...request([{}]), receivedAt: at }]),
      ({ store }: TestStore, at: number) => store.record([{ ...attempt(1 as DeliveryId, { status: 503 }), startedAt: at }], []),
      ({ store }: TestStore, at: number) => store.record([], [{ ...moveTo(1 as DeliveryId, "waiting", at + 1), at }]),
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

describe("what is due on a running clock fires", () => {
  /** Fires what the clock has set, with the machine's time moved as far. */
  function useFakeTimers(): void {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: Date.UTC(2026, 10, 21) });
    onTestFinished(() => void vi.useRealTimers());
  }

  test("when it was set before the start, and not before its time", async () => {
    useFakeTimers();
    const clock = newClock(openTestStore());
    const fired: number[] = [];
    clock.schedule(clock.now() + 5000, () => void fired.push(clock.now()));
    const start = clock.now();
    clock.start();
    await vi.advanceTimersByTimeAsync(4999);
    expect(fired).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toEqual([start + 5000]);
  });

  test("after an advance has gone by it, and when an earlier one is cancelled", async () => {
    useFakeTimers();
    const clock = newClock(openTestStore());
    clock.start();
    const start = clock.now();
    const fired: number[] = [];
    const note = (): void => void fired.push(clock.now() - start);
    clock.schedule(start + 30_000, note);
    const cancelled = clock.schedule(start + 20_000, note);
    const advanced = clock.advance({ byMs: 10_000 });
    await vi.advanceTimersByTimeAsync(0);
    await advanced;
    cancelled.cancel();
    const left = start + 30_000 - clock.now();
    await vi.advanceTimersByTimeAsync(left - 1);
    expect(fired).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toEqual([30_000]);
  });

  test("sooner when the clock is set to run faster, and not while it is paused", async () => {
    useFakeTimers();
    const clock = newClock(openTestStore());
    clock.start();
    let fired = 0;
    clock.schedule(clock.now() + 60_000, () => void (fired += 1));
    clock.set("paused");
    await vi.advanceTimersByTimeAsync(120_000);
    expect(fired).toBe(0);
    clock.set("faster", 60);
    await vi.advanceTimersByTimeAsync(999);
    expect(fired).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect(fired).toBe(1);
  });
});

test("a mode that cannot be stored is not set", () => {
  const one = openTestStore();
  const clock = startClock(one);
  clock.set("faster", 10);
  one.db.exec("CREATE TRIGGER refuse BEFORE UPDATE ON meta WHEN old.key = 'clock' BEGIN SELECT raise(ABORT, 'no room'); END");
  expect(() => clock.set("faster", 60)).toThrow("no room");
  expect(clock.state()).toMatchObject({ mode: "faster", speed: 10 });
  expect(() => clock.set("paused")).toThrow("no room");
  expect(clock.state()).toMatchObject({ mode: "faster", speed: 10 });
  one.db.exec("DROP TRIGGER refuse");
  expect(clock.set("paused")).toMatchObject({ mode: "paused" });
});
