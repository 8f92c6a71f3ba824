/**
 * The waits of one request at a test endpoint: on the clock, one after the other. Created for each
 * step that waits; while it waits, the attempt at the other end of the socket is held, when it is
 * ours.
 */

import type { Socket } from "node:net";
import type { Holdable, Holds, Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";

/** Each wait starts at the due time of the one before, however late its timer fired. */
export type Wait = {
  now(): number;
  until(at: number, run: () => void): void;
  forMs(ms: number, run: () => void): void;
  /** Until it is released, or the client disconnects. */
  forever(): void;
  /** Ends a wait as of this time. */
  release(at: number): void;
  /** What comes next starts no earlier than now: real time has passed. */
  catchUp(): void;
  /** Ends a wait before its time. */
  end(): void;
  /** Ends a wait after the client disconnected. */
  cancel(): void;
};

type WaitOptions = {
  /** Of the client, below TLS. */
  tcp: Socket;
  clock: Clock;
  holds: Holds;
  /** Held as the attempt is: for what continues without the client. */
  work?: Work;
};

export function createWait({ tcp, clock, holds, work }: WaitOptions): Wait {
  const attempt: Holdable | null = holds.find(tcp);
  let timer: ClockTimer | null = null;
  let state: "free" | "waiting" | "held" | "over" = "free";
  let current = {};
  let now = clock.now();

  const hold = (): void => {
    state = "held";
    attempt?.hold(now);
    work?.hold();
  };
  const begin = (): void => {
    state = "waiting";
    const wait = {};
    current = wait;
    // One turn later, so that the client has received what was just written before the clock may
    // move.
    setImmediate(() => {
      if (state === "waiting" && wait === current) hold();
    });
  };
  const release = (at: number): void => {
    // A fast clock can be due before that turn.
    if (state === "waiting") hold();
    if (state === "held") {
      attempt?.release(at);
      work?.release();
    }
    if (state !== "over") state = "free";
    now = at;
  };
  const until = (at: number, run: () => void): void => {
    if (state === "over") return;
    timer = clock.schedule(at, () => {
      timer = null;
      release(at);
      run();
    });
    begin();
  };
  const cancel = (): void => {
    timer?.cancel();
    timer = null;
    state = "over";
  };
  return {
    now: () => now,
    until,
    forMs: (ms, run) => until(now + ms, run),
    forever() {
      if (state !== "over") begin();
    },
    release,
    catchUp() {
      now = Math.max(now, clock.now());
    },
    end() {
      release(clock.now());
      cancel();
    },
    cancel,
  };
}
