/** The rounds of a delivery: those on record, the one under way, and those to come if no webhook answers 2xx. Pure. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { deliveryIds } from "../../../domain/ids.ts";
import { plannedRounds } from "../../../domain/retry.ts";

export type Message = AnswerOf<"messages.get">;
export type Delivery = Message["deliveries"][number];
export type Attempt = Delivery["attempts"][number];
type Profile = AnswerOf<"retryProfiles.get">;
type Settings = AnswerOf<"settings.get">;
export type Webhook = AnswerOf<"destinations.get">["webhooks"][number];

export type Round = { round: number; startedAt: string; attempts: Attempt[] };
export type ComingRound = { round: number; /** Clock time. */ at: number; isNext: boolean };

/** Attempts in the order in which they are walked through: by round, then as the destination lists its webhooks. */
export function roundsOf({ attempts }: Delivery, webhooks: readonly Webhook[]): Round[] {
  const placeOf = ({ webhookId }: Attempt): number => {
    const place = webhooks.findIndex(({ id }) => id === webhookId);
    return place === -1 ? webhooks.length : place;
  };
  const rounds = new Map<number, Attempt[]>();
  for (const attempt of attempts) {
    const others = rounds.get(attempt.round);
    if (others === undefined) rounds.set(attempt.round, [attempt]);
    else others.push(attempt);
  }
  return [...rounds]
    .sort(([a], [b]) => a - b)
    .map(([round, all]) => ({
      round,
      startedAt: all.reduce((first, { startedAt }) => (startedAt < first ? startedAt : first), all[0]?.startedAt ?? ""),
      attempts: all.sort((a, b) => placeOf(a) - placeOf(b) || (a.id < b.id ? -1 : 1)),
    }));
}

/** An attempt belongs to the window that is open, or was the last one. */
function inWindow({ attempts, firstAttemptAt }: Delivery): Attempt[] {
  return firstAttemptAt === null ? [] : attempts.filter(({ startedAt }) => startedAt >= firstAttemptAt);
}

/** The webhooks that the next round goes to: all but those whose failure in this window is not retried. */
export function eligibleWebhooks(delivery: Delivery, webhooks: readonly Webhook[]): Webhook[] {
  const finished = new Set(inWindow(delivery).flatMap(({ retryable, webhookId }) => (retryable ? [] : [webhookId])));
  return webhooks.filter(({ id }) => !finished.has(id));
}

/** The webhooks that are being sent to: no attempt of the newest round is on record for them yet. */
export function underWay(delivery: Delivery, webhooks: readonly Webhook[]): { round: number; webhooks: Webhook[] } | null {
  if (delivery.state !== "sending") return null;
  const last = delivery.attempts.reduce((most, { round }) => Math.max(most, round), 0);
  const done = new Set(delivery.attempts.flatMap(({ round, webhookId }) => (round === last ? [webhookId] : [])));
  const before = eligibleWebhooks({ ...delivery, attempts: delivery.attempts.filter(({ round }) => round < last) }, webhooks);
  const open = before.filter(({ id }) => !done.has(id));
  if (last > 0 && open.length > 0) return { round: last, webhooks: open };
  return { round: last + 1, webhooks: eligibleWebhooks(delivery, webhooks) };
}

export function comingRounds(delivery: Delivery, profile: Profile | undefined, settings: Settings | undefined): ComingRound[] {
  const { nextAttemptAt, firstAttemptAt } = delivery;
  if (delivery.state !== "waiting" || nextAttemptAt === null) return [];
  const next = Date.parse(nextAttemptAt);
  const done = delivery.attempts.reduce((most, { round }) => Math.max(most, round), 0);
  const times = [next];
  const sequence = deliveryIds.parse(delivery.id);
  if (profile !== undefined && settings !== undefined && firstAttemptAt !== null && sequence !== null) {
    const ofWindow = new Set(inWindow(delivery).map(({ round }) => round)).size;
    const { seed, jitter } = settings;
    times.push(...plannedRounds({ profile, round: ofWindow + 1, roundStartedAt: next, firstAttemptAt: Date.parse(firstAttemptAt), seed, sequence, jitter }));
  }
  return times.map((at, place) => ({ round: done + 1 + place, at, isNext: place === 0 }));
}

/** The attempt before or after one, over the rounds of its delivery. */
export function neighbour(rounds: readonly Round[], id: string, by: -1 | 1): Attempt | undefined {
  const all = rounds.flatMap(({ attempts }) => attempts);
  const at = all.findIndex((attempt) => attempt.id === id);
  return at === -1 ? undefined : all[at + by];
}
