/**
 * Sends spans to a collector: OTLP over HTTP, as JSON, in batches, one request at a time. Nothing
 * of the pipeline waits for it. What does not fit its queue, what the collector refuses, and what
 * it did not accept in time is dropped and counted.
 */

import { monotonic, startIdleTimer, startTimer, type RealTimer } from "../real-time.ts";

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

/** About 8 MB. */
const maxQueued = 8_192;
const maxBatch = 512;
/** How long a span waits for others to share its request. */
const gatherMs = 500;
const timeoutMs = 5_000;
/** After a failure nothing is sent for so long. */
const pauseMs = 5_000;
/** A stop waits so long for what is left. */
const stopMs = 1_000;
/** Of the collector's answer, which is a few words. */
const maxAnswerBytes = 64 * 1024;

const kinds = { internal: 1, server: 2, client: 3 } as const;
/** Sampled; and whether a parent is remote is known: it is not. */
const flags = 0x101;

export class SpanExporter {
  readonly #url: string;
  readonly #version: string;
  readonly #log: (sentence: string) => void;
  #queue: Span[] = [];
  #timer: RealTimer | null = null;
  #sending: Promise<void> | null = null;
  #pausedUntil = 0;
  #isFailing = false;
  #isStopped = false;
  #request: AbortController | null = null;
  readonly counts = { exported: 0, dropped: 0 };

  /** The collector's address for traces. */
  constructor({
    url,
    version,
    log,
  }: {
    url: string;
    version: string;
    log: (sentence: string) => void;
  }) {
    this.#url = url;
    this.#version = version;
    this.#log = log;
  }

  add(span: Span): void {
    if (this.#isStopped || this.#queue.length >= maxQueued) {
      this.counts.dropped += 1;
      return;
    }
    this.#queue.push(span);
    this.#wake(this.#queue.length >= maxBatch ? 0 : gatherMs);
  }

  /** Sends what is left once, under a deadline. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    this.#timer = null;
    const limit = startTimer(stopMs, () => this.#request?.abort());
    const end = monotonic() + stopMs;
    await this.#sending;
    while (this.#queue.length > 0 && monotonic() < end && !this.#isFailing) await this.#send();
    limit.cancel();
    this.#isStopped = true;
    this.#drop(this.#queue.splice(0).length);
    const { exported, dropped } = this.counts;
    if (dropped > 0) this.#log(`Of ${exported + dropped} spans, ${dropped} were not exported.`);
  }

  #wake(ms: number): void {
    if (this.#timer !== null || this.#sending !== null) return;
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
    const request = new AbortController();
    const deadline = startTimer(timeoutMs, () => request.abort());
    this.#request = request;
    try {
      const refused = await this.#post(requestOf(batch, this.#version), request.signal);
      this.#drop(refused);
      this.counts.exported += batch.length - refused;
      if (this.#isFailing) this.#log("The collector of traces accepts spans again.");
      this.#isFailing = false;
    } catch (error) {
      this.#drop(batch.length);
      this.#pausedUntil = monotonic() + pauseMs;
      if (!this.#isFailing)
        this.#log(
          `The collector of traces at ${this.#url} does not accept spans: ${reasonOf(error)}. They are dropped until it does.`,
        );
      this.#isFailing = true;
    } finally {
      deadline.cancel();
      this.#request = null;
    }
  }

  /** Returns how many spans the collector refused. */
  async #post(body: string, signal: AbortSignal): Promise<number> {
    const answer = await fetch(this.#url, {
      method: "POST",
      headers: { "Content-Type": "application/json", "User-Agent": `hookyard/${this.#version}` },
      body,
      redirect: "error",
      signal,
    });
    const text = await startOf(answer);
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    return refusedIn(text);
  }

  #drop(count: number): void {
    this.counts.dropped += count;
  }
}

async function startOf(answer: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    chunks.push(chunk as Uint8Array);
    size += (chunk as Uint8Array).length;
    if (size > maxAnswerBytes) throw new Error("its answer is too long");
  }
  return Buffer.concat(chunks).toString("utf8");
}

function refusedIn(text: string): number {
  try {
    const { partialSuccess } = JSON.parse(text) as {
      partialSuccess?: { rejectedSpans?: string | number };
    };
    const refused = Number(partialSuccess?.rejectedSpans ?? 0);
    return Number.isSafeInteger(refused) && refused > 0 ? Math.min(refused, maxBatch) : 0;
  } catch {
    return 0;
  }
}

function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string; message?: string } };
  if (name === "AbortError") return "no answer in time";
  return cause?.code ?? cause?.message ?? message;
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
