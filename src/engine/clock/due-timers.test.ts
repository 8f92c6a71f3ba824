/** What fires on the pipeline's clock, and when. */

import { describe, expect, test, vi } from "vitest";
import { openTestStore } from "../../store/store.fixture.ts";
import { Activity } from "./activity.ts";
import { midnight, newClock, startClock, useFakeTimers } from "./pipeline-clock.fixture.ts";

const hour = 3_600_000;

describe("what is due on a running clock fires", () => {
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

describe("what was due while nothing ran", () => {
  test.for([
    [30_000, 0],
    [30_001, 1],
  ] as const)(
    "is overdue when it was missed by more than half a minute: %d ms",
    async ([missedMs, times]) => {
      useFakeTimers();
      const told: string[] = [];
      const clock = startClock(openTestStore(), { onOverdue: () => void told.push("overdue") });
      clock.schedule(midnight + 1000, () => void told.push("fired"));
      vi.setSystemTime(midnight + missedMs);
      await vi.advanceTimersByTimeAsync(1000);
      await new Promise((resolve) => setImmediate(resolve));
      expect(told).toEqual([...Array.from({ length: times }, () => "overdue"), "fired"]);
    },
  );

  test("is missed by real time: a clock that runs faster is not late for being ahead", async () => {
    useFakeTimers();
    const told: string[] = [];
    const clock = startClock(openTestStore(), { onOverdue: () => void told.push("overdue") });
    clock.set("faster", 10);
    clock.schedule(midnight + 10_000, () => void told.push("fired"));
    vi.setSystemTime(midnight + 20_000);
    await vi.advanceTimersByTimeAsync(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(told).toEqual(["fired"]);
  });

  test("fires all the same when it could not be spread out, which is reported", async () => {
    useFakeTimers();
    const reported: unknown[] = [];
    let fired = 0;
    const refuse = (): void => {
      throw new Error("the store refuses");
    };
    const clock = startClock(openTestStore(), {
      onOverdue: refuse,
      report: (error) => reported.push(error),
    });
    clock.schedule(midnight + 1000, () => void (fired += 1));
    vi.setSystemTime(midnight + hour);
    await vi.advanceTimersByTimeAsync(1000);
    await new Promise((resolve) => setImmediate(resolve));
    expect([fired, reported]).toEqual([1, [new Error("the store refuses")]]);
  });

  test("is looked for once a minute, because a machine's sleep stops its timers", async () => {
    useFakeTimers();
    const clock = startClock(openTestStore());
    let fired = 0;
    clock.schedule(midnight + 10 * hour, () => void (fired += 1));
    await vi.advanceTimersByTimeAsync(1000);
    vi.setSystemTime(midnight + 11 * hour);
    await vi.advanceTimersByTimeAsync(58_999);
    expect(fired).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    await new Promise((resolve) => setImmediate(resolve));
    expect(fired).toBe(1);
  });
});

test("what is due fires in its order, what fails is reported, and all of it is one piece of work", async () => {
  useFakeTimers();
  const activity = new Activity();
  const reported: unknown[] = [];
  const clock = startClock(openTestStore(), { activity, report: (error) => reported.push(error) });
  clock.set("paused");
  const fired: string[] = [];
  const at = (ms: number, name: string) =>
    clock.schedule(clock.now() + ms, () => void fired.push(name));
  at(-1, "second");
  at(-5, "first");
  clock.schedule(clock.now() - 3, () => {
    throw new Error("odd");
  });
  at(-1, "third").cancel();
  at(1, "later");
  clock.schedule(clock.now(), () => {
    fired.push("last");
    at(0, "of its own");
  });
  expect(activity.isQuiet(true)).toBe(false);
  await activity.whenQuiet();
  expect([fired, reported]).toEqual([
    ["first", "second", "last", "of its own"],
    [new Error("odd")],
  ]);
  expect(clock.state().nextDueAt).toBe(clock.now() + 1);
});

test("nothing fires after a stop, and a stop in the middle of what is due ends it there", async () => {
  useFakeTimers();
  const clock = startClock(openTestStore());
  const fired: string[] = [];
  clock.schedule(clock.now(), () => {
    fired.push("one");
    clock.stop();
  });
  clock.schedule(clock.now(), () => void fired.push("other"));
  await vi.advanceTimersByTimeAsync(0);
  await new Promise((resolve) => setImmediate(resolve));
  clock.schedule(clock.now(), () => void fired.push("later"));
  await new Promise((resolve) => setImmediate(resolve));
  expect([fired, vi.getTimerCount()]).toEqual([["one"], 0]);
});
