/**
 * What one simulated client has done: its batches with their tries, and its log. In memory only,
 * and limited to the newest. Written from the client's events, after each has happened.
 *
 *   queued → sending → sent
 *                    → waiting → sending
 *                    → failed
 */

import type { ClientEvent } from "../../client/client.ts";
import { logLine } from "../../client/client.ts";
import type {
  ClientBatch,
  ClientCall,
  ClientDetails,
  ClientLogLine,
  ClientPage,
  ClientTry,
} from "../pipeline.ts";
import type { Took } from "./client-wire.ts";

/** Batches that were sent or have failed. Enough to look back over a run. */
const maxSettled = 200;
const maxLines = 1_000;
/** A call may have a message id of 32 KB, which its line repeats. */
const maxLogCharacters = 1024 * 1024;
/** Of a batch or of the queue; a batch may have thousands. */
const maxCalls = 100;
/** The answers of the ingest port and the error pages of most servers are shorter. */
const maxAnswerCharacters = 2_000;

export class ClientRecord {
  #queue: ClientCall[] = [];
  #underWay = new Map<string, ClientBatch>();
  /** In the order of their numbers. */
  #settled: ClientBatch[] = [];
  #droppedBatches = 0;
  #lastBatch = 0;
  #log: ClientLogLine[] = [];
  #logCharacters = 0;
  #lastLine = 0;
  #counts: ClientDetails["counts"] = { calls: 0, sent: 0, failed: 0, batches: 0, retries: 0 };

  /** `call` is the call of a `queued` event; `took` the duration of the try that an event ends. */
  note(
    event: ClientEvent,
    call: Pick<ClientCall, "event" | "userId"> | null,
    took: Took | null,
  ): void {
    this.#write(event);
    switch (event.event) {
      case "queued":
        this.#queue.push({
          type: event.type,
          messageId: event.messageId,
          event: call?.event ?? null,
          userId: call?.userId ?? null,
        });
        this.#counts.calls += 1;
        return;
      case "flushed":
        this.#flushed(event);
        return;
      case "sending":
        this.#sending(event);
        return;
      case "sent":
      case "retried":
      case "failed":
        this.#ended(event, took);
        return;
      case "closed":
        return;
    }
  }

  get queue(): ClientCall[] {
    return this.#queue.slice(0, maxCalls);
  }

  get counts(): ClientDetails["counts"] {
    return { ...this.#counts };
  }

  get underWay(): number {
    return this.#underWay.size;
  }

  /** The one that is on the wire or waits for its next try. */
  get current(): ClientBatch | null {
    for (const batch of this.#underWay.values())
      return batch.tries.length === 0 ? null : copyOf(batch);
    return null;
  }

  batches(limit: number, before: number | null): ClientPage<ClientBatch> {
    const below = (batch: ClientBatch): boolean => before === null || batch.number < before;
    const newest = [
      ...this.#settled.filter(below).slice(-limit),
      ...[...this.#underWay.values()].filter(below).slice(-limit),
    ]
      .toSorted((one, other) => other.number - one.number)
      .slice(0, limit);
    const total = this.#settled.length + this.#underWay.size;
    const oldest = Math.min(
      this.#settled[0]?.number ?? Infinity,
      this.#underWay.values().next().value?.number ?? Infinity,
    );
    const last = newest.at(-1)?.number ?? oldest;
    return {
      items: newest.map(copyOf),
      nextCursor: last > oldest ? last : null,
      total,
      dropped: this.#droppedBatches,
    };
  }

  log(limit: number, before: number | null): ClientPage<ClientLogLine> {
    const first = this.#log[0]?.number ?? 1;
    const end =
      before === null ? this.#log.length : Math.max(0, Math.min(this.#log.length, before - first));
    const start = Math.max(0, end - limit);
    const items = this.#log.slice(start, end).toReversed();
    return {
      items,
      nextCursor: start > 0 ? (items.at(-1)?.number ?? null) : null,
      total: this.#log.length,
      dropped: first - 1,
    };
  }

  #flushed(event: Extract<ClientEvent, { event: "flushed" }>): void {
    let from = 0;
    for (const { batchId, messages, bytes } of event.batches) {
      this.#lastBatch += 1;
      this.#underWay.set(batchId, {
        id: batchId,
        number: this.#lastBatch,
        state: "queued",
        reason: event.reason,
        flushedAt: event.at,
        messages,
        bytes,
        calls: this.#queue.slice(from, from + Math.min(messages, maxCalls)),
        tries: [],
        nextTryAt: null,
      });
      from += messages;
    }
    this.#queue = this.#queue.slice(from);
  }

  #sending({ batchId, batchBytes, at }: Extract<ClientEvent, { event: "sending" }>): void {
    const batch = this.#underWay.get(batchId);
    if (batch === undefined) return;
    batch.state = "sending";
    batch.bytes = batchBytes;
    batch.nextTryAt = null;
    batch.tries.push({
      startedAt: at,
      durationMs: null,
      simulated: false,
      outcome: null,
      status: null,
      failure: null,
      answer: "",
      answerLength: 0,
    });
  }

  #ended(
    event: Extract<ClientEvent, { event: "sent" | "retried" | "failed" }>,
    took: Took | null,
  ): void {
    const batch = this.#underWay.get(event.batchId);
    if (batch === undefined) return;
    // A batch that fails while it waits has no try to end.
    const last = took === null ? undefined : batch.tries.at(-1);
    if (last !== undefined && took !== null) Object.assign(last, resultOf(event, took));
    batch.nextTryAt = event.event === "retried" ? event.nextTryAt : null;
    if (event.event === "retried") {
      batch.state = "waiting";
      this.#counts.retries += 1;
      return;
    }
    batch.state = event.event;
    this.#counts.batches += 1;
    this.#counts[event.event] += event.messages;
    this.#underWay.delete(batch.id);
    this.#settled.push(batch);
    if (this.#settled.length > maxSettled) {
      this.#settled.shift();
      this.#droppedBatches += 1;
    }
  }

  #write(event: ClientEvent): void {
    const line = logLine(event);
    this.#lastLine += 1;
    this.#log.push({ number: this.#lastLine, at: event.at, event: event.event, line });
    this.#logCharacters += line.length;
    while (
      this.#log.length > maxLines ||
      (this.#logCharacters > maxLogCharacters && this.#log.length > 1)
    ) {
      this.#logCharacters -= this.#log.shift()?.line.length ?? 0;
    }
  }
}

function resultOf(
  event: Extract<ClientEvent, { event: "sent" | "retried" | "failed" }>,
  took: Took,
): Partial<ClientTry> {
  const { answer } = event;
  return {
    durationMs: took.durationMs,
    simulated: took.simulated,
    outcome: event.event === "sent" ? "success" : answer === null ? took.failedBy : "http_error",
    status: answer?.status ?? null,
    failure: event.event === "sent" ? null : event.failure,
    answer: answer?.body.slice(0, maxAnswerCharacters) ?? "",
    answerLength: answer?.body.length ?? 0,
  };
}

/** Readers keep what they were given. */
function copyOf(batch: ClientBatch): ClientBatch {
  return { ...batch, tries: batch.tries.map((each) => ({ ...each })) };
}
