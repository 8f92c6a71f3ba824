/** Where a delivery stands, in a few words, and what can be done with it. Pure. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { statusLine } from "../attempt/attempt-words.ts";

type Delivery = AnswerOf<"messages.get">["deliveries"][number];

/** That of its destination, and of its mapping. */
export const deliveryName = (
  { destinationId, webhookId }: Pick<Delivery, "destinationId" | "webhookId">,
  names: ReadonlyMap<string, string>,
): string =>
  names.get(webhookId ?? destinationId) ?? names.get(destinationId) ?? "a deleted destination";

export const canRetry = ({ state }: Pick<Delivery, "state">): boolean =>
  state === "waiting" || state === "failed" || state === "expired" || state === "cancelled";

export const canCancel = ({ state }: Pick<Delivery, "state">): boolean =>
  state === "waiting" || state === "queued";

const reasons: Readonly<Record<string, string>> = {
  no_webhook_left: "no webhooks left",
  window_closed_while_disabled: "the retry window closed while the destination was disabled",
  cancelled: "by the user",
  destination_deleted: "its destination was deleted",
  retry_now: "retried now",
  restarted: "requeued after a restart",
  disabled: "paused because the destination was disabled",
  interrupted: "requeued because the thread that sent it ended",
};

/** The words beside the state. A waiting delivery has its next round there instead. */
export function stateWords(delivery: Delivery, clock: (at: string) => string): string {
  const { state, attempts, transitions } = delivery;
  if (state === "delivered") {
    const success = attempts.find(({ outcome }) => outcome === "success");
    return success === undefined ? "" : `in round ${success.round} at ${clock(success.startedAt)}`;
  }
  if (state === "sending") return `round ${delivery.rounds}`;
  const words = reasonWords(delivery, clock);
  const at =
    state === "queued"
      ? undefined
      : transitions.findLast((transition) => transition.state === state)?.at;
  if (at === undefined) return words;
  return words === "" ? `at ${clock(at)}` : `at ${clock(at)}: ${words}`;
}

function reasonWords(
  { reason, attempts, windowEndsAt }: Delivery,
  clock: (at: string) => string,
): string {
  switch (reason) {
    case "not_retried": {
      const last = attempts.findLast(({ retryable }) => !retryable);
      return last === undefined ? "not retried" : `${failureOf(last)} is not retried`;
    }
    case "window_closed":
      return windowEndsAt === null
        ? "the retry window closed"
        : `no room for another round before ${clock(windowEndsAt)}`;
    default:
      return reasons[reason ?? ""] ?? "";
  }
}

/** `400 Bad Request`, `timeout` */
function failureOf({ outcome, response }: Delivery["attempts"][number]): string {
  if (outcome !== "http_error" || response === null) return outcome;
  return `${response.status} ${statusLine(response.startLine)?.reason ?? ""}`.trim();
}

/** Why a message has no payload: a sentence, and the reason for machines. */
export function whyNotDelivered(
  message: AnswerOf<"messages.get">,
): { sentences: string[]; reason: string } | null {
  const { state, reason, detail, decisions } = message;
  if (state === "rejected")
    return { sentences: [detail ?? "The message was rejected."], reason: reason ?? "rejected" };
  if (state === "duplicate") {
    return {
      sentences: [
        "A message with this messageId arrived from the same source within 24 hours, so it is not delivered again.",
      ],
      reason: reason ?? "duplicate",
    };
  }
  if (message.deliveries.length > 0) return null;
  if (decisions.length === 0)
    return {
      sentences: [
        "No destination is connected to the message's source. Connect one, then replay the message.",
      ],
      reason: reason ?? "no_destination",
    };
  return {
    sentences: [...new Set(decisions.map((decision) => decision.detail))],
    reason: reason ?? decisions[0]?.reason ?? "filtered",
  };
}
