/**
 * One attempt: one request to one webhook under its deadline, and the record of it. The deadline is real time, except
 * while a test endpoint holds the request: then it is clock time.
 */

import type { Outcome } from "../../domain/states.ts";
import type { Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Holds } from "../clock/holds.ts";
import type { Phase, RecordedResponse } from "../ports.ts";
import { startTimer, type WallTimer } from "../wall.ts";
import { AttemptTime } from "./attempt-time.ts";
import type { Exchange, ExchangeResult, Sender } from "./exchange.ts";

type AttemptOptions = {
  sender: Sender;
  clock: Clock;
  holds: Holds;
  /** Ended by whoever has put the result on record. */
  work: Work;
  url: string;
  headers: [string, string][];
  body: Uint8Array;
  timeoutMs: number;
};

export type AttemptResult = {
  startedAt: number;
  durationMs: number;
  phases: Partial<Record<Phase, number>>;
  simulated: boolean;
  outcome: Outcome;
  error: { code: string; message: string } | null;
  requestHead: string;
  response: RecordedResponse | null;
};

export type RunningAttempt = {
  /** Null when it was stopped: then it is as if it had not been made. */
  done: Promise<AttemptResult | null>;
  stop(): void;
};

export function startAttempt({ sender, clock, holds, work, url, headers, body, timeoutMs }: AttemptOptions): RunningAttempt {
  const startedAt = clock.now();
  const started = clock.monotonic();
  const time = new AttemptTime(clock, startedAt);
  const stamps: { phase: Phase; real: number; simulated: number }[] = [];
  let simulated = false;
  let heldUntilAtMost = 0;
  let stopped = false;
  let ended = false;
  let unregister = (): void => undefined;
  let deadline: WallTimer | ClockTimer;

  const stamp = (phase: Phase): void => void stamps.push({ phase, real: clock.monotonic() - started, simulated: time.elapsed() });
  const abort = (): void => exchange.abort({ timeoutMs });

  const exchange: Exchange = sender.send({
    url,
    headers,
    body,
    onPhase: stamp,
    onSocket(address, port) {
      unregister();
      unregister = holds.register(address, port, {
        received: () => exchange.markReached(),
        hold(since) {
          if (ended) return;
          simulated = true;
          heldUntilAtMost = Math.ceil(since + timeoutMs - time.hold(since));
          deadline.cancel();
          deadline = clock.schedule(heldUntilAtMost, () => {
            time.release(heldUntilAtMost);
            abort();
          });
          work.hold();
        },
        release(at) {
          if (ended) return;
          time.release(Math.min(at, heldUntilAtMost));
          deadline.cancel();
          if (at < heldUntilAtMost) deadline = startTimer(timeoutMs - time.elapsed(), abort);
          else abort();
          work.release();
        },
      });
    },
  });
  deadline = startTimer(timeoutMs, abort);

  const done = exchange.done.then((result): AttemptResult | null => {
    ended = true;
    deadline.cancel();
    unregister();
    work.release();
    if (stopped) return null;
    return {
      startedAt,
      durationMs: rounded(simulated ? time.elapsed() : clock.monotonic() - started),
      phases: Object.fromEntries(stamps.map((each) => [each.phase, rounded(simulated ? each.simulated : each.real)])),
      simulated,
      outcome: outcomeOf(result),
      error: result.error,
      requestHead: result.requestHead,
      response: result.response,
    };
  });

  return {
    done,
    stop() {
      stopped = true;
      exchange.abort("stopped");
    },
  };
}

function outcomeOf({ outcome, response }: ExchangeResult): Outcome {
  if (outcome !== "answered") return outcome;
  const status = response?.status ?? 0;
  return status >= 200 && status < 300 ? "success" : "http_error";
}

/** To the microsecond. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
