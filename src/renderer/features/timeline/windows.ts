/**
 * The retry windows of a delivery. Retrying one that had failed, expired or been cancelled gives it a new window; the
 * record does not number them, so they are read from the changes of state. Pure.
 */

import type { DeliveryDetailsAnswer } from "../../../contract/deliveries.ts";
import { isSettled } from "../../../domain/states.ts";

type Transition = DeliveryDetailsAnswer["transitions"][number];

export type RetryWindow = {
  firstRound: number;
  /** Null in the newest one. */
  lastRound: number | null;
  /** What ended it; null in the newest one. */
  end: Transition | null;
};

/** Changes of state that are the end of a round. */
const roundEnds = new Set(["waiting retry", "failed not_retried", "failed no_webhook_left", "expired window_closed"]);

export function windowsOf({ transitions, attempts }: Pick<DeliveryDetailsAnswer, "transitions" | "attempts">): RetryWindow[] {
  const windows: RetryWindow[] = [];
  let firstRound = 1;
  let ended = 0;
  for (const [place, { at, state, reason }] of transitions.entries()) {
    if (roundEnds.has(`${state} ${reason}`)) ended += 1;
    const before = transitions[place - 1];
    if (state !== "queued" || before === undefined || !isSettled(before.state)) continue;
    // A round that a restart cut off has no end on record, but its attempts have times; on a clock that stands still
    // times are equal, and the ends tell the rounds apart.
    const earlier = attempts.filter((attempt) => attempt.startedAt < at).map(({ round }) => round);
    const later = attempts.filter((attempt) => attempt.startedAt > at).map(({ round }) => round);
    const next = Math.min(Math.max(ended + 1, ...earlier.map((round) => round + 1)), ...later);
    windows.push({ firstRound, lastRound: next - 1, end: before });
    firstRound = next;
  }
  windows.push({ firstRound, lastRound: null, end: null });
  return windows;
}
