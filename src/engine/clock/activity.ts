/**
 * Who is busy. Every station marks the work that will end by itself, so that an advance of the clock and
 * `settle` know when what has been started is over. Work that waits for the clock alone (an attempt held
 * by a test endpoint) is marked as held: it is not waited for while the clock stands still.
 */

export type Work = {
  /** From now on only the clock can move this on. */
  hold(): void;
  /** It moves by itself again. */
  release(): void;
  /** Over. Further calls do nothing. */
  end(): void;
};

type Waiter = { includeHeld: boolean; resolve: () => void };

export class Activity {
  #running = 0;
  #held = 0;
  #waiters: Waiter[] = [];
  #onAwaited: (() => void)[] = [];
  #checkScheduled = false;

  begin(): Work {
    this.#running += 1;
    let state: "running" | "held" | "over" = "running";
    return {
      hold: () => {
        if (state !== "running") return;
        state = "held";
        this.#running -= 1;
        this.#held += 1;
        this.#check();
      },
      release: () => {
        if (state !== "held") return;
        state = "running";
        this.#held -= 1;
        this.#running += 1;
      },
      end: () => {
        if (state === "running") this.#running -= 1;
        if (state === "held") this.#held -= 1;
        state = "over";
        this.#check();
      },
    };
  }

  isQuiet(includeHeld: boolean): boolean {
    return this.#running === 0 && (!includeHeld || this.#held === 0);
  }

  /** Somebody waits until nothing runs: no time for work that takes its time. */
  get isAwaited(): boolean {
    return this.#waiters.length > 0;
  }

  /** Runs whenever somebody begins to wait. */
  onAwaited(run: () => void): void {
    this.#onAwaited.push(run);
  }

  /** Resolves once nothing runs, looked at between two turns of the event loop, so that work handed on in a callback counts. */
  whenQuiet({ includeHeld = false, signal }: { includeHeld?: boolean; signal?: AbortSignal } = {}): Promise<void> {
    return new Promise((resolve) => {
      const waiter: Waiter = { includeHeld, resolve };
      this.#waiters.push(waiter);
      for (const run of this.#onAwaited) run();
      signal?.addEventListener("abort", () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        resolve();
      });
      this.#check();
    });
  }

  #check(): void {
    if (this.#checkScheduled || this.#waiters.length === 0) return;
    this.#checkScheduled = true;
    setImmediate(() => {
      this.#checkScheduled = false;
      const ready = this.#waiters.filter((waiter) => this.isQuiet(waiter.includeHeld));
      this.#waiters = this.#waiters.filter((waiter) => !ready.includes(waiter));
      for (const waiter of ready) waiter.resolve();
    });
  }
}
