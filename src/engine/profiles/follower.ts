/**
 * Applies committed messages to the profiles, in the order of their rows, in slices. A slice is one
 * transaction with the row it reached and with what listeners write (`onApplied`). So no message
 * counts twice or is left out, whenever the process dies, and ingest never waits.
 *
 * States
 *   idle        every message is applied; a kick starts the next slice
 *   following   a slice is about to run. While ingest or delivery is busy, the follower rests
 *               between two slices, and the longer the busier the event loop is
 *   waiting     the store refused a slice (a full disk); it is retried soon
 *   stopped
 *
 * Following and waiting count as work in `Activity`.
 */

import { profileIds, type MessageRowId, type ProfileId } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Changes } from "../pipeline.ts";
import type {
  Atomically,
  ProfileChange,
  ProfileEffects,
  ProfileStore,
  WritingTurns,
} from "../profile-ports.ts";
import { stepsPerTurn } from "../route/route.ts";
import { storeFailure } from "../store-failure.ts";
import { startTimer, watchLoop, type RealTimer } from "../real-time.ts";
import { follow, LargeMerge, type ChangedProfile, type Followed } from "./follow.ts";

/**
 * The duration of a slice: short compared with the 50 ms for which the event loop may be blocked,
 * and long enough for a few hundred messages. Their users' rows share pages: a transaction of 250
 * messages writes half as much for each as one of 50. While nobody else is busy, it may be longer.
 */
const sliceMs = 5;
const aloneMs = 10;

/** The part of it that is always left for reading messages. */
const minReadingMs = 0.5;

/**
 * Ingest or delivery counts as busy for `busyMs` after its last work. The next slice then runs
 * `gatherMs` later, with what arrived meanwhile.
 */
const busyMs = 50;
const gatherMs = 100;

/**
 * The follower takes a part of the event loop's idle time: a third of the loop when half of it is
 * idle, a fortieth when a twentieth is.
 */
const restFactor = 2;
/** The longest time for which profiles may fall behind. */
const maxRestMs = 400;

/** Rows of one slice: those that are not followed take time too. */
const maxRows = 2048;

/** Slices of one row after one that failed: about as many as it had. */
const rowsToIsolate = 256;

const retryMs = 500;

export type FollowerOptions = {
  store: ProfileStore & Atomically & WritingTurns;
  clock: Pick<Clock, "monotonic">;
  activity: Activity;
  changes: Changes;
  /**
   * Called within the transaction of a slice: what the listener writes is committed with it, or not
   * at all.
   */
  onApplied: (changes: readonly ProfileChange[]) => void;
  /** What listeners may make of the effects on one profile, in steps of routing. */
  stepsOf?: (effects: ProfileEffects) => number;
  /** The transaction of a slice failed: the store has nothing of what the listener wrote. */
  onFailed?: () => void;
  report: (error: unknown) => void;
};

/** With the newest message after the slice, because listeners may commit messages. */
type Reached = Followed & { newest: MessageRowId };

type Waiter = { upTo: MessageRowId; resolve: () => void; reject: (error: unknown) => void };

export class Follower {
  readonly #options: FollowerOptions;
  #state: "new" | "running" | "stopped" = "new";
  #work: Work | null = null;
  /**
   * What an advance of the clock waits for: the messages it began with, up to the newest of them.
   * Later ones are arrivals.
   */
  #own: { upTo: MessageRowId; work: Work } | null = null;
  #scheduled = false;
  #timer: RealTimer | null = null;
  #failing: unknown = null;
  /** The part of a slice for applying messages: less than all of it when listeners take long. */
  #readingMs = sliceMs;
  /**
   * Slices of one row that remain after a failure that is not the store's: they isolate the
   * message.
   */
  #oneByOne = 0;
  /** The message that is about to merge a profile with very many events. */
  #merging: MessageRowId | null = null;
  #othersAt = -Infinity;
  #loopShare = watchLoop();
  /** When the last slice ended, how long it took, and whether others come first now. */
  #endedAt = -Infinity;
  #tookMs = 0;
  #rests = false;
  #waiters: Waiter[] = [];

  constructor(options: FollowerOptions) {
    this.#options = options;
    options.activity.onAwaited(() => this.#hurry());
    options.activity.onAdvance((isUnderWay) => {
      if (isUnderWay) this.#followOwn();
    });
  }

  start(): void {
    this.#state = "running";
    this.#wake();
  }

  stop(): void {
    this.#state = "stopped";
    this.#cancelTimer();
    this.#idle();
    this.#refuse(new Error("Hookyard is stopping."));
  }

  /** Messages were committed. */
  kick(origin: Origin = "own"): void {
    this.noteOthers();
    this.#wake();
    if (origin === "own") this.#followOwn();
  }

  /** All messages committed so far belong to the advance. */
  #followOwn(): void {
    const { activity, store } = this.#options;
    if (this.#state !== "running" || !activity.isAdvancing) return;
    const { upTo, newest } = store.followed();
    if (upTo < newest) this.#own = { upTo: newest, work: this.#own?.work ?? activity.begin() };
    if (this.#work !== null) {
      this.#work.end();
      this.#work = activity.begin("arrival");
    }
    this.#hurry();
  }

  /** Ingest or delivery was active. */
  noteOthers(): void {
    this.#othersAt = this.#options.clock.monotonic();
  }

  /**
   * Resolves when every message committed so far is in the profiles; rejects when the store refuses
   * to write them.
   */
  caughtUp(): Promise<void> {
    const { upTo, newest } = this.#options.store.followed();
    if (upTo >= newest) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#waiters.push({ upTo: newest, resolve, reject });
      this.#hurry();
      this.#wake();
    });
  }

  #wake(): void {
    if (this.#state !== "running" || this.#scheduled) return;
    this.#scheduled = true;
    this.#work ??= this.#options.activity.begin("arrival");
    this.#rest(this.#rests ? gatherMs : 0);
  }

  #rest(ms: number): void {
    const left = this.#endedAt + ms - this.#options.clock.monotonic();
    if (left >= 1) this.#timer = startTimer(left, () => this.#rested());
    else this.#options.store.inWritingTurn(() => this.#turn());
  }

  #rested(): void {
    this.#timer = null;
    const rested = this.#options.clock.monotonic() - this.#endedAt;
    const busy = this.#loopShare();
    const enough = Math.min(maxRestMs, (restFactor * this.#tookMs * busy) / (1 - busy));
    if (rested < enough) this.#rest(rested + gatherMs);
    else this.#options.store.inWritingTurn(() => this.#turn());
  }

  /** A caller waits: ends the rest, or the wait after a failure. */
  #hurry(): void {
    this.#rests = false;
    if (this.#timer === null) return;
    this.#cancelTimer();
    this.#wake();
  }

  #cancelTimer(): void {
    if (this.#timer === null) return;
    this.#timer.cancel();
    this.#timer = null;
    this.#scheduled = false;
  }

  #turn(): void {
    this.#timer = null;
    this.#scheduled = false;
    if (this.#state !== "running") return;
    const { clock, report } = this.#options;
    const startedAt = clock.monotonic();
    let followed: Reached | null;
    try {
      followed = this.#sliceOrPart(startedAt);
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#failing = null;
    if (followed === null) {
      this.#pace(startedAt);
      this.#wake();
      return;
    }
    if (this.#oneByOne > 0) this.#oneByOne -= 1;
    try {
      this.#announce(followed);
    } catch (error) {
      report(error);
    }
    this.#pace(startedAt);
    this.#continue(followed);
  }

  /**
   * A message that merges a profile with very many events is the first of its slice, and before
   * that slice the events move in parts, each a transaction. Returns null after each of them.
   */
  #sliceOrPart(startedAt: number): Reached | null {
    const { store } = this.#options;
    try {
      return this.#slice(startedAt);
    } catch (error) {
      if (!(error instanceof LargeMerge)) throw error;
      const { by, from, into } = error;
      if (this.#merging === by) store.mergeEvents(from, into);
      this.#merging = by;
      return null;
    }
  }

  #slice(startedAt: number): Reached {
    const { store, clock, activity, onApplied, stepsOf } = this.#options;
    const workedMs = (): number => clock.monotonic() - startedAt;
    const slice = (): Reached => {
      const limit = this.#oneByOne > 0 ? 1 : maxRows;
      const maxMs = this.#othersAreBusy(startedAt) ? sliceMs : aloneMs;
      const readingMs = Math.min(maxMs, this.#readingMs);
      const steps = new Map<ProfileId, number>();
      let sum = 0;
      const isTimeUp = (changed: ChangedProfile | null): boolean => {
        if (changed !== null && stepsOf !== undefined) {
          const before = steps.get(changed.profileId) ?? 0;
          const now = stepsOf(changed);
          steps.set(changed.profileId, now);
          sum += now - before;
        }
        return sum >= stepsPerTurn || workedMs() > readingMs;
      };
      const followed = follow({ store, limit, first: this.#merging, isTimeUp });
      if (followed.changes.length > 0) onApplied(followed.changes);
      const fitting = readingMs * Math.min(2, maxMs / workedMs());
      this.#readingMs = Math.min(maxMs, Math.max(minReadingMs, fitting));
      // Listeners may have committed messages of their own, and marked them as followed.
      return { ...followed, ...store.followed() };
    };
    const isOwn = !activity.isAdvancing || this.#own !== null;
    return activity.as(isOwn ? "own" : "arrival", () => store.atomically(slice));
  }

  #announce({ profiles, unreadable }: Followed): void {
    for (const id of unreadable)
      this.#options.report(
        new Error(`Profiles skipped the message in row ${id}: it cannot be parsed.`),
      );
    if (profiles.length > 0)
      this.#options.changes.noteMany("profiles", profiles, profileIds.format, false);
  }

  #othersAreBusy(at: number): boolean {
    return at - this.#othersAt < busyMs;
  }

  #pace(startedAt: number): void {
    const { clock, activity } = this.#options;
    this.#endedAt = clock.monotonic();
    this.#tookMs = this.#endedAt - startedAt;
    this.#rests =
      this.#othersAreBusy(startedAt) &&
      this.#waiters.length === 0 &&
      this.#own === null &&
      !activity.isAwaited;
    this.#loopShare();
  }

  #continue({ upTo, newest }: Reached): void {
    const isDone = upTo >= newest;
    const reached = this.#waiters.filter((waiter) => isDone || waiter.upTo <= upTo);
    this.#waiters = this.#waiters.filter((waiter) => !reached.includes(waiter));
    for (const { resolve } of reached) resolve();
    if (this.#own !== null && (isDone || this.#own.upTo <= upTo)) this.#endOwn();
    if (isDone) this.#idle();
    else this.#wake();
  }

  #failed(error: unknown): void {
    const { store, report, onFailed } = this.#options;
    onFailed?.();
    if (storeFailure(error) === null && this.#oneByOne === 0) {
      this.#oneByOne = rowsToIsolate;
      this.#wake();
      return;
    }
    if (storeFailure(error) === null) {
      // This message cannot be applied. It is skipped, so that the others can be.
      report(error);
      try {
        store.markFollowed(store.nextToFollow(1).upTo);
        this.#wake();
        return;
      } catch (refusal) {
        error = refusal;
      }
    }
    if (this.#failing === null) report(error);
    this.#failing = error;
    this.#refuse(error);
    this.#scheduled = true;
    this.#timer = startTimer(retryMs, () => this.#turn());
  }

  #refuse(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error);
  }

  #idle(): void {
    this.#work?.end();
    this.#work = null;
    this.#endOwn();
  }

  #endOwn(): void {
    this.#own?.work.end();
    this.#own = null;
  }

  /** Why the store refused the last slice, which is being retried; null when it did not. */
  get trouble(): Problem | null {
    return this.#failing === null ? null : storeFailure(this.#failing);
  }
}
