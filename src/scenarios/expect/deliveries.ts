import type { DeliveriesClaim, DeliveryChoice } from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { durationRangeText, isWithin, rangeText } from "../file/matcher.ts";
import type { SeenDelivery } from "../run/history.ts";
import { choosesMessage, isOneOf, messageLabel } from "./choice.ts";
import { wrong, type Kind } from "./kind.ts";
import { wrongInParts } from "./parts.ts";

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
