/** The deliveries and attempts of a scenario's pipeline, each with every state that it was in. */

import type { AttemptAnswer, DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { MessageDetailsAnswer } from "../../contract/messages.ts";
import type { DeliveryState, MessageState } from "../../domain/states.ts";
import type { ScenarioPipeline } from "./pipeline.ts";

export type SeenMessage = {
  /** Its place among all messages, from 1. */
  ordinal: number;
  at: number;
  source: string;
  state: MessageState;
  /** How often its deliveries have changed. */
  version: number;
  /** By destination: the reason of the decision. */
  decisions: Map<string, string>;
  details: MessageDetailsAnswer;
};

type DeliveryVersion = {
  at: number;
  state: DeliveryState;
  reason: string | null;
  nextAttemptAt: number | null;
};
export type SeenDelivery = DeliveryVersion & {
  /** The first of its messages. */
  message: SeenMessage;
  /** Of a batch, several. */
  messages: SeenMessage[];
  destination: string;
  details: DeliveryDetailsAnswer;
  /**
   * Every state it was in, each from its time on. The members above are those of the last one that
   * counts.
   */
  versions: DeliveryVersion[];
  attempts: SeenAttempt[];
  /** Older attempts of its message, which the control API does not list. */
  lost: number;
};

/** The status of the answer, or the outcome of an attempt without one. */
export type AttemptResult = number | string;
export type SeenAttempt = {
  at: number;
  endedAt: number;
  webhook: string;
  result: AttemptResult;
  details: AttemptAnswer;
};

export type DeliveryNames = {
  destination(id: string): string;
  /** The endpoint at a webhook's URL, or the URL itself. */
  webhook(url: string): string;
};

/** Each message of a batch shows the same delivery. */
export function deliveriesOf(
  messages: readonly SeenMessage[],
  names: DeliveryNames,
): SeenDelivery[] {
  const deliveries = new Map<string, SeenDelivery>();
  for (const message of messages) {
    for (const details of message.details.deliveries) {
      const known = deliveries.get(details.id);
      if (known === undefined) deliveries.set(details.id, seenDelivery(message, details, names));
      else known.messages.push(message);
    }
  }
  return [...deliveries.values()];
}

export function lostOf({ attempts, deliveries }: MessageDetailsAnswer): number {
  const listed = deliveries.reduce((sum, delivery) => sum + delivery.attempts.length, 0);
  return Math.max(0, attempts - listed);
}

/** Of a message with several deliveries, an answer has fewer attempts of each. */
export async function withAllAttempts(
  pipeline: ScenarioPipeline,
  details: MessageDetailsAnswer,
): Promise<MessageDetailsAnswer> {
  if (lostOf(details) === 0) return details;
  const deliveries: DeliveryDetailsAnswer[] = [];
  for (const { id } of details.deliveries)
    deliveries.push(await pipeline.call("deliveries.get", { id }));
  return { ...details, deliveries };
}

/** For what counts them: all there were. */
export function allAttempts({ message: { details }, attempts, lost }: SeenDelivery): SeenAttempt[] {
  if (lost > 0)
    throw new Error(
      `The message ${details.messageId} has ${details.attempts} attempts, and only the newest ${details.attempts - lost} are listed. Expect its state, or use a retry profile with fewer rounds.`,
    );
  return attempts;
}

/** By the ordinals of their messages. */
export function byMessage(deliveries: readonly SeenDelivery[]): Map<number, SeenDelivery[]> {
  const found = new Map<number, SeenDelivery[]>();
  for (const delivery of deliveries)
    for (const { ordinal } of delivery.messages)
      found.set(ordinal, [...(found.get(ordinal) ?? []), delivery]);
  return found;
}

function seenDelivery(
  message: SeenMessage,
  details: DeliveryDetailsAnswer,
  names: DeliveryNames,
): SeenDelivery {
  const attempts = details.attempts.map((attempt) => seenAttempt(attempt, names));
  const versions = versionsOf(details, attempts);
  const last = versions.at(-1);
  return {
    at: last?.at ?? message.at,
    state: details.state,
    reason: details.reason,
    nextAttemptAt: timeOrNull(details.nextAttemptAt),
    message,
    messages: [message],
    destination: names.destination(details.destinationId),
    details,
    versions,
    attempts: attempts.toSorted(inOrder),
    lost: lostOf(message.details),
  };
}

function seenAttempt(details: AttemptAnswer, names: DeliveryNames): SeenAttempt {
  const at = Date.parse(details.startedAt);
  const answered = details.outcome === "success" || details.outcome === "http_error";
  return {
    at,
    // Only an attempt that was held took time on the clock.
    endedAt: details.simulated ? at + Math.round(details.durationMs) : at,
    webhook: names.webhook(details.webhookUrl),
    result: answered ? (details.response?.status ?? details.outcome) : details.outcome,
    details,
  };
}

/** Webhooks of one round run beside each other: their names order them, in every run alike. */
function inOrder(one: SeenAttempt, other: SeenAttempt): number {
  return (
    one.details.round - other.details.round ||
    one.at - other.at ||
    (one.webhook < other.webhook ? -1 : Number(one.webhook > other.webhook))
  );
}

/**
 * An attempt's start is the record of `sending`, and the attempt that succeeded first is the record
 * of `delivered`: those at other webhooks may go on.
 */
function versionsOf(
  details: DeliveryDetailsAnswer,
  attempts: readonly SeenAttempt[],
): DeliveryVersion[] {
  const version = (
    at: number,
    state: DeliveryState,
    reason: string | null,
    nextAttemptAt: number | null = null,
  ): DeliveryVersion => ({
    at,
    state,
    reason,
    nextAttemptAt,
  });
  const [first] = attempts
    .filter(({ details: { outcome } }) => outcome === "success")
    .toSorted((one, other) => one.endedAt - other.endedAt);
  const deliveredAt = first?.endedAt ?? Infinity;
  const changes: { rank: number; version: DeliveryVersion }[] = [
    { rank: 0, version: version(Date.parse(details.createdAt), "queued", null) },
    ...attempts
      .filter(({ at }) => at <= deliveredAt)
      .map(({ at }) => ({ rank: 1, version: version(at, "sending", null) })),
    ...details.transitions.map(({ at, state, reason, nextAttemptAt }) => ({
      rank: 2,
      version: version(Date.parse(at), state, reason, timeOrNull(nextAttemptAt)),
    })),
    ...(first === undefined
      ? []
      : [{ rank: 2, version: version(first.endedAt, "delivered", "succeeded") }]),
  ];
  const versions = changes
    .toSorted((one, other) => one.version.at - other.version.at || one.rank - other.rank)
    .map((change) => change.version);
  const last = versions.at(-1);
  // An action and its result can share a moment: the record has the final state.
  if (last !== undefined && last.state !== details.state)
    versions.push(
      version(last.at, details.state, details.reason, timeOrNull(details.nextAttemptAt)),
    );
  return versions;
}

function timeOrNull(text: string | null): number | null {
  return text === null ? null : Date.parse(text);
}
