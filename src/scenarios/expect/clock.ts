import type { ClockClaim } from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { durationRangeText, isWithin } from "../file/matcher.ts";
import type { History } from "../run/history.ts";
import type { Verdict } from "./judge.ts";
import { wrong } from "./kind.ts";

export function judgeClock({ elapsed, nextDue }: ClockClaim, history: History, startedAt: number): Verdict {
  const since = history.now - startedAt;
  const next = history.nextDueAt === null ? null : history.nextDueAt - history.now;
  const nextText = next === null ? "nothing" : `in ${formatDuration(next)}`;
  const nextFits = nextDue === undefined || (nextDue === "nothing" ? next === null : next !== null && isWithin(next, nextDue));
  const wrongs = [
    ...(elapsed === undefined || isWithin(since, elapsed) ? [] : wrong("elapsed", durationRangeText(elapsed), formatDuration(since))),
    ...(nextFits ? [] : wrong("next due", nextDue === "nothing" ? "nothing" : `in ${durationRangeText(nextDue ?? {})}`, nextText)),
  ];
  return {
    passed: wrongs.length === 0,
    expected: wrongs.map(({ what, expected }) => `${what} ${expected}`).join("; "),
    actual:
      wrongs.length === 0
        ? `elapsed ${formatDuration(since)}, next due ${nextText}`
        : wrongs.map(({ what, actual }) => `${what} ${actual}`).join("; "),
    differences: [],
    moreDifferences: 0,
  };
}
