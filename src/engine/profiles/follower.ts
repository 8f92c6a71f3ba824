/**
 * Lets the profiles follow the messages that are committed: read in the order of their rows, in slices, each of them one
 * transaction with the place it reached and with whatever others make of it (`onApplied`). So nothing counts twice or is
 * left out, whenever the process dies, and ingest never waits.
 *
 * States
 *   idle        everything is followed; a kick begins
 *   following   a slice is about to run; between two of them it rests while ingest or delivery is busy, short while the
 *               event loop has time to spare, else long
 *   waiting     the store refused a slice (a full disk); it is tried again soon
 *   stopped
 *
 * Following and waiting are work that `Activity` knows of.
 */

import { profileIds, type MessageRowId } from "../../domain/ids.ts";
import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Changes } from "../pipeline.ts";
import type { Atomically, ProfileChange, ProfileStore } from "../profile-ports.ts";
import { storeFailure } from "../store-failure.ts";
import { startTimer, watchLoop, type RealTimer } from "../real-time.ts";
import { follow, type Followed } from "./follow.ts";

/**
 * What a slice may take: short beside the 50 ms for which the event loop may be blocked, and long enough for some hundred
 * messages, whose users' rows then share pages: a transaction of 250 writes half as much for each as one of 50.
 */
const sliceMs = 5;

/** Of that, some is for reading messages in any case. */
const leastReadingMs = 0.5;

/** Others are busy when something came in or was sent this lately. The next slice is then this much later, and has what came meanwhile. */
const busyMs = 50;
const gatherMs = 100;

/** What others leave of the event loop is shared with them: of a loop with half its time to spare, a slice takes a third; of one with a twentieth, a fortieth. */
const restFactor = 2;
/** But no longer than profiles may stand still. */
const longestRestMs = 400;

/** Rows that are read for one slice: somewhat more than it comes to, between these. */
const fewestRows = 32;
const mostRows = 2048;

const retryMs = 500;

export type FollowerOptions = {
  store: ProfileStore & Atomically;
  clock: Pick<Clock, "monotonic">;
  activity: Activity;
  changes: Changes;
  /** What a slice did to profiles, within its transaction: what is written now is written with it, or not at all. */
  onApplied: (changes: readonly ProfileChange[]) => void;
  report: (error: unknown) => void;
};

/** And the newest message that there is by then, for those who follow may commit some. */
type Reached = Followed & { newest: MessageRowId };

type Waiter = { upTo: MessageRowId; resolve: () => void; reject: (error: unknown) => void };

export class Follower {
  readonly #options: FollowerOptions;
  #state: "new" | "running" | "stopped" = "new";
  #work: Work | null = null;
  /** What an advance of the clock waits for: its own messages, up to the newest of them. What is followed beyond is arrivals. */
  #own: { upTo: MessageRowId; work: Work } | null = null;
  #scheduled = false;
  #timer: RealTimer | null = null;
  #failing: unknown = null;
  #rows = fewestRows;
  /** What of a slice is for reading messages: less than all of it where others make much of each change. */
  #readingMs = sliceMs;
  /** Slices of one row that are left after one failed for a reason that is not the store's: they find the message. */
  #oneByOne = 0;
  #othersAt = -Infinity;
  #loopShare = watchLoop();
  /** When the last slice ended, how long it was, and whether others come first now. */
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

  /** All that is committed by now is an advance's own. */
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

  /** Ingest or delivery did something. */
  noteOthers(): void {
    this.#othersAt = this.#options.clock.monotonic();
  }

  /** Resolves when every message that is committed by now is in the profiles; rejects when the store refuses to write them. */
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
    else setImmediate(() => this.#turn());
  }

  #rested(): void {
    this.#timer = null;
    const rested = this.#options.clock.monotonic() - this.#endedAt;
    const busy = this.#loopShare();
    const enough = Math.min(longestRestMs, (restFactor * this.#tookMs * busy) / (1 - busy));
    if (rested < enough) this.#rest(rested + gatherMs);
    else this.#turn();
  }

  /** Somebody waits: no more rest, and no pause after a failure. */
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
    let followed: Reached;
    try {
      followed = this.#slice(startedAt);
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.#failing = null;
    if (this.#oneByOne > 0) this.#oneByOne -= 1;
    try {
      this.#tell(followed);
    } catch (error) {
      report(error);
    }
    this.#pace(startedAt, followed);
    this.#goOn(followed);
  }

  #slice(startedAt: number): Reached {
    const { store, clock, activity, onApplied } = this.#options;
    const workedMs = (): number => clock.monotonic() - startedAt;
    const slice = (): Reached => {
      const limit = this.#oneByOne > 0 ? 1 : this.#rows;
      const followed = follow({ store, limit, isTimeUp: () => workedMs() > this.#readingMs });
      if (followed.changes.length > 0) onApplied(followed.changes);
      const fitting = this.#readingMs * Math.min(2, sliceMs / workedMs());
      this.#readingMs = Math.min(sliceMs, Math.max(leastReadingMs, fitting));
      // Those who follow may have committed messages of their own, and marked them as followed.
      return { ...followed, ...store.followed() };
    };
    const isOwn = !activity.isAdvancing || this.#own !== null;
    return activity.as(isOwn ? "own" : "arrival", () => store.atomically(slice));
  }

  #tell({ profiles, unreadable }: Followed): void {
    for (const id of unreadable) this.#options.report(new Error(`Profiles passed over the message in row ${id}: it cannot be read.`));
    if (profiles.length > 0) this.#options.changes.noteMany("profiles", profiles, profileIds.format, false);
  }

  #pace(startedAt: number, { end }: Followed): void {
    if (end === "limit") this.#rows = Math.min(mostRows, this.#rows * 2);
    if (end === "time") this.#rows = Math.max(fewestRows, Math.round(this.#rows / 1.25));
    const { clock, activity } = this.#options;
    this.#endedAt = clock.monotonic();
    this.#tookMs = this.#endedAt - startedAt;
    this.#rests = startedAt - this.#othersAt < busyMs && this.#waiters.length === 0 && this.#own === null && !activity.isAwaited;
    this.#loopShare();
  }

  #goOn({ upTo, newest }: Reached): void {
    const isDone = upTo >= newest;
    const reached = this.#waiters.filter((waiter) => isDone || waiter.upTo <= upTo);
    this.#waiters = this.#waiters.filter((waiter) => !reached.includes(waiter));
    for (const { resolve } of reached) resolve();
    if (this.#own !== null && (isDone || this.#own.upTo <= upTo)) this.#endOwn();
    if (isDone) this.#idle();
    else this.#wake();
  }

  #failed(error: unknown): void {
    const { store, report } = this.#options;
    if (storeFailure(error) === null && this.#oneByOne === 0) {
      this.#oneByOne = this.#rows;
      this.#wake();
      return;
    }
    if (storeFailure(error) === null) {
      // This one message cannot be followed, whyever; it must not keep all others from it.
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

  /** Why the store refused the last slice, which is tried again; null when it did not. */
  get failure(): unknown {
    return this.#failing;
  }
}
