/**
 * Turns one request into what the store commits: its messages, each checked, and each with the
 * routing that the store asks for once it knows that the message is new. Used for requests at the
 * port, for those of an adopted write key, and for replays.
 */

import { randomUUID } from "node:crypto";
import {
  checkMessage,
  readSentAt,
  type CheckedMessage,
  type Rejection,
  type RequestFrame,
} from "../../domain/check.ts";
import {
  defaultSettings,
  type Destination,
  type Settings,
  type Source,
} from "../../domain/configuration.ts";
import type { MessageRowId } from "../../domain/ids.ts";
import { isObject, type Json, type JsonObject, type Span } from "../../domain/json.ts";
import type { Problem } from "../../domain/problem.ts";
import type { MessageType } from "../../domain/states.ts";
import { traitWords } from "../../domain/trait-words.ts";
import type { IncomingRequest, NewMessage } from "../ports.ts";
import { createWeigher, finished, routing, type Routing } from "../route/route.ts";
import type { RoutedMessage } from "../route/decision.ts";
import { maxBatchMessages, readingOnce, type ParsedBody } from "./read-request.ts";

/**
 * What merging a batch's defaults into its messages may cost in total, in bytes: every message
 * carries a copy.
 */
const maxMergeCost = 4_000_000;
/**
 * What is kept of the ids and the event of a rejected message, which may be far larger than a
 * message can be.
 */
const maxSeenLength = 500;
/** As at the hosted service: under 100 characters. */
const maxMessageIdLength = 99;

export type RequestFacts = {
  source: Source;
  destinations: readonly Destination[];
  /** For samples of filters. */
  seed: number;
  /** Null for a batch. */
  typeFromPath: MessageType | null;
  receivedAt: number;
  /**
   * When the client sent it, if it was kept for a while before it is accepted: the time of messages
   * that give none.
   */
  arrivedAt?: number;
  wallAt: number;
  /** Both times of its first arrival, if it was kept or is a replay. */
  arrivedFirst?: Pick<IncomingRequest, "receivedAt" | "wallAt">;
  method: string;
  path: string;
  headers: [string, string][];
  ip: string | null;
  body: Uint8Array;
  isSuppressed: (userId: string) => boolean;
  settings?: Pick<Settings, "contextIp" | "limitMessageIds">;
  replayOf?: MessageRowId;
  /** Of a message that is sent again. */
  replayed?: Replayed;
};

/**
 * `size` is counted instead of its own, which grew by another `messageId`: 0 when the message was
 * accepted before. `timestamp` is then the time that it got, which stays if the message gave one.
 */
type Replayed = { size: number; timestamp: number | null };

export function replayedFrom({
  span: { size },
  timestamp,
}: {
  span: { size: number };
  timestamp: number | null;
}): Replayed {
  return { size: timestamp === null ? size : 0, timestamp };
}

/** `routing` is `route` in steps. */
export type AcceptedMessage = NewMessage & { routing: () => Routing };

export type AcceptedRequest = Omit<IncomingRequest, "messages"> & {
  messages: AcceptedMessage[];
  /** How long routing and writing it may take, in steps of routing. */
  weight: number;
  /** Of its body, and of what its defaults add to its messages. */
  bytes: number;
  /** Messages over the limit of a batch: the last of `messages` is the record of all of them. */
  surplus: number;
};

export function acceptRequest(
  facts: RequestFacts,
  { root, items, spans, end }: ParsedBody,
): AcceptedRequest {
  const frame = frameOf(facts, root);
  const weigh = createWeigher(facts.source, facts.destinations);
  const messages: AcceptedMessage[] = [];
  let mergeCost = 0;
  let weight = 0;
  for (const [place, { start, end: itemEnd }] of spans.slice(0, maxBatchMessages).entries()) {
    const { message, cost } = acceptMessage(
      facts,
      frame,
      items[place] ?? null,
      start,
      itemEnd - start,
    );
    if (mergeCost + cost > maxMergeCost) break;
    mergeCost += cost;
    weight += message.rejection === null ? weigh(message.size + cost) : 1;
    messages.push(message);
  }
  const surplus = items.length - messages.length;
  if (surplus > 0) {
    const { start: offset } = spans[messages.length] as Span;
    messages.push(
      rejectedWhole(
        facts,
        { offset, size: end - offset },
        surplusRejection(messages.length, items.length),
      ),
    );
  }
  return { ...requestOf(facts), messages, bytes: facts.body.length + mergeCost, weight, surplus };
}

/** Begins the detail of a surplus that the batch's defaults cause. */
export const ofDefaults = "The batch's `context` and `integrations`, of which each message carries";

/** All messages over the limit are one record, of a batch of 250,000 too. */
function surplusRejection(accepted: number, all: number): Rejection {
  const why =
    accepted === maxBatchMessages
      ? `A batch has at most ${maxBatchMessages} messages`
      : `${ofDefaults} a copy, leave room for ${accepted} messages`;
  const detail = `${why}, and this one has ${all}: the ${all - accepted} from index ${accepted} on were rejected. Send smaller batches.`;
  return { reason: "batch_too_long", detail };
}

/**
 * A request that could not be read, recorded as one rejected message so that the inspector shows
 * what arrived.
 */
export function recordMalformed(facts: RequestFacts, { code, message }: Problem): AcceptedRequest {
  const rejected = rejectedWhole(
    facts,
    { offset: 0, size: facts.body.length },
    { reason: code, detail: message },
  );
  return {
    ...requestOf(facts),
    messages: [rejected],
    bytes: facts.body.length,
    weight: 1,
    surplus: 0,
  };
}

function rejectedWhole(
  facts: RequestFacts,
  span: { offset: number; size: number },
  rejection: Rejection,
): AcceptedMessage {
  return {
    ...span,
    messageId: randomUUID(),
    type: facts.typeFromPath,
    userId: null,
    anonymousId: null,
    event: null,
    traits: null,
    timestamp: arrivalOf(facts),
    warnings: [],
    rejection,
    deduplicate: false,
    replayOf: null,
    computed: false,
    ...nowhere,
  };
}

function acceptMessage(
  facts: RequestFacts,
  frame: RequestFrame,
  item: Json,
  offset: number,
  size: number,
): { message: AcceptedMessage; cost: number } {
  const { source, receivedAt, destinations, seed } = facts;
  const checked = checkMessage(item, facts.replayed?.size ?? size, frame, facts.typeFromPath);
  const replayOf = facts.replayOf ?? null;
  if (!checked.ok) {
    const { type, messageId, userId, anonymousId, event } = checked.seen;
    const rejected = {
      type,
      userId: userId?.slice(0, maxSeenLength) ?? null,
      anonymousId: anonymousId?.slice(0, maxSeenLength) ?? null,
      event: event?.slice(0, maxSeenLength) ?? null,
      offset,
      size,
      messageId: messageId?.slice(0, maxSeenLength) ?? randomUUID(),
      traits: null,
      timestamp: arrivalOf(facts),
      warnings: [],
      rejection: checked.rejection,
      deduplicate: false,
      replayOf,
      computed: false,
      ...nowhere,
    };
    return { message: rejected, cost: 0 };
  }
  const { message } = checked;
  const messageId = message.messageId ?? randomUUID();
  const rejection = suppression(message, facts);
  const { body } = facts;
  const steps = (): Routing =>
    routing({
      message: Object.assign(message, { messageId }),
      source,
      receivedAt,
      destinations,
      seed,
      span: { body, offset, size },
    });
  const accepted = {
    offset,
    size,
    messageId,
    type: message.type,
    userId: message.userId,
    anonymousId: message.anonymousId,
    event: message.event,
    traits: traitsOf(message),
    timestamp: message.timestamp,
    warnings: message.warnings,
    rejection,
    deduplicate: rejection === null && source.deduplicate,
    replayOf,
    computed: source.kind === "audience",
    routing: steps,
    route: () => finished(steps()),
  };
  return { message: accepted, cost: checked.mergeCost };
}

function traitsOf({ type, members: { traits } }: CheckedMessage): string | null {
  return type === "identify" && isObject(traits) ? traitWords(traits) : null;
}

/** An alias names two users. A replayed delete is accepted, for receivers that have not got it. */
function suppression(
  { type, userId, members }: CheckedMessage,
  { isSuppressed, replayOf }: RequestFacts,
): Rejection | null {
  if (type === "delete" && replayOf !== undefined) return null;
  const named = type === "alias" ? [userId, members["previousId"]] : [userId];
  const user = named.find((name): name is string => typeof name === "string" && isSuppressed(name));
  if (user === undefined) return null;
  const detail = `The user ${JSON.stringify(user)} is suppressed, so this message is not accepted. Lift the suppression to have later messages accepted.`;
  return { reason: "suppressed", detail };
}

function requestOf({
  source,
  receivedAt,
  wallAt,
  method,
  path,
  headers,
  ip,
  body,
}: RequestFacts): Omit<IncomingRequest, "messages"> {
  return { sourceId: source.id, receivedAt, wallAt, method, path, headers, ip, body };
}

function arrivalOf({ arrivedAt, receivedAt }: RequestFacts): number {
  return arrivedAt ?? receivedAt;
}

/** Only a batch has defaults for its messages. A single call is its own message. */
function frameOf(facts: RequestFacts, root: JsonObject): RequestFrame {
  const { source, typeFromPath, headers, ip, settings = defaultSettings } = facts;
  const batched = typeFromPath === null;
  const { receivedAt, wallAt } = facts.arrivedFirst ?? facts;
  const object = (value: Json | undefined): JsonObject | null =>
    batched && isObject(value) ? value : null;
  const library = libraryOf(headers.find(([name]) => name.toLowerCase() === "user-agent")?.[1]);
  return {
    context: object(root["context"]),
    integrations: object(root["integrations"]),
    sentAt: batched ? readSentAt(root["sentAt"]) : null,
    library,
    ip,
    // Libraries of browsers and phones have the service fill it.
    isIpOfDirect: settings.contextIp === "direct" && source.kind === "server",
    maxMessageIdLength: settings.limitMessageIds ? maxMessageIdLength : undefined,
    now: arrivalOf(facts),
    timestampBefore: facts.replayed?.timestamp ?? null,
    correctClockSkew:
      source.correctClockSkew === "auto"
        ? { byMs: receivedAt - wallAt, wallAt, sendsNoSentAt: isGoVersion1(library) }
        : source.correctClockSkew,
  };
}

function isGoVersion1(library: { name: string; version: string } | null): boolean {
  return library?.name === "analytics-go" && library.version.startsWith("1.");
}

const unrouted = (): RoutedMessage => ({ decisions: [], plan: null, payloads: {} });
const nowhere = {
  route: unrouted,
  // oxlint-disable-next-line require-yield -- nothing is routed, so there is no step
  *routing(): Routing {
    return unrouted();
  },
};

/** `analytics-go (version: 2.1.0)`, as the Go library writes it. */
const versionInComment = /^([^\s/(]+)\s*\(version:\s*([^)\s]+)\s*\)/;
const product = /^([^\s/(]+)(?:\/(\S*))?/;

/** A User-Agent may have 16 KB, and every message of a batch carries what is read out of it. */
const maxLength = 100;

/**
 * What a client says of itself in its User-Agent. Without a version it names a runtime, such as
 * `node`, and no library.
 */
export function libraryFromUserAgent(
  userAgent: string | undefined,
): { name: string; version: string } | null {
  if (userAgent === undefined) return null;
  const text = userAgent.trim();
  const [, name = "", version = ""] = versionInComment.exec(text) ?? product.exec(text) ?? [];
  return version === ""
    ? null
    : { name: name.slice(0, maxLength), version: version.slice(0, maxLength) };
}

const libraryOf = readingOnce(libraryFromUserAgent);
