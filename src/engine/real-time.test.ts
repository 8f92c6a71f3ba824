import { performance } from "node:perf_hooks";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createPeak,
  createTurnBudget,
  nextTurn,
  runAfterPoll,
  startDeadline,
  startIdleTimer,
  startTimer,
  toMicroseconds,
  watchLoop,
} from "./real-time.ts";

/** The turn of the event loop in which each piece was done, from 0. */
async function turnsOf(costs: number[], perTurn: number): Promise<number[]> {
  const take = createTurnBudget(perTurn);
  let turn = 0;
  let left = costs.length;
  const count = (): void => {
    turn += 1;
    if (left > 0) setImmediate(count);
  };
  setImmediate(count);
  const done = costs.map(async (cost) => {
    await take(cost);
    left -= 1;
    return turn;
  });
  return Promise.all(done);
}

test("pieces of work share the turns of the event loop, in order", async () => {
  expect(await turnsOf([5, 5, 5, 5, 1], 10)).toEqual([0, 0, 1, 1, 2]);
});

test("a piece waits behind those that came before it, and the last one that waits has its turn", async () => {
  expect(await turnsOf([8, 5, 1], 10)).toEqual([0, 1, 1]);
  expect(await turnsOf([1, 1, 1], 1)).toEqual([0, 1, 2]);
});

test("a piece that is larger than a turn has one of its own", async () => {
  expect(await turnsOf([30, 1, 1, 30, 30, 1], 10)).toEqual([0, 1, 1, 2, 3, 4]);
});

test("a turn that was not used up is no help to the next one, and nothing waits when nothing was done", async () => {
  const take = createTurnBudget(10);
  for (let n = 0; n < 3; n += 1) {
    await take(10);
    await nextTurn();
  }
  expect(take(10)).toBe(null);
  expect(take(1)).toBeInstanceOf(Promise);
});

describe("a deadline", () => {
  /** `after` lets milliseconds pass, and says how often it has ended. */
  function begin(ms = 100) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    onTestFinished(() => {
      clock.mockRestore();
      vi.useRealTimers();
    });
    let ends = 0;
    const deadline = startDeadline(ms, () => (ends += 1));
    /** So much for the timers, and so much more for the machine, before they could fire. */
    const after = (ms: number, lateMs = 0): number => {
      now += lateMs;
      for (let passed = 0; passed < ms; passed += 1) {
        now += 1;
        vi.advanceTimersByTime(1);
      }
      return ends;
    };
    return { deadline, after };
  }

  test("ends the wait, and not when it is cancelled", () => {
    const { after } = begin();
    expect([after(99), after(1), after(1000)]).toEqual([0, 1, 1]);
    const other = begin();
    other.deadline.cancel();
    expect([other.after(1000), vi.getTimerCount()]).toEqual([0, 0]);
  });

  test.each([
    [49, 0],
    [50, 50],
    [70, 70],
    [100, 100],
    [5000, 100],
  ])("that fires %i ms late waits for %i ms more", (lateMs, moreMs) => {
    const { deadline, after } = begin();
    expect(after(100, lateMs)).toBe(moreMs === 0 ? 1 : 0);
    if (moreMs === 0) return;
    expect([after(moreMs - 1), after(1)]).toEqual([0, 1]);
    deadline.cancel();
  });

  test("does not count the time for which the process stood still before it was due", () => {
    const { after } = begin(5000);
    expect([after(250), after(250, 4300)]).toEqual([0, 0]);
    expect([after(4499), after(1)]).toEqual([0, 1]);
  });

  test("leaves as much time again after a stall shortly before it is due", () => {
    const { after } = begin(1000);
    expect([after(250), after(250), after(250, 600)]).toEqual([0, 0, 0]);
    expect([after(599), after(1)]).toEqual([0, 1]);
  });

  test("counts all the time that a busy process takes", () => {
    const { after } = begin(1000);
    for (let step = 0; step < 3; step += 1) expect(after(250, 40)).toBe(0);
    expect([after(129), after(1)]).toEqual([0, 1]);
  });

  test("can be cancelled while it waits again", () => {
    const { deadline, after } = begin();
    after(100, 500);
    deadline.cancel();
    expect([after(1000), vi.getTimerCount()]).toEqual([0, 0]);
  });
});

test("a timer keeps the process alive until it is cancelled, and one for upkeep does not", () => {
  const alive = (): number =>
    process.getActiveResourcesInfo().filter((each) => each === "Timeout").length;
  const before = alive();
  const idle = startIdleTimer(3_600_000, () => {});
  expect(alive()).toBe(before);
  const timer = startTimer(3_600_000, () => {});
  expect(alive()).toBe(before + 1);
  timer.cancel();
  idle.cancel();
  expect(alive()).toBe(before);
});

test("timers fire after their time, once, and not when they are cancelled", () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  for (const start of [startTimer, startIdleTimer]) {
    let fired = 0;
    start(10, () => (fired += 1));
    start(5, () => (fired += 1)).cancel();
    vi.advanceTimersByTime(9);
    expect(fired).toBe(0);
    vi.advanceTimersByTime(100);
    expect(fired).toBe(1);
  }
});

test("what is to run after a poll runs in the turn after the next", async () => {
  let isOver = false;
  runAfterPoll(() => (isOver = true));
  await nextTurn();
  expect(isOver).toBe(false);
  await nextTurn();
  expect(isOver).toBe(true);
});

test("a duration is written in whole microseconds", () => {
  expect([1.2345, 1.2344, 0].map(toMicroseconds)).toEqual([1.235, 1.234, 0]);
});

test("how busy the loop was is of the time since the last call", () => {
  const all = [
    { idle: 0, active: 0, utilization: 0 },
    { idle: 10, active: 10, utilization: 0.5 },
    { idle: 10, active: 40, utilization: 0.8 },
  ];
  const real = performance.eventLoopUtilization.bind(performance);
  const clock = vi
    .spyOn(performance, "eventLoopUtilization")
    .mockImplementation((now, before) =>
      now === undefined ? (all.shift() as NonNullable<typeof now>) : real(now, before),
    );
  onTestFinished(() => clock.mockRestore());
  const busy = watchLoop();
  expect([busy(), busy()]).toEqual([0.5, 1]);
});

test("a peak is the most within one second, and stays", () => {
  let now = 500;
  const peak = createPeak(() => now);
  expect(peak.most()).toBe(0);
  for (let n = 0; n < 3; n += 1) peak.note();
  now = 1000;
  peak.note();
  peak.note();
  expect(peak.most()).toBe(3);
  peak.note();
  peak.note();
  expect(peak.most()).toBe(4);
});

test("a peak has no notes of the second before", () => {
  let now = 999;
  const peak = createPeak(() => now);
  peak.note();
  peak.note();
  now = 1999;
  peak.note();
  now = 2000;
  peak.note();
  expect(peak.most()).toBe(2);
});
