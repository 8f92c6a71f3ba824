/**
 * The clock that the pipeline runs on; `clock.ts` describes what it guarantees. Created by the
 * assembly, moved by the control API.
 *
 * States: running (real or faster), paused; and on top of either, standing: an advance is under
 * way, and time moves only in jumps. Timers that are due fire in every state.
 */

import { invalid, type Problem } from "../../domain/problem.ts";
import {
  monotonic,
  startIdleTimer,
  startTimer,
  wallClockNow,
  type RealTimer,
} from "../real-time.ts";
import type { Activity, Work } from "./activity.ts";
import { Advances, latestTime } from "./advances.ts";
import type {
  AdvanceEnd,
  AdvanceProgress,
  AdvanceTarget,
  Clock,
  ClockMode,
  ClockState,
  ClockStore,
  ClockTimer,
  ScheduleOptions,
} from "./clock.ts";

/** Platform timers do not count a laptop's sleep, so a long wait is checked this often. */
const longestWaitMs = 60_000;

/**
 * A due time missed by this much real time means that the machine slept or the process was not
 * running.
 */
const overdueAfterMs = 30_000;

/**
 * The clock never shows a time that is later than the stored one by more than this much real time:
 * it stores the time first. A start after a kill adds this much, so the clock does not go back,
 * whatever the machine's clock did meanwhile.
 */
const saveEveryMs = 1000;

type PipelineClockOptions = {
  store: ClockStore;
  activity: Activity;
  work: ConstructorParameters<typeof Advances>[0]["work"];
  /** Due times were missed by a long time. Called before the timers fire and the time is shown. */
  onOverdue: () => void;
  /** With the progress of the running advance. */
  onChange: (advance: AdvanceProgress | null) => void;
  report: (error: unknown) => void;
};

export class PipelineClock implements Clock {
  readonly #options: PipelineClockOptions;
  readonly #timers = new Timers();
  #mode: ClockMode = "real";
  #speed = 1;
  #standing = false;
  /** The clock showed `#base` when the wall clock showed `#wallBase`. */
  #base: number;
  #wallBase: number;
  /** What `now` last returned, and what the wall clock showed then. */
  #shown = 0;
  #wallSeen = 0;
  /** Waits for the next timer, unless that fires now or time stands. */
  #armed: { at: number; platformTimer: RealTimer } | null = null;
  #saveTimer: RealTimer | null = null;
  #firing: Work | null = null;
  readonly #advances: Advances;
  /** The latest time that may be shown before it has to be stored. */
  #savedUpTo = Infinity;
  #stopped = false;

  constructor(options: PipelineClockOptions) {
    this.#options = options;
    this.#advances = new Advances({
      clock: {
        now: () => this.now(),
        state: () => this.state(),
        stand: () => this.#stand(),
        release: () => this.#release(),
        jump: (to) => this.#jump(to),
        next: () => this.#nextInReach(),
        hasForeground: () => this.#timers.hasForeground(),
      },
      activity: options.activity,
      work: options.work,
      onProgress: options.onChange,
    });
    const wall = wallClockNow();
    const stored = options.store.loadClock();
    this.#base = wall;
    this.#wallBase = wall;
    if (stored !== null) {
      this.#mode = stored.mode;
      this.#speed = stored.speed;
      const away = Math.max(0, wall - stored.wallAt);
      if (stored.mode === "paused") this.#base = stored.now;
      else {
        const unsaved = stored.stopped === true ? 0 : stored.speed * saveEveryMs;
        this.#base =
          stored.now + (stored.mode === "real" ? Math.max(away, unsaved) : away + unsaved);
      }
    }
    this.#base = Math.max(this.#base, options.store.latestRecordedAt());
  }

  start(): void {
    this.#save();
    this.#arm();
    this.#saveOften();
  }

  /** Ends all advances and accepts no more. Called before `stop`, while the store is open. */
  endAdvances(): void {
    this.#advances.endAll("stopping");
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
    this.#saveTimer?.cancel();
    this.#saveOrReport();
  }

  now(): number {
    const now = this.#read();
    if (now > this.#savedUpTo) this.#saveOrReport();
    const armed = this.#armed;
    if (armed !== null && (now - armed.at) / this.#speed > overdueAfterMs) this.#wake();
    return now;
  }

  /** The first look at the clock after a sleep, which platform timers do not notice. */
  #wake(): void {
    this.#disarm();
    try {
      this.#options.onOverdue();
    } catch (error) {
      this.#options.report(error);
    }
    this.#arm();
  }

  #read(): number {
    if (this.#standing || this.#mode === "paused") return this.#base;
    const wall = wallClockNow();
    if (wall < this.#wallSeen) {
      // The wall clock was set back: continue from the latest time, which a jump may have moved
      // ahead of what was shown.
      this.#base = Math.max(this.#base, this.#shown);
      this.#wallBase = wall;
    }
    this.#wallSeen = wall;
    this.#shown = Math.max(
      this.#shown,
      Math.floor(this.#base + (wall - this.#wallBase) * this.#speed),
    );
    return this.#shown;
  }

  monotonic(): number {
    return monotonic();
  }

  isRunning(): boolean {
    return this.#mode !== "paused";
  }

  schedule(at: number, run: () => void, { background = false }: ScheduleOptions = {}): ClockTimer {
    const timer: Timer = { at, background, run };
    this.#timers.add(timer);
    if (this.#timers.next() === timer) {
      // A sleep is noticed by the timer that was missed, before this one takes its place.
      this.now();
      this.#arm();
    }
    return { cancel: () => this.#timers.remove(timer) };
  }

  state(): ClockState {
    return {
      now: this.now(),
      mode: this.#mode,
      speed: this.#mode === "faster" ? this.#speed : 1,
      nextDueAt: this.#nextInReach()?.at ?? null,
      advance: this.#advances.progress,
    };
  }

  /** What is due later waits for a time that the clock never shows. */
  #nextInReach(): Timer | undefined {
    const next = this.#timers.next();
    return next === undefined || next.at > latestTime ? undefined : next;
  }

  set(mode: ClockMode, speed?: number): ClockState | Problem {
    if (mode !== "faster" && speed !== undefined && speed !== 1)
      return invalid(`A speed is allowed only with the mode "faster", not with "${mode}".`);
    this.#advances.endAll("clock_set");
    this.#rebase();
    const [modeBefore, speedBefore] = [this.#mode, this.#speed];
    this.#mode = mode;
    this.#speed = mode === "faster" ? (speed ?? 10) : 1;
    try {
      this.#save();
    } catch (error) {
      this.#mode = modeBefore;
      this.#speed = speedBefore;
      throw error;
    }
    this.#arm();
    this.#saveOften();
    this.#options.onChange(null);
    return this.state();
  }

  /**
   * Shows real time and runs. That may turn the clock back, so `empty` removes everything that has
   * a time.
   */
  toRealTime(empty: () => void): void {
    this.#advances.endAll("clock_set");
    empty();
    this.#mode = "real";
    this.#speed = 1;
    this.#shown = 0;
    this.#wallBase = wallClockNow();
    this.#wallSeen = this.#wallBase;
    this.#base = this.#wallBase;
    this.#saveOrReport();
    this.#arm();
    this.#saveOften();
    this.#options.onChange(null);
  }

  /** Advances run one after the other. An advance ends when its caller disconnects. */
  advance(target: AdvanceTarget, caller?: AbortSignal): Promise<AdvanceEnd | Problem> {
    return this.#advances.run(target, caller);
  }

  /** Ends the running advance and all queued ones. */
  cancelAdvance(): ClockState {
    this.#advances.endAll("cancelled");
    return this.state();
  }

  #stand(): void {
    this.#rebase();
    this.#standing = true;
  }

  #release(): void {
    if (!this.#standing) return;
    this.#standing = false;
    this.#wallBase = wallClockNow();
    // A stop has already stored the time, and the store may be closed.
    if (!this.#stopped) this.#saveOrReport();
    this.#arm();
  }

  #jump(to: number): void {
    const before = this.#base;
    this.#base = Math.max(before, to);
    try {
      this.#save();
    } catch (error) {
      this.#base = before;
      throw error;
    }
    this.#arm();
  }

  #rebase(): void {
    this.#base = this.now();
    this.#wallBase = wallClockNow();
  }

  /** Makes the next timer fire when it is due; it counts as work from that moment on. */
  #arm(): void {
    this.#disarm();
    const next = this.#timers.next();
    if (next === undefined || this.#stopped || this.#firing !== null) return;
    const wait = next.at - this.now();
    if (wait <= 0) {
      this.#firing = this.#options.activity.begin();
      setImmediate(() => this.#fire());
      return;
    }
    if (this.#standing || this.#mode === "paused") return;
    const waitMs = Math.min(Math.ceil(wait / this.#speed), longestWaitMs);
    const platformTimer = startTimer(waitMs, () => {
      this.now();
      this.#arm();
    });
    this.#armed = { at: next.at, platformTimer };
  }

  #disarm(): void {
    this.#armed?.platformTimer.cancel();
    this.#armed = null;
  }

  #fire(): void {
    const now = this.now();
    for (
      let timer = this.#timers.takeDue(now);
      timer !== undefined && !this.#stopped;
      timer = this.#timers.takeDue(now)
    ) {
      try {
        timer.run();
      } catch (error) {
        this.#options.report(error);
      }
    }
    this.#firing?.end();
    this.#firing = null;
    this.#arm();
  }

  /** Throws what the store throws. */
  #save(): void {
    const now = this.#read();
    this.#savedUpTo = this.#stopped ? Infinity : now + this.#speed * saveEveryMs;
    this.#options.store.saveClock({
      now,
      wallAt: wallClockNow(),
      mode: this.#mode,
      speed: this.#speed,
      ...(this.#stopped ? { stopped: true } : {}),
    });
  }

  #saveOrReport(): void {
    try {
      this.#save();
    } catch (error) {
      this.#options.report(error);
    }
  }

  #saveOften(): void {
    this.#saveTimer?.cancel();
    this.#saveTimer = null;
    if (this.#mode !== "faster" || this.#stopped) return;
    this.#saveTimer = startIdleTimer(saveEveryMs, () => {
      this.#saveOrReport();
      this.#saveOften();
    });
  }
}

type Timer = { at: number; background: boolean; run: () => void };

/**
 * Timers in the order in which they are due; those of one time in the order in which they were set.
 */
class Timers {
  /** Latest first, so that the next one is removed from the end. */
  #sorted: Timer[] = [];
  #foreground = 0;

  add(timer: Timer): void {
    let low = 0;
    let high = this.#sorted.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#sorted[middle] as Timer).at > timer.at) low = middle + 1;
      else high = middle;
    }
    this.#sorted.splice(low, 0, timer);
    if (!timer.background) this.#foreground += 1;
  }

  remove(timer: Timer): void {
    const place = this.#sorted.indexOf(timer);
    if (place < 0) return;
    this.#sorted.splice(place, 1);
    if (!timer.background) this.#foreground -= 1;
  }

  next(): Timer | undefined {
    return this.#sorted.at(-1);
  }

  takeDue(now: number): Timer | undefined {
    const next = this.next();
    if (next === undefined || next.at > now) return undefined;
    this.#sorted.pop();
    if (!next.background) this.#foreground -= 1;
    return next;
  }

  hasForeground(): boolean {
    return this.#foreground > 0;
  }
}
