/**
 * Real time, for what lives outside the pipeline's clock: deadlines of real sockets, durations, log times, pacing.
 * Together with the clock itself, the only place that touches the platform's timers.
 */

import { performance } from "node:perf_hooks";

export type WallTimer = { cancel(): void };

export function wallNow(): number {
  return Date.now();
}

export function monotonic(): number {
  return performance.now();
}

/** Keeps the process alive until it has fired or is cancelled. */
export function startTimer(ms: number, run: () => void): WallTimer {
  const timer = setTimeout(run, ms);
  return { cancel: () => clearTimeout(timer) };
}

/** For upkeep: never keeps the process alive. */
export function startIdleTimer(ms: number, run: () => void): WallTimer {
  const timer = setTimeout(run, ms);
  timer.unref();
  return { cancel: () => clearTimeout(timer) };
}

/** Work that is long is cut into slices, with a turn of the event loop after each. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Runs it once everything that had arrived at a socket by now is handled. The first turn may be the end of a poll that began earlier. */
export function runAfterPoll(run: () => void): void {
  setImmediate(() => setImmediate(run));
}

/**
 * Pieces of work share the turns of the event loop: a turn has so much of it, or one larger piece. Resolves, in order, when the piece
 * may be done, which must be at once.
 */
export function createTurnBudget(perTurn: number): (cost: number) => Promise<void> {
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
    if (waiting.length > 0 || !fits(cost)) return new Promise((resolve) => waiting.push({ cost, resolve }));
    used += cost;
    return Promise.resolve();
  };
}

/** How much of the time since it was asked last the event loop was at work: 0 for none, 1 for all of it. */
export function watchLoop(): () => number {
  let before = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  };
}
