/** What is tried again, and when. Pure. */

import type { Outcome } from "./send.ts";

export type RetryOptions = {
  /** How often a batch is tried in all. */
  maxTries: number;
  /** Between 0 and 1, for the jitter. */
  random: () => number;
  /** The program's own delay before the next try, in place of the one that doubles. */
  retryAfter?: ((failures: number) => number) | undefined;
};

/** Those of the Go library. */
const firstDelayMs = 100;
const longestDelayMs = 10_000;

/** A server that asks for more has more likely made a mistake. */
const longestRetryAfterMs = 3_600_000;

export function isRetried(outcome: Outcome): boolean {
  if ("error" in outcome) return true;
  const { status } = outcome.answer;
  return status >= 500 || status === 408 || status === 429;
}

/**
 * Doubling, with up to half of it taken off at random so that clients do not come back together; at
 * least what `Retry-After` says.
 */
export function delayBefore(
  nextTry: number,
  outcome: Outcome,
  now: number,
  { random, retryAfter }: Pick<RetryOptions, "random" | "retryAfter">,
): number {
  const whole = Math.min(firstDelayMs * 2 ** (nextTry - 2), longestDelayMs);
  const own = retryAfter?.(nextTry - 2) ?? Number.NaN;
  const delay = own >= 0 ? own : Math.round(whole * (1 - random() / 2));
  const asked = "answer" in outcome ? retryAfterMs(outcome.answer.retryAfter, now) : 0;
  return Math.max(delay, Math.min(asked, longestRetryAfterMs));
}

/** Seconds, or the date of HTTP. */
function retryAfterMs(value: string | null, now: number): number {
  const text = value?.trim() ?? "";
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}
