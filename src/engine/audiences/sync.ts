/**
 * A sync sends every value that differs from the value last sent; the first one sends all. It runs
 * in slices, each of them one commit; syncs that run together take turns, one slice in each turn of
 * the event loop. In the store, `openSync`
 * says that a sync is running, so that it starts again after a crash, and then finds only what
 * still has to be sent.
 *
 * Two syncs of one audience never run at the same time: a request during a sync runs the next one.
 * A cancelled sync ends after its slice. What it sent stays sent, so the next one sends the rest.
 */

import type { Atomically } from "../profile-ports.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { SyncProgress } from "../profile-pipeline.ts";
import { createTurnBudget, startTimer, type RealTimer } from "../real-time.ts";
import type { Computed, Registry } from "./registry.ts";
import type { Causes } from "./causes.ts";
import type { Notifier, SyncCounts } from "./notifier.ts";
import { usersPerSlice, type Walker } from "./walk.ts";

/** When the store refused a slice (a full disk), the sync continues after this real time. */
const retryMs = 500;

type SyncsOptions = {
  store: Atomically;
  registry: Registry;
  walker: Walker;
  notifier: Notifier;
  causes: Causes;
  clock: Clock;
  activity: Activity;
  /** Resolves when every message committed so far is in the profiles. */
  caughtUp: () => Promise<void>;
  /** A sync ended, or is no longer waiting for its retry. */
  onEnded: () => void;
  report: (error: unknown) => void;
};

const nothing: SyncCounts = { entered: 0, left: 0 };

export class Syncs {
  readonly #options: SyncsOptions;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<SyncCounts>>();
  readonly #progress = new Map<string, SyncProgress>();
  /** Until they are retried. */
  readonly #failed = new Set<string>();
  readonly #turn = createTurnBudget(1);
  #retry: RealTimer | null = null;
  #state: "new" | "running" | "stopped" = "new";

  constructor(options: SyncsOptions) {
    this.#options = options;
  }

  /** Also resumes syncs that a stop or a crash interrupted, and those requested before. */
  start(): void {
    this.#state = "running";
    this.#resume();
  }

  #resume(): void {
    for (const { id, row } of this.#options.registry.all()) {
      if (row.openSync !== null && !this.#running.has(id)) this.run(id).catch(this.#options.report);
    }
  }

  stop(): void {
    this.#state = "stopped";
    this.#retry?.cancel();
  }

  /** It is running, or will be retried after a failure. */
  isUnderWay(id: string): boolean {
    return this.#running.has(id) || this.#failed.has(id);
  }

  progress(id: string): SyncProgress | null {
    return this.#progress.get(id) ?? null;
  }

  /** Counts what was sent in a running sync, also what an event or the clock caused meanwhile. */
  count(computed: Computed, { entered, left }: SyncCounts): void {
    const { registry } = this.#options;
    const current = registry.get(computed.id) ?? computed;
    const { openSync } = current.row;
    if (openSync === null) return registry.note(computed);
    const counts = { entered: openSync.entered + entered, left: openSync.left + left };
    registry.change(current, { openSync: { ...openSync, ...counts } });
  }

  /** Ends the running sync and those requested meanwhile. The next period starts another one. */
  cancel(computed: Computed): void {
    const { id } = computed;
    const { openSync } = computed.row;
    this.#next.delete(id);
    if (openSync === null) return;
    const { registry, walker, clock } = this.#options;
    const { done, total } = this.#progress.get(id) ?? {
      done: 0,
      total: walker.total(computed.definition),
    };
    const { entered, left } = openSync;
    this.#progress.delete(id);
    this.#failed.delete(id);
    registry.change(computed, {
      openSync: null,
      cancelledSync: { at: clock.now(), done, total, entered, left },
      nextSyncAt: this.#nextSyncAt(computed),
    });
    if (!this.#running.has(id)) this.#options.onEnded();
  }

  async run(id: string): Promise<SyncCounts> {
    if (this.#state !== "running") return nothing;
    const running = this.#running.get(id);
    if (running === undefined) return this.#start(id);
    let next = this.#next.get(id);
    if (next === undefined) {
      next = running
        .catch(() => {})
        .then(() => {
          if (this.#next.get(id) !== next) return nothing;
          this.#next.delete(id);
          return this.run(id);
        });
      this.#next.set(id, next);
    }
    return next;
  }

  #start(id: string): Promise<SyncCounts> {
    const { activity } = this.#options;
    const work = activity.begin();
    const sync = this.#sync(id)
      .catch((error: unknown) => {
        if (this.#state === "stopped") return nothing;
        this.#failed.add(id);
        this.#retry ??= startTimer(retryMs, () => this.#retryFailed());
        this.reload();
        throw error;
      })
      .finally(() => {
        this.#running.delete(id);
        this.#progress.delete(id);
        if (this.#state === "running") this.#options.onEnded();
        work.end();
      });
    this.#running.set(id, sync);
    return sync;
  }

  /** Returns false when the store cannot be read. */
  reload(): boolean {
    try {
      this.#options.registry.reload();
      return true;
    } catch {
      return false;
    }
  }

  #retryFailed(): void {
    this.#retry = null;
    if (!this.reload()) {
      this.#retry = startTimer(retryMs, () => this.#retryFailed());
      return;
    }
    this.#failed.clear();
    this.#resume();
    this.#options.onEnded();
  }

  async #sync(id: string): Promise<SyncCounts> {
    const { registry, clock } = this.#options;
    const before = registry.get(id);
    if (before === undefined) return nothing;
    if (before.row.openSync === null) {
      registry.change(before, { openSync: { startedAt: clock.now(), entered: 0, left: 0 } });
    }
    await this.#options.caughtUp();
    while (!(await this.#walk(id))) continue;
    const synced = this.#current(id);
    if (synced === null) {
      const { entered, left } = registry.get(id)?.row.cancelledSync ?? nothing;
      return { entered, left };
    }
    const { entered, left } = synced.row.openSync as SyncCounts;
    const lastSync = { at: clock.now(), entered, left };
    const nextSyncAt = this.#nextSyncAt(synced);
    registry.change(synced, {
      openSync: null,
      lastSync,
      cancelledSync: null,
      nextSyncAt,
      ruleBefore: undefined,
    });
    return { entered, left };
  }

  /** Returns false when it has to start again, because the definition changed meanwhile. */
  async #walk(id: string): Promise<boolean> {
    const { store, registry, walker, notifier, causes } = this.#options;
    await this.#turn(1);
    const started = this.#current(id);
    if (started === null) return true;
    const progress = { done: 0, total: walker.total(started.definition) };
    this.#progress.set(id, progress);
    const walk = walker.toSync(started, () => notifier.usersPerTurn(started, usersPerSlice));
    for (const step of walk) {
      // Checked in each slice, so that a delete or a reset does not have to wait.
      const computed = this.#current(id);
      if (computed === null) return true;
      const isSame =
        computed.definition === started.definition && computed.isLive === started.isLive;
      if (!isSame) return false;
      store.atomically(() => {
        const causeOf = computed.row.lastSync === null ? causes.firstSync : causes.ofSync;
        notifier.notify([[computed, step.values]], causeOf);
      });
      progress.done += step.seen;
      registry.note(computed);
      await this.#turn(1);
    }
    return true;
  }

  /** Null when it was deleted or reset, or Hookyard is stopping. */
  #current(id: string): Computed | null {
    const computed = this.#options.registry.get(id);
    return this.#state === "stopped" || computed === undefined || computed.row.openSync === null
      ? null
      : computed;
  }

  /** Periods do not shift with the duration of a sync; a missed one is not made up for. */
  #nextSyncAt({ row: { sync, nextSyncAt } }: Computed): number | null {
    if (typeof sync === "string") return null;
    const now = this.#options.clock.now();
    if (nextSyncAt !== null && nextSyncAt > now) return nextSyncAt;
    const next = (nextSyncAt ?? now) + sync.everyMs;
    return next > now ? next : now + sync.everyMs;
  }
}

type PeriodsOptions = {
  registry: Registry;
  syncs: Syncs;
  clock: Clock;
  report: (error: unknown) => void;
};

/**
 * Syncs on a period of the clock. The timer is a background timer: it never keeps an advance to
 * `idle` going.
 */
export function createPeriods({ registry, syncs, clock, report }: PeriodsOptions): {
  arm(): void;
  catchUp(): void;
  stop(): void;
} {
  let timer: ClockTimer | null = null;

  /** A running sync gets its next time when it ends, which calls `arm` again. */
  function arm(): void {
    timer?.cancel();
    const times = registry
      .all()
      .flatMap(({ id, row: { nextSyncAt } }) =>
        nextSyncAt === null || syncs.isUnderWay(id) ? [] : [nextSyncAt],
      );
    if (times.length > 0) timer = clock.schedule(Math.min(...times), run, { background: true });
  }

  function run(): void {
    const now = clock.now();
    for (const { id, row } of registry.all()) {
      if (row.nextSyncAt !== null && row.nextSyncAt <= now && !syncs.isUnderWay(id))
        syncs.run(id).catch(report);
    }
    arm();
  }

  return {
    arm,
    /** A reset may have turned the clock back: syncs of the time that is gone are forgotten. */
    catchUp() {
      const now = clock.now();
      for (const computed of registry.all()) {
        const { sync, nextSyncAt, lastSync, cancelledSync = null } = computed.row;
        const next = typeof sync === "string" ? null : now + sync.everyMs;
        const isAhead =
          (lastSync !== null && lastSync.at > now) ||
          (cancelledSync !== null && cancelledSync.at > now) ||
          (next !== null && nextSyncAt !== null && nextSyncAt > next);
        if (isAhead)
          registry.change(computed, { lastSync: null, cancelledSync: null, nextSyncAt: next });
      }
    },
    stop: () => timer?.cancel(),
  };
}
