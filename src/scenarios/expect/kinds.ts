/**
 * The kinds of things that expectations are about: messages, deliveries, attempts, requests,
 * audiences.
 */

import type {
  DeliveriesClaim,
  DeliveryChoice,
  MessagesClaim,
  RequestsClaim,
  AudiencesClaim,
  AttemptsClaim,
} from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { durationRangeText, isWithin, rangeText } from "../file/matcher.ts";
import { membersOf, type SeenAudience } from "../run/audiences.ts";
import {
  allAttempts,
  type AttemptResult,
  type SeenAttempt,
  type SeenDelivery,
  type SeenMessage,
} from "../run/deliveries.ts";
import { allRequests, type SeenRequest } from "../run/history.ts";
import { wrong, wrongInParts, type Kind, type Wrong, type View } from "./kind.ts";

type OneOrSeveral<Value> = Value | readonly Value[] | undefined;

function isOneOf<Value>(wanted: OneOrSeveral<Value>, value: Value | null): boolean {
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
  return [
    what,
    userId ?? anonymousId ?? "nobody",
    messageId === "" ? `#${ordinal}` : messageId,
  ].join(" · ");
}

export function choosesDelivery(of: DeliveryChoice | undefined, delivery: SeenDelivery): boolean {
  return (
    delivery.messages.some((message) => choosesMessage(of, message)) &&
    isOneOf(of?.destination, delivery.destination) &&
    isOneOf(of?.state, delivery.state)
  );
}

/** Of a batch: `track Order Completed · u_4 · message-4 and 2 more → Orders` */
function deliveryLabel({ message, messages, destination }: SeenDelivery): string {
  const more = messages.length > 1 ? ` and ${messages.length - 1} more` : "";
  return `${messageLabel(message)}${more} → ${destination}`;
}

export const deliveries: Kind<DeliveriesClaim, SeenDelivery> = {
  nouns: ["delivery", "deliveries"],
  total: (history) => history.deliveries.length,
  chosen: (history, { of }) =>
    history.deliveries.filter((delivery) => choosesDelivery(of, delivery)),
  wrongWith(delivery, claim, { now, secretOf }) {
    const { state, reason, rounds, attempts, took, nextAttempt, body } = claim;
    const all = rounds === undefined && attempts === undefined ? [] : allAttempts(delivery);
    const made = new Set(all.map(({ details }) => details.round)).size;
    const duration = delivery.at - delivery.message.at;
    const next = delivery.nextAttemptAt === null ? null : delivery.nextAttemptAt - now;
    return [
      ...(state === undefined || state === delivery.state
        ? []
        : wrong("state", state, delivery.state)),
      ...(reason === undefined || reason === delivery.reason
        ? []
        : wrong("reason", reason, delivery.reason ?? "none")),
      ...(rounds === undefined || isWithin(made, rounds)
        ? []
        : wrong("rounds", rangeText(rounds), String(made))),
      ...(attempts === undefined || isWithin(all.length, attempts)
        ? []
        : wrong("attempts", rangeText(attempts), String(all.length))),
      ...(took === undefined || isWithin(duration, took)
        ? []
        : wrong("took", durationRangeText(took), formatDuration(duration))),
      ...(nextAttempt === undefined || (next !== null && isWithin(next, nextAttempt))
        ? []
        : wrong(
            "next attempt",
            `in ${durationRangeText(nextAttempt)}`,
            next === null ? "none" : `in ${formatDuration(next)}`,
          )),
      ...wrongInParts(
        { body },
        {
          headers: [],
          body: delivery.details.payload,
          size: delivery.details.payloadSize,
          secret: secretOf(delivery.destination),
        },
      ),
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
  chosen: (history, { of }) =>
    history.messages.filter(
      (message) =>
        choosesMessage(of, message) &&
        isOneOf(of?.state, message.state) &&
        isOneOf(of?.valid, message.details.plan !== "violations"),
    ),
  wrongWith(message, { state, reason, decisions = {}, valid, violations }) {
    return [
      ...(state === undefined || state === message.state
        ? []
        : wrong("state", state, message.state)),
      ...(reason === undefined || reason === message.details.reason
        ? []
        : wrong("reason", reason, message.details.reason ?? "none")),
      ...Object.entries(decisions).flatMap(([destination, expected]) => {
        const actual = message.decisions.get(destination) ?? "no decision";
        return actual === expected ? [] : wrong(`decision for ${destination}`, expected, actual);
      }),
      ...wrongPlan(message, { valid, violations }),
    ];
  },
  countOf: () => 1,
  label: messageLabel,
  behind: (message, { deliveries }) =>
    deliveries
      .filter(({ messages }) => messages.some(({ ordinal }) => ordinal === message.ordinal))
      .flatMap(({ attempts }) => attempts),
  idOf: ({ ordinal }) => String(ordinal),
  versionOf: ({ version }) => version,
};

function wrongPlan(
  { details }: SeenMessage,
  { valid, violations }: Pick<MessagesClaim, "valid" | "violations">,
): Wrong[] {
  const isValid = details.plan !== "violations";
  const found = details.violations.map(({ path, message }) => `${path} ${message}`).join("; ");
  const places = [...new Set(details.violations.map(({ path }) => path))].toSorted();
  const wanted = [...new Set(violations)].toSorted();
  return [
    ...(valid === undefined || valid === isValid
      ? []
      : wrong("plan", valid ? "no violation" : "a violation", found === "" ? "none" : found)),
    ...(violations === undefined || wanted.join("\n") === places.join("\n")
      ? []
      : wrong("violations", wanted.join(", ") || "none", found === "" ? "none" : found)),
  ];
}

export const requests: Kind<RequestsClaim, SeenRequest> = {
  nouns: ["request", "requests"],
  total: ({ requests, dropped }) =>
    [...dropped.values()].reduce((sum, { gone }) => sum + gone, requests.length),
  chosen: (history, { of }) =>
    allRequests(history, of?.endpoint === undefined ? undefined : [of.endpoint].flat()).filter(
      (request) => choosesRequest(of, request),
    ),
  wrongWith({ details }, claim) {
    const { answered, signature } = claim;
    const did =
      details.did === "answer" || details.did === "default" || details.did === "redirect"
        ? (details.status ?? details.did)
        : details.did;
    const seen =
      details.signature === null
        ? "none"
        : details.signature.verifies.some(({ valid }) => valid)
          ? "valid"
          : "invalid";
    return [
      ...(answered === undefined || String(answered) === String(did)
        ? []
        : wrong("answered", String(answered), String(did))),
      ...(signature === undefined || signature === seen ? [] : wrong("signature", signature, seen)),
      ...wrongInParts(
        { ...claim, signature: undefined },
        {
          headers: details.headers,
          body: details.body,
          size: details.bodyLength,
          secret: null,
        },
      ),
    ];
  },
  countOf: () => 1,
  label({ endpoint, message, details }) {
    const { type, event, userId } = details.message;
    const what =
      message === null
        ? [type ?? "request", event, userId].filter((part) => part !== null).join(" ")
        : messageLabel(message);
    return `${what}, received by ${endpoint}`;
  },
  behind: ({ endpoint, message }, { deliveries }) =>
    deliveries
      .filter(({ messages }) => messages.some(({ ordinal }) => ordinal === message?.ordinal))
      .flatMap(({ attempts }) => attempts.filter(({ webhook }) => webhook === endpoint)),
  idOf: ({ details }) => details.id,
  versionOf: () => 0,
};

function choosesRequest(
  of: RequestsClaim["of"],
  { endpoint, message, details }: SeenRequest,
): boolean {
  const seen = details.message;
  return (
    isOneOf(of?.endpoint, endpoint) &&
    isOneOf(of?.type, seen.type) &&
    isOneOf(of?.event, seen.event) &&
    (isOneOf(of?.userId, seen.userId) ||
      isOneOf(of?.userId, message?.details.anonymousId ?? null)) &&
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
    const times = (change: "in" | "out"): number =>
      audience.notices.filter((notice) => notice.change === change).length;
    const counts = [
      ["size", size, members.size],
      ["entered", entered, times("in")],
      ["left", left, times("out")],
    ] as const;
    return [
      ...counts.flatMap(([what, range, count]): Wrong[] =>
        range === undefined || isWithin(count, range)
          ? []
          : wrong(what, rangeText(range), String(count)),
      ),
      ...[inside]
        .flat()
        .flatMap((userId) =>
          members.has(userId) ? [] : wrong("members", `with ${userId}`, listed(members)),
        ),
      ...[outside]
        .flat()
        .flatMap((userId) =>
          members.has(userId) ? wrong("members", `without ${userId}`, listed(members)) : [],
        ),
    ];
  },
  countOf: () => 1,
  label: ({ name }) => `the audience ${name}`,
  behind: ({ name }, { deliveries }) =>
    deliveries
      .filter(({ messages }) => messages.some(({ source }) => source === name))
      .flatMap(({ attempts }) => attempts),
  idOf: ({ name }) => name,
  versionOf: ({ notices }) => notices.length,
};

function listed(members: ReadonlySet<string>): string {
  const first = [...members].toSorted().slice(0, maxShown).join(", ");
  return members.size === 0
    ? "nobody"
    : `${first}${members.size > maxShown ? `, and ${members.size - maxShown} more` : ""}`;
}

/** One attempt; or, where a claim is about their order, all those of a delivery at one webhook. */
type AttemptSeries = { delivery: SeenDelivery; webhook: string; attempts: SeenAttempt[] };

export const attempts: Kind<AttemptsClaim, AttemptSeries> = {
  nouns: ["attempt", "attempts"],
  total: (history) => history.deliveries.reduce((sum, { attempts }) => sum + attempts.length, 0),
  chosen: (history, claim) => history.deliveries.flatMap((delivery) => seriesOf(delivery, claim)),
  wrongWith(series, claim, view) {
    return [
      ...wrongOrder(series, claim),
      ...series.attempts.flatMap((attempt) => wrongAttempt(series.delivery, attempt, claim, view)),
    ];
  },
  countOf: ({ attempts }) => attempts.length,
  label({ delivery, webhook, attempts }) {
    const [first] = attempts;
    return `${deliveryLabel(delivery)}, ${attempts.length === 1 && first !== undefined ? `round ${first.details.round} at ` : ""}${webhook}`;
  },
  behind: ({ delivery, webhook }) =>
    delivery.attempts.filter((attempt) => attempt.webhook === webhook),
  idOf: ({ attempts }) => attempts[0]?.details.id ?? "",
  versionOf: ({ attempts }) => attempts.length,
};

function seriesOf(delivery: SeenDelivery, { of, results, at }: AttemptsClaim): AttemptSeries[] {
  if (!choosesDelivery(of, delivery)) return [];
  const chosen = allAttempts(delivery).filter((attempt) => choosesAttempt(of, attempt));
  if (results === undefined && at === undefined)
    return chosen.map((attempt) => ({ delivery, webhook: attempt.webhook, attempts: [attempt] }));
  // Of a delivery that was never attempted the order is not as claimed either.
  if (delivery.attempts.length === 0 && of?.webhook === undefined)
    return [{ delivery, webhook: "any webhook", attempts: [] }];
  return [...Map.groupBy(chosen, ({ webhook }) => webhook)].map(([webhook, attempts]) => ({
    delivery,
    webhook,
    attempts,
  }));
}

function choosesAttempt(
  of: AttemptsClaim["of"],
  { webhook, result, details }: SeenAttempt,
): boolean {
  if (of === undefined) return true;
  const chosenResults = of.result === undefined ? undefined : [of.result].flat();
  return (
    isOneOf(of.webhook, webhook) &&
    isOneOf(of.round, details.round) &&
    (chosenResults === undefined ||
      chosenResults.some((one) => isResult(one, result, details.outcome)))
  );
}

/** `503` is an answer's status; a word is an outcome. A status may be in quotes. */
function isResult(wanted: AttemptResult, result: AttemptResult, outcome: string): boolean {
  return String(wanted) === String(result) || wanted === outcome;
}

function wrongOrder(
  { delivery, attempts }: AttemptSeries,
  { results, at }: AttemptsClaim,
): Wrong[] {
  const wrongs: Wrong[] = [];
  if (results !== undefined) {
    const wanted = results.flatMap(repeated);
    const fits =
      wanted.length === attempts.length &&
      attempts.every(({ result, details }, index) =>
        isResult(wanted[index] ?? "", result, details.outcome),
      );
    if (!fits)
      wrongs.push(
        ...wrong("results", runsText(wanted), runsText(attempts.map(({ result }) => result))),
      );
  }
  if (at !== undefined) {
    const times = attempts.map((attempt) => attempt.at - delivery.message.at);
    const fits =
      at.length === times.length && at.every((range, index) => isWithin(times[index] ?? -1, range));
    if (!fits)
      wrongs.push(
        ...wrong("at", at.map(durationRangeText).join(", "), times.map(formatDuration).join(", ")),
      );
  }
  return wrongs;
}

/** `503 x3` is three of them. */
function repeated(results: number | string): AttemptResult[] {
  const [result = "", times] = String(results).split(" x");
  return Array.from({ length: Number(times ?? 1) }, () => result);
}

/** `503 x3, timeout, 200` */
function runsText(results: readonly AttemptResult[]): string {
  const runs: { result: AttemptResult; times: number }[] = [];
  for (const result of results) {
    const last = runs.at(-1);
    if (last !== undefined && String(last.result) === String(result)) last.times += 1;
    else runs.push({ result, times: 1 });
  }
  return runs.length === 0
    ? "none"
    : runs
        .map(({ result, times }) => (times === 1 ? String(result) : `${result} x${times}`))
        .join(", ");
}

function wrongAttempt(
  delivery: SeenDelivery,
  { result: actual, details }: SeenAttempt,
  claim: AttemptsClaim,
  { secretOf }: View,
): Wrong[] {
  const { result, error, response } = claim;
  const { request, response: answer } = details;
  return [
    ...(result === undefined || isResult(result, actual, details.outcome)
      ? []
      : wrong("result", String(result), String(actual))),
    ...(error === undefined || error === details.error?.code
      ? []
      : wrong("error", error, details.error?.code ?? "none")),
    ...wrongInParts(claim, {
      headers: request.headers,
      body: request.body,
      secret: secretOf(delivery.destination),
    }),
    ...(response === undefined
      ? []
      : wrongInParts(response, {
          headers: answer?.headers ?? [],
          body: answer?.body ?? "",
          size: answer?.bodyLength ?? 0,
          secret: null,
        }).map((one) => ({
          ...one,
          what: `response ${one.what}`,
        }))),
  ];
}
