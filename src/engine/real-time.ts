/**
 * Real time, for what lives outside the pipeline's clock: deadlines of real sockets, durations, log
 * times, pacing. The only file beside the clock that uses the platform's timers.
 */

import { performance } from "node:perf_hooks";

export type RealTimer = { cancel(): void };

export function wallClockNow(): number {
  return Date.now();
}

export function monotonic(): number {
  return performance.now();
}

export function toMicroseconds(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}

/** Keeps the process alive until it fires or is cancelled. */
export function startTimer(ms: number, run: () => void): RealTimer {
  const timer = setTimeout(run, ms);
  return { cancel: () => clearTimeout(timer) };
}

/** Less is the usual unevenness of timers. */
const noticedStallMs = 50;

/** A deadline looks this often whether the process stood still. */
const deadlineStepMs = 250;

/**
 * The deadline of somebody else's answer. When a step of it fires late, this process did not run
 * for that long and could not read what had arrived: that time does not count, and the answer has
 * at least as much time again.
 */
export function startDeadline(ms: number, run: () => void): RealTimer {
  let timer: RealTimer;
  const wait = (leftMs: number): void => {
    const stepMs = Math.min(leftMs, deadlineStepMs);
    const due = monotonic() + stepMs;
    timer = startTimer(stepMs, () => {
      const lateMs = Math.max(0, monotonic() - due);
      const hasStalled = lateMs >= noticedStallMs;
      const nextMs = hasStalled
        ? Math.max(leftMs - stepMs, Math.min(lateMs, ms))
        : leftMs - stepMs - lateMs;
      if (nextMs > 0) wait(nextMs);
      else run();
    });
  };
  wait(ms);
  return { cancel: () => timer.cancel() };
}

/** For upkeep: never keeps the process alive. */
export function startIdleTimer(ms: number, run: () => void): RealTimer {
  const timer = setTimeout(run, ms);
  timer.unref();
  return { cancel: () => clearTimeout(timer) };
}

/** Long work is cut into slices, with a turn of the event loop after each. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Runs it once everything that has arrived at a socket by now is handled. The first turn may end a
 * poll that began earlier.
 */
export function runAfterPoll(run: () => void): void {
  setImmediate(() => setImmediate(run));
}

/**
 * Shares the turns of the event loop among pieces of work: a turn has room for this much work, or
 * for one larger piece. Null when a piece may run now; otherwise resolves, in order, when it may. The
 * caller must then run it at once.
 */
export function createTurnBudget(perTurn: number): (cost: number) => Promise<void> | null {
  const waiting: { cost: number; resolve: () => void }[] = [];
  let used = 0;
  let isScheduled = false;

  const fits = (cost: number): boolean => used === 0 || used + cost <= perTurn;
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    setImmediate(() => {
      isScheduled = false;
      used = 0;
      for (let next = waiting[0]; next !== undefined && fits(next.cost); next = waiting[0]) {
        waiting.shift();
        used += next.cost;
        next.resolve();
      }
      if (used > 0) schedule();
    });
  };

  return (cost) => {
    schedule();
    if (waiting.length > 0 || !fits(cost))
      return new Promise((resolve) => waiting.push({ cost, resolve }));
    used += cost;
    return null;
  };
}

/**
 * Returns a function that says how busy the event loop was since its last call: 0 for idle, 1 for
 * busy all the time.
 */
export function watchLoop(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}

/** The most that came within one second of real time. */
export function createPeak(now: () => number = monotonic): { note(): void; most(): number } {
  let second = -1;
  let count = 0;
  let most = 0;
  return {
    note() {
      const current = Math.floor(now() / 1000);
      if (current !== second) count = 0;
      second = current;
      count += 1;
      most = Math.max(most, count);
    },
    most: () => most,
  };
}
