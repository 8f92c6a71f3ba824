/** The kinds of things that expectations are about, but for attempts: messages, deliveries, requests, audiences. */

import type { DeliveriesClaim, DeliveryChoice, MessagesClaim, RequestsClaim, AudiencesClaim } from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { durationRangeText, isWithin, rangeText } from "../file/matcher.ts";
import { type SeenDelivery, type SeenMessage, type SeenRequest, membersOf, type SeenAudience } from "../run/history.ts";
import { wrong, type Kind, type Wrong } from "./kind.ts";
import { wrongInParts } from "./parts.ts";

type OneOrSeveral<Value> = Value | readonly Value[] | undefined;

export function isOneOf<Value>(wanted: OneOrSeveral<Value>, value: Value | null): boolean {
  if (wanted === undefined) return true;
  return value !== null && (Array.isArray(wanted) ? wanted.includes(value) : wanted === value);
}

type MessageChoice = {
  source?: OneOrSeveral<string>;
  type?: OneOrSeveral<string>;
  event?: OneOrSeveral<string>;
  userId?: OneOrSeveral<string>;
  messageId?: OneOrSeveral<string>;
};

/** `userId` is known or anonymous. */
function choosesMessage(of: MessageChoice | undefined, { source, details }: SeenMessage): boolean {
  if (of === undefined) return true;
  const { type, event, userId, anonymousId, messageId } = details;
  return (
    isOneOf(of.source, source) &&
    isOneOf(of.type, type) &&
    isOneOf(of.event, event) &&
    (isOneOf(of.userId, userId) || isOneOf(of.userId, anonymousId)) &&
    isOneOf(of.messageId, messageId)
  );
}

/** `track Order Completed · u_4 · message-4` */
function messageLabel({ details, ordinal }: SeenMessage): string {
  const { type, event, userId, anonymousId, messageId } = details;
  const what = [type ?? "message", ...(event === null ? [] : [event])].join(" ");
  return [what, userId ?? anonymousId ?? "nobody", messageId === "" ? `#${ordinal}` : messageId].join(" · ");
}

export function choosesDelivery(of: DeliveryChoice | undefined, delivery: SeenDelivery): boolean {
  return choosesMessage(of, delivery.message) && isOneOf(of?.destination, delivery.destination) && isOneOf(of?.state, delivery.state);
}

export function deliveryLabel(delivery: SeenDelivery): string {
  return `${messageLabel(delivery.message)} → ${delivery.destination}`;
}

export const deliveries: Kind<DeliveriesClaim, SeenDelivery> = {
  nouns: ["delivery", "deliveries"],
  total: (history) => history.deliveries.length,
  chosen: (history, { of }) => history.deliveries.filter((delivery) => choosesDelivery(of, delivery)),
  wrongWith(delivery, claim, { now, secretOf }) {
    const { state, reason, rounds, attempts, took, nextAttempt, body } = claim;
    const made = new Set(delivery.attempts.map(({ details }) => details.round)).size;
    const duration = delivery.at - delivery.message.at;
    const next = delivery.nextAttemptAt === null ? null : delivery.nextAttemptAt - now;
    return [
      ...(state === undefined || state === delivery.state ? [] : wrong("state", state, delivery.state)),
      ...(reason === undefined || reason === delivery.reason ? [] : wrong("reason", reason, delivery.reason ?? "none")),
      ...(rounds === undefined || isWithin(made, rounds) ? [] : wrong("rounds", rangeText(rounds), String(made))),
      ...(attempts === undefined || isWithin(delivery.attempts.length, attempts)
        ? []
        : wrong("attempts", rangeText(attempts), String(delivery.attempts.length))),
      ...(took === undefined || isWithin(duration, took) ? [] : wrong("took", durationRangeText(took), formatDuration(duration))),
      ...(nextAttempt === undefined || (next !== null && isWithin(next, nextAttempt))
        ? []
        : wrong("next attempt", `in ${durationRangeText(nextAttempt)}`, next === null ? "none" : `in ${formatDuration(next)}`)),
      ...wrongInParts({ body }, { headers: [], body: delivery.details.payload, secret: secretOf(delivery.destination) }),
    ];
  },
  countOf: () => 1,
  label: deliveryLabel,
  behind: ({ attempts }) => attempts,
  idOf: ({ details }) => details.id,
  versionOf: ({ versions }) => versions.length,
};

export const messages: Kind<MessagesClaim, SeenMessage> = {
  nouns: ["message", "messages"],
  total: (history) => history.messages.length,
  chosen: (history, { of }) => history.messages.filter((message) => choosesMessage(of, message) && isOneOf(of?.state, message.state)),
  wrongWith(message, { state, reason, decisions = {} }) {
    return [
      ...(state === undefined || state === message.state ? [] : wrong("state", state, message.state)),
      ...(reason === undefined || reason === message.details.reason ? [] : wrong("reason", reason, message.details.reason ?? "none")),
      ...Object.entries(decisions).flatMap(([destination, expected]) => {
        const actual = message.decisions.get(destination) ?? "no decision";
        return actual === expected ? [] : wrong(`decision for ${destination}`, expected, actual);
      }),
    ];
  },
  countOf: () => 1,
  label: messageLabel,
  behind: (message, { deliveries }) =>
    deliveries.filter((delivery) => delivery.message.ordinal === message.ordinal).flatMap(({ attempts }) => attempts),
  idOf: ({ ordinal }) => String(ordinal),
  versionOf: ({ version }) => version,
};

export const requests: Kind<RequestsClaim, SeenRequest> = {
  nouns: ["request", "requests"],
  total: (history) => history.requests.length,
  chosen: (history, { of }) => history.requests.filter((request) => choosesRequest(of, request)),
  wrongWith({ details }, claim) {
    const { answered, signature } = claim;
    const did =
      details.did === "answer" || details.did === "default" || details.did === "redirect" ? (details.status ?? details.did) : details.did;
    const seen = details.signature === null ? "none" : details.signature.verifies.some(({ valid }) => valid) ? "valid" : "invalid";
    return [
      ...(answered === undefined || String(answered) === String(did) ? [] : wrong("answered", String(answered), String(did))),
      ...(signature === undefined || signature === seen ? [] : wrong("signature", signature, seen)),
      ...wrongInParts({ ...claim, signature: undefined }, { headers: details.headers, body: details.body, secret: null }),
    ];
  },
  countOf: () => 1,
  label({ endpoint, message, details }) {
    const { type, event, userId } = details.message;
    const what = message === null ? [type ?? "request", event, userId].filter((part) => part !== null).join(" ") : messageLabel(message);
    return `${what}, received by ${endpoint}`;
  },
  behind: ({ endpoint, message }, { deliveries }) =>
    deliveries
      .filter((delivery) => message !== null && delivery.message.ordinal === message.ordinal)
      .flatMap(({ attempts }) => attempts.filter(({ webhook }) => webhook === endpoint)),
  idOf: ({ details }) => details.id,
  versionOf: () => 0,
};

function choosesRequest(of: RequestsClaim["of"], { endpoint, message, details }: SeenRequest): boolean {
  const seen = details.message;
  return (
    isOneOf(of?.endpoint, endpoint) &&
    isOneOf(of?.type, seen.type) &&
    isOneOf(of?.event, seen.event) &&
    (isOneOf(of?.userId, seen.userId) || isOneOf(of?.userId, message?.details.anonymousId ?? null)) &&
    isOneOf(of?.messageId, seen.messageId)
  );
}

/** Of a large audience the first few say enough. */
const maxShown = 5;

export const audiences: Kind<AudiencesClaim, SeenAudience> = {
  nouns: ["audience", "audiences"],
  total: (history) => history.audiences.length,
  chosen: (history, { of }) => history.audiences.filter(({ name }) => isOneOf(of?.name, name)),
  wrongWith(audience, { size, entered, left, in: inside = [], notIn: outside = [] }) {
    const members = membersOf(audience);
    const times = (change: "in" | "out"): number => audience.notices.filter((notice) => notice.change === change).length;
    const counts = [
      ["size", size, members.size],
      ["entered", entered, times("in")],
      ["left", left, times("out")],
    ] as const;
    return [
      ...counts.flatMap(([what, range, count]): Wrong[] =>
        range === undefined || isWithin(count, range) ? [] : wrong(what, rangeText(range), String(count)),
      ),
      ...[inside].flat().flatMap((userId) => (members.has(userId) ? [] : wrong("members", `with ${userId}`, listed(members)))),
      ...[outside].flat().flatMap((userId) => (members.has(userId) ? wrong("members", `without ${userId}`, listed(members)) : [])),
    ];
  },
  countOf: () => 1,
  label: ({ name }) => `the audience ${name}`,
  behind: ({ name }, { deliveries }) => deliveries.filter(({ message }) => message.source === name).flatMap(({ attempts }) => attempts),
  idOf: ({ name }) => name,
  versionOf: ({ notices }) => notices.length,
};

function listed(members: ReadonlySet<string>): string {
  const first = [...members].toSorted().slice(0, maxShown).join(", ");
  return members.size === 0 ? "nobody" : `${first}${members.size > maxShown ? `, and ${members.size - maxShown} more` : ""}`;
}
