/**
 * The `forward` steps of test endpoints: passes a request on to a real receiver, and changes what
 * happens on the way. Called by the endpoints for each such request; the receiver sees the
 * pipeline's own sender.
 *
 * What a step says to wait is clock time: the sender's attempt is held. What the receiver takes is
 * real time, under a deadline of its own. A request is passed on also when its sender has given up
 * meanwhile, as a slow network does.
 */

import type { Step } from "../../domain/configuration.ts";
import { urlWithoutCredentials } from "../../domain/credentials.ts";
import type { EndpointId } from "../../domain/ids.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Activity, Holdable, Holds, Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import { startAttempt, type AttemptResult, type RunningAttempt } from "../deliver/attempt.ts";
import type { Trust } from "../deliver/dial.ts";
import { parseResponseHead } from "../deliver/response-head.ts";
import { createSender, type Sender } from "../deliver/sender.ts";
import { startTimer } from "../real-time.ts";
import { answerJson, type EndpointRequest } from "./endpoint-server.ts";
import { endToEnd, forwardedRequest } from "./forwarded-request.ts";
import type { ReceivedEntry } from "./received-requests.ts";
import type { Serving } from "./serve-step.ts";
import { writeAnswerHead } from "./step-answer.ts";
import { createWait, type Wait } from "./wait.ts";

/**
 * The deadline of the receiver's answer for other senders, as in the documented retry profile. That
 * of a delivery is its own.
 */
const defaultTimeoutMs = 5_000;

/**
 * How long held requests wait for the others: less than the sender's deadline, so that it still
 * gets an answer.
 */
const defaultHoldMs = 2_000;

/** A receiver's answer that is passed back; a larger one counts as a failure. */
const maxAnswer = 1024 * 1024;

/** More than all lanes of a destination together. Only a loop through other programs gets there. */
const maxUnderWay = 512;

/** At a stop, for receivers that are still working: as long as a delivery gets. */
const drainMs = 3_000;

export type ForwardingOptions = {
  clock: Clock;
  holds: Holds;
  activity: Activity;
  trust: Trust;
  seed: () => number;
  forwardTimeoutMs?: number;
};

type ForwardRequest = {
  step: Step;
  endpoint: { id: EndpointId; path: string };
  request: EndpointRequest;
  entry: ReceivedEntry;
  /** Called when the record has changed. */
  changed: () => void;
  /** Contains it while it is in progress. */
  serving: Set<Serving>;
};

type Shared = ForwardingOptions & { sender: Sender; queues: HeldRequests };

export function createForwarding(options: ForwardingOptions) {
  const shared: Shared = {
    ...options,
    sender: createSender({ trust: options.trust }),
    queues: new HeldRequests(options),
  };
  const underWay = new Set<Forward>();
  return {
    forward(asked: ForwardRequest): void {
      const { request, entry, endpoint, serving } = asked;
      if (request.tcp.destroyed) return;
      const sender = options.holds.find(request.tcp);
      sender?.received?.();
      const refuse = (status: number, code: string, message: string): void => {
        entry.answer(status, options.clock.now());
        answerJson(request.response, status, code, message);
      };
      if (sender?.via?.includes(endpoint.id) === true) {
        return refuse(
          508,
          "forward_loop",
          "This request was forwarded to a test endpoint that it had come through. Change `to` of its step.",
        );
      }
      if (underWay.size >= maxUnderWay) {
        return refuse(
          503,
          "too_many_forwards",
          `${maxUnderWay} forwarded requests are in progress. The receiver may send them back here.`,
        );
      }
      const forward = new Forward(shared, asked, sender);
      underWay.add(forward);
      serving.add(forward);
      void forward
        .run()
        .catch((error: unknown) =>
          answerJson(request.response, 500, "internal", `The forward failed: ${String(error)}`),
        )
        .finally(() => {
          underWay.delete(forward);
          serving.delete(forward);
        });
    },
    /** Resolves when no receiver is still working, or when they have had their time. */
    async drain(): Promise<void> {
      const over = Promise.withResolvers<unknown>();
      const timer = startTimer(drainMs, () => over.resolve(null));
      void Promise.all([...underWay].map((forward) => forward.settled())).then(over.resolve);
      await over.promise;
      timer.cancel();
    },
    close: () => shared.sender.close(),
  };
}

class Forward implements Serving {
  readonly #shared: Shared;
  readonly #asked: ForwardRequest;
  /** The attempt or the forwarded request that waits for the answer, when it is ours. */
  readonly #from: Holdable | null;
  readonly #work: Work;
  readonly #wait: Wait;
  readonly #attempts = new Map<RunningAttempt, Promise<unknown>>();
  #abandoned = false;
  /** Ends the wait in progress. */
  #goOn = (): void => undefined;

  constructor(shared: Shared, asked: ForwardRequest, from: Holdable | null) {
    this.#shared = shared;
    this.#asked = asked;
    this.#from = from;
    this.#work = shared.activity.begin(from?.origin ?? "arrival");
    this.#wait = createWait({ ...shared, tcp: asked.request.tcp, work: this.#work });
  }

  async run(): Promise<void> {
    const { step } = this.#asked;
    try {
      if (step.delayMs !== undefined && step.delayMs > 0) await this.#pause(step.delayMs);
      if (this.#abandoned) return;
      if (step.lose === "request") await this.#lose();
      else await this.#passOn();
    } finally {
      this.#work.end();
    }
  }

  async #passOn(): Promise<void> {
    const { step, endpoint } = this.#asked;
    const next = step.hold === undefined ? null : await this.#turn(step, endpoint.id);
    const { first, all } = this.#send();
    const sent = all.finally(() => next?.());
    // It is awaited below, unless the first of them has failed.
    sent.catch(() => undefined);
    // The attempts have work of their own, which another test endpoint may hold.
    this.#work.hold();
    const result = await first;
    this.#work.release();
    if (result !== null && !this.#abandoned) await this.#answer(result);
    this.#work.hold();
    await sent;
  }

  /**
   * Waits among the held requests of its step. Returns a function to call when the next one may go.
   */
  async #turn(step: Step, endpoint: EndpointId): Promise<() => void> {
    return new Promise((resolve) => {
      const isLast = this.#shared.queues.add(step, endpoint, (at) => {
        if (this.#abandoned) return Promise.resolve();
        this.#wait.release(at);
        return new Promise<void>((done) => resolve(done));
      });
      if (!isLast) this.#wait.forever();
      this.#goOn = () => resolve(() => undefined);
    });
  }

  #send(): { first: Promise<AttemptResult | null>; all: Promise<unknown> } {
    const { copies = 1, together = false } = this.#asked.step;
    const first = this.#attempt(this.#from);
    if (together)
      return {
        first,
        all: Promise.all([first, ...Array.from({ length: copies - 1 }, () => this.#attempt(null))]),
      };
    const others = async (): Promise<void> => {
      await first;
      for (let copy = 1; copy < copies; copy += 1) await this.#attempt(null);
    };
    return { first, all: others() };
  }

  /** Null when it was stopped. */
  async #attempt(through: Holdable | null): Promise<AttemptResult | null> {
    if (this.#abandoned) return null;
    const { clock, holds, activity, sender, forwardTimeoutMs = defaultTimeoutMs } = this.#shared;
    const { step, endpoint, request, entry, changed } = this.#asked;
    const outgoing = forwardedRequest(step, request);
    const noted = {
      durationMs: null,
      simulated: false,
      outcome: null,
      error: null,
      requestHead: "",
      response: null,
    };
    const exchange = entry.forward({ ...noted, ...outgoing, startedAt: clock.now() });
    const work = activity.begin(this.#work.origin);
    const via = [...(this.#from?.via ?? []), endpoint.id];
    through?.passedOn?.();
    const attempt = startAttempt({
      ...{ sender, clock, holds, work, through, via, ...outgoing },
      timeoutMs: this.#from?.timeoutMs ?? forwardTimeoutMs,
      keepBody: maxAnswer,
    });
    this.#attempts.set(attempt, attempt.done);
    changed();
    const result = await attempt.done;
    this.#attempts.delete(attempt);
    if (result !== null) {
      const { phases: _, startedAt: _at, ...came } = result;
      Object.assign(exchange, came);
      entry.answered(exchange);
      changed();
    }
    work.end();
    return result;
  }

  async #answer(result: AttemptResult): Promise<void> {
    const { step, endpoint, request, entry } = this.#asked;
    const { response } = request;
    this.#wait.catchUp();
    if (step.delayAfterMs !== undefined && step.delayAfterMs > 0)
      await this.#pause(step.delayAfterMs);
    if (request.tcp.destroyed || response.destroyed) return;
    if (step.lose === "answer") return this.#lose();
    if (step.status === undefined) passBack(request, urlWithoutCredentials(step.to ?? ""), result);
    else
      response.end(
        writeAnswerHead({ step, path: endpoint.path, response, now: this.#shared.clock.now() }),
      );
    entry.answer(response.statusCode, this.#shared.clock.now());
    this.#asked.changed();
  }

  /** The sender gets no answer. */
  async #lose(): Promise<void> {
    const { step, request } = this.#asked;
    const { tcp, response } = request;
    if (this.#abandoned || tcp.destroyed) return;
    if (step.loseAs !== "timeout") {
      tcp.resetAndDestroy();
      return;
    }
    await new Promise<void>((resolve) => {
      this.#goOn = resolve;
      response.once("close", resolve);
      this.#wait.forever();
    });
  }

  /** On the clock, whether or not the sender is still there. */
  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#goOn = resolve;
      this.#wait.forMs(ms, resolve);
    });
  }

  abandon(): void {
    this.#abandoned = true;
    for (const attempt of this.#attempts.keys()) attempt.stop();
    this.#wait.end();
    this.#goOn();
    this.#asked.request.tcp.destroy();
  }

  /** Resolves when the requests that the receiver is working on have ended. */
  settled(): Promise<unknown> {
    return Promise.all(this.#attempts.values());
  }
}

/**
 * The requests that `hold` keeps, by step. Each is a function that lets it go as of a time, and
 * resolves when the next one may.
 */
class HeldRequests {
  readonly #options: Pick<ForwardingOptions, "clock" | "seed">;
  readonly #byStep = new Map<
    Step,
    { waiting: ((at: number) => Promise<void>)[]; timer: ClockTimer }
  >();
  #released = 0;

  constructor(options: Pick<ForwardingOptions, "clock" | "seed">) {
    this.#options = options;
  }

  /** Returns whether it was the last one that was waited for. */
  add(step: Step, endpoint: EndpointId, go: (at: number) => Promise<void>): boolean {
    const { clock } = this.#options;
    let held = this.#byStep.get(step);
    if (held === undefined) {
      const until = clock.now() + (step.forMs ?? defaultHoldMs);
      held = {
        waiting: [],
        timer: clock.schedule(until, () => void this.#release(step, endpoint, until)),
      };
      this.#byStep.set(step, held);
    }
    held.waiting.push(go);
    if (held.waiting.length < (step.hold ?? 1)) return false;
    held.timer.cancel();
    // One turn later, when the last one waits too.
    queueMicrotask(() => void this.#release(step, endpoint, clock.now()));
    return true;
  }

  async #release(step: Step, endpoint: EndpointId, at: number): Promise<void> {
    const waiting = this.#byStep.get(step)?.waiting ?? [];
    this.#byStep.delete(step);
    this.#released += 1;
    const inOrder =
      step.order === "seeded" ? this.#shuffled(waiting, endpoint) : waiting.toReversed();
    for (const go of inOrder) await go(Math.max(at, this.#options.clock.now()));
  }

  #shuffled<Each>(list: readonly Each[], endpoint: EndpointId): Each[] {
    const draw = (index: number): number =>
      drawUnit(this.#options.seed(), endpoint, this.#released, index);
    return list
      .map((each, index) => ({ each, at: draw(index) }))
      .toSorted((one, other) => one.at - other.at)
      .map(({ each }) => each);
  }
}

/** The receiver's answer, without what belongs to its connection; or why there is none. */
function passBack(
  { request, response }: EndpointRequest,
  to: string,
  { outcome, error, response: came }: AttemptResult,
): void {
  response.sendDate = false;
  if (error !== null) {
    const [status, code] =
      outcome === "timeout"
        ? ([504, "forward_timeout"] as const)
        : ([502, "forward_failed"] as const);
    answerJson(response, status, code, `${to} was not answered: ${error.message}`);
    return;
  }
  const head = came === null ? null : parseResponseHead(came.head);
  if (came === null || head === null || "problem" in head || came.bodyLength > maxAnswer) {
    answerJson(
      response,
      502,
      "forward_failed",
      `The answer of ${to} is larger than 1 MB, which a test endpoint does not pass back.`,
    );
    return;
  }
  const isHead = request.method === "HEAD";
  const hasBody = !isHead && came.status !== 204 && came.status !== 304;
  const length = hasBody
    ? String(came.bodyLength)
    : (head.headers.find(([name]) => name.toLowerCase() === "content-length")?.[1] ?? null);
  const headers = [
    ...endToEnd(head.headers),
    ...(length === null ? [] : [["Content-Length", length]]),
  ];
  const [, reason = ""] = /^HTTP\/\S+ \d{3} ?([^\r\n]*)/.exec(came.head) ?? [];
  try {
    response.writeHead(came.status, reason, headers.flat());
  } catch (illegal) {
    answerJson(
      response,
      502,
      "forward_failed",
      `The answer of ${to} cannot be passed back: ${String(illegal)}`,
    );
    return;
  }
  response.end(hasBody ? came.body : undefined);
}
