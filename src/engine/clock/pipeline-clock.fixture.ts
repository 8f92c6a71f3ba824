/** A pipeline clock on a store, and the machine's time as a test sets it. */

import { onTestFinished, vi } from "vitest";
import type { TestStore } from "../../store/store.fixture.ts";
import { Activity } from "./activity.ts";
import { PipelineClock } from "./pipeline-clock.ts";

export const midnight = Date.UTC(2026, 10, 21);

/** Fires what the clock has set, with the machine's time moved as far. */
export function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now: midnight });
  onTestFinished(() => void vi.useRealTimers());
}

/** As a process that is started on what another one left; a kill is one that is never stopped. */
export function newClock(
  { store }: TestStore,
  options: Partial<ConstructorParameters<typeof PipelineClock>[0]> = {},
): PipelineClock {
  const clock = new PipelineClock({
    store,
    activity: new Activity(),
    work: {
      isPending: () => false,
      isWaiting: () => false,
      attemptsMade: () => 0,
      trouble: () => null,
    },
    onOverdue: () => {},
    onChange: () => {},
    report: (error) => {
      throw error;
    },
    ...options,
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

export function startClock(
  one: TestStore,
  options: Parameters<typeof newClock>[1] = {},
): PipelineClock {
  const clock = newClock(one, options);
  clock.start();
  return clock;
}
