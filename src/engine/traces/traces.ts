/**
 * One trace per message: its arrival, the decision for each destination, and rounds with their
 * attempts. Created only when a collector is configured. Spans have real time, like those of the
 * receivers that continue the trace by `traceparent`; the time of the clock is an attribute.
 *
 * Ids follow from the message: the trace's from its `messageId`, a span's from what it is about. So
 * an attempt that a restart interrupts, and its retries, are in the same trace.
 */

import { createHash } from "node:crypto";
import { urlWithoutCredentials } from "../../domain/credentials.ts";
import {
  deliveryIds,
  destinationIds,
  messageIds,
  sourceIds,
  type DeliveryId,
  type MessageRowId,
} from "../../domain/ids.ts";
import type { Webhook } from "../../domain/configuration.ts";
import type { AttemptResult } from "../deliver/attempt.ts";
import type { ClaimedDelivery, CommittedMessage, TracedMessage, TraceStore } from "../ports.ts";
import { nextTurn, wallClockNow } from "../real-time.ts";
import type { Collector } from "./collector.ts";
import { SpanExporter, type Post, type Span } from "./exporter.ts";

/** Arrivals that wait to be read, a few megabytes; beyond it, one counts as one span dropped. */
const maxArrivals = 32_768;
/** Read in one turn of the event loop, some ten microseconds each. */
const arrivalsPerTurn = 64;

/** What delivery needs of traces. */
export type DeliveryTraces = {
  /** Before an attempt is sent. Undefined when its message cannot be read. */
  begin(delivery: ClaimedDelivery, webhook: Webhook): AttemptTrace | undefined;
  /** After the last attempt of a round. */
  endRound(delivery: ClaimedDelivery, succeeded: boolean): void;
  /** The rounds in progress are abandoned. */
  forget(): void;
};

export type AttemptTrace = {
  traceparent: string;
  end(result: AttemptResult): void;
};

export type Traces = DeliveryTraces & {
  committed(messages: readonly CommittedMessage[]): void;
  counts(): { exported: number; dropped: number };
  stop(): Promise<void>;
};

export function createTraces({
  collector,
  store,
  now,
  version,
  log,
  report,
  post,
}: {
  collector: Collector;
  store: TraceStore;
  /** The clock's time. */
  now: () => number;
  version: string;
  log: (sentence: string) => void;
  report: (error: unknown) => void;
  /** How spans are sent, when not by HTTP. */
  post?: Post;
}): Traces {
  const exporter = new SpanExporter({ collector, version, log, post });
  const arrivals: { id: MessageRowId; committedAt: number }[] = [];
  let reading: Promise<void> | null = null;
  /** The rounds in progress: when, in real time, their first attempt began. */
  const rounds = new Map<DeliveryId, number>();

  /** A failure costs the trace a span, and nothing else. */
  function read<Value>(from: () => Value): Value | undefined {
    try {
      return from();
    } catch (error) {
      report(error);
      exporter.counts.dropped += 1;
      return undefined;
    }
  }

  async function readArrivals(): Promise<void> {
    while (arrivals.length > 0) {
      await nextTurn();
      for (const { id, committedAt } of arrivals.splice(0, arrivalsPerTurn)) {
        const message = read(() => store.tracedMessage(id));
        if (message === undefined || message === null) continue;
        for (const span of arrivalSpans(id, message, committedAt)) exporter.add(span);
      }
    }
    reading = null;
  }

  const traceOf = (row: MessageRowId): string | undefined =>
    read(() => traceIdOf(store.messageIdOf(row) ?? String(row)));

  return {
    committed(messages) {
      const committedAt = wallClockNow();
      for (const { id } of messages) {
        if (arrivals.length < maxArrivals) arrivals.push({ id, committedAt });
        else exporter.counts.dropped += 1;
      }
      reading ??= readArrivals();
    },
    begin(delivery, webhook) {
      const startedAt = wallClockNow();
      const clockTime = timeText(now());
      const traceId = traceOf(delivery.messageRow);
      if (traceId === undefined) return undefined;
      if (!rounds.has(delivery.id)) rounds.set(delivery.id, startedAt);
      const id = spanId(`attempt ${delivery.id} ${delivery.round} ${webhook.id}`);
      return {
        traceparent: `00-${traceId}-${id}-01`,
        end: (result) =>
          exporter.add({
            traceId,
            spanId: id,
            parentSpanId: roundOf(delivery),
            name: methodOf(delivery),
            kind: "client",
            startedAt,
            endedAt: result.simulated ? wallClockNow() : startedAt + result.durationMs,
            attributes: attemptAttributes(delivery, webhook, result, clockTime),
            error: result.outcome === "success" ? null : result.outcome,
          }),
      };
    },
    endRound(delivery, succeeded) {
      const startedAt = rounds.get(delivery.id);
      if (startedAt === undefined) return;
      rounds.delete(delivery.id);
      const traceId = traceOf(delivery.messageRow);
      if (traceId === undefined) return;
      exporter.add({
        traceId,
        spanId: roundOf(delivery),
        parentSpanId: rootOf(delivery.messageRow),
        name: `round ${delivery.round}`,
        kind: "internal",
        startedAt,
        endedAt: wallClockNow(),
        attributes: {
          "hookyard.delivery.id": deliveryIds.format(delivery.id),
          "hookyard.destination.id": destinationIds.format(delivery.destinationId),
          "hookyard.round": delivery.round,
        },
        error: succeeded ? null : "no_success",
      });
    },
    forget: () => rounds.clear(),
    counts: () => exporter.counts,
    async stop() {
      await reading;
      await exporter.stop();
    },
  };
}

/** A message's own span, and one for each decision. */
function arrivalSpans(id: MessageRowId, message: TracedMessage, committedAt: number): Span[] {
  const { messageId, type, sourceId, wallAt, receivedAt, state, reason, decisions } = message;
  const traceId = traceIdOf(messageId);
  const root = rootOf(id);
  return [
    {
      traceId,
      spanId: root,
      name: `ingest ${type ?? "unknown"}`,
      kind: "server",
      startedAt: wallAt,
      endedAt: committedAt,
      attributes: {
        "hookyard.message.id": messageIds.format(id),
        "hookyard.source.id": sourceIds.format(sourceId),
        "hookyard.clock.time": timeText(receivedAt),
        ...(reason === null ? {} : { "hookyard.reason": reason }),
      },
      error: state === "rejected" ? (reason ?? state) : null,
    },
    ...decisions.map(({ destinationId, reason: why }): Span => ({
      traceId,
      spanId: spanId(`decision ${id} ${destinationId}`),
      parentSpanId: root,
      name: "decision",
      kind: "internal",
      startedAt: committedAt,
      endedAt: committedAt,
      attributes: {
        "hookyard.destination.id": destinationIds.format(destinationId),
        "hookyard.routed": why === "routed",
        "hookyard.reason": why,
      },
      error: null,
    })),
  ];
}

function attemptAttributes(
  delivery: ClaimedDelivery,
  { url }: Webhook,
  { outcome, response, simulated, durationMs, error }: AttemptResult,
  clockTime: string,
): Span["attributes"] {
  return {
    "http.request.method": methodOf(delivery),
    "url.full": urlWithoutCredentials(url),
    ...(response === null ? {} : { "http.response.status_code": response.status }),
    ...(outcome === "success" ? {} : { "error.type": error?.code ?? String(response?.status) }),
    "hookyard.delivery.id": deliveryIds.format(delivery.id),
    "hookyard.round": delivery.round,
    "hookyard.outcome": outcome,
    "hookyard.clock.time": clockTime,
    // Of an attempt that a test endpoint held: by the clock.
    ...(simulated ? { "hookyard.clock.duration_ms": durationMs } : {}),
  };
}

const methodOf = ({ mapped }: ClaimedDelivery): string => mapped?.method ?? "POST";

function timeText(at: number): string {
  return new Date(Math.min(at, 8.64e15)).toISOString();
}

const traceIdOf = (messageId: string): string => hash(`trace ${messageId}`, 16);
const spanId = (of: string): string => hash(of, 8);
const rootOf = (row: MessageRowId): string => spanId(`ingest ${row}`);
const roundOf = ({ id, round }: ClaimedDelivery): string => spanId(`round ${id} ${round}`);

function hash(text: string, bytes: number): string {
  return createHash("sha256")
    .update(`hookyard ${text}`)
    .digest("hex")
    .slice(0, bytes * 2);
}
