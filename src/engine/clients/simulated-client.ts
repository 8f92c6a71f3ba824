/**
 * One simulated client while it runs: an `Analytics` of the client library on the pipeline's clock, and the record of what it
 * does.
 *
 *   running → closing → closed → running
 *
 * What only a new `Analytics` can change (the write key, the wire, strictness) makes a new one; the one before it
 * sends what it holds, and its part of the record stays.
 */

import { Analytics, AnalyticsError, type Time } from "../../client/client.ts";
import type { SimulatedClient } from "../../domain/configuration.ts";
import { conflict, problem, type Problem } from "../../domain/problem.ts";
import { drawUnit } from "../../domain/random.ts";
import type { Clock } from "../clock/clock.ts";
import type { CallType, ClientCall, ClientDetails, ClientView } from "../pipeline.ts";
import { startTimer } from "../real-time.ts";
import { ClientRecord } from "./client-record.ts";
import { createWire, type WireOptions } from "./client-wire.ts";
import { generatedCall } from "./generated-calls.ts";
import { startGenerator, type Generator } from "./generator.ts";

/** Several clients live in this process, so each may hold less than the library's 64 MB; some 20,000 usual messages. */
const maxQueueBytes = 8 * 1024 * 1024;

/** The wire has the deadline. */
const noTimeout = 2 ** 31 - 1;

/** Our own ingest port is not known before it listens. Nobody has this one, so what is sent until then is tried again. */
const beforeTheStart = "http://127.0.0.1:0";

/** Tells the draws of clients from all other draws of the same seed. */
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
  /** All that are not closed yet, the present one among them. */
  readonly #open = new Set<Analytics>();
  #state: ClientView["state"] = "running";
  #generator: Generator | null = null;
  #generated = 0;
  #draws = 0;
  /** The call that is being made, and what is said of it meanwhile. */
  #calling: Pick<ClientCall, "event" | "userId"> | null = null;
  #queuedAs = "";
  #flushedAs: string | null = null;

  constructor(options: SimulatedClientOptions) {
    this.#options = options;
    this.#settings = options.settings;
    this.#time = timeOf(options.clock);
    this.#analytics = this.#make();
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
      this.#analytics = this.#make();
    } else this.#analytics.configure({ flushAt, flushAfter, ...this.#changedEndpoint() });
  }

  /** The address of the ingest port has become known. */
  arrived(): void {
    this.#analytics.configure(this.#changedEndpoint());
  }

  call(type: CallType, call: unknown): { messageId: string; batchId: string | null } | Problem {
    const { event, name, groupId, userId, anonymousId } = (typeof call === "object" && call !== null ? call : {}) as Record<
      string,
      unknown
    >;
    this.#calling = { event: textOf(event) ?? textOf(name) ?? textOf(groupId), userId: textOf(userId) ?? textOf(anonymousId) };
    this.#flushedAs = null;
    try {
      this.#analytics.call(type, call);
      return { messageId: this.#queuedAs, batchId: this.#flushedAs };
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
    this.#analytics = this.#make();
    this.#options.changed();
  }

  generate(count: number, perSecond: number): void {
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
  }

  stopGenerating(): void {
    if (this.#generator === null) return;
    this.#generator.stop();
    this.#generator = null;
    this.#options.changed();
  }

  /** Nothing that it holds is sent any more, and its record is empty. */
  abandon(): void {
    this.stopGenerating();
    for (const analytics of this.#open) void analytics.close({ timeoutMs: 0 });
  }

  /** As if it had just been made. */
  restart(): void {
    this.abandon();
    this.#record = new ClientRecord();
    this.#generated = 0;
    this.#state = "running";
    this.#analytics = this.#make();
    this.#options.changed();
  }

  /** Sends what it holds; what is not sent by the deadline, which is real time, is given up. */
  async stop(deadlineMs: number): Promise<void> {
    this.stopGenerating();
    const closing = [...this.#open].map((analytics) => analytics.close());
    const deadline = startTimer(deadlineMs, () => this.abandon());
    await Promise.all(closing);
    deadline.cancel();
  }

  #make(): Analytics {
    const { flushAt, flushAfter, strict, wire, writeKey, id } = this.#settings;
    const record = this.#record;
    const sockets = createWire(this.#options);
    const made = new Analytics(writeKey, {
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
        const hasEnded = event.event === "sent" || event.event === "retried" || event.event === "failed";
        record.note(event, this.#calling, hasEnded ? sockets.end() : null);
        if (event.event === "queued") this.#queuedAs = event.messageId;
        if (event.event === "flushed") this.#flushedAs = event.batches.at(-1)?.batchId ?? null;
        if (event.event === "closed") {
          sockets.close();
          this.#open.delete(made);
          if (made === this.#analytics) this.#state = "closed";
        }
        this.#options.changed();
      },
      // The record has it: a batch that failed.
      onError: () => undefined,
    });
    this.#open.add(made);
    return made;
  }

  #endpoint(): string {
    return this.#settings.endpoint ?? (this.#options.ingestUrl() || beforeTheStart);
  }

  /** Another connection, but only when it goes elsewhere. */
  #changedEndpoint(): { endpoint?: string } {
    const endpoint = this.#endpoint();
    return endpoint === this.#analytics.endpoint ? {} : { endpoint };
  }
}

/** Flush timers and retries are the client's own waiting: they do not keep an advance to `idle` going. */
function timeOf(clock: Clock): Time {
  return { now: () => clock.now(), schedule: (at, run) => clock.schedule(at, run, { background: true }) };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function problemOf(error: unknown): Problem {
  if (!(error instanceof AnalyticsError)) throw error;
  if (error.code === "closed") return conflict("closed", "The client is closed. Start it again to make calls.");
  if (error.code === "queue_full") return conflict("queue_full", `${error.message} It takes calls again when some of them are sent.`);
  return problem(400, error.code, error.message, error.field === null ? undefined : { field: error.field });
}
