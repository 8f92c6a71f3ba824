/**
 * One attempt: one request to one webhook under its deadline, and its record. The deadline uses
 * real time, except while a test endpoint holds the request: then it uses clock time. A request
 * that a test endpoint forwards is sent as one too.
 */

import type { Outcome } from "../../domain/states.ts";
import type { EndpointId } from "../../domain/ids.ts";
import type { Holdable, Work, Holds } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Phase, RecordedResponse } from "../ports.ts";
import type { Exchange, ExchangeResult } from "./exchange.ts";
import type { Sender } from "./sender.ts";

type AttemptOptions = {
  sender: Sender;
  clock: Clock;
  holds: Holds;
  /** Ended by the caller once the result is recorded. */
  work: Work;
  url: string;
  headers: [string, string][];
  body: Uint8Array;
  timeoutMs: number;
  method?: string;
  keepBody?: number;
  /**
   * The attempt that waits for the answer of this one, at a test endpoint that forwards it: held
   * while this one is.
   */
  through?: Holdable | null;
  /** The test endpoints that the request has come through. */
  via?: readonly EndpointId[];
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
  /**
   * Null when it was stopped or not sent, or when the thread that sent it has ended: such an
   * attempt is not recorded.
   */
  done: Promise<AttemptResult | null>;
  /** No connection became free for it in the thread that was to send it. */
  readonly isUnsent: boolean;
  stop(): void;
};

export function startAttempt(options: AttemptOptions): RunningAttempt {
  const { sender, clock, holds, work, timeoutMs, through, method, url, headers, body, keepBody } =
    options;
  const startedAt = clock.now();
  const started = clock.monotonic();
  const time = new AttemptTime(clock, startedAt);
  const stamps: { phase: Phase; real: number; simulated: number }[] = [];
  let simulated = false;
  let heldUntilAtMost = 0;
  let stopped = false;
  let isUnsent = false;
  let ended = false;
  let unregister = (): void => undefined;
  let heldDeadline: ClockTimer | null = null;

  const stamp = (phase: Phase, afterMs?: number): void =>
    void stamps.push(
      afterMs === undefined
        ? { phase, real: clock.monotonic() - started, simulated: time.elapsed() }
        : { phase, real: afterMs, simulated: afterMs },
    );
  const abort = (): void => exchange.abort({ timeoutMs });

  const exchange: Exchange = sender.send({
    method,
    url,
    headers,
    body,
    keepBody,
    timeoutMs,
    onPhase: stamp,
    onSocket(address, port) {
      unregister();
      unregister = holds.register(address, port, {
        origin: work.origin,
        via: options.via,
        received: () => exchange.markReached(),
        hold(since) {
          if (ended) return;
          simulated = true;
          heldUntilAtMost = Math.ceil(since + timeoutMs - time.hold(since));
          exchange.limit(null);
          heldDeadline?.cancel();
          heldDeadline = clock.schedule(heldUntilAtMost, () => {
            time.release(heldUntilAtMost);
            abort();
          });
          work.hold();
          through?.hold(since);
        },
        release(at) {
          if (ended) return;
          time.release(Math.min(at, heldUntilAtMost));
          heldDeadline?.cancel();
          if (at < heldUntilAtMost) exchange.limit(timeoutMs - time.elapsed());
          else abort();
          work.release();
          through?.release(at);
        },
      });
    },
  });

  const done = exchange.done.then((result): AttemptResult | null => {
    ended = true;
    heldDeadline?.cancel();
    unregister();
    work.release();
    isUnsent = result.isUnsent === true;
    if (stopped || isUnsent || result.isInterrupted) return null;
    return {
      startedAt,
      durationMs: rounded(
        simulated ? time.elapsed() : (result.durationMs ?? clock.monotonic() - started),
      ),
      phases: Object.fromEntries(
        stamps.map((each) => [each.phase, rounded(simulated ? each.simulated : each.real)]),
      ),
      simulated,
      outcome: outcomeOf(result),
      error: result.error,
      requestHead: result.requestHead,
      response: result.response,
    };
  });

  return {
    done,
    get isUnsent() {
      return isUnsent;
    },
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

/**
 * How long an attempt takes. While a test endpoint holds it, the clock time of the endpoint's
 * program counts, to the millisecond, however late timers fire in a busy process. Before and after,
 * real time counts, but no more of it than the clock has moved: none on a paused clock, and not
 * stretched on a fast one.
 */
class AttemptTime {
  readonly #clock: Clock;
  #spent = 0;
  /** Clock time since which it is held, null while it is not. */
  #heldSince: number | null = null;
  /** When the current time on the network began, by both clocks. */
  #onNetworkSince: { real: number; clock: number };

  constructor(clock: Clock, startedAt: number) {
    this.#clock = clock;
    this.#onNetworkSince = { real: clock.monotonic(), clock: startedAt };
  }

  elapsed(): number {
    const now = this.#clock.now();
    return (
      this.#spent +
      (this.#heldSince === null ? this.#onNetwork(now) : Math.max(0, now - this.#heldSince))
    );
  }

  /** Returns the time taken so far. */
  hold(since: number): number {
    this.#spent += this.#onNetwork(since);
    this.#heldSince = since;
    return this.#spent;
  }

  release(at: number): void {
    if (this.#heldSince === null) return;
    this.#spent += Math.max(0, at - this.#heldSince);
    this.#heldSince = null;
    this.#onNetworkSince = { real: this.#clock.monotonic(), clock: at };
  }

  #onNetwork(until: number): number {
    const { real, clock } = this.#onNetworkSince;
    return Math.max(0, Math.min(this.#clock.monotonic() - real, until - clock));
  }
}
