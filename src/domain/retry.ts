import type { Destination, RetryProfile, Settings } from "./configuration.ts";
import { highestStatus, lowestStatus } from "./http-status.ts";
import { drawUnit } from "./random.ts";
import type { Outcome } from "./states.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const only = (status: number): { from: number; to: number } => ({ from: status, to: status });

export const documented: RetryProfile = {
  name: "documented",
  schedule: { kind: "exponential", firstMs: 10 * second, factor: 2, capMs: 30 * minute },
  jitter: 0.1,
  windowMs: 4 * hour,
  timeoutMs: 5 * second,
  retriedStatuses: [{ from: 500, to: 599 }],
  retryTimeouts: true,
  retryConnectionErrors: true,
  honourRetryAfter: false,
};

/**
 * The hosted service does not publish its intervals: only what it retries differs from
 * `documented`.
 */
const hosted: RetryProfile = {
  ...documented,
  name: "hosted",
  retriedStatuses: [
    only(408),
    only(410),
    only(429),
    only(460),
    only(500),
    { from: 502, to: 504 },
    { from: 506, to: 599 },
  ],
};

/** What the platform retries for `webhooks-actions`, by the comments in the open source. */
const actions: RetryProfile = {
  ...documented,
  name: "actions",
  timeoutMs: 10 * second,
  retriedStatuses: [only(408), only(423), only(429), only(500), { from: 502, to: 599 }],
};

/**
 * Everything that is not 2xx is retried. The list ends it after 27.6 hours; the window leaves room
 * for late rounds.
 */
const svix: RetryProfile = {
  name: "svix",
  schedule: {
    kind: "list",
    delaysMs: [5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 10 * hour],
  },
  jitter: 0,
  windowMs: 36 * hour,
  timeoutMs: 15 * second,
  retriedStatuses: [
    { from: lowestStatus, to: 199 },
    { from: 300, to: highestStatus },
  ],
  retryTimeouts: true,
  retryConnectionErrors: true,
  honourRetryAfter: false,
};

/** The list ends it after 34 minutes and 40 seconds. */
const convoy: RetryProfile = {
  ...svix,
  name: "convoy",
  schedule: {
    kind: "list",
    delaysMs: [10 * second, 30 * second, minute, 3 * minute, 5 * minute, 10 * minute, 15 * minute],
  },
  windowMs: 2 * hour,
};

/** The schedule its specification recommends; 410 is an answer for good. */
const standardWebhooks: RetryProfile = {
  ...svix,
  name: "standard-webhooks",
  honourRetryAfter: true,
  schedule: {
    kind: "list",
    delaysMs: [
      5 * second,
      5 * minute,
      30 * minute,
      2 * hour,
      5 * hour,
      10 * hour,
      14 * hour,
      20 * hour,
      24 * hour,
    ],
  },
  jitter: 0.1,
  windowMs: 96 * hour,
  retriedStatuses: [
    { from: lowestStatus, to: 199 },
    { from: 300, to: 409 },
    { from: 411, to: highestStatus },
  ],
};

export const builtInProfiles: RetryProfile[] = [
  documented,
  hosted,
  actions,
  svix,
  convoy,
  standardWebhooks,
];

/** The name of what a destination has that chooses none: the setting is for `webhooks`. */
export function defaultProfile(
  { kind }: Pick<Destination, "kind">,
  { retryProfile }: Pick<Settings, "retryProfile">,
): string {
  return kind === "webhooks" ? retryProfile : actions.name;
}

/** The one of that name; `documented` stands in for one that is not there. */
export function profileOf(
  profiles: readonly RetryProfile[],
  name: string | undefined,
): RetryProfile {
  return profiles.find((profile) => profile.name === name) ?? documented;
}

export function isRetryable(
  profile: RetryProfile,
  outcome: Outcome,
  status: number | null,
): boolean {
  switch (outcome) {
    case "success":
    case "tls_error":
      return false;
    case "timeout":
      return profile.retryTimeouts;
    case "connection_error":
      return profile.retryConnectionErrors;
    case "http_error":
      return (
        status !== null &&
        profile.retriedStatuses.some(({ from, to }) => status >= from && status <= to)
      );
  }
}

export type RoundOptions = {
  profile: RetryProfile;
  /** The round that just failed, counted from 1 within the window. */
  round: number;
  roundStartedAt: number;
  firstAttemptAt: number;
  seed: number;
  /** The delivery's sequence number. */
  sequence: number;
  jitter: boolean;
  /** The receiver asked not to be tried before this time. */
  notBefore?: number | null;
};

/**
 * When the next round is due, counted from the start of the one that failed; null when the delivery
 * has expired, its list used up or the time beyond the window. It is the whole second of the clock
 * next to the computed time: after the start of the round, not beyond the window, and within the
 * bounds of the jitter where they hold a whole second.
 */
export function nextRoundAt(options: RoundOptions): number | null {
  const { profile, round, roundStartedAt } = options;
  const delay = plainDelay(profile, round);
  if (delay === null) return null;
  const spread = options.jitter ? delay * profile.jitter : 0;
  const moved =
    spread === 0
      ? delay
      : delay + spread * (2 * drawUnit(options.seed, options.sequence, round) - 1);
  const windowEnd = options.firstAttemptAt + profile.windowMs;
  if (roundStartedAt + moved > windowEnd) return null;

  const lowest = Math.max(
    Math.ceil((roundStartedAt + delay - spread) / second),
    Math.floor(roundStartedAt / second) + 1,
  );
  const highest = Math.floor((roundStartedAt + delay + spread) / second);
  let at = Math.round((roundStartedAt + moved) / second);
  if (lowest <= highest) at = Math.min(Math.max(at, lowest), highest);
  const last = Math.floor(windowEnd / second);
  at = Math.min(Math.max(at, Math.floor(roundStartedAt / second) + 1), last);
  at = Math.max(at, Math.ceil((options.notBefore ?? 0) / second));
  return at <= last && at * second > roundStartedAt ? at * second : null;
}

/**
 * The time that a `Retry-After` asks for, of an answer with this head that arrived at `now`:
 * seconds, or a date beside the answer's own `Date`, because the receiver does not live by the
 * pipeline's clock. Null when it says neither.
 */
export function retryAfter(head: string, now: number): number | null {
  // Trimmed afterwards: a pattern that does takes seconds for a value of 60,000 spaces.
  const value = /^retry-after:(.*)$/im.exec(head)?.[1]?.trim();
  if (value === undefined) return null;
  if (/^\d{1,9}$/.test(value)) return now + Number(value) * second;
  const date = /^date:(.*)$/im.exec(head)?.[1]?.trim() ?? "";
  const delay = Date.parse(value) - Date.parse(date);
  return /^[A-Z][a-z]{2}/.test(value) && delay >= 0 ? now + delay : null;
}

/** Of the list of a schedule. */
export const maxDelays = 1000;

/**
 * The times of all rounds to come after the one that failed, as if each started on time and failed
 * too. A profile of tiny delays could plan thousands; a timeline shows no more than `most`.
 */
export function plannedRounds(options: RoundOptions, most = 1000): number[] {
  const times: number[] = [];
  let { round, roundStartedAt } = options;
  while (times.length < most) {
    const next = nextRoundAt({ ...options, round, roundStartedAt });
    if (next === null) break;
    times.push(next);
    roundStartedAt = next;
    round++;
  }
  return times;
}

function plainDelay({ schedule }: RetryProfile, round: number): number | null {
  if (schedule.kind === "list") return schedule.delaysMs[round - 1] ?? null;
  return Math.min(schedule.capMs, schedule.firstMs * schedule.factor ** (round - 1));
}
