/**
 * Reads parts of a list, one at a time. What is missing is read at once; a paced reading, and every
 * reading after a failure, waits for the pause after the reading before it.
 */

import { errorOf } from "./use-action.ts";

export type Reading = { isPaced: boolean; run: () => Promise<void> };

export type Time = {
  monotonic: () => number;
  /** Returns a cancel function. */
  later: (ms: number, run: () => void) => () => void;
};

export const pageTime: Time = {
  monotonic: () => window.performance.now(),
  later(ms, run) {
    const timer = window.setTimeout(run, ms);
    return () => window.clearTimeout(timer);
  },
};

type PacedReaderOptions = Time & {
  /** Null: there is nothing to read. */
  next: () => Reading | null;
  /** After a reading that took this long. */
  pauseAfter: (tookMs: number) => number;
  onFailure: () => void;
  /** A reading has ended. */
  onEnd: () => void;
};

/** After a failure. */
const retryMs = 2000;

export class PacedReader {
  readonly #options: PacedReaderOptions;
  #error: Error | null = null;
  #isReading = false;
  #isStopped = false;
  #cancelPause: (() => void) | null = null;

  constructor(options: PacedReaderOptions) {
    this.#options = options;
  }

  /** Of the last reading. */
  get error(): Error | null {
    return this.#error;
  }

  /** There may be something to read. */
  wake(): void {
    if (this.#isReading || this.#isStopped) return;
    const reading = this.#options.next();
    if (reading === null) return;
    if (this.#cancelPause !== null && (reading.isPaced || this.#error !== null)) return;
    this.endPause();
    this.#isReading = true;
    void this.#read(reading);
  }

  endPause(): void {
    this.#cancelPause?.();
    this.#cancelPause = null;
  }

  stop(): void {
    this.#isStopped = true;
    this.endPause();
  }

  async #read({ run }: Reading): Promise<void> {
    const { monotonic, pauseAfter, later, onFailure, onEnd } = this.#options;
    const startedAt = monotonic();
    try {
      await run();
      this.#error = null;
    } catch (cause) {
      this.#error = errorOf(cause);
      onFailure();
    }
    this.#isReading = false;
    if (this.#isStopped) return;
    this.#cancelPause = later(
      this.#error === null ? pauseAfter(monotonic() - startedAt) : retryMs,
      () => {
        this.#cancelPause = null;
        this.wake();
      },
    );
    onEnd();
    this.wake();
  }
}
