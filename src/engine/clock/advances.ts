/**
 * Advances of the clock, one after the other. The clock stands still, jumps from due time to due
 * time, and at each of them waits until the advance's own work has ended (`Activity`): what ran
 * when it began, what its jumps started, and what follows from that. Requests that arrive at the
 * ingest port meanwhile are handled and their due times are jumped to, but the advance does not
 * wait for them.
 *
 * An advance ends at its target, or early: when its caller disconnects, when somebody sets the
 * clock, when it is cancelled, when the store refuses to write, when Hookyard stops. The clock is
 * then released at once, before the work under way has ended. Created and used by the clock only.
 */

import { conflict, invalid, type Problem } from "../../domain/problem.ts";
import { startIdleTimer, type RealTimer } from "../real-time.ts";
import type { Activity } from "./activity.ts";
import type { AdvanceEnd, AdvanceProgress, AdvanceTarget, ClockState, EarlyEnd } from "./clock.ts";

/** A thousand years from now, so that a typing mistake cannot leave the range of dates. */
export const latestTime = Date.UTC(3000, 0);

/**
 * How often progress is reported, as fast as a number can be read, and how often the store's
 * trouble is checked.
 */
const reportEveryMs = 100;

export type AdvanceWork = {
  /** Whether anything is queued, sending or waiting that the advance would finish. */
  isPending(): boolean;
  /** Whether own work waits for a place behind other work. */
  isWaiting(): boolean;
  attemptsMade(): number;
  /** Why the store refuses writes; null when it accepts them. */
  trouble(): Problem | null;
};

type AdvancesOptions = {
  clock: {
    now(): number;
    state(): ClockState;
    /** Time moves only in jumps until `release`, which may be called twice. */
    stand(): void;
    release(): void;
    jump(to: number): void;
    /** Not beyond `latestTime`. */
    next(): { at: number } | undefined;
    hasForeground(): boolean;
  };
  activity: Activity;
  work: AdvanceWork;
  onProgress: (progress: AdvanceProgress | null) => void;
};

type Advance = { target: AdvanceTarget; end: AbortController };

type UnderWay = Advance & {
  from: number;
  to: AdvanceProgress["to"];
  attemptsBefore: number;
  ticking: RealTimer | null;
};

const earlyEnds: Record<EarlyEnd, string> = {
  clock_set: "The advance ended because the clock was set.",
  cancelled: "The advance was cancelled.",
  caller_gone: "The advance ended because its caller disconnected.",
  stopping: "The advance ended because Hookyard is stopping.",
};

export class Advances {
  readonly #options: AdvancesOptions;
  readonly #asked = new Set<Advance>();
  #last: Promise<unknown> = Promise.resolve();
  #underWay: UnderWay | null = null;
  #isStopped = false;

  constructor(options: AdvancesOptions) {
    this.#options = options;
  }

  get progress(): AdvanceProgress | null {
    if (this.#underWay === null) return null;
    const { from, to, attemptsBefore } = this.#underWay;
    return {
      from,
      to,
      now: this.#options.clock.now(),
      attempts: this.#options.work.attemptsMade() - attemptsBefore,
    };
  }

  /**
   * Advances run one after the other. One whose caller has disconnected before its turn never
   * starts.
   */
  run(target: AdvanceTarget, caller?: AbortSignal): Promise<AdvanceEnd | Problem> {
    if (this.#isStopped) return Promise.resolve(conflict("stopping", "Hookyard is stopping."));
    const advance: Advance = { target, end: new AbortController() };
    const leave = (): void => this.#end(advance, "caller_gone");
    this.#asked.add(advance);
    const done = this.#last
      .then(() => this.#advance(advance))
      .finally(() => {
        this.#asked.delete(advance);
        caller?.removeEventListener("abort", leave);
      });
    this.#last = done.catch(() => undefined);
    caller?.addEventListener("abort", leave);
    if (caller?.aborted === true) leave();
    return done;
  }

  /** Ends those that wait for their turn, too. */
  endAll(reason: EarlyEnd): void {
    if (reason === "stopping") this.#isStopped = true;
    for (const advance of this.#asked) this.#end(advance, reason);
  }

  #end(advance: Advance, reason: EarlyEnd | Problem): void {
    advance.end.abort(reason);
    if (this.#underWay?.end === advance.end) this.#release();
  }

  async #advance(advance: Advance): Promise<AdvanceEnd | Problem> {
    const { clock, activity, work } = this.#options;
    const { target, end } = advance;
    const attemptsBefore = work.attemptsMade();
    const from = clock.now();
    const to = "byMs" in target ? from + target.byMs : target.to;
    if (typeof to === "number" && to > latestTime)
      return invalid("The clock cannot go beyond the year 3000.");
    if (!end.signal.aborted) {
      this.#underWay = { ...advance, from, to, attemptsBefore, ticking: null };
      clock.stand();
      try {
        activity.beginAdvance();
        this.#tick(advance);
        await this.#jumps(to, end.signal);
      } finally {
        if (this.#underWay?.end === end) this.#release();
      }
    }
    const reason = end.signal.aborted ? (end.signal.reason as EarlyEnd | Problem) : null;
    if (reason !== null && typeof reason !== "string") return reason;
    const endedEarly = reason === null ? null : { code: reason, message: earlyEnds[reason] };
    return {
      state: clock.state(),
      ran: { attempts: work.attemptsMade() - attemptsBefore },
      endedEarly,
    };
  }

  async #jumps(to: AdvanceProgress["to"], signal: AbortSignal): Promise<void> {
    const { clock, activity, work } = this.#options;
    for (let stepped = false; ; stepped = true) {
      await activity.whenOwnQuiet({ waits: () => work.isWaiting(), signal });
      if (signal.aborted) return;
      const next = clock.next()?.at;
      if (typeof to === "number") {
        if (next === undefined || next > to) return clock.jump(to);
      } else if (next === undefined) return;
      else if (to === "next-due") {
        if (stepped) return;
      } else if (!work.isPending() || !clock.hasForeground()) return;
      clock.jump(next);
    }
  }

  /** Reports progress, and ends the advance when it could only wait for the store. */
  #tick(advance: Advance): void {
    const { work, onProgress } = this.#options;
    if (this.#underWay === null) return;
    this.#underWay.ticking = startIdleTimer(reportEveryMs, () => {
      const trouble = work.trouble();
      if (trouble !== null) return this.#end(advance, trouble);
      onProgress(this.progress);
      this.#tick(advance);
    });
  }

  #release(): void {
    this.#underWay?.ticking?.cancel();
    this.#underWay = null;
    this.#options.activity.endAdvance();
    this.#options.clock.release();
    this.#options.onProgress(null);
  }
}
