/** What concerns the pipeline as a whole: settle, reset, retention. Created by `app.ts`. */

import type { Activity } from "./clock/activity.ts";
import type { Clock } from "./clock/clock.ts";
import type { Endpoints } from "./endpoint-pipeline.ts";
import type { Area, ChangeFeed, Changes, Pipeline } from "./pipeline.ts";
import type { DeliveryStore } from "./ports.ts";
import type { UpkeepStore } from "./store-ports.ts";
import {
  createTurnBudget,
  startTimer,
  monotonic,
  nextTurn,
  startIdleTimer,
  wallClockNow,
  type RealTimer,
} from "./real-time.ts";
import type { Settings } from "../domain/configuration.ts";

type SettleOptions = {
  activity: Activity;
  clock: Clock;
  store: Pick<DeliveryStore, "countByState">;
  scheduler: { hasQueued(): boolean };
  changes: ChangeFeed;
  /** Hookyard stops: nobody waits any longer. */
  ending: AbortSignal;
};

/** With two hundred destinations, each of them takes a millisecond. */
const callersPerTurn = 20;

/**
 * Waits until all work in progress has ended. On a paused clock, what a test endpoint holds cannot
 * end, and is not waited for; what is queued behind it moves only when somebody moves the clock,
 * and is waited for up to the timeout.
 */
export function createSettle({
  activity,
  clock,
  store,
  scheduler,
  changes,
  ending,
}: SettleOptions) {
  const turn = createTurnBudget(callersPerTurn);
  return async (
    timeoutMs: number,
  ): Promise<{ settled: boolean; queued: number; sending: number }> => {
    const { signal, abort } = limited(timeoutMs, ending);
    // On a fast clock the next retry may be due a moment later.
    let settled = false;
    try {
      for (;;) {
        await activity.whenQuiet({ includeHeld: clock.isRunning(), signal });
        if (!signal.aborted) await turn(1);
        const isQuiet = activity.isQuiet(clock.isRunning());
        settled = isQuiet && !scheduler.hasQueued();
        if (settled || signal.aborted) break;
        // What is under way may end without a change.
        if (isQuiet) await nextChange(changes, signal);
      }
    } finally {
      abort();
    }
    const { queued, sending } = store.countByState();
    return { settled, queued, sending };
  };
}

function limited(
  timeoutMs: number,
  ending: AbortSignal,
): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController();
  const abort = (): void => {
    timer.cancel();
    ending.removeEventListener("abort", abort);
    controller.abort();
  };
  const timer = startTimer(timeoutMs, abort);
  ending.addEventListener("abort", abort);
  if (ending.aborted) abort();
  return { signal: controller.signal, abort };
}

/** The signal has not been given yet. */
function nextChange(changes: ChangeFeed, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      unsubscribe();
      resolve();
    };
    const unsubscribe = changes.subscribe(done);
    signal.addEventListener("abort", done);
  });
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
  clock: { toRealTime(empty: () => void): void };
  workspaces: { stop(): void; start(): void };
  clients: { reset: (what: "messages" | "everything") => void };
  scheduler: { clear(empty: () => void): Promise<void> };
  configuration: Reloading;
  suppressions: Reloading;
  computations: Reloading;
  deletions: Reloading;
  flow: Reloading;
  endpoints: Pick<Endpoints, "list" | "clearReceived"> & Reloading;
  profiles: { kick(): void };
  refused: { clear(): void };
  changes: Changes;
};

/**
 * Empties the pipeline: of messages and everything that belongs to them, or of the configuration
 * too. The settings stay. The clock may go back to real time only here, where nothing is left that
 * has a time.
 */
export function createReset(options: ResetOptions): Pipeline["reset"] {
  const {
    store,
    clock,
    workspaces,
    clients,
    scheduler,
    configuration,
    suppressions,
    computations,
    deletions,
    flow,
    endpoints,
    profiles,
    refused,
    changes,
  } = options;
  return async (what, withClock = false) => {
    const isAll = what === "everything";
    await scheduler.clear(() => {
      const clear = isAll ? store.clearEverything : store.clearMessages;
      if (withClock) clock.toRealTime(clear);
      else clear();
      // The store may refuse: until it is empty, everything stays as it is.
      workspaces.stop();
      clients.reset(what);
    });
    for (const each of [configuration, suppressions, computations, deletions, flow]) each.reload();
    for (const { id } of endpoints.list()) endpoints.clearReceived(id);
    if (isAll) endpoints.reload();
    profiles.kick();
    refused.clear();
    workspaces.start();
    for (const area of isAll ? [...ofMessages, ...ofConfiguration] : ofMessages)
      changes.note(area, null);
  };
}

const retentionEveryMs = 10_000;

/**
 * For each look that has only found messages which have to stay. Such a look takes some
 * milliseconds, so with millions of them retention takes a tenth of the time at most.
 */
const restAfterLookMs = 100;

/** Messages, or pages of the file, removed at once: about five milliseconds' work. */
const slice = 100;

/**
 * Rejected and duplicate messages have no deliveries. As many are removed at once as a batch can
 * add, so that a client cannot add them faster.
 */
const rejectedSlice = 2500;

type UpkeepOptions = {
  store: UpkeepStore;
  settings: () => Settings;
  changes: Changes;
  log?: (sentence: string) => void;
  report: (error: unknown) => void;
};

type Upkeep = {
  start(): void;
  stop(): void;
  /** Messages were committed. */
  kick(): void;
  /** Limits may have changed: they apply at once. */
  onConfigurationChanged(): void;
};

/**
 * Retention: removes old messages by count, by bytes and by age, and rejected ones beyond their
 * quota; and prepares what lookups use. It uses wall-clock time and runs in slices, with
 * everything else in between.
 */
export function createUpkeep({
  store,
  settings,
  changes,
  log = () => {},
  report,
}: UpkeepOptions): Upkeep {
  let timer: RealTimer | null = null;
  /** Of the pass that goes on. */
  let emptyLooks = 0;
  let restMs = retentionEveryMs;
  /** A pass has found nothing to remove: what else is to be done goes on without looks until then. */
  let nextLookAt = 0;
  let isTrimming = false;
  let isFull = false;
  let isStopped = false;

  function run(): void {
    kick();
    let removed = 0;
    let goesOn = false;
    try {
      const old = monotonic() < nextLookAt ? { removed, more: false } : look();
      removed = old.removed;
      goesOn = removed > 0 || old.more || store.giveBack(slice) > 0 || store.prepareLookups();
    } catch (error) {
      report(error);
    }
    noteGone(removed);
    if (!goesOn) {
      emptyLooks = 0;
      nextLookAt = 0;
    }
    timer = startIdleTimer(goesOn ? 1 : restMs, run);
  }

  function look(): { removed: number; more: boolean } {
    const { maxMessages, maxBytes, maxAgeMs } = settings();
    const olderThanWall = maxAgeMs === null ? null : wallClockNow() - maxAgeMs;
    const found = store.removeOld({ maxMessages, maxBytes, olderThanWall }, slice);
    if (found.isFull === true && !isFull)
      log(
        "The data file is larger than maxBytes allows, because of profiles and other data that is not messages. The newest messages stay. Delete users, raise maxBytes, or reset the data.",
      );
    isFull = found.isFull ?? false;
    if (found.removed === 0 && found.more) emptyLooks += 1;
    if (found.removed === 0 && !found.more) {
      restMs = Math.max(retentionEveryMs, emptyLooks * restAfterLookMs);
      nextLookAt = monotonic() + restMs;
      emptyLooks = 0;
    }
    return found;
  }

  function kick(): void {
    if (isTrimming) return;
    try {
      if (store.rejectedBytes() <= settings().maxRejectedBytes) return;
    } catch (error) {
      // After a commit that failed, the store has to read the number again.
      return report(error);
    }
    isTrimming = true;
    void trim().catch(report);
  }

  async function trim(): Promise<void> {
    try {
      for (let removed = -1; removed !== 0;) {
        await nextTurn();
        if (isStopped) return;
        removed = store.removeRejected(settings().maxRejectedBytes, rejectedSlice);
        noteGone(removed);
      }
    } finally {
      isTrimming = false;
    }
  }

  function noteGone(removed: number): void {
    if (removed === 0) return;
    changes.noteGone("messages", removed);
    // With them go the events of profiles.
    changes.note("profiles", null);
  }

  return {
    start: run,
    stop() {
      isStopped = true;
      timer?.cancel();
    },
    kick,
    onConfigurationChanged() {
      if (timer === null || isStopped) return;
      timer.cancel();
      nextLookAt = 0;
      timer = startIdleTimer(0, run);
    },
  };
}
