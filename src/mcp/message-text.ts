/** A message, and what became of it, for agents: states and reasons of ours, the rest as data. */

import { urlWithoutCredentials } from "../domain/credentials.ts";
import type { MessageDetailsAnswer, MessageSummaryAnswer } from "../contract/messages.ts";
import type { DestinationAnswer } from "../contract/destinations.ts";
import type { AttemptAnswer, DeliveryDetailsAnswer } from "../contract/deliveries.ts";
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

type Known = { destinations: readonly DestinationAnswer[] };

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
  if (deliveries.length === 0 && decisions.length === 0) return explainUnconnected(answer, message);
  for (const { destinationId, routed, reason, detail } of decisions) {
    if (routed) continue;
    answer
      .say(`Not routed to ${destinationId}. Cause: ${reason}`)
      .data([facts({ detail })])
      .say(`Fix: ${undelivered[reason] ?? "docs/errors.md explains this reason."}`);
    if (reason === "disabled") suggestEnabling(answer, destinationId, id);
    else if (reason.startsWith("integrations"))
      answer.next(
        "send_and_wait",
        { ...resent(message), integrations: { Webhooks: true } },
        "sends a corrected message",
      );
  }
  for (const delivery of deliveries) explainDelivery(answer, delivery, message, known);
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

function explainUnconnected(answer: Answer, { id, sourceId }: MessageDetailsAnswer): void {
  answer
    .say("Cause: no_destination")
    .say(`Fix: ${undelivered["no_destination"]}`)
    .next(
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
  { destinations }: Known,
): void {
  const { id, state, reason, destinationId, attempts, nextAttemptAt } = delivery;
  const rounds = `${delivery.rounds} ${delivery.rounds === 1 ? "round" : "rounds"}`;
  answer.say(
    `Delivery ${id} to ${destinationId}: ${state}${reason === null ? "" : ` (${reason})`}, ${rounds}${nextAttemptAt === null ? "" : `, next round ${nextAttemptAt} by Hookyard's clock`}.`,
  );
  answer.data(attempts.slice(-3).map(attemptLine));
  const last = attempts.findLast(({ outcome }) => outcome !== "success");
  if (state === "delivered" || (last === undefined && state !== "queued" && state !== "sending"))
    return;
  const destination = destinations.find((one) => one.id === destinationId);
  if (state === "queued" && destination?.enabled === false) {
    answer.say("Cause: disabled").say("Fix: Enable the destination: the delivery continues.");
    answer.next(
      "configure",
      { kind: "destination", id: destinationId, changes: { enabled: true } },
      "enables the destination",
    );
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
    .say(`Fix: ${cause.fix}`);
  suggestForAttempt(answer, delivery, last, cause.code);
}

/** What to call depends on whether the receiver, the webhook's URL or only time is at fault. */
function suggestForAttempt(
  answer: Answer,
  { id, state, destinationId }: DeliveryDetailsAnswer,
  last: AttemptAnswer,
  code: string,
): void {
  if (code === "status_401" || code === "status_403")
    answer.next(
      "compare_signature",
      { id, digest: "<the digest that your receiver computes>" },
      "finds the difference",
    );
  const isElsewhere =
    last.outcome === "tls_error" ||
    ["ECONNREFUSED", "ENOTFOUND", "status_404", "status_405", "status_410"].includes(code);
  if (isElsewhere)
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
