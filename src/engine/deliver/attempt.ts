/**
 * One attempt: one request to one webhook under its deadline, and its record. The deadline uses
 * real time, except while a test endpoint holds the request: then it uses clock time, and an answer
 * that the endpoint finishes in time is in time. A request that a test endpoint forwards is sent as
 * one too.
 */

import type { Outcome } from "../../domain/states.ts";
import type { EndpointId } from "../../domain/ids.ts";
import type { Holdable, Work, Holds } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Phase, RecordedResponse } from "../ports.ts";
import { toMicroseconds } from "../real-time.ts";
import type { Exchange, ExchangeResult, RequestHeaders } from "./exchange.ts";
import type { Sender } from "./sender.ts";

type AttemptOptions = {
  sender: Sender;
  clock: Clock;
  holds: Holds;
  /** Ended by the caller once the result is recorded. */
  work: Work;
  url: string;
  headers: RequestHeaders;
  body: Uint8Array | string;
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
  /** Called once; `done` has the same result. */
  onEnd?: (result: AttemptResult | null) => void;
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
  readonly done: Promise<AttemptResult | null>;
  /** No connection became free for it in the thread that was to send it. */
  readonly isUnsent: boolean;
  stop(): void;
};

export function startAttempt(options: AttemptOptions): RunningAttempt {
  return new Attempt(options);
}

type Stamp = { phase: Phase; real: number; simulated: number };

class Attempt implements RunningAttempt {
  readonly #options: AttemptOptions;
  readonly #startedAt: number;
  readonly #started: number;
  readonly #exchange: Exchange;
  /** Of one that is sent in this thread. */
  readonly #stamps: Stamp[] = [];
  #time: AttemptTime | null = null;
  #simulated = false;
  #heldUntilAtMost = 0;
  #heldDeadline: ClockTimer | null = null;
  #unregister: (() => void) | null = null;
  #isStopped = false;
  #isEnded = false;
  #result: AttemptResult | null = null;
  #waiting: ((result: AttemptResult | null) => void)[] | null = null;
  isUnsent = false;

  constructor(options: AttemptOptions) {
    const { sender, clock, timeoutMs, method, url, headers, body, keepBody } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#started = clock.monotonic();
    this.#exchange = sender.send({
      method,
      url,
      headers,
      body,
      keepBody,
      timeoutMs,
      onPhase: (phase) => this.#reach(phase),
      onSocket: (...ends) => this.#register(...ends),
      onEnd: (result) => this.#end(result),
    });
  }

  get done(): Promise<AttemptResult | null> {
    if (this.#isEnded) return Promise.resolve(this.#result);
    return new Promise((resolve) => (this.#waiting ??= []).push(resolve));
  }

  stop(): void {
    this.#isStopped = true;
    this.#exchange.abort("stopped");
  }

  #timeOf(): AttemptTime {
    this.#time ??= new AttemptTime(this.#options.clock, this.#startedAt, this.#started);
    return this.#time;
  }

  #reach(phase: Phase): void {
    const real = this.#options.clock.monotonic() - this.#started;
    this.#stamps.push({ phase, real, simulated: this.#timeOf().elapsed() });
  }

  #abort(): void {
    this.#exchange.abort({ timeoutMs: this.#options.timeoutMs });
  }

  /** A test endpoint finds it by the ends of its connection. */
  #register(address: string, port: number, serverPort: number): void {
    const { holds, work, timeoutMs, via } = this.#options;
    this.#unregister = holds.register(address, port, serverPort, {
      ...{ origin: work.origin, timeoutMs, via },
      received: () => this.#exchange.markReached(),
      hold: (since) => this.#hold(since),
      release: (at) => this.#release(at),
      passedOn: () => this.#passOn(),
    });
  }

  #hold(since: number): void {
    if (this.#isEnded) return;
    const { clock, timeoutMs, work, through } = this.#options;
    const time = this.#timeOf();
    this.#simulated = true;
    const heldUntilAtMost = Math.ceil(since + timeoutMs - time.hold(since));
    this.#heldUntilAtMost = heldUntilAtMost;
    this.#exchange.limit(null);
    this.#heldDeadline?.cancel();
    this.#heldDeadline = clock.schedule(heldUntilAtMost, () => {
      time.release(heldUntilAtMost);
      through?.release(heldUntilAtMost);
      this.#abort();
    });
    work.hold();
    through?.hold(since);
  }

  #release(at: number): void {
    if (this.#isEnded) return;
    const { timeoutMs, work, through } = this.#options;
    const time = this.#timeOf();
    time.release(Math.min(at, this.#heldUntilAtMost));
    this.#heldDeadline?.cancel();
    // Only an end for an answer that never arrives: the transfer does not count.
    if (at < this.#heldUntilAtMost) this.#exchange.limit(timeoutMs);
    else this.#abort();
    work.release();
    through?.release(at);
  }

  #passOn(): void {
    if (this.#isEnded) return;
    const { timeoutMs, through } = this.#options;
    if (this.#simulated) {
      const time = this.#timeOf();
      time.resume();
      this.#exchange.limit(timeoutMs - time.elapsed());
    }
    through?.passedOn?.();
  }

  #end(result: ExchangeResult): void {
    this.#isEnded = true;
    this.#heldDeadline?.cancel();
    this.#unregister?.();
    this.#options.work.release();
    this.isUnsent = result.isUnsent === true;
    if (!this.#isStopped && !this.isUnsent && !result.isInterrupted)
      this.#result = this.#resultOf(result);
    this.#options.onEnd?.(this.#result);
    for (const resolve of this.#waiting ?? []) resolve(this.#result);
  }

  #resultOf({ durationMs, phases, error, requestHead, response, ...result }: ExchangeResult) {
    const { clock } = this.#options;
    const simulated = this.#simulated;
    return {
      startedAt: this.#startedAt,
      durationMs: toMicroseconds(
        simulated ? this.#timeOf().elapsed() : (durationMs ?? clock.monotonic() - this.#started),
      ),
      phases:
        phases ??
        Object.fromEntries(
          this.#stamps.map((each) => [
            each.phase,
            toMicroseconds(simulated ? each.simulated : each.real),
          ]),
        ),
      simulated,
      outcome: outcomeOf(result.outcome, response),
      error,
      requestHead,
      response,
    };
  }
}

function outcomeOf(outcome: ExchangeResult["outcome"], response: RecordedResponse | null): Outcome {
  if (outcome !== "answered") return outcome;
  const status = response?.status ?? 0;
  return status >= 200 && status < 300 ? "success" : "http_error";
}

/**
 * How long an attempt takes. While a test endpoint holds it, the clock time of the endpoint's
 * program counts, to the millisecond, however late timers fire in a busy process. What the endpoint
 * sends after that takes no time. Before, and when the request is passed on, real time counts, but
 * no more of it than the clock has moved: none on a paused clock, and not stretched on a fast one.
 */
class AttemptTime {
  readonly #clock: Clock;
  #spent = 0;
  /** Clock time since which it is held, null while it is not. */
  #heldSince: number | null = null;
  /** When the current time on the network began, by both clocks; null while it takes no time. */
  #onNetworkSince: { real: number; clock: number } | null;

  constructor(clock: Clock, startedAt: number, started: number) {
    this.#clock = clock;
    this.#onNetworkSince = { real: started, clock: startedAt };
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
    this.release(since);
    this.#spent += this.#onNetwork(since);
    this.#heldSince = since;
    return this.#spent;
  }

  release(at: number): void {
    if (this.#heldSince === null) return;
    this.#spent += Math.max(0, at - this.#heldSince);
    this.#heldSince = null;
    this.#onNetworkSince = null;
  }

  resume(): void {
    this.#onNetworkSince ??= { real: this.#clock.monotonic(), clock: this.#clock.now() };
  }

  #onNetwork(until: number): number {
    if (this.#onNetworkSince === null) return 0;
    const { real, clock } = this.#onNetworkSince;
    return Math.max(0, Math.min(this.#clock.monotonic() - real, until - clock));
  }
}
