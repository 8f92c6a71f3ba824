/**
 * What has happened in the pipeline of a scenario, by the names of the file: read from the control
 * API, oldest first, and visible as of any moment.
 */

import type { AnswerOf } from "../../contract/contract.ts";
import type { AttemptAnswer } from "../../contract/deliveries.ts";
import type { ReceivedRequestAnswer } from "../../contract/endpoints.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../../contract/messages.ts";
import { messageStates } from "../../domain/states.ts";
import { audienceAsOf, readAudiences, type AudienceName, type SeenAudience } from "./audiences.ts";
import {
  byMessage,
  deliveriesOf,
  withAllAttempts,
  type DeliveryNames,
  type SeenDelivery,
  type SeenMessage,
} from "./deliveries.ts";
import type { ScenarioPipeline } from "./pipeline.ts";

export type SeenRequest = {
  at: number;
  /** The time of its arrival, where there is no answer. */
  answeredAt: number;
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
  /** By endpoint that kept only its newest requests: how many of them, and how many are gone. */
  dropped: Map<string, { kept: number; gone: number }>;
  audiences: SeenAudience[];
};

/** For what counts them: all there were at the endpoint, or at all of them. */
export function allRequests(
  { requests, dropped }: History,
  endpoints?: readonly string[],
): SeenRequest[] {
  for (const [endpoint, { kept, gone }] of dropped)
    if (endpoints === undefined || endpoints.includes(endpoint))
      throw new Error(
        `The endpoint ${endpoint} received ${kept + gone} requests and kept only the newest ${kept}. Send it fewer requests, or expect attempts instead.`,
      );
  return requests;
}

/** How the things of the pipeline are called in the file. */
type Names = DeliveryNames & {
  source(id: string): string;
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
    const listed = await pipeline.call("messages.get", { id: summary.id });
    const details = await withAllBytes(await withAllAttempts(pipeline, listed));
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
    const lost: History["dropped"] = new Map();
    for (const [endpoint, id] of names.endpoints()) {
      // In a story, the user may have deleted it.
      if (!there.has(id)) continue;
      const { items, dropped } = await requestsAt(pipeline, id);
      if (dropped > 0) lost.set(endpoint, { kept: items.length, gone: dropped });
      const ofEndpoint = items.reverse().map((details): SeenRequest => {
        const message = byMessageId.get(details.message.messageId ?? "") ?? null;
        const at = Date.parse(details.receivedAt);
        const { answeredAt = details.receivedAt } = details;
        return { at, answeredAt: Date.parse(answeredAt), endpoint, message, details };
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
    requests: history.requests
      .filter(({ at }) => at <= moment)
      .map((request) =>
        request.answeredAt <= moment
          ? request
          : { ...request, details: { ...request.details, status: null } },
      ),
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
  for (const { at, answeredAt } of requests) moments.add(at).add(answeredAt);
  for (const audience of audiences)
    for (const { at } of [audience, ...audience.notices]) moments.add(at);
  return [...moments].toSorted((one, other) => one - other);
}
