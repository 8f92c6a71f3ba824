/**
 * One simulated client while it runs: an `Analytics` of the client library on the pipeline's clock,
 * and the record of what it does.
 *
 *   running → closing → closed → running
 *
 * A change of the write key, the wire or strictness needs a new `Analytics`; the one before it
 * sends what it holds, and its part of the record stays.
 */

import { Analytics, AnalyticsError, type Time } from "../../client/client.ts";
import type { SimulatedClient } from "../../domain/configuration.ts";
import { conflict, problem, type Problem } from "../../domain/problem.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { CallType, ClientCall, ClientDetails, ClientView } from "../pipeline.ts";
import { startTimer } from "../real-time.ts";
import { shopMessages } from "../workspaces/shop.ts";
import { ClientRecord } from "./client-record.ts";
import { createWire, type WireOptions } from "./client-wire.ts";

/**
 * Less than the library's 64 MB, since several clients share this process; about 20,000 usual
 * messages.
 */
const maxQueueBytes = 8 * 1024 * 1024;

/** The wire enforces the deadline. */
const noTimeout = 2 ** 31 - 1;

/**
 * The ingest port is not known before it listens. Nothing listens on this one, so what is sent
 * until then is retried.
 */
const unknownIngestUrl = "http://127.0.0.1:0";

const closedProblem = conflict("closed", "The client is closed. Reopen it to make calls.");

/** Separates the draws of clients from other draws with the same seed. */
const drawsOfClients = 0xc1;

type SimulatedClientOptions = WireOptions & {
  settings: SimulatedClient;
  seed: () => number;
  ingestUrl: () => string;
  changed: () => void;
};

export class RunningClient {
  readonly #options: SimulatedClientOptions;
  readonly #time: Time;
  #settings: SimulatedClient;
  #record = new ClientRecord();
  #analytics: Analytics;
  /** All that are not closed yet, including the current one. */
  readonly #open = new Set<Analytics>();
  #state: ClientView["state"] = "running";
  #generator: Generator | null = null;
  #generated = 0;
  #draws = 0;
  /** The call that is being made, and what the library reports about it meanwhile. */
  #calling: Pick<ClientCall, "event" | "userId"> | null = null;
  #queuedMessageId = "";
  #flushedBatchId: string | null = null;

  constructor(options: SimulatedClientOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#time = timeOf(options.clock);
    this.#analytics = this.#create();
  }

  get settings(): SimulatedClient {
    return this.#settings;
  }

  view(): Omit<ClientView, "sourceId"> {
    const { queued, nextFlushAt } = this.#analytics.state;
    let bytes = 0;
    for (const { state } of this.#open) bytes += state.bytes;
    return {
      ...this.#settings,
      url: `${this.#analytics.endpoint}${this.#settings.wire === "v1.2" ? "/v1/import" : "/v1/batch"}`,
      state: this.#state,
      queued,
      nextFlushAt,
      underWay: this.#record.underWay,
      nextTryAt: this.#record.current?.nextTryAt ?? null,
      bytes,
      counts: this.#record.counts,
      generating: this.#generator?.progress() ?? null,
    };
  }

  details(): Omit<ClientDetails, "sourceId"> {
    return { ...this.view(), queue: this.#record.queue, current: this.#record.current };
  }

  get record(): Pick<ClientRecord, "batches" | "log"> {
    return this.#record;
  }

  change(settings: SimulatedClient): void {
    const before = this.#settings;
    this.#settings = settings;
    if (this.#state !== "running") return;
    const { writeKey, wire, strict, flushAt, flushAfter } = settings;
    if (writeKey !== before.writeKey || wire !== before.wire || strict !== before.strict) {
      void this.#analytics.close();
      this.#analytics = this.#create();
    } else this.#analytics.configure({ flushAt, flushAfter, ...this.#changedEndpoint() });
  }

  /** Called when the address of the ingest port is known. */
  useIngestUrl(): void {
    this.#analytics.configure(this.#changedEndpoint());
  }

  call(type: CallType, call: unknown): { messageId: string; batchId: string | null } | Problem {
    const { event, name, groupId, userId, anonymousId } = (
      typeof call === "object" && call !== null ? call : {}
    ) as Record<string, unknown>;
    this.#calling = {
      event: textOf(event) ?? textOf(name) ?? textOf(groupId),
      userId: textOf(userId) ?? textOf(anonymousId),
    };
    this.#flushedBatchId = null;
    try {
      this.#analytics.call(type, call);
      return { messageId: this.#queuedMessageId, batchId: this.#flushedBatchId };
    } catch (error) {
      return problemOf(error);
    } finally {
      this.#calling = null;
    }
  }

  flush(): void {
    void this.#analytics.flush();
  }

  async close(timeoutMs?: number): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closing";
    this.stopGenerating();
    this.#options.changed();
    await this.#analytics.close({ timeoutMs });
  }

  /** After a close, as when the program is started again. */
  reopen(): void {
    if (this.#state === "running") return;
    this.#state = "running";
    this.#analytics = this.#create();
    this.#options.changed();
  }

  generate(count: number, perSecond: number): Problem | null {
    if (this.#state !== "running") return closedProblem;
    this.stopGenerating();
    this.#generator = startGenerator({
      clock: this.#options.clock,
      count,
      perSecond,
      call: () => {
        const { type, call } = generatedCall(this.#options.seed(), this.#generated);
        this.#generated += 1;
        return !("problem" in this.call(type, call));
      },
      ended: () => this.stopGenerating(),
    });
    this.#options.changed();
    return null;
  }

  stopGenerating(): void {
    if (this.#generator === null) return;
    this.#generator.stop();
    this.#generator = null;
    this.#options.changed();
  }

  /** Discards what it holds. */
  abandon(): void {
    this.stopGenerating();
    for (const analytics of this.#open) void analytics.close({ timeoutMs: 0 });
  }

  /** Resets it to the state of a new client. */
  restart(): void {
    this.abandon();
    this.#record = new ClientRecord();
    this.#generated = 0;
    this.#state = "running";
    this.#analytics = this.#create();
    this.#options.changed();
  }

  /** Sends what it holds; discards what is not sent by the deadline, which is real time. */
  async stop(deadlineMs: number): Promise<void> {
    this.stopGenerating();
    const closing = [...this.#open].map((analytics) => analytics.close());
    const deadline = startTimer(deadlineMs, () => this.abandon());
    await Promise.all(closing);
    deadline.cancel();
  }

  #create(): Analytics {
    const { flushAt, flushAfter, strict, wire, writeKey, id } = this.#settings;
    const record = this.#record;
    const sockets = createWire(this.#options);
    const analytics = new Analytics(writeKey, {
      flushAt,
      flushAfter,
      strict,
      wire,
      endpoint: this.#endpoint(),
      maxQueueBytes,
      timeout: noTimeout,
      agent: (endpoint) => sockets.agent(endpoint),
      time: this.#time,
      random: () => drawUnit(this.#options.seed(), drawsOfClients, id, (this.#draws += 1)),
      onEvent: (event) => {
        if (event.event === "sending") sockets.begin();
        const hasEnded =
          event.event === "sent" || event.event === "retried" || event.event === "failed";
        record.note(event, this.#calling, hasEnded ? sockets.end() : null);
        if (event.event === "queued") this.#queuedMessageId = event.messageId;
        if (event.event === "flushed") this.#flushedBatchId = event.batches.at(-1)?.batchId ?? null;
        if (event.event === "closed") {
          sockets.close();
          this.#open.delete(analytics);
          if (analytics === this.#analytics) this.#state = "closed";
        }
        this.#options.changed();
      },
      // A batch that failed is in the record.
      onError: () => undefined,
    });
    this.#open.add(analytics);
    return analytics;
  }

  #endpoint(): string {
    return this.#settings.endpoint ?? (this.#options.ingestUrl() || unknownIngestUrl);
  }

  /** Empty when it has not changed, since `configure` with an endpoint opens a new connection. */
  #changedEndpoint(): { endpoint?: string } {
    const endpoint = this.#endpoint();
    return endpoint === this.#analytics.endpoint ? {} : { endpoint };
  }
}

/** Flush timers and retries are background timers: they do not keep an advance to `idle` going. */
function timeOf(clock: Clock): Time {
  return {
    now: () => clock.now(),
    schedule: (at, run) => clock.schedule(at, run, { background: true }),
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof AnalyticsError)) throw error;
  if (error.code === "closed") return closedProblem;
  if (error.code === "queue_full")
    return conflict(
      "queue_full",
      `${error.message} Calls are accepted again when some of them have been sent.`,
    );
  return problem(
    400,
    error.code,
    error.message,
    error.field === null ? undefined : { field: error.field },
  );
}

type Generator = { progress(): { count: number; made: number; perSecond: number }; stop(): void };

type GeneratorOptions = {
  clock: Clock;
  count: number;
  perSecond: number;
  /** Returns whether the call was queued; a refused call ends the generator. */
  call: () => boolean;
  /** All calls were made, or one was refused. */
  ended: () => void;
};

/** Makes a number of calls at a pace of the clock. */
function startGenerator({ clock, count, perSecond, call, ended }: GeneratorOptions): Generator {
  const startedAt = clock.now();
  let timer: ClockTimer | null = null;
  let made = 0;
  const nextAt = (): number => startedAt + Math.ceil((made * 1000) / perSecond);

  function step(): void {
    for (; made < count && nextAt() <= clock.now(); made += 1) if (!call()) return ended();
    if (made === count) ended();
    else timer = clock.schedule(nextAt(), step, { background: true });
  }
  timer = clock.schedule(startedAt, step, { background: true });

  return { progress: () => ({ count, made, perSecond }), stop: () => timer?.cancel() };
}

type GeneratedCall = { type: CallType; call: Record<string, unknown> };

/**
 * What a customer of the demo shop does, drawn from the seed. Without a timestamp, which the client
 * adds itself; and a page has a user, which a strict client requires.
 */
function generatedCall(seed: number, nth: number): GeneratedCall {
  const [message] = shopMessages({ seed, from: nth, count: 1, now: 0 });
  if (message === undefined) throw new Error("the shop returned no message");
  const {
    type,
    timestamp: _timestamp,
    anonymousId,
    integrations,
    ...call
  } = message.body as Record<string, unknown>;
  return {
    type: type as CallType,
    call: {
      ...call,
      ...(anonymousId === undefined ? {} : { userId: anonymousId }),
      ...(Object.keys(integrations ?? {}).length === 0 ? {} : { integrations }),
    },
  };
}
