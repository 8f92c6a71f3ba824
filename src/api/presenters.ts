/** From the pipeline's values to the contract's answers: ids and times as strings, recorded bytes and heads as they can be read. */

import type { AttemptAnswer, DeliveryDetailsAnswer, DeliverySummaryAnswer, ListedDeliveryAnswer } from "../contract/deliveries.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../contract/messages.ts";
import { attemptIds, deliveryIds, destinationIds, messageIds, sourceIds, webhookIds } from "../domain/ids.ts";
import type { AttemptId } from "../domain/ids.ts";
import type {
  AttemptRecord,
  Decision,
  DeliveryDetails,
  DeliverySummary,
  ListedDelivery,
  MessageDetails,
  MessageSummary,
} from "../engine/ports.ts";
import { parseHead } from "./head.ts";

const farthestDate = 8.64e15;

export function presentTime(at: number): string {
  return new Date(Math.max(-farthestDate, Math.min(farthestDate, at))).toISOString();
}

export function presentTimeOrNull(at: number | null): string | null {
  return at === null ? null : presentTime(at);
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

export function presentBytes(bytes: Uint8Array): string | { base64: string } {
  try {
    return utf8.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
}

export function presentMessage(message: MessageSummary): MessageSummaryAnswer {
  return {
    id: messageIds.format(message.id),
    messageId: message.messageId,
    sourceId: sourceIds.format(message.sourceId),
    type: message.type,
    userId: message.userId,
    anonymousId: message.anonymousId,
    event: message.event,
    traits: message.traits,
    receivedAt: presentTime(message.receivedAt),
    timestamp: presentTime(message.timestamp),
    state: message.state,
    reason: message.reason,
    attempts: message.attempts,
    lastStatus: message.lastStatus,
    pinned: message.pinned,
    replayOf: message.replayOf === null ? null : messageIds.format(message.replayOf),
    nextAttemptAt: presentTimeOrNull(message.nextAttemptAt),
    marks: message.marks,
  };
}

/** The window of a delivery, by the retry profile of its destination; null when that is gone. */
export type WindowOf = (delivery: DeliverySummary) => number | null;

export function presentMessageDetails(message: MessageDetails, windowOf: WindowOf): MessageDetailsAnswer {
  return {
    ...presentMessage(message),
    detail: message.detail,
    duplicateOf: message.duplicateOf === null ? null : messageIds.format(message.duplicateOf),
    warnings: message.warnings,
    raw: presentBytes(message.raw),
    request: message.request,
    decisions: message.decisions.map(presentDecision),
    deliveries: message.deliveries.map((delivery) => presentDeliveryDetails(delivery, windowOf)),
  };
}

function presentDecision({ destinationId, routed, reason, detail, warnings }: Decision) {
  return { destinationId: destinationIds.format(destinationId), routed, reason, detail, warnings };
}

export function presentDelivery(delivery: DeliverySummary, windowOf: WindowOf): DeliverySummaryAnswer {
  const windowMs = windowOf(delivery);
  return {
    id: deliveryIds.format(delivery.id),
    messageRowId: messageIds.format(delivery.messageRow),
    destinationId: destinationIds.format(delivery.destinationId),
    state: delivery.state,
    reason: delivery.reason,
    createdAt: presentTime(delivery.createdAt),
    firstAttemptAt: presentTimeOrNull(delivery.firstAttemptAt),
    nextAttemptAt: presentTimeOrNull(delivery.nextAttemptAt),
    windowEndsAt: delivery.firstAttemptAt === null || windowMs === null ? null : presentTime(delivery.firstAttemptAt + windowMs),
    rounds: delivery.rounds,
  };
}

export function presentListedDelivery(delivery: ListedDelivery, windowOf: WindowOf): ListedDeliveryAnswer {
  const { type, event, userId, anonymousId, marks } = delivery;
  return {
    ...presentDelivery(delivery, windowOf),
    type,
    event,
    userId,
    anonymousId,
    marks: marks.map(({ round, startedAt, outcome }) => ({ round, startedAt: presentTime(startedAt), outcome })),
  };
}

export function presentDeliveryDetails(delivery: DeliveryDetails, windowOf: WindowOf): DeliveryDetailsAnswer {
  const payload = presentBytes(delivery.payload);
  return {
    ...presentDelivery(delivery, windowOf),
    payload,
    transitions: delivery.transitions.map(({ at, state, reason, nextAttemptAt }) => ({
      at: presentTime(at),
      state,
      reason,
      nextAttemptAt: presentTimeOrNull(nextAttemptAt),
    })),
    attempts: delivery.attempts.map((attempt) => presentAttempt(attempt, payload)),
  };
}

function presentAttempt(attempt: AttemptRecord & { id: AttemptId }, payload: AttemptAnswer["request"]["body"]): AttemptAnswer {
  const { response } = attempt;
  const sent = attempt.requestHead !== "";
  return {
    id: attemptIds.format(attempt.id),
    round: attempt.round,
    webhookId: webhookIds.format(attempt.webhookId),
    webhookUrl: attempt.webhookUrl,
    startedAt: presentTime(attempt.startedAt),
    durationMs: attempt.durationMs,
    simulated: attempt.simulated,
    phases: attempt.phases,
    outcome: attempt.outcome,
    retryable: attempt.retryable,
    error: attempt.error,
    request: {
      sent,
      method: "POST",
      url: attempt.webhookUrl,
      ...parseHead(attempt.requestHead),
      body: sent ? payload : "",
    },
    response:
      response === null
        ? null
        : {
            status: response.status,
            ...parseHead(response.head),
            body: presentBytes(response.body),
            bodyLength: response.bodyLength,
          },
  };
}
