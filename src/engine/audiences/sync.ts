/**
 * A sync tells receivers all that differs from what they were told last: everybody at the first one. It goes in slices,
 * each of them one commit with a turn of the event loop behind it; `openSync` says in the store that one is under way,
 * so that after a crash it begins anew, and finds only what is still to be told.
 *
 * Two syncs of one audience never run at once: who asks meanwhile gets the one after.
 */

import type { Atomically } from "../profile-ports.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { SyncProgress } from "../profile-pipeline.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import type { Computed } from "./computed.ts";
import type { Registry } from "./registry.ts";
import type { Teller, Told } from "./tell.ts";
import type { Walker } from "./walk.ts";

/** When the store refused a slice (a full disk), the sync goes on after this time of the wall. */
const retryMs = 500;

type SyncsOptions = {
  store: Atomically;
  registry: Registry;
  walker: Walker;
  teller: Teller;
  clock: Clock;
  activity: Activity;
  /** Every message that is committed by now has to be in the profiles first. */
  caughtUp: () => Promise<void>;
  /** One has come to its end. */
  onEnded: () => void;
  report: (error: unknown) => void;
};

export class Syncs {
  readonly #options: SyncsOptions;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #next = new Map<string, Promise<Told>>();
  readonly #progress = new Map<string, SyncProgress>();
  /** Until they are tried again. */
  readonly #failed = new Set<string>();
  #retry: RealTimer | null = null;
  #state: "new" | "running" | "stopped" = "new";

  constructor(options: SyncsOptions) {
    this.#options = options;
  }

  /** Also those that a stop or a crash has interrupted, and those that were asked for before. */
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

  /** It runs, or will go on by itself after a failure. */
  isUnderWay(id: string): boolean {
    return this.#running.has(id) || this.#failed.has(id);
  }

  progress(id: string): SyncProgress | null {
    return this.#progress.get(id) ?? null;
  }

  async run(id: string): Promise<Told> {
    if (this.#state !== "running") return { entered: 0, left: 0 };
    const running = this.#running.get(id);
    if (running === undefined) return this.#start(id);
    let next = this.#next.get(id);
    if (next === undefined) {
      next = running
        .catch(() => {})
        .then(() => {
          this.#next.delete(id);
          return this.run(id);
        });
      this.#next.set(id, next);
    }
    return next;
  }

  #start(id: string): Promise<Told> {
    const { activity } = this.#options;
    const work = activity.begin();
    const sync = this.#sync(id)
      .catch((error: unknown) => {
        if (this.#state === "stopped") return { entered: 0, left: 0 };
        this.#options.registry.reload();
        this.#failed.add(id);
        this.#retry ??= startTimer(retryMs, () => this.#tryAgain());
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

  #tryAgain(): void {
    this.#retry = null;
    this.#failed.clear();
    this.#resume();
    this.#options.onEnded();
  }

  async #sync(id: string): Promise<Told> {
    const { registry, clock } = this.#options;
    const begun = registry.get(id);
    if (begun === undefined) return { entered: 0, left: 0 };
    if (begun.row.openSync === null) registry.change(begun, { openSync: { startedAt: clock.now(), entered: 0, left: 0 } });
    await this.#options.caughtUp();
    while (!(await this.#walk(id))) continue;
    const ended = this.#current(id);
    const openSync = ended?.row.openSync ?? null;
    if (ended === null || openSync === null) return { entered: 0, left: 0 };
    const { entered, left } = openSync;
    registry.change(ended, { openSync: null, lastSync: { at: clock.now(), entered, left }, nextSyncAt: this.#nextSyncAt(ended) });
    return { entered, left };
  }

  /** Answers false when it has to begin anew, because the audience has become another one meanwhile. */
  async #walk(id: string): Promise<boolean> {
    const { store, registry, walker, teller } = this.#options;
    const begun = this.#current(id);
    if (begun === null) return true;
    const progress = { done: 0, total: walker.total(begun.asks) };
    this.#progress.set(id, progress);
    const walk = walker.toSync(begun);
    for (;;) {
      // Looked at before each slice: who has it deleted or reset meanwhile does not wait for it.
      const computed = this.#current(id);
      if (computed === null) return true;
      if (computed.asks !== begun.asks || computed.isLive !== begun.isLive) return false;
      const step = walk.next();
      if (step.done === true) return true;
      store.atomically(() => {
        const { entered, left } = teller.tell([[computed, step.value.standings]]);
        const { openSync } = computed.row;
        if (openSync === null || entered + left === 0) return;
        registry.change(computed, { openSync: { ...openSync, entered: openSync.entered + entered, left: openSync.left + left } });
      });
      progress.done += step.value.seen;
      registry.note(computed);
      await nextTurn();
    }
  }

  /** Null when it is deleted or reset, or all is being stopped. */
  #current(id: string): Computed | null {
    const computed = this.#options.registry.get(id);
    return this.#state === "stopped" || computed === undefined || computed.row.openSync === null ? null : computed;
  }

  /** Periods do not move with how long a sync takes; one that was missed is not made up for. */
  #nextSyncAt({ row: { sync, nextSyncAt } }: Computed): number | null {
    if (typeof sync === "string") return null;
    const now = this.#options.clock.now();
    if (nextSyncAt !== null && nextSyncAt > now) return nextSyncAt;
    const next = (nextSyncAt ?? now) + sync.everyMs;
    return next > now ? next : now + sync.everyMs;
  }
}
