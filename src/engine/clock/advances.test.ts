import { describe, expect, onTestFinished, test, vi } from "vitest";
import { openTestStore } from "../../store/store.fixture.ts";
import { Activity } from "./activity.ts";
import type { AdvanceProgress } from "./clock.ts";
import { midnight, startClock, useFakeTimers } from "./pipeline-clock.fixture.ts";

const hour = 3_600_000;

describe("an advance", () => {
  const work = {
    isPending: () => false,
    isWaiting: () => false,
    attemptsMade: () => 0,
    trouble: () => null,
  };

  test("says where it is ten times a second, with the attempts made since it began", async () => {
    useFakeTimers();
    const told: (AdvanceProgress | null)[] = [];
    let attempts = 5;
    const activity = new Activity();
    const options = {
      activity,
      work: { ...work, attemptsMade: () => attempts },
      onChange: (progress: AdvanceProgress | null) => void told.push(progress),
    };
    const clock = startClock(openTestStore(), options);
    clock.set("paused");
    told.splice(0);
    const busy = activity.begin();
    const advancing = clock.advance({ byMs: 1000 });
    await vi.advanceTimersByTimeAsync(99);
    expect([told, activity.isAdvancing]).toEqual([[], true]);
    await vi.advanceTimersByTimeAsync(1);
    attempts = 7;
    await vi.advanceTimersByTimeAsync(100);
    const from = { from: midnight, to: midnight + 1000, now: midnight };
    expect(told).toEqual([
      { ...from, attempts: 0 },
      { ...from, attempts: 2 },
    ]);
    expect(clock.state().advance).toEqual({ ...from, attempts: 2 });
    busy.end();
    expect(await advancing).toMatchObject({
      ran: { attempts: 2 },
      endedEarly: null,
      state: { now: midnight + 1000 },
    });
    expect([told.slice(2), activity.isAdvancing]).toEqual([[null], false]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("does not follow a due time beyond the year 3000, from which no step leads back", async () => {
    useFakeTimers();
    const pending = { ...work, isPending: () => true };
    const clock = startClock(openTestStore(), { work: pending });
    clock.set("paused");
    clock.schedule(Date.UTC(9999, 0), () => {});
    for (const to of ["next-due", "idle"] as const)
      expect(await clock.advance({ to })).toMatchObject({ state: { now: midnight } });
    expect(clock.state().nextDueAt).toBe(null);
    expect(await clock.advance({ byMs: hour })).toMatchObject({ state: { now: midnight + hour } });
    const last = Date.UTC(3000, 0);
    clock.schedule(last, () => {});
    expect(clock.state().nextDueAt).toBe(last);
    expect(await clock.advance({ to: "idle" })).toMatchObject({ state: { now: last } });
  });

  test("that could only wait for the store ends with what is wrong there", async () => {
    useFakeTimers();
    const problem = {
      problem: true,
      status: 503,
      code: "store_unavailable",
      message: "full",
    } as never;
    const activity = new Activity();
    activity.begin();
    const clock = startClock(openTestStore(), {
      activity,
      work: { ...work, trouble: () => problem },
    });
    const advancing = clock.advance({ to: "idle" });
    await vi.advanceTimersByTimeAsync(100);
    expect(await advancing).toBe(problem);
    expect([clock.state().advance, activity.isAdvancing, vi.getTimerCount()]).toEqual([
      null,
      false,
      0,
    ]);
  });

  test("to idle goes from due time to due time while anything is pending, and past background timers to none", async () => {
    let pending = 2;
    const clock = startClock(openTestStore(), { work: { ...work, isPending: () => pending > 0 } });
    clock.set("paused");
    const start = clock.now();
    const fired: number[] = [];
    const note = (): void => void fired.push(clock.now() - start);
    clock.schedule(start + 500, note, { background: true });
    for (const ms of [1000, 2000, 3000])
      clock.schedule(start + ms, () => {
        note();
        pending -= 1;
      });
    expect(await clock.advance({ to: "idle" })).toMatchObject({ state: { now: start + 2000 } });
    expect(fired).toEqual([500, 1000, 2000]);
    pending = 9;
    await clock.advance({ to: "idle" });
    expect(fired).toEqual([500, 1000, 2000, 3000]);
    clock.schedule(start + 9000, note, { background: true });
    const cancelled = clock.schedule(start + 9500, note);
    cancelled.cancel();
    cancelled.cancel();
    expect(await clock.advance({ to: "idle" })).toMatchObject({ state: { now: start + 3000 } });
    expect(await clock.advance({ to: "next-due" })).toMatchObject({ state: { now: start + 9000 } });
    expect(await clock.advance({ to: "next-due" })).toMatchObject({ state: { now: start + 9000 } });
    clock.schedule(start + 9100, note, { background: true }).cancel();
    clock.schedule(start + 9200, note);
    expect(await clock.advance({ to: "idle" })).toMatchObject({ state: { now: start + 9200 } });
  });

  test("to what is due next jumps once, and to nothing when nothing is", async () => {
    const clock = startClock(openTestStore());
    clock.set("paused");
    const start = clock.now();
    const fired: number[] = [];
    for (const ms of [1000, 1000, 2000])
      clock.schedule(start + ms, () => {
        fired.push(clock.now() - start);
        if (fired.length === 1) clock.schedule(start + 1500, () => void fired.push(1500));
      });
    await clock.advance({ to: "next-due" });
    expect([fired, clock.now() - start]).toEqual([[1000, 1000], 1000]);
    await clock.advance({ to: "next-due" });
    expect([fired.at(-1), clock.now() - start]).toEqual([1500, 1500]);
    await clock.advance({ byMs: 500 });
    expect([fired.at(-1), clock.state().nextDueAt]).toEqual([2000, null]);
    for (const to of ["next-due", "idle"] as const)
      expect(await clock.advance({ to })).toMatchObject({ state: { now: start + 2000 } });
  });

  test("begins where the one before has ended, and is forgotten once it has ended too", async () => {
    const clock = startClock(openTestStore());
    clock.set("paused");
    const start = clock.now();
    const both = await Promise.all([clock.advance({ byMs: 1000 }), clock.advance({ byMs: 500 })]);
    expect(both).toMatchObject([
      { state: { now: start + 1000 } },
      { state: { now: start + 1500 } },
    ]);
    const abort = vi.spyOn(AbortController.prototype, "abort");
    onTestFinished(() => abort.mockRestore());
    clock.cancelAdvance();
    expect(abort).not.toHaveBeenCalled();
  });

  test("never begins when its caller is already gone", async () => {
    const clock = startClock(openTestStore());
    clock.set("paused");
    const now = clock.now();
    expect(await clock.advance({ byMs: 1000 }, AbortSignal.abort())).toMatchObject({
      endedEarly: { code: "caller_gone" },
      state: { now, advance: null },
    });
  });

  test("may go to the end of the year 2999 and not beyond", async () => {
    const clock = startClock(openTestStore());
    clock.set("paused");
    const left = Date.UTC(3000, 0) - clock.now();
    expect(await clock.advance({ byMs: left + 1 })).toMatchObject({ status: 400 });
    expect(await clock.advance({ byMs: left })).toMatchObject({
      state: { now: Date.UTC(3000, 0) },
    });
  });

  test("leaves a running clock where it ended, and running from there", async () => {
    useFakeTimers();
    const clock = startClock(openTestStore());
    const advancing = clock.advance({ byMs: hour });
    await vi.advanceTimersByTimeAsync(0);
    await advancing;
    expect(clock.now()).toBe(midnight + hour);
    vi.setSystemTime(midnight + 10);
    expect(clock.now()).toBe(midnight + hour + 10);
  });
});
