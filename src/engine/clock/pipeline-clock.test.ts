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
function startClock({ store }: TestStore): PipelineClock {
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
  clock.start();
  onTestFinished(() => {
    try {
      clock.stop();
    } catch {
      // The store may be closed by then; this is for the clock's timers.
    }
  });
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
