/** The calls that concern the pipeline as a whole: settle, rates, reset. Created by `app.ts`. */

import type { Activity } from "./clock/activity.ts";
import type { Clock } from "./clock/clock.ts";
import type { Endpoints } from "./endpoint-pipeline.ts";
import type { Area, ChangeFeed, Changes, Pipeline } from "./pipeline.ts";
import type { DeliveryStore } from "./ports.ts";
import type { UpkeepStore } from "./store-ports.ts";
import { monotonic, startTimer } from "./real-time.ts";

type SettleOptions = {
  activity: Activity;
  clock: Clock;
  store: Pick<DeliveryStore, "countByState">;
  scheduler: { hasQueued(): boolean };
  changes: ChangeFeed;
};

/**
 * Waits until everything under way has ended. On a paused clock, what a test endpoint holds cannot end, and is not waited
 * for; what is queued behind it moves only when somebody moves the clock, and is waited for up to the timeout.
 */
export function createSettle({ activity, clock, store, scheduler, changes }: SettleOptions) {
  return async (timeoutMs: number): Promise<{ settled: boolean; queued: number; sending: number }> => {
    const { signal, abort } = limited(timeoutMs);
    const isSettled = (): boolean => activity.isQuiet(clock.isRunning()) && !scheduler.hasQueued();
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

const windowSeconds = 5;

type Rate = { add(n: number): void; perSecond(): number };

/** How many of something there were per second, over the last few seconds. */
export function createRate(): Rate {
  const slots = new Array<{ second: number; n: number }>(windowSeconds);
  const now = (): number => Math.floor(monotonic() / 1000);
  return {
    add(n) {
      const second = now();
      const slot = slots[second % windowSeconds];
      if (slot?.second === second) slot.n += n;
      else slots[second % windowSeconds] = { second, n };
    },
    perSecond() {
      const from = now() - windowSeconds;
      const sum = slots.reduce((total, slot) => (slot !== undefined && slot.second > from ? total + slot.n : total), 0);
      return Math.round((sum / windowSeconds) * 10) / 10;
    },
  };
}

const ofMessages: Area[] = [
  "messages",
  "deliveries",
  "unknown-keys",
  "profiles",
  "audiences",
  "computed-traits",
  "deletions",
  "suppressions",
];
const ofConfiguration: Area[] = ["sources", "destinations", "endpoints", "retry-profiles"];

type Reloading = { reload(): void };

type ResetOptions = {
  store: Pick<UpkeepStore, "clearMessages" | "clearEverything">;
  workspaces: { stop(): void };
  clients: { reset: (what: "messages" | "everything") => void };
  scheduler: { clear(empty: () => void): Promise<void> };
  configuration: Reloading;
  suppressions: Reloading;
  computations: Reloading;
  deletions: Reloading;
  endpoints: Pick<Endpoints, "list" | "clearReceived"> & Reloading;
  profiles: { kick(): void };
  changes: Changes;
};

/** Empties the pipeline: of messages and everything that belongs to them, or of the configuration too. The settings stay. */
export function createReset(options: ResetOptions): Pipeline["reset"] {
  const { store, workspaces, clients, scheduler, configuration, suppressions, computations, deletions, endpoints, profiles, changes } =
    options;
  return async (what) => {
    const isAll = what === "everything";
    workspaces.stop();
    clients.reset(what);
    await scheduler.clear(() => {
      if (isAll) store.clearEverything();
      else store.clearMessages();
    });
    for (const each of [configuration, suppressions, computations, deletions]) each.reload();
    for (const { id } of endpoints.list()) endpoints.clearReceived(id);
    if (isAll) endpoints.reload();
    profiles.kick();
    for (const area of isAll ? [...ofMessages, ...ofConfiguration] : ofMessages) changes.note(area, null);
  };
}
