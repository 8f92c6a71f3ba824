/**
 * Messages that Hookyard creates itself: the calls of audiences and computed traits, and the delete
 * calls of deletion requests, each with its cause, which is in the body beside the messages. They are created without HTTP; after that they are
 * messages like any other: committed as a request, routed, queued. The caller opens the
 * transaction, so that the messages and their reason are one commit.
 */

import { randomUUID } from "node:crypto";
import type { CheckedMessage } from "../../domain/check.ts";
import type { Cause } from "../../domain/cause.ts";
import type { Destination, Source } from "../../domain/configuration.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";
import { makePayload } from "../../domain/payload.ts";
import { formatTimestamp } from "../../domain/timestamp.ts";
import { traitWords } from "../../domain/trait-words.ts";
import type { Clock } from "../clock/clock.ts";
import type { Configuration } from "../pipeline.ts";
import type { CommittedMessage, IncomingRequest, IngestStore, NewMessage } from "../ports.ts";
import type { Decision, RoutedMessage } from "../route/decision.ts";
import type { ProfileStore } from "../profile-ports.ts";
import { route, type RouteOptions } from "../route/route.ts";
import { wallClockNow } from "../real-time.ts";

type Call =
  | { type: "delete" }
  | { type: "identify"; traits: JsonObject; context: JsonObject; integrations: JsonObject }
  | {
      type: "track";
      event: string;
      properties: JsonObject;
      context: JsonObject;
      integrations: JsonObject;
    };

/** Connected destinations that do not get the message, and why. */
export type LeftOut = ReadonlyMap<DestinationId, { reason: string; detail: string }>;

export type InternalMessage = Call & { userId: string };
export type CausedMessage = { message: InternalMessage; cause: Cause; leftOut?: LeftOut };

export type InternalMessages = {
  /** Returns a list for each source, in the order of its messages. */
  commit(
    batches: readonly { source: Source; messages: readonly CausedMessage[] }[],
  ): CommittedMessage[][];
};

type InternalMessagesOptions = {
  store: Pick<IngestStore, "commit"> & Pick<ProfileStore, "followed" | "markFollowed">;
  configuration: Pick<Configuration, "destinationsOf" | "settings">;
  clock: Clock;
  newId?: () => string;
  onCommitted: (messages: CommittedMessage[]) => void;
};

export function createInternalMessages({
  store,
  configuration,
  clock,
  newId = randomUUID,
  onCommitted,
}: InternalMessagesOptions): InternalMessages {
  return {
    commit(batches) {
      const requests = batches.map(({ source, messages }) =>
        requestOf({
          source,
          messages,
          destinations: configuration.destinationsOf(source.id),
          seed: configuration.settings().seed,
          now: clock.now(),
          wallAt: wallClockNow(),
          newId,
        }),
      );
      const { upTo, newest: last } = store.followed();
      const committed = store.commit(requests);
      // Profiles ignore these messages. Profiles that were up to date stay so, and nothing has to
      // wait for them.
      if (upTo >= last) store.markFollowed(store.followed().newest);
      onCommitted(committed.flat());
      return committed;
    },
  };
}

/** The payload that receivers would get if it were sent now. */
export function internalPayload(own: InternalMessage, now: number): Uint8Array {
  return Buffer.from(makePayload(checkedMessage(own, now, randomUUID()), "documented", now));
}

type Own = {
  source: Source;
  messages: readonly CausedMessage[];
  destinations: readonly Destination[];
  seed: number;
  now: number;
  wallAt: number;
  newId: () => string;
};

const before = '{"batch":[';

function requestOf({
  source,
  messages,
  destinations,
  seed,
  now,
  wallAt,
  newId,
}: Own): IncomingRequest {
  let offset = before.length;
  const texts: string[] = [];
  const causes: Record<string, Cause> = {};
  const accepted = messages.map(({ message: own, cause, leftOut }): NewMessage => {
    const checked = checkedMessage(own, now, newId());
    const text = JSON.stringify(checked.members);
    const size = Buffer.byteLength(text);
    const { type, messageId, userId, timestamp } = checked;
    texts.push(text);
    causes[offset] = cause;
    offset += size + 1;
    return {
      offset: offset - size - 1,
      size,
      messageId,
      type,
      userId,
      anonymousId: null,
      event: checked.event,
      traits: own.type === "identify" ? traitWords(own.traits) : null,
      timestamp,
      warnings: [],
      rejection: null,
      deduplicate: false,
      replayOf: null,
      computed: true,
      route: () =>
        routeWithout(leftOut, {
          message: checked,
          source,
          receivedAt: now,
          destinations,
          seed,
        }),
    };
  });
  return {
    sourceId: source.id,
    receivedAt: now,
    wallAt,
    method: "POST",
    path: "/v1/batch",
    ip: null,
    headers: [
      ["From", "Hookyard"],
      ["Content-Type", "application/json"],
    ],
    body: Buffer.from(`${before}${texts.join(",")}],"causes":${JSON.stringify(causes)}}`),
    messages: accepted,
  };
}

/**
 * The cause of the message that begins at `offset` of the body; null when the request came from
 * outside, and so from an address.
 */
export function causeIn(
  { ip, headers, body }: Pick<IncomingRequest, "ip" | "headers" | "body">,
  offset: number,
): Cause | null {
  if (ip !== null || headers[0]?.[0] !== "From") return null;
  const { causes } = JSON.parse(Buffer.from(body).toString("utf8")) as {
    causes?: Record<string, Cause>;
  };
  return causes?.[offset] ?? null;
}

/** Whoever is left out has a decision that says why. */
function routeWithout(leftOut: LeftOut | undefined, options: RouteOptions): RoutedMessage {
  if (leftOut === undefined || leftOut.size === 0) return route(options);
  const { decisions, ...routed } = route({
    ...options,
    destinations: options.destinations.filter(({ id }) => !leftOut.has(id)),
  });
  const others = options.destinations.flatMap(({ id, sourceIds, payload }): Decision[] => {
    const why = leftOut.get(id);
    if (why === undefined || !sourceIds.includes(options.source.id)) return [];
    return [{ destinationId: id, routed: false, ...why, warnings: [], payload }];
  });
  return { decisions: [...decisions, ...others], ...routed };
}

/** The message as the check at ingest would return it. */
function checkedMessage(
  own: InternalMessage,
  now: number,
  messageId: string,
): CheckedMessage & { messageId: string } {
  const { type, userId, ...rest } = own;
  const timestamp = formatTimestamp(now);
  return {
    type,
    messageId,
    userId,
    anonymousId: null,
    event: own.type === "track" ? own.event : null,
    timestamp: now,
    originalTimestamp: now,
    sentAt: null,
    members: { type, messageId, userId, timestamp, ...rest },
    context: own.type === "delete" ? {} : own.context,
    integrations: own.type === "delete" ? {} : own.integrations,
    warnings: [],
  };
}
