/** A message, and what became of it, for agents: states and reasons of ours, the rest as data. */

import { integrationNames } from "../domain/configuration.ts";
import { urlWithoutCredentials } from "../domain/credentials.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../contract/messages.ts";
import type { DestinationAnswer } from "../contract/destinations.ts";
import type { AttemptAnswer, DeliveryDetailsAnswer } from "../contract/deliveries.ts";
import type { AnswerOf } from "../contract/contract.ts";
import { type Answer, facts, quoted } from "./answer.ts";
import { causeOfAttempt, rejections, undelivered } from "./causes.ts";

export function messageLine(message: MessageSummaryAnswer): string {
  const { id, state, reason, type, attempts, lastStatus, event, userId, anonymousId } = message;
  return [
    id,
    state,
    reason === null || reason === state ? "" : `(${reason})`,
    type ?? "no type",
    `${attempts} ${attempts === 1 ? "attempt" : "attempts"}`,
    lastStatus === null ? "" : `last status ${lastStatus}`,
    facts({ event, user: userId ?? anonymousId }),
  ]
    .filter((part) => part !== "")
    .join(" ");
}

export function attemptLine(attempt: AttemptAnswer): string {
  const { id, round, outcome, response, error, webhookUrl } = attempt;
  const status = response === null ? "" : ` ${response.status}`;
  return `${id} round ${round} ${outcome}${status} ${facts({
    url: urlWithoutCredentials(webhookUrl),
    error: error?.message,
  })}`;
}

/** The beginning of what a receiver answered. */
function answerBodyOf({ response }: AttemptAnswer): string | null {
  const body = response?.body ?? "";
  if (typeof body !== "string") return null;
  return body === "" ? null : body;
}

type Known = {
  destinations: readonly DestinationAnswer[];
  endpoints: AnswerOf<"endpoints.list">["items"];
};

/** An answer has room for so many deliveries that failed. */
const maxExplained = 4;

/** What became of the message, why, and which calls help. */
export function explainMessage(answer: Answer, message: MessageDetailsAnswer, known: Known): void {
  const { id, state, decisions, deliveries } = message;
  answer.say(`${id} is ${state}.`).data([messageLine(message)]);
  if (state === "rejected") return explainRejection(answer, message);
  if (state === "duplicate") {
    answer.say("Cause: duplicate").say(`Fix: ${undelivered["duplicate"]}`);
    if (message.duplicateOf !== null)
      answer.next("show", { id: message.duplicateOf }, "the message that came first");
    answer.next("retry", { id, replay: true }, "sends it again as a new message");
    return;
  }
  if (deliveries.length === 0 && decisions.length === 0)
    return explainUnconnected(answer, message, known);
  const unrouted = decisions.filter(({ routed }) => !routed);
  if (unrouted.length > maxExplained)
    answer.say(`It is not routed to ${unrouted.length} destinations. The first ${maxExplained}:`);
  for (const { destinationId, reason, detail } of unrouted.slice(0, maxExplained)) {
    const kind = known.destinations.find((one) => one.id === destinationId)?.kind ?? "webhooks";
    const name = integrationNames[kind];
    const fix = undelivered[reason] ?? "docs/errors.md explains this reason.";
    answer
      .say(`Not routed to ${destinationId}. Cause: ${reason}`)
      .data([facts({ detail })])
      .say(`Fix: ${fix.replaceAll('"Webhooks"', JSON.stringify(name))}`);
    if (reason === "disabled") suggestEnabling(answer, destinationId, id);
    else if (reason.startsWith("integrations"))
      answer.next(
        "send_and_wait",
        { ...resent(message), integrations: { [name]: true } },
        "sends a corrected message",
      );
    else if (reason.startsWith("filter_")) suggestForFilter(answer, destinationId, id, known);
    else if (reason.startsWith("plan_")) suggestForPlan(answer, reason, message);
  }
  explainMappings(answer, message);
  if (deliveries.length > maxExplained)
    answer.say(
      `It has ${deliveries.length} deliveries. ${maxExplained} of them, those that are not delivered first; show ${JSON.stringify({ id })} lists all:`,
    );
  const isDelivered = (delivery: DeliveryDetailsAnswer) => delivery.state === "delivered";
  for (const delivery of [
    ...deliveries.filter((one) => !isDelivered(one)),
    ...deliveries.filter(isDelivered),
  ].slice(0, maxExplained))
    explainDelivery(answer, delivery, message, known);
}

/** Of destinations that other mappings send it to. */
function explainMappings(answer: Answer, { decisions }: MessageDetailsAnswer): void {
  const isFailed = ({ reason }: { reason: string }): boolean => reason === "payload_error";
  for (const { destinationId, mappings = [] } of decisions
    .filter(({ routed, mappings = [] }) => routed && mappings.some(isFailed))
    .slice(0, maxExplained)) {
    const failed = mappings.filter(isFailed);
    answer
      .say(`Some mappings of ${destinationId} cannot send it. Cause: payload_error`)
      .data(failed.map(({ name, detail }) => facts({ mapping: name, detail })))
      .say(`Fix: ${undelivered["payload_error"]}`);
  }
}

function resent({ type, event }: MessageDetailsAnswer): Record<string, unknown> {
  return {
    type: type ?? "track",
    ...(event === null ? {} : { event: "<the event>" }),
    userId: "<the user>",
  };
}

function explainRejection(answer: Answer, message: MessageDetailsAnswer): void {
  const reason = message.reason ?? "rejected";
  answer
    .say(`Cause: ${reason}`)
    .data(message.detail === null ? [] : [quoted(message.detail, 400)])
    .say(
      `Fix: ${rejections[reason] ?? "docs/errors.md explains this reason."} Rejected messages are not retried.`,
    )
    .next(
      "send_and_wait",
      { ...resent(message), event: "<the event>" },
      "sends a corrected message",
    )
    .next("show", { id: message.id }, "the message as it arrived");
}

/** A change of a destination's sources names all of them, and the call has to stay short. */
const maxRepeatedSources = 20;

function explainUnconnected(
  answer: Answer,
  { id, sourceId }: MessageDetailsAnswer,
  { destinations }: Known,
): void {
  answer.say("Cause: no_destination").say(`Fix: ${undelivered["no_destination"]}`);
  const few = destinations.filter(({ sourceIds }) => sourceIds.length <= maxRepeatedSources);
  for (const { id: destination, sourceIds } of few.slice(0, 2))
    answer.next(
      "configure",
      {
        kind: "destination",
        id: destination,
        changes: { sourceIds: [...new Set([...sourceIds, sourceId])] },
      },
      "connects this destination to the source",
    );
  if (destinations.length === 0)
    answer.next(
      "configure",
      {
        kind: "destination",
        changes: {
          name: "Receiver",
          sourceIds: [sourceId],
          webhooks: [{ url: "<the URL of your receiver>" }],
        },
      },
      "connects your receiver to the source",
    );
  answer.next("retry", { id, replay: true }, "sends the message again afterwards");
}

function suggestForFilter(
  answer: Answer,
  destinationId: string,
  id: string,
  { destinations }: Known,
): void {
  answer.next("show", { id: destinationId }, "its filters, which a new list replaces");
  if (destinations.find((one) => one.id === destinationId)?.filters.length === 1)
    answer.next(
      "configure",
      { kind: "destination", id: destinationId, changes: { filters: [] } },
      "removes its only filter",
    );
  answer.next("retry", { id, replay: true }, "sends the message again afterwards");
}

function suggestForPlan(answer: Answer, reason: string, message: MessageDetailsAnswer): void {
  const { id, sourceId } = message;
  const isUnplanned = reason === "plan_unplanned_event";
  answer
    .next("show", { id }, "the message as it arrived")
    .next(
      "configure",
      {
        kind: "source",
        id: sourceId,
        changes: { plan: isUnplanned ? { unplannedEvents: "allow" } : { onViolation: "record" } },
      },
      "delivers such messages as they are; the plan stays",
    )
    .next("retry", { id, replay: true }, "sends the message again afterwards");
}

function suggestEnabling(answer: Answer, destinationId: string, id: string): void {
  answer
    .next(
      "configure",
      { kind: "destination", id: destinationId, changes: { enabled: true } },
      "enables the destination",
    )
    .next("retry", { id, replay: true }, "sends the message again afterwards");
}

function explainDelivery(
  answer: Answer,
  delivery: DeliveryDetailsAnswer,
  message: MessageDetailsAnswer,
  known: Known,
): void {
  const { id, state, reason, destinationId, attempts, nextAttemptAt } = delivery;
  const destination = known.destinations.find((one) => one.id === destinationId);
  const isPaused = destination?.enabled === false && (state === "queued" || state === "waiting");
  const rounds = `${delivery.rounds} ${delivery.rounds === 1 ? "round" : "rounds"}`;
  answer.say(
    `Delivery ${id} to ${destinationId}: ${state}${reason === null ? "" : ` (${reason})`}, ${rounds}${nextAttemptAt === null || isPaused ? "" : `, next round ${nextAttemptAt} by Hookyard's clock`}.`,
  );
  answer.data(attempts.slice(-3).map(attemptLine));
  const last = attempts.findLast(({ outcome }) => outcome !== "success");
  if (state === "delivered" || (last === undefined && state !== "queued" && state !== "sending"))
    return;
  if (state === "expired")
    answer.say("Its retry window is over: nothing is retried by itself any more.");
  if (isPaused) {
    answer.say("Cause: disabled").say("Fix: Enable the destination: the delivery continues.");
    answer.next(
      "configure",
      { kind: "destination", id: destinationId, changes: { enabled: true } },
      "enables the destination",
    );
    if (state === "waiting") answer.next("retry", { id }, "tries again now, after the fix");
    return;
  }
  const cause = last === undefined ? null : causeOfAttempt(last);
  if (last === undefined || cause === null) {
    answer.next("wait_for_messages", { filter: `batch:${message.id} state:delivered` }, "waits");
    return;
  }
  const body = answerBodyOf(last);
  answer
    .say(`Cause: ${cause.code}`)
    .data(body === null ? [] : [`answer=${quoted(body, 300)}`])
    .data(locationOf(last));
  const own = known.endpoints.find(({ url, tlsUrl }) => [url, tlsUrl].includes(last.webhookUrl));
  if (own === undefined) answer.say(`Fix: ${cause.fix}`);
  else suggestForEndpoint(answer, own, delivery);
  suggestForAttempt(answer, delivery, {
    last,
    code: cause.code,
    destination,
    isOwn: own !== undefined,
  });
}

function locationOf({ response }: AttemptAnswer): string[] {
  const header = response?.headers.find(([name]) => name.toLowerCase() === "location");
  return header === undefined ? [] : [facts({ location: urlWithoutCredentials(header[1]) })];
}

/** The receiver is one of Hookyard's own. */
function suggestForEndpoint(
  answer: Answer,
  { id, inFrontOf }: Known["endpoints"][number],
  { destinationId, state }: DeliveryDetailsAnswer,
): void {
  if (inFrontOf) {
    answer
      .say(`Fix: The test endpoint ${id} is in front of the receiver, with a fault. Take it away.`)
      .next("set_up_failing_receiver", { destinationId, undo: true }, "takes the fault away");
    return;
  }
  answer
    .say(
      `Fix: The webhook is the test endpoint ${id}, which answers as its steps say. Change them.`,
    )
    .next("show", { id }, "its steps, and what it received");
  // A retry that waits may meet the next step.
  if (state !== "waiting")
    answer.next(
      "configure",
      { kind: "endpoint", id, changes: { steps: [{ do: "answer", status: 200 }] } },
      "replaces them: it answers 200",
    );
}

/** What to call depends on whether the receiver, the webhook's URL or only time is at fault. */
function suggestForAttempt(
  answer: Answer,
  { id, state, destinationId }: DeliveryDetailsAnswer,
  {
    last,
    code,
    destination,
    isOwn,
  }: {
    last: AttemptAnswer;
    code: string;
    destination: DestinationAnswer | undefined;
    isOwn: boolean;
  },
): void {
  if (!isOwn && (code === "status_401" || code === "status_403"))
    answer.next(
      "compare_signature",
      { id, digest: "<the digest that your receiver computes>" },
      "finds the difference",
    );
  const isElsewhere =
    last.outcome === "tls_error" ||
    /^status_(3\d\d|404|405|410)$/.test(code) ||
    ["ECONNREFUSED", "ENOTFOUND"].includes(code);
  const [webhook, ...others] = destination?.webhooks ?? [];
  const isAlone =
    destination?.kind === "webhooks" &&
    others.length === 0 &&
    Object.keys(webhook?.headers ?? {}).length === 0;
  if (isElsewhere && !isOwn && !isAlone)
    answer.next("show", { id: destinationId }, "all that configure has to repeat with the new URL");
  if (isElsewhere && !isOwn && isAlone)
    answer.next(
      "configure",
      {
        kind: "destination",
        id: destinationId,
        changes: { webhooks: [{ url: "<the URL of your receiver>" }] },
      },
      "corrects the URL",
    );
  if (state === "waiting" && code.startsWith("status_5"))
    answer.next("advance_clock", { to: "idle" }, "runs the retries that are due later, now");
  answer.next("retry", { id }, "tries again now, after the fix");
}
