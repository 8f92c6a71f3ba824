/**
 * The clock that the pipeline runs on; `clock.ts` says what it promises. Made by `app.ts`, moved by the control API.
 *
 * States: running (real or faster), paused, and over either of them standing: an advance is under way, time moves
 * only in jumps. Timers that are due fire in every state.
 */

import { conflict, invalid, type Problem } from "../../domain/problem.ts";
import type { ClockStore } from "../ports.ts";
import { monotonic, startIdleTimer, startTimer, wallNow, type WallTimer } from "../wall.ts";
import type { Activity, Work } from "./activity.ts";
import type { AdvanceTarget, Clock, ClockMode, ClockState, ClockTimer, ScheduleOptions } from "./clock.ts";
import { Timers, type Timer } from "./timers.ts";

/** Platform timers do not count a laptop's sleep, so a long wait is looked at anew this often. */
const longestWaitMs = 60_000;

/** A due time missed by this much real time means that the machine slept or the process was not running. */
const overdueAfterMs = 30_000;

/** How often a fast clock's time is stored; after a crash it goes on this much real time later, so it never goes back. */
const saveEveryMs = 1000;

/** Room for a thousand years, so that a slip of the keyboard cannot leave the range of dates. */
const latestTime = Date.UTC(3000, 0);

type PipelineClockOptions = {
  store: ClockStore;
  activity: Activity;
  /** Whether anything is queued, sending or waiting that can still move. */
  pending: () => boolean;
  attemptsMade: () => number;
  /** Due times were missed by more than a moment. Called before the timers fire. */
  onOverdue: () => void;
  onChange: () => void;
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
  #advances: Promise<unknown> = Promise.resolve();
  #stopped = false;

  constructor(options: PipelineClockOptions) {
    this.#options = options;
    const wall = wallNow();
    const stored = options.store.loadClock();
    this.#base = wall;
    this.#wallBase = wall;
    if (stored === null) return;
    this.#mode = stored.mode;
    this.#speed = stored.speed;
    const away = Math.max(0, wall - stored.wallAt);
    if (stored.mode === "paused") this.#base = stored.now;
    else if (stored.mode === "real") this.#base = stored.now + away;
    else this.#base = stored.now + away + stored.speed * saveEveryMs;
  }

  start(): void {
    this.#save();
    this.#arm();
    this.#saveOften();
  }

  stop(): void {
    this.#stopped = true;
    this.#platformTimer?.cancel();
    this.#saveTimer?.cancel();
    this.#save();
  }

  now(): number {
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
    };
  }

  set(mode: ClockMode, speed?: number): ClockState | Problem {
    if (mode !== "faster" && speed !== undefined && speed !== 1)
      return invalid(`A speed goes with the mode "faster" only, not with "${mode}".`);
    this.#rebase();
    this.#mode = mode;
    this.#speed = mode === "faster" ? (speed ?? 10) : 1;
    this.#save();
    this.#arm();
    this.#saveOften();
    this.#options.onChange();
    return this.state();
  }

  /** Advances wait for each other. */
  advance(target: AdvanceTarget): Promise<{ state: ClockState; ran: { attempts: number } } | Problem> {
    const advanced = this.#advances.then(() => this.#advance(target));
    this.#advances = advanced.catch(() => undefined);
    return advanced;
  }

  async #advance(target: AdvanceTarget): Promise<{ state: ClockState; ran: { attempts: number } } | Problem> {
    if (this.#stopped) return conflict("stopping", "Hookyard is stopping.");
    const attemptsBefore = this.#options.attemptsMade();
    this.#rebase();
    this.#standing = true;
    try {
      const until = "byMs" in target ? this.#base + target.byMs : null;
      if (until !== null && until > latestTime) return invalid("The clock cannot be moved beyond the year 3000.");
      for (let stepped = false; ; stepped = true) {
        await this.#options.activity.whenQuiet();
        if (this.#stopped) break;
        const next = this.#timers.next()?.at;
        if (until !== null) {
          if (next === undefined || next > until) {
            this.#jump(until);
            break;
          }
        } else if ("to" in target && target.to === "next-due") {
          if (stepped || next === undefined) break;
        } else if (!this.#options.pending() || !this.#timers.hasForeground()) break;
        if (next === undefined) break;
        this.#jump(next);
      }
    } finally {
      this.#standing = false;
      this.#wallBase = wallNow();
      // A stop has stored the time already, and the store may be closed by now.
      if (!this.#stopped) this.#save();
      this.#arm();
    }
    return { state: this.state(), ran: { attempts: this.#options.attemptsMade() - attemptsBefore } };
  }

  #jump(to: number): void {
    this.#base = Math.max(this.#base, to);
    this.#save();
    this.#arm();
    this.#options.onChange();
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

  #save(): void {
    this.#options.store.saveClock({ now: this.now(), wallAt: wallNow(), mode: this.#mode, speed: this.#speed });
  }

  #saveOften(): void {
    this.#saveTimer?.cancel();
    this.#saveTimer = null;
    if (this.#mode !== "faster" || this.#stopped) return;
    this.#saveTimer = startIdleTimer(saveEveryMs, () => {
      this.#save();
      this.#saveOften();
    });
  }
}
