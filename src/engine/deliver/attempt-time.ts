/**
 * How long an attempt that a test endpoint holds has taken. What is held takes the clock time of the endpoint's program,
 * to the millisecond, however late timers fire in a busy process. The way there and back takes as long as it really
 * does, and no longer than the clock has moved meanwhile: a paused clock makes it nothing, a fast one does not stretch it.
 */

import type { Clock } from "../clock/clock.ts";

export class AttemptTime {
  readonly #clock: Clock;
  #spent = 0;
  /** Clock time since which it is held, null on the way. */
  #heldSince: number | null = null;
  /** Where the way began, by both times. */
  #onTheWaySince: { real: number; clock: number };

  constructor(clock: Clock, startedAt: number) {
    this.#clock = clock;
    this.#onTheWaySince = { real: clock.monotonic(), clock: startedAt };
  }

  elapsed(): number {
    const now = this.#clock.now();
    return this.#spent + (this.#heldSince === null ? this.#way(now) : Math.max(0, now - this.#heldSince));
  }

  /** Answers what had been spent by then. */
  hold(since: number): number {
    this.#spent += this.#way(since);
    this.#heldSince = since;
    return this.#spent;
  }

  release(at: number): void {
    if (this.#heldSince === null) return;
    this.#spent += Math.max(0, at - this.#heldSince);
    this.#heldSince = null;
    this.#onTheWaySince = { real: this.#clock.monotonic(), clock: at };
  }

  #way(until: number): number {
    const { real, clock } = this.#onTheWaySince;
    return Math.max(0, Math.min(this.#clock.monotonic() - real, until - clock));
  }
}
