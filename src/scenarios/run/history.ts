/**
 * What has happened in the pipeline of a scenario, by the names of the file: read from the control
 * API, oldest first, and visible as of any moment.
 */

import type { AnswerOf } from "../../contract/contract.ts";
import type { AttemptAnswer, DeliveryDetailsAnswer } from "../../contract/deliveries.ts";
import type { ReceivedRequestAnswer } from "../../contract/endpoints.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../../contract/messages.ts";
import { messageStates, type DeliveryState, type MessageState } from "../../domain/states.ts";
import { audienceAsOf, readAudiences, type AudienceName, type SeenAudience } from "./audiences.ts";
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

export type SeenRequest = {
  at: number;
  endpoint: string;
  message: SeenMessage | null;
  details: ReceivedRequestAnswer;
};

export type History = {
  now: number;
  nextDueAt: number | null;
  messages: SeenMessage[];
  deliveries: SeenDelivery[];
  requests: SeenRequest[];
  /** That an endpoint kept only its newest requests; null when all are there. */
  dropped: string | null;
  audiences: SeenAudience[];
};

/** For what counts them: all there were. */
export function allRequests({ requests, dropped }: History): SeenRequest[] {
  if (dropped !== null) throw new Error(dropped);
  return requests;
}

/** How the things of the pipeline are called in the file. */
type Names = {
  source(id: string): string;
  destination(id: string): string;
  /** The endpoint at a webhook's URL, or the URL itself. */
  webhook(url: string): string;
  endpoints(): [name: string, id: string][];
  audiences(): AudienceName[];
};

const pageSize = 1000;

/** Reads what changed since it last did; what is settled is not asked for again. */
export function createHistoryReader(
  pipeline: ScenarioPipeline,
  names: Names,
): () => Promise<History> {
  const known = new Map<string, { summary: string; details: MessageDetailsAnswer }>();
  /** Those that an answer left out. */
  const wholeAttempts = new Map<string, AttemptAnswer>();

  async function detailsOf(summary: MessageSummaryAnswer): Promise<MessageDetailsAnswer> {
    const text = JSON.stringify(summary);
    const before = known.get(summary.id);
    if (before?.summary === text && changesShow(before.details)) return before.details;
    const details = await withAllBytes(await pipeline.call("messages.get", { id: summary.id }));
    known.set(summary.id, { summary: text, details });
    return details;
  }

  /** An answer of over 1 MB leaves them out. */
  async function withAllBytes(details: MessageDetailsAnswer): Promise<MessageDetailsAnswer> {
    for (const delivery of details.deliveries) {
      const { id } = delivery;
      if (delivery.payload === "" && delivery.payloadSize > 0)
        delivery.payload = (await pipeline.call("deliveries.get", { id })).payload;
      for (const [place, { id: attempt, leftOut }] of delivery.attempts.entries()) {
        if (!leftOut) continue;
        const whole =
          wholeAttempts.get(attempt) ??
          (await pipeline.call("deliveries.attempt", { id, attempt }));
        wholeAttempts.set(attempt, whole);
        delivery.attempts[place] = whole;
      }
    }
    return details;
  }

  async function readMessages(): Promise<SeenMessage[]> {
    const summaries: MessageSummaryAnswer[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await pipeline.call("messages.list", {
        limit: pageSize,
        ...(cursor === undefined ? {} : { cursor }),
      });
      summaries.push(...page.items);
      cursor = page.nextCursor;
    }
    const messages: SeenMessage[] = [];
    for (const [index, summary] of summaries.reverse().entries()) {
      const details = await detailsOf(summary);
      messages.push({
        ordinal: index + 1,
        at: Date.parse(details.receivedAt),
        source: names.source(details.sourceId),
        state: details.state,
        version: 0,
        decisions: new Map(
          details.decisions.map(({ destinationId, reason }) => [
            names.destination(destinationId),
            reason,
          ]),
        ),
        details,
      });
    }
    return messages;
  }

  async function readRequests(
    messages: readonly SeenMessage[],
  ): Promise<Pick<History, "requests" | "dropped">> {
    const there = new Set((await pipeline.call("endpoints.list", {})).items.map(({ id }) => id));
    const byMessageId = new Map(
      messages
        .filter(({ state }) => state !== "duplicate")
        .map((message) => [message.details.messageId, message]),
    );
    const requests: SeenRequest[] = [];
    let lost: string | null = null;
    for (const [endpoint, id] of names.endpoints()) {
      // In a story, the user may have deleted it.
      if (!there.has(id)) continue;
      const { items, dropped } = await requestsAt(pipeline, id);
      if (dropped > 0)
        lost ??= `The endpoint ${endpoint} received ${items.length + dropped} requests and kept only the newest ${items.length}. Send less to it, or expect attempts instead.`;
      const ofEndpoint = items.reverse().map((details): SeenRequest => {
        const message = byMessageId.get(details.message.messageId ?? "") ?? null;
        return { at: Date.parse(details.receivedAt), endpoint, message, details };
      });
      requests.push(
        ...ofEndpoint.toSorted(
          (one, other) =>
            one.at - other.at || (one.message?.ordinal ?? 0) - (other.message?.ordinal ?? 0),
        ),
      );
    }
    return { requests, dropped: lost };
  }

  return async () => {
    const { now, nextDueAt } = await pipeline.call("clock.get", {});
    const messages = await readMessages();
    const audiences = await readAudiences(pipeline, names.audiences(), messages);
    const deliveries = deliveriesOf(messages, names);
    for (const { messages: own, versions } of deliveries)
      for (const message of own) message.version += versions.length;
    return {
      now: Date.parse(now),
      nextDueAt: nextDueAt === null ? null : Date.parse(nextDueAt),
      messages,
      deliveries,
      ...(await readRequests(messages)),
      audiences,
    };
  };
}

/**
 * Whether the summary changes with every change of a delivery. One of several can change behind
 * another, and the payload of a batch grows with other messages.
 */
function changesShow({ deliveries }: MessageDetailsAnswer): boolean {
  const waiting = deliveries.filter(({ state }) =>
    ["queued", "sending", "waiting"].includes(state),
  );
  return waiting.length === 0 || (deliveries.length === 1 && deliveries[0]?.messages === undefined);
}

/** The newest first. A page stays below 1 MB, however many are asked for. */
async function requestsAt(
  pipeline: ScenarioPipeline,
  id: string,
): Promise<{ items: ReceivedRequestAnswer[]; dropped: number }> {
  const items: ReceivedRequestAnswer[] = [];
  for (let cursor: string | undefined; ;) {
    const page: AnswerOf<"endpoints.requests"> = await pipeline.call("endpoints.requests", {
      id,
      limit: pageSize,
      ...(cursor === undefined ? {} : { cursor }),
    });
    items.push(...page.items);
    if (page.nextCursor === null) return { items, dropped: page.dropped };
    cursor = page.nextCursor;
  }
}

/** Each message of a batch shows the same delivery. */
function deliveriesOf(messages: readonly SeenMessage[], names: Names): SeenDelivery[] {
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
  names: Names,
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
  };
}

function seenAttempt(details: AttemptAnswer, names: Names): SeenAttempt {
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

export function asOf(history: History, moment: number): History {
  if (moment >= history.now) return history;
  const deliveries = history.deliveries.flatMap((delivery): SeenDelivery[] => {
    const versions = delivery.versions.filter(({ at }) => at <= moment);
    const last = versions.at(-1);
    return last === undefined
      ? []
      : [
          {
            ...delivery,
            ...last,
            messages: delivery.messages.filter(({ at }) => at <= moment),
            versions,
            attempts: delivery.attempts.filter(({ endedAt }) => endedAt <= moment),
          },
        ];
  });
  const states = byMessage(deliveries);
  return {
    now: moment,
    nextDueAt: null,
    messages: history.messages
      .filter(({ at }) => at <= moment)
      .map((message) => {
        const own = states.get(message.ordinal);
        if (own === undefined) return message;
        const version = own.reduce((sum, { versions }) => sum + versions.length, 0);
        return {
          ...message,
          state:
            messageStates.find((state) => own.some((delivery) => delivery.state === state)) ??
            message.state,
          version,
        };
      }),
    deliveries,
    requests: history.requests.filter(({ at }) => at <= moment),
    dropped: history.dropped,
    audiences: history.audiences
      .filter(({ at }) => at <= moment)
      .map((audience) => audienceAsOf(audience, moment)),
  };
}

/** The times of all changes, in order. */
export function momentsOf({
  messages,
  deliveries,
  requests,
  audiences,
}: Pick<History, "messages" | "deliveries" | "requests" | "audiences">): number[] {
  const moments = new Set<number>();
  for (const { at } of messages) moments.add(at);
  for (const { versions, attempts } of deliveries) {
    for (const { at } of versions) moments.add(at);
    for (const { endedAt } of attempts) moments.add(endedAt);
  }
  for (const { at } of requests) moments.add(at);
  for (const audience of audiences)
    for (const { at } of [audience, ...audience.notices]) moments.add(at);
  return [...moments].toSorted((one, other) => one - other);
}
