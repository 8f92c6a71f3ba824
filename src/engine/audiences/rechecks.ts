/**
 * Values that change by time alone: an event leaves a window, and the user leaves with it. Each told value that may
 * change so has the time at which to look again; one timer on the clock stands at the earliest.
 */

import type { Activity, Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Atomically, ComputedStore } from "../profile-ports.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import type { Registry } from "./registry.ts";
import type { Teller } from "./tell.ts";
import type { Walker } from "./walk.ts";

/** Users looked at between two turns of the event loop. */
const slice = 100;

/** After a failure of the store. */
const retryMs = 500;

type RechecksOptions = {
  store: ComputedStore & Atomically;
  registry: Registry;
  walker: Walker;
  teller: Teller;
  clock: Clock;
  activity: Activity;
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

export class Rechecks {
  readonly #options: RechecksOptions;
  #timer: { at: number; timer: ClockTimer } | null = null;
  #retry: RealTimer | null = null;
  #running: Work | null = null;
  #stopped = false;

  constructor(options: RechecksOptions) {
    this.#options = options;
  }

  /** Sets the timer by what the store says: at a start, and after a reset. */
  start(): void {
    this.#timer?.timer.cancel();
    this.#timer = null;
    const { registry, store } = this.#options;
    for (const { row } of registry.live()) {
      const at = store.nextRecheckAt(row.sourceId);
      if (at !== null) this.note(at);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.timer.cancel();
    this.#retry?.cancel();
  }

  /** There is something to look at then. In vain it is looked at in vain. */
  note(at: number): void {
    if (this.#stopped || this.#running !== null || (this.#timer !== null && this.#timer.at <= at)) return;
    this.#timer?.timer.cancel();
    const timer = this.#options.clock.schedule(at, () => {
      this.#timer = null;
      this.#fire();
    });
    this.#timer = { at, timer };
  }

  #fire(): void {
    const work = this.#options.activity.begin();
    this.#running = work;
    this.#run()
      .then(
        () => {
          this.#running = null;
          if (!this.#stopped) this.start();
        },
        (error: unknown) => {
          this.#running = null;
          if (this.#stopped) return;
          this.#options.report(error);
          this.#retry = startTimer(retryMs, () => this.start());
        },
      )
      .finally(() => work.end());
  }

  async #run(): Promise<void> {
    const { registry, store, walker, teller, clock, caughtUp } = this.#options;
    await caughtUp();
    for (const { id } of registry.live()) {
      for (;;) {
        const computed = registry.get(id);
        if (this.#stopped || computed === undefined || !computed.isLive) break;
        const due = store.dueForRecheck(computed.row.sourceId, clock.now(), slice);
        if (due.length === 0) break;
        store.atomically(() => teller.tell([[computed, due.map(({ userId }) => walker.standingOf(computed, userId))]]));
        await nextTurn();
      }
    }
  }
}
