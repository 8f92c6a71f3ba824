/**
 * The clock of the pipeline. Everything that waits, waits for this clock.
 * It goes back only when everything that has a time is removed. Its time and mode outlive the
 * process through `ClockStore`.
 *
 * Modes:
 *   real    the speed of real time, from the clock's current time
 *   faster  `speed` times as fast
 *   paused  stands still; what is due now still runs
 *
 * `advance` works in every mode: the clock stands still, jumps from due time to due time, and at
 * each of them waits until the work that started there has ended (`advances.ts`).
 */

export type ClockMode = "real" | "faster" | "paused";

export type ClockState = {
  now: number;
  mode: ClockMode;
  speed: number;
  nextDueAt: number | null;
  /** The advance in progress. */
  advance: AdvanceProgress | null;
};

export type AdvanceTarget = { byMs: number } | { to: "next-due" } | { to: "idle" };

/**
 * Where an advance started, where it ends, the clock's current time, and the attempts made so far.
 */
export type AdvanceProgress = {
  from: number;
  to: number | "next-due" | "idle";
  now: number;
  attempts: number;
};

/** Why an advance ended before its target. */
export type EarlyEnd = "clock_set" | "cancelled" | "caller_gone" | "stopping";

export type AdvanceEnd = {
  state: ClockState;
  ran: { attempts: number };
  endedEarly: { code: EarlyEnd; message: string } | null;
};

/** A timer on the clock. Cancelling one that has fired does nothing. */
export type ClockTimer = { cancel(): void };

export type ScheduleOptions = {
  /**
   * Background timers (periodic syncs, flush timers) fire like any other, but do not keep an
   * advance to `idle` going.
   */
  background?: boolean;
};

/** The clock as the parts of the pipeline see it. */
export type Clock = {
  /** Clock time in epoch milliseconds, always whole. */
  now(): number;
  /** Real milliseconds for durations, from any origin. */
  monotonic(): number;
  /** Whether time runs; a paused clock moves only in an advance. */
  isRunning(): boolean;
  /**
   * Runs `run` once when the clock reaches `at`; at the next turn of the event loop when that has
   * passed.
   */
  schedule(at: number, run: () => void, options?: ScheduleOptions): ClockTimer;
};

export type StoredClock = {
  now: number;
  wallAt: number;
  mode: ClockMode;
  speed: number;
  /** Stored by a stop: nothing has been shown since. */
  stopped?: boolean;
};

export type ClockStore = {
  loadClock(): StoredClock | null;
  saveClock(clock: StoredClock): void;
  /** The latest time of the clock that anything on record has; 0 without a record. */
  latestRecordedAt(): number;
};
