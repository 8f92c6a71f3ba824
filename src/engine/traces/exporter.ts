/**
 * Sends spans to a collector: OTLP over HTTP, as JSON, in batches, one request at a time. Nothing
 * of the pipeline waits for it. A batch that may be accepted later is sent again, from its place in
 * the queue. What does not fit the queue, what the collector refuses, and what it did not accept
 * after several tries is dropped and counted.
 */

import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { urlWithoutCredentials } from "../../domain/credentials.ts";
import { withLoopback } from "../deliver/dial.ts";
import {
  monotonic,
  startIdleTimer,
  startTimer,
  wallClockNow,
  type RealTimer,
} from "../real-time.ts";
import type { Collector } from "./collector.ts";

/** Seconds since 1970 with a fraction, in milliseconds; both real time. */
type SpanTime = number;
type Attributes = Readonly<Record<string, string | number | boolean>>;

export type Span = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: "internal" | "server" | "client";
  startedAt: SpanTime;
  endedAt: SpanTime;
  attributes: Attributes;
  /** Why it failed, in one word; null for a span that did not. */
  error: string | null;
};

/** With the batch that is being sent; about 8 MB. */
const maxQueued = 8_192;
const maxBatch = 512;
/** How long a span waits for others to share its request. */
const gatherMs = 500;
const timeoutMs = 5_000;
/** Of a batch. One that makes the collector fail must not keep the others back. */
const maxTries = 5;
/** Nothing is sent for this long after a failure, twice as long after each further one. */
const firstPauseMs = 1_000;
const maxPauseMs = 30_000;
/** The collector may ask for another pause, as long as this. */
const maxRetryAfterMs = 300_000;
/** OTLP's list: a request with another status must not be repeated. */
const passingStatuses = new Set([429, 502, 503, 504]);
/** How long a stop waits for what is left. */
const stopMs = 1_000;
/** Of the collector's answer, which is a few words. */
const maxAnswerBytes = 64 * 1024;

/** Sends a request to the collector. Rejects when there is no answer, or when `signal` ends it. */
export type Post = (
  url: string,
  request: { headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<
  AsyncIterable<Uint8Array> & {
    statusCode?: number | undefined;
    headers: { "retry-after"?: string | undefined };
  }
>;

/**
 * Each on a connection of its own: the collector cannot end it between two requests. `fetch` would
 * look up names below localhost in DNS.
 */
const postWithNode: Post = (url, { headers, body, signal }) =>
  new Promise((resolve, reject) => {
    const request = url.startsWith("https:") ? requestHttps : requestHttp;
    const connecting = withLoopback(new URL(url).hostname);
    const options = { method: "POST", agent: false, ...connecting, headers, signal };
    request(url, options, resolve).on("error", reject).end(body);
  });

const kinds = { internal: 1, server: 2, client: 3 } as const;
/** Sampled; and whether a parent is remote is known: it is not. */
const flags = 0x101;

/** The collector answered, and did not accept. */
class Refused extends Error {
  readonly mayPass: boolean;
  readonly pauseMs: number | null;

  constructor(message: string, { mayPass = false, pauseMs = null as number | null } = {}) {
    super(message);
    this.mayPass = mayPass;
    this.pauseMs = pauseMs;
  }
}

export class SpanExporter {
  readonly #collector: Collector;
  readonly #version: string;
  readonly #log: (sentence: string) => void;
  readonly #post: Post;
  #queue: Span[] = [];
  #timer: RealTimer | null = null;
  #sending: Promise<void> | null = null;
  /** How many spans are being sent. */
  #underWay = 0;
  #pausedUntil = -Infinity;
  /** In a row, of the collector and of the first batch. */
  #failures = 0;
  #tries = 0;
  #isStopped = false;
  #request: AbortController | null = null;
  readonly counts = { exported: 0, dropped: 0 };

  constructor({
    collector,
    version,
    log,
    post = postWithNode,
  }: {
    collector: Collector;
    version: string;
    log: (sentence: string) => void;
    post?: Post | undefined;
  }) {
    this.#collector = collector;
    this.#version = version;
    this.#log = log;
    this.#post = post;
  }

  add(span: Span): void {
    if (this.#isStopped || this.#queue.length + this.#underWay >= maxQueued) {
      this.counts.dropped += 1;
      return;
    }
    this.#queue.push(span);
    this.#wake(gatherMs);
  }

  /** Sends what is left once, under a deadline. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    const limit = startTimer(stopMs, () => this.#request?.abort());
    const end = monotonic() + stopMs;
    await this.#sending;
    while (this.#queue.length > 0 && monotonic() < end && this.#failures === 0) await this.#send();
    limit.cancel();
    this.#drop(this.#queue.splice(0).length);
    const { exported, dropped } = this.counts;
    if (dropped > 0) this.#log(`Of ${exported + dropped} spans, ${dropped} were not exported.`);
  }

  #wake(ms: number): void {
    if (this.#isStopped || this.#timer !== null || this.#sending !== null) return;
    const pause = Math.max(0, this.#pausedUntil - monotonic());
    this.#timer = startIdleTimer(Math.max(ms, pause), () => {
      this.#timer = null;
      this.#sending = this.#send().finally(() => {
        this.#sending = null;
        if (this.#queue.length > 0) this.#wake(this.#queue.length >= maxBatch ? 0 : gatherMs);
      });
    });
  }

  async #send(): Promise<void> {
    const batch = this.#queue.splice(0, maxBatch);
    this.#underWay = batch.length;
    const request = new AbortController();
    const deadline = startTimer(timeoutMs, () => request.abort());
    this.#request = request;
    try {
      const claimed = await this.#export(requestOf(batch, this.#version), request.signal);
      const refused = Math.min(claimed, batch.length);
      this.#drop(refused);
      this.counts.exported += batch.length - refused;
      if (this.#failures > 0) this.#log("The collector of traces accepts spans again.");
      this.#failures = 0;
      this.#tries = 0;
    } catch (error) {
      this.#failed(batch, request.signal.aborted ? request.signal.reason : error);
    } finally {
      deadline.cancel();
      this.#request = null;
      this.#underWay = 0;
    }
  }

  #failed(batch: Span[], error: unknown): void {
    const { mayPass, pauseMs } =
      error instanceof Refused ? error : { mayPass: true, pauseMs: null };
    const usual = Math.min(firstPauseMs * 2 ** this.#failures, maxPauseMs);
    this.#pausedUntil = monotonic() + (pauseMs ?? usual);
    this.#tries += 1;
    if (mayPass && this.#tries < maxTries) this.#queue.unshift(...batch);
    else {
      this.#drop(batch.length);
      this.#tries = 0;
    }
    if (this.#failures === 0)
      this.#log(
        `The collector of traces at ${urlWithoutCredentials(this.#collector.url)} does not accept spans: ${reasonOf(error)}. ${mayPass ? `Up to ${maxQueued.toLocaleString("en")} wait for it; all others are dropped.` : "They are dropped until it does."}`,
      );
    this.#failures += 1;
  }

  /** Returns how many spans the collector says that it refused. */
  async #export(body: string, signal: AbortSignal): Promise<number> {
    const answer = await this.#post(this.#collector.url, {
      headers: {
        "User-Agent": `hookyard/${this.#version}`,
        ...this.#collector.headers,
        "Content-Type": "application/json",
      },
      body,
      signal,
    });
    const { statusCode = 0, headers } = answer;
    const text = await startOf(answer);
    if (statusCode < 200 || statusCode > 299)
      throw new Refused(`it answered ${statusCode}`, {
        mayPass: passingStatuses.has(statusCode),
        pauseMs: retryAfterIn(headers["retry-after"]),
      });
    return refusedIn(text);
  }

  #drop(count: number): void {
    this.counts.dropped += count;
  }
}

async function startOf(answer: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Refused("its answer is too long");
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** Seconds, or a date. */
function retryAfterIn(text: string | undefined): number | null {
  if (text === undefined) return null;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - wallClockNow();
  return Number.isNaN(ms) ? null : Math.min(Math.max(ms, 0), maxRetryAfterMs);
}

function refusedIn(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const refused = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(refused) && refused > 0 ? refused : 0;
  } catch {
    return 0;
  }
}

function reasonOf(error: unknown): string {
  const { name, message, code } = error as Error & { code?: string };
  if (name === "AbortError") return "no answer in time";
  return code ?? message;
}

/** An `ExportTraceServiceRequest` in OTLP's JSON. */
function requestOf(spans: readonly Span[], version: string): string {
  return JSON.stringify({
    resourceSpans: [
      {
        resource: {
          attributes: attributesOf({ "service.name": "hookyard", "service.version": version }),
          droppedAttributesCount: 0,
        },
        scopeSpans: [{ scope: { name: "hookyard", version }, spans: spans.map(spanOf) }],
      },
    ],
  });
}

function spanOf({ attributes, error, kind, startedAt, endedAt, name, ...ids }: Span) {
  return {
    ...ids,
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanoseconds(startedAt),
    endTimeUnixNano: nanoseconds(Math.max(startedAt, endedAt)),
    attributes: attributesOf(attributes),
    droppedAttributesCount: 0,
    events: [],
    droppedEventsCount: 0,
    status: error === null ? { code: 0 } : { code: 2, message: error },
    links: [],
    droppedLinksCount: 0,
    flags,
  };
}

function nanoseconds(ms: number): string {
  return `${BigInt(Math.round(ms * 1000)) * 1000n}`;
}

function attributesOf(attributes: Attributes) {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: valueOf(value) }));
}

function valueOf(value: string | number | boolean) {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  return Number.isInteger(value) ? { intValue: value } : { doubleValue: value };
}
