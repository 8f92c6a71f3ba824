/**
 * Where the client has its time from. Everything that waits, waits here; only the deadline of a
 * real request is real time.
 */

export type Timer = { cancel(): void };

export type Time = {
  /** Epoch milliseconds. */
  now(): number;
  /** Runs `run` once at that time, or soon when it has passed. */
  schedule(at: number, run: () => void): Timer;
};

/** The longest wait that the platform supports. */
const longestWaitMs = 2 ** 31 - 1;

/**
 * A wait keeps the process alive: what is queued is not lost because the program has nothing else
 * to do.
 */
export const realTime: Time = {
  now: () => Date.now(),
  schedule(at, run) {
    let remainingMs = Math.max(0, at - Date.now());
    let timer: NodeJS.Timeout;
    const wait = (): void => {
      const ms = Math.min(remainingMs, longestWaitMs);
      remainingMs -= ms;
      timer = setTimeout(remainingMs > 0 ? wait : run, ms);
    };
    wait();
    return { cancel: () => clearTimeout(timer) };
  },
};
