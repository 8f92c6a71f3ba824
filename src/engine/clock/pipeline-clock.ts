/**
 * The clock that the pipeline runs on; `clock.ts` says what it promises. Made by `app.ts`, moved by the control API.
 *
 * States: running (real or faster), paused, and over either of them standing: an advance is under way, time moves
 * only in jumps. Timers that are due fire in every state.
 */

import { invalid, type Problem } from "../../domain/problem.ts";
import type { ClockStore } from "../ports.ts";
import { storeFailure } from "../store-failure.ts";
import { monotonic, startIdleTimer, startTimer, wallNow, type WallTimer } from "../wall.ts";
import type { Activity, Work } from "./activity.ts";
import { Advances } from "./advances.ts";
import { Timers, type Timer } from "./clock.ts";
import type { AdvanceEnd, AdvanceProgress, AdvanceTarget, Clock, ClockMode, ClockState, ClockTimer, ScheduleOptions } from "./clock.ts";

/** Platform timers do not count a laptop's sleep, so a long wait is looked at anew this often. */
const longestWaitMs = 60_000;

/** A due time missed by this much real time means that the machine slept or the process was not running. */
const overdueAfterMs = 30_000;

/**
 * No time is shown that is later than the stored one by more than this much real time: then it is stored first. A start
 * after a kill adds it, so the clock does not go back, whatever the machine's clock did meanwhile.
 */
const saveEveryMs = 1000;

type PipelineClockOptions = {
  store: ClockStore;
  activity: Activity;
  work: ConstructorParameters<typeof Advances>[0]["work"];
  /** Due times were missed by more than a moment. Called before the timers fire. */
  onOverdue: () => void;
  /** With the progress of the advance under way. */
  onChange: (advance: AdvanceProgress | null) => void;
  report: (error: unknown) => void;
};

export class PipelineClock implements Clock {
  readonly #options: PipelineClockOptions;
  readonly #timers = new Timers();
  #mode: ClockMode = "real";
  #speed = 1;
  #standing = false;
  /** The clock showed `#base` when the wall showed `#wallBase`. */
  #base: number;
  #wallBase: number;
  /** The last answer of `now`, and what the wall showed then. */
  #shown = 0;
  #wallSeen = 0;
  #platformTimer: WallTimer | null = null;
  #saveTimer: WallTimer | null = null;
  #firing: Work | null = null;
  readonly #advances: Advances;
  /** The latest time that may be shown before it has to be stored. */
  #savedUpTo = Infinity;
  #trouble: Problem | null = null;
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
        next: () => this.#timers.next(),
        hasForeground: () => this.#timers.hasForeground(),
      },
      activity: options.activity,
      work: options.work,
      onProgress: options.onChange,
    });
    const wall = wallNow();
    const stored = options.store.loadClock();
    this.#base = wall;
    this.#wallBase = wall;
    if (stored !== null) {
      this.#mode = stored.mode;
      this.#speed = stored.speed;
      const away = Math.max(0, wall - stored.wallAt);
      if (stored.mode === "paused") this.#base = stored.now;
      else if (stored.mode === "real") this.#base = stored.now + Math.max(away, stored.stopped === true ? 0 : saveEveryMs);
      else this.#base = stored.now + away + stored.speed * saveEveryMs;
    }
    this.#base = Math.max(this.#base, options.store.latestRecordedAt());
  }

  start(): void {
    this.#save();
    this.#arm();
    this.#saveOften();
  }

  /** Ends the advances under way, and has no more of them. Before `stop`, while the store is open. */
  endAdvances(): void {
    this.#advances.endAll("stopping");
  }

  stop(): void {
    this.#stopped = true;
    this.#platformTimer?.cancel();
    this.#saveTimer?.cancel();
    this.#save();
  }

  /** Why the store did not take the time when it was to be stored last; null when it did. */
  get trouble(): Problem | null {
    return this.#trouble;
  }

  now(): number {
    const now = this.#read();
    if (now > this.#savedUpTo) this.#saveOrTell();
    return now;
  }

  #read(): number {
    if (this.#standing || this.#mode === "paused") return this.#base;
    const wall = wallNow();
    if (wall < this.#wallSeen) {
      // The wall was set back: go on from what was shown last.
      this.#base = this.#shown;
      this.#wallBase = wall;
    }
    this.#wallSeen = wall;
    this.#shown = Math.max(this.#shown, Math.floor(this.#base + (wall - this.#wallBase) * this.#speed));
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
    if (this.#timers.next() === timer) this.#arm();
    return { cancel: () => this.#timers.remove(timer) };
  }

  state(): ClockState {
    return {
      now: this.now(),
      mode: this.#mode,
      speed: this.#mode === "faster" ? this.#speed : 1,
      nextDueAt: this.#timers.next()?.at ?? null,
      advance: this.#advances.progress,
    };
  }

  set(mode: ClockMode, speed?: number): ClockState | Problem {
    if (mode !== "faster" && speed !== undefined && speed !== 1)
      return invalid(`A speed goes with the mode "faster" only, not with "${mode}".`);
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

  /** Advances wait for each other. An advance ends when its caller goes away. */
  advance(target: AdvanceTarget, caller?: AbortSignal): Promise<AdvanceEnd | Problem> {
    return this.#advances.run(target, caller);
  }

  /** Ends the advance under way, and those that wait for it. */
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
    this.#wallBase = wallNow();
    // A stop has stored the time already, and the store may be closed by now.
    if (!this.#stopped) this.#saveOrTell();
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
    this.#wallBase = wallNow();
  }

  /** Sees to it that the next timer fires when it is due, and counts as work from the moment it is. */
  #arm(): void {
    this.#platformTimer?.cancel();
    this.#platformTimer = null;
    const next = this.#timers.next();
    if (next === undefined || this.#stopped || this.#firing !== null) return;
    const wait = next.at - this.now();
    if (wait <= 0) {
      this.#firing = this.#options.activity.begin();
      setImmediate(() => this.#fire());
      return;
    }
    if (this.#standing || this.#mode === "paused") return;
    this.#platformTimer = startTimer(Math.min(Math.ceil(wait / this.#speed), longestWaitMs), () => {
      const due = this.#timers.next();
      if (due !== undefined && (this.now() - due.at) / this.#speed > overdueAfterMs) this.#options.onOverdue();
      this.#arm();
    });
  }

  #fire(): void {
    const now = this.now();
    for (let timer = this.#timers.takeDue(now); timer !== undefined && !this.#stopped; timer = this.#timers.takeDue(now)) {
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
    try {
      this.#options.store.saveClock({
        now,
        wallAt: wallNow(),
        mode: this.#mode,
        speed: this.#speed,
        ...(this.#stopped ? { stopped: true } : {}),
      });
    } catch (error) {
      this.#trouble = storeFailure(error);
      throw error;
    }
    this.#trouble = null;
  }

  #saveOrTell(): void {
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
      this.#saveOrTell();
      this.#saveOften();
    });
  }
}
