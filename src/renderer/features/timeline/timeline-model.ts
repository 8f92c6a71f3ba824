/**
 * What has become of a delivery in one retry window, and what is to come of it, in times: a lane
 * per webhook with its attempts, those in progress, and the coming rounds at their seeded times, as
 * if no webhook answered 2xx. Pure.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import type {
  AttemptAnswer,
  DeliveryDetailsAnswer,
  DeliverySummaryAnswer,
} from "../../../contract/deliveries.ts";
import type { RetryProfile } from "../../../domain/configuration.ts";
import { deliveryIds } from "../../../domain/ids.ts";
import { plannedRounds } from "../../../domain/retry.ts";
import { isSettled, type DeliveryState, type Outcome } from "../../../domain/states.ts";

export type Mark =
  | { kind: "attempt"; round: number; at: number; attempt: AttemptAnswer }
  | { kind: "under_way"; round: number; at: number }
  /** Another timeline has an attempt there, and this one does not. */
  | { kind: "never"; round: number; at: number }
  | { kind: "coming"; round: number; at: number; /** Its time is on record. */ next: boolean };

/** Where the track of a lane ends in a buffer. */
type Stop = {
  at: number;
  /** Whose colour it has. */
  tone: Outcome | DeliveryState;
  /** Why this webhook alone is not retried; null when it is the delivery that ended. */
  reason: string | null;
};

export type Lane = {
  webhookId: string;
  number: number;
  url: string;
  marks: Mark[];
  stop: Stop | null;
  /** Where its track ends without a buffer; null at the window's end. */
  endsAt: number | null;
  summary: { attempts: string; last: string };
};

export type Timeline = {
  startsAt: number;
  windowMs: number;
  /** What an attempt's duration is measured against. */
  ceilingMs: number;
  /** Nothing is to come. */
  isOver: boolean;
  lanes: Lane[];
};

type Schedule = { profile: RetryProfile; seed: number; jitter: boolean };

type LaneWebhook = { id: string; url: string; /** In its destination. */ number?: number };

export type TimelineOptions = Schedule & {
  delivery: DeliveryDetailsAnswer;
  /** Those of the destination now; none when it has been deleted. */
  webhooks: readonly LaneWebhook[];
  /** The newest window when left out. */
  window?: RetryWindow | undefined;
  /** Where a window begins that has no attempt yet. */
  now: number;
};

/** Only such a timeline depends on `now`. */
export function isUnstarted(delivery: DeliveryDetailsAnswer): boolean {
  return delivery.state === "queued";
}

export function timelineOf(options: TimelineOptions): Timeline {
  const { delivery, webhooks, profile } = options;
  const window = options.window ??
    windowsOf(delivery).at(-1) ?? { firstRound: 1, lastRound: null, end: null };
  const isPast = window.lastRound !== null;
  const attempts = delivery.attempts.filter(
    ({ round }) => round >= window.firstRound && round <= (window.lastRound ?? Infinity),
  );
  const isOver = isPast || isSettled(delivery.state);
  const underWayAt = !isPast && delivery.state === "sending" ? roundStart(delivery) : null;
  const firstAt = attempts.reduce(
    (least, { startedAt }) => Math.min(least, Date.parse(startedAt)),
    Infinity,
  );
  const startsAt = Number.isFinite(firstAt)
    ? firstAt
    : (underWayAt ?? (isOver ? Date.parse(delivery.createdAt) : options.now));
  const coming = isOver ? [] : comingRounds(options, window.firstRound, startsAt, underWayAt);
  const endAt = isOver ? endOf(delivery, window, attempts) : null;
  const state = isPast ? (window.end?.state ?? delivery.state) : delivery.state;

  const lane = (webhook: LaneWebhook, place: number): Lane => {
    const own = attempts.filter(({ webhookId }) => webhookId === webhook.id);
    const last = own.at(-1);
    const isCurrent = webhooks.some(({ id }) => id === webhook.id);
    const isOpen = !isOver && isCurrent && own.every(({ retryable }) => retryable);
    const isUnderWay = isOpen && underWayAt !== null && last?.round !== delivery.rounds;
    const marks: Mark[] = own.map((attempt) => ({
      kind: "attempt",
      round: attempt.round,
      at: Date.parse(attempt.startedAt),
      attempt,
    }));
    if (isUnderWay) marks.push({ kind: "under_way", round: delivery.rounds, at: underWayAt });
    if (isOpen) marks.push(...coming);
    const stop = stopOf({ last, isOver, isCurrent, state, endAt });
    const count = own.length;
    return {
      webhookId: webhook.id,
      number: webhook.number ?? place + 1,
      url: webhook.url,
      marks,
      stop,
      endsAt: endAt,
      summary: {
        attempts:
          count === 0
            ? isUnderWay
              ? ""
              : "no attempt"
            : count === 1
              ? "1 attempt"
              : `${count} attempts`,
        last: isUnderWay
          ? "sending"
          : stop !== null && stop.reason !== null
            ? "not retried"
            : last === undefined
              ? ""
              : `last ${resultOf(last)}`,
      },
    };
  };

  return {
    startsAt,
    windowMs: profile.windowMs,
    ceilingMs: profile.timeoutMs,
    isOver,
    lanes: lanesOf(webhooks, attempts).map(lane),
  };
}

/** The destination's own, then those that have been removed from it since. */
function lanesOf(
  webhooks: readonly LaneWebhook[],
  attempts: readonly AttemptAnswer[],
): LaneWebhook[] {
  const lanes = [...webhooks];
  for (const { webhookId, webhookUrl } of attempts) {
    if (!lanes.some(({ id }) => id === webhookId)) lanes.push({ id: webhookId, url: webhookUrl });
  }
  return lanes;
}

/**
 * When the current round began: with its first completed attempt, or at the change of state before
 * it.
 */
function roundStart({ attempts, transitions, rounds, createdAt }: DeliveryDetailsAnswer): number {
  const own = attempts
    .filter(({ round }) => round === rounds)
    .map(({ startedAt }) => Date.parse(startedAt));
  if (own.length > 0) return Math.min(...own);
  const last = transitions.at(-1);
  return Date.parse(last?.nextAttemptAt ?? last?.at ?? createdAt);
}

type StartedRound = {
  deliveryId: string;
  firstRound: number;
  round: number;
  startedAt: number;
  firstAttemptAt: number;
};

/** The seeded times of the rounds after one, in the retry window that began with `firstRound`. */
function roundsAfter({ profile, seed, jitter }: Schedule, started: StartedRound): number[] {
  const { deliveryId, firstRound, round, startedAt, firstAttemptAt } = started;
  const sequence = deliveryIds.parse(deliveryId) ?? 0;
  return plannedRounds({
    profile,
    seed,
    jitter,
    sequence,
    round: round - firstRound + 1,
    roundStartedAt: startedAt,
    firstAttemptAt,
  });
}

function comingRounds(
  options: TimelineOptions,
  firstRound: number,
  firstAttemptAt: number,
  underWayAt: number | null,
): Mark[] {
  const { delivery, now } = options;
  const after = (round: number, startedAt: number): number[] =>
    roundsAfter(options, { deliveryId: delivery.id, firstRound, round, startedAt, firstAttemptAt });
  if (underWayAt !== null) {
    return after(delivery.rounds, underWayAt).map((at, place) => ({
      kind: "coming",
      round: delivery.rounds + place + 1,
      at,
      next: false,
    }));
  }
  const nextAt = delivery.nextAttemptAt === null ? now : Date.parse(delivery.nextAttemptAt);
  const next = delivery.rounds + 1;
  return [nextAt, ...after(next, nextAt)].map((at, place) => ({
    kind: "coming",
    round: next + place,
    at,
    next: place === 0,
  }));
}

export type RoundMark = { round: number; at: number; outcome: Outcome };

type SummaryOptions = Schedule & { delivery: DeliverySummaryAnswer; marks: readonly RoundMark[] };

/**
 * Of a delivery in a list, of which less is known: its next round, on record, and those after it.
 */
export function comingOf({ delivery, marks, ...schedule }: SummaryOptions): number[] {
  const { id: deliveryId, rounds, nextAttemptAt } = delivery;
  if (nextAttemptAt === null) return [];
  const startedAt = Date.parse(nextAttemptAt);
  const firstAttemptAt =
    delivery.firstAttemptAt === null ? startedAt : Date.parse(delivery.firstAttemptAt);
  const firstRound = marks.find(({ at }) => at >= firstAttemptAt)?.round ?? 1;
  return [
    startedAt,
    ...roundsAfter(schedule, {
      deliveryId,
      firstRound,
      round: rounds + 1,
      startedAt,
      firstAttemptAt,
    }),
  ];
}

function endOf(
  delivery: DeliveryDetailsAnswer,
  window: RetryWindow,
  attempts: readonly AttemptAnswer[],
): number {
  if (window.end !== null) return Date.parse(window.end.at);
  const success = attempts.find(({ outcome }) => outcome === "success");
  if (success !== undefined) return Date.parse(success.startedAt) + success.durationMs;
  return Date.parse(delivery.transitions.at(-1)?.at ?? delivery.createdAt);
}

function stopOf(lane: {
  last: AttemptAnswer | undefined;
  isOver: boolean;
  isCurrent: boolean;
  state: DeliveryState;
  endAt: number | null;
}): Stop | null {
  const { last, isOver, isCurrent, state, endAt } = lane;
  if (last !== undefined && !last.retryable && last.outcome !== "success") {
    return { at: Date.parse(last.startedAt), tone: last.outcome, reason: whyNotRetried(last) };
  }
  if (!isOver && !isCurrent && last !== undefined) {
    return {
      at: Date.parse(last.startedAt),
      tone: "cancelled",
      reason: "removed from the destination",
    };
  }
  if (isOver && state !== "delivered" && endAt !== null)
    return { at: endAt, tone: state, reason: null };
  return null;
}

/** The certificate's problem in two words; the attempt has the sentence. */
const certificates: Record<string, string> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: "self-signed certificate",
  SELF_SIGNED_CERT_IN_CHAIN: "certificate from an unknown authority",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "incomplete certificate chain",
  UNABLE_TO_GET_ISSUER_CERT: "incomplete certificate chain",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "incomplete certificate chain",
  CERT_HAS_EXPIRED: "expired certificate",
  CERT_NOT_YET_VALID: "certificate not valid yet",
  CERT_REVOKED: "revoked certificate",
  ERR_TLS_CERT_ALTNAME_INVALID: "certificate for another host",
};

function whyNotRetried(attempt: AttemptAnswer): string {
  if (attempt.outcome === "tls_error") {
    const problem = certificates[attempt.error?.code ?? ""] ?? attempt.error?.code ?? "TLS failed";
    return attempt.request.sent ? problem : `${problem}, no request sent`;
  }
  return `${resultOf(attempt)} is not retried`;
}

/** The status where there is one, else the outcome. */
export function resultOf({ outcome, response }: AttemptAnswer): string {
  return (outcome === "http_error" || outcome === "success") && response !== null
    ? String(response.status)
    : outcome;
}

type Transition = DeliveryDetailsAnswer["transitions"][number];

export type RetryWindow = {
  firstRound: number;
  /** Null in the newest one. */
  lastRound: number | null;
  /** What ended it; null in the newest one. */
  end: Transition | null;
};

/** Changes of state that are the end of a round. */
const roundEnds = new Set([
  "waiting retry",
  "failed not_retried",
  "failed no_webhook_left",
  "expired window_closed",
]);

/**
 * The retry windows of a delivery. Retrying one that had failed, expired or been cancelled gives it
 * a new window; the record does not number them, so they are read from the changes of state. Pure.
 */
export function windowsOf({
  transitions,
  attempts,
}: Pick<DeliveryDetailsAnswer, "transitions" | "attempts">): RetryWindow[] {
  const windows: RetryWindow[] = [];
  let firstRound = 1;
  let ended = 0;
  for (const [place, { at, state, reason }] of transitions.entries()) {
    if (roundEnds.has(`${state} ${reason}`)) ended += 1;
    const before = transitions[place - 1];
    if (state !== "queued" || before === undefined || !isSettled(before.state)) continue;
    // A round that a restart cut off has no end on record, but its attempts have times; on a clock
    // that stands still times are equal, and the ends tell the rounds apart.
    const earlier = attempts.filter((attempt) => attempt.startedAt < at).map(({ round }) => round);
    const later = attempts.filter((attempt) => attempt.startedAt > at).map(({ round }) => round);
    const next = Math.min(Math.max(ended + 1, ...earlier.map((round) => round + 1)), ...later);
    windows.push({ firstRound, lastRound: next - 1, end: before });
    firstRound = next;
  }
  windows.push({ firstRound, lastRound: null, end: null });
  return windows;
}

export type Message = AnswerOf<"messages.get">;
export type Delivery = Message["deliveries"][number];
export type Attempt = Delivery["attempts"][number];
export type Webhook = AnswerOf<"destinations.get">["webhooks"][number];

export type Round = { round: number; startedAt: string; attempts: Attempt[] };
export type Ahead = {
  kind: "under_way" | "coming";
  round: number;
  /** Clock time. */ at: number;
  isNext: boolean;
  urls: string[];
};

/**
 * Attempts in the order in which they are walked through: by round, then as the destination lists
 * its webhooks.
 */
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
      startedAt: all.reduce(
        (first, { startedAt }) => (startedAt < first ? startedAt : first),
        all[0]?.startedAt ?? "",
      ),
      attempts: all.sort((a, b) => placeOf(a) - placeOf(b) || (a.id < b.id ? -1 : 1)),
    }));
}

/** What is not on record yet, with the webhooks that it goes to. */
export function aheadOf(timeline: Timeline): Ahead[] {
  const ahead = new Map<string, Ahead>();
  for (const { marks, url } of timeline.lanes) {
    for (const mark of marks) {
      if (mark.kind === "attempt" || mark.kind === "never") continue;
      const { kind, round, at } = mark;
      const key = `${kind} ${round}`;
      const known = ahead.get(key);
      if (known === undefined)
        ahead.set(key, {
          kind,
          round,
          at,
          isNext: mark.kind === "coming" && mark.next,
          urls: [url],
        });
      else known.urls.push(url);
    }
  }
  return [...ahead.values()].sort((a, b) => a.at - b.at);
}

/** The attempt before or after one, over the rounds of its delivery. */
export function neighbour(rounds: readonly Round[], id: string, by: -1 | 1): Attempt | undefined {
  const all = rounds.flatMap(({ attempts }) => attempts);
  const at = all.findIndex((attempt) => attempt.id === id);
  return at === -1 ? undefined : all[at + by];
}
