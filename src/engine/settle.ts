/**
 * Whether all that is under way has come to rest. On a paused clock what a test endpoint holds cannot end, and is not waited
 * for; what is queued behind it can only go on when somebody moves the clock, so that this is waited for up to the timeout.
 */

import type { Activity } from "./clock/activity.ts";
import type { Clock } from "./clock/clock.ts";
import type { ChangeFeed } from "./pipeline.ts";
import type { DeliveryStore } from "./ports.ts";
import { startTimer } from "./wall.ts";

type SettleOptions = {
  activity: Activity;
  clock: Clock;
  store: Pick<DeliveryStore, "countByState">;
  station: { hasQueued(): boolean };
  changes: ChangeFeed;
};

export function createSettle({ activity, clock, store, station, changes }: SettleOptions) {
  return async (timeoutMs: number): Promise<{ settled: boolean; queued: number; sending: number }> => {
    const { signal, abort } = limited(timeoutMs);
    const isSettled = (): boolean => activity.isQuiet(clock.isRunning()) && !station.hasQueued();
    try {
      for (;;) {
        await activity.whenQuiet({ includeHeld: clock.isRunning(), signal });
        if (isSettled() || signal.aborted) break;
        await nextChange(changes, signal);
      }
    } finally {
      abort();
    }
    const { queued, sending } = store.countByState();
    return { settled: isSettled(), queued, sending };
  };
}

function limited(timeoutMs: number): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  const timer = startTimer(timeoutMs, () => controller.abort());
  return {
    signal: controller.signal,
    abort() {
      timer.cancel();
      controller.abort();
    },
  };
}

function nextChange(changes: ChangeFeed, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unsubscribe();
      resolve();
    };
    const unsubscribe = changes.subscribe(done);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done, { once: true });
  });
}
