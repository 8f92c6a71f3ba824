/**
 * A clock that moves only when a test says so, for what needs a clock and not the pipeline's. Its
 * real time moves with it: when the machine stalls, no slice of work ends early.
 */

import type { Clock } from "../../src/engine/clock/clock.ts";

type SteppedClock = Clock & {
  /** Runs what is due until then, each at its time. */
  advanceBy(ms: number): void;
  /** The times of what is scheduled, earliest first. */
  scheduled(): number[];
};

export function createSteppedClock(start = Date.UTC(2026, 10, 21)): SteppedClock {
  let now = start;
  const timers = new Set<{ at: number; run: () => void }>();
  const earliest = () => [...timers].toSorted((one, other) => one.at - other.at)[0];
  return {
    now: () => now,
    monotonic: () => now,
    isRunning: () => false,
    schedule(at, run) {
      const timer = { at: Math.max(at, now), run };
      timers.add(timer);
      return { cancel: () => timers.delete(timer) };
    },
    advanceBy(ms) {
      const target = now + ms;
      for (let timer = earliest(); timer !== undefined && timer.at <= target; timer = earliest()) {
        timers.delete(timer);
        now = timer.at;
        timer.run();
      }
      now = target;
    },
    scheduled: () => [...timers].map(({ at }) => at).toSorted((one, other) => one - other),
  };
}
