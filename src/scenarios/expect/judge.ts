/**
 * Compares an expectation with what has happened. This file and `kinds.ts` alone decide whether one
 * is met.
 */

import type { ScenarioAttempt, ScenarioDifference } from "../../contract/scenarios.ts";
import { isWithin, rangeText, type Range, durationRangeText } from "../file/matcher.ts";
import type { SeenAttempt } from "../run/deliveries.ts";
import type { History } from "../run/history.ts";
import type { ClockClaim } from "../file/expectation-schema.ts";
import { formatDuration } from "../file/duration.ts";
import { wrong, type Kind, type View, type Wrong } from "./kind.ts";

export type Verdict = {
  passed: boolean;
  expected: string;
  actual: string;
  differences: ScenarioDifference[];
  moreDifferences: number;
};

/** What every claim has beside that of its kind. */
export type Counted = {
  count?: Range | undefined;
  never?: true | undefined;
  within?: number | undefined;
};

/** Enough to see what is wrong; a report is read by people. */
const maxDifferences = 10;
const maxAttempts = 30;

export function judge<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  history: History,
  view: View,
): Verdict {
  const chosen = kind.chosen(history, claim);
  const count = chosen.reduce((sum, thing) => sum + kind.countOf(thing), 0);
  if (count === 0) return matchedNothing(kind, claim, history, view);
  const judged = chosen.map((thing) => ({ thing, wrongs: kind.wrongWith(thing, claim, view) }));
  const off = judged.filter(({ wrongs }) => wrongs.length > 0);
  const rightCount = claim.count === undefined || isWithin(count, claim.count);
  const shown = off.length > 0 || rightCount ? off : judged;
  return {
    passed: off.length === 0 && rightCount,
    expected: expectedText(kind, claim, off),
    actual: actualText(kind, count, judged.length, off),
    ...differencesOf(kind, shown, history, view),
  };
}

/** An expectation that matched nothing has not been met: it shows what there was instead. */
function matchedNothing<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  history: History,
  view: View,
): Verdict {
  const [, many] = kind.nouns;
  const total = kind.total(history);
  // What an endpoint no longer has is not among what was there instead.
  const kept = { ...history, dropped: new Map() };
  const everything = kind.chosen(kept, { ...claim, of: undefined });
  return {
    passed: false,
    expected: expectedText(kind, claim, []),
    actual: total === 0 ? `there are no ${many}` : `of ${counted(kind, total)}, none was selected`,
    ...differencesOf(
      kind,
      everything.map((thing) => ({
        thing,
        wrongs: [{ what: "", expected: "a match of the selection", actual: "this one" }],
      })),
      history,
      view,
    ),
  };
}

/** The chosen things that are just as claimed: under `never`, there may be none. */
export function fitting<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  claim: Claim,
  history: History,
  view: View,
): Thing[] {
  return kind
    .chosen(history, claim)
    .filter((thing) => kind.countOf(thing) > 0 && kind.wrongWith(thing, claim, view).length === 0);
}

export function neverVerdict<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  found: readonly Thing[],
  history: History,
  view: View,
): Verdict {
  const [one, many] = kind.nouns;
  const things = found.map((thing) => ({
    thing,
    wrongs: [{ what: "", expected: "none", actual: "this one" }],
  }));
  return {
    passed: found.length === 0,
    expected: `no such ${one}`,
    actual:
      found.length === 0 ? `none of ${kind.total(history)} ${many}` : counted(kind, found.length),
    ...differencesOf(kind, things, history, view),
  };
}

type Judged<Thing> = { thing: Thing; wrongs: Wrong[] };

function counted<Claim, Thing>({ nouns: [one, many] }: Kind<Claim, Thing>, count: number): string {
  return `${count} ${count === 1 ? one : many}`;
}

function expectedText<Claim extends Counted, Thing>(
  kind: Kind<Claim, Thing>,
  { count }: Claim,
  off: readonly Judged<Thing>[],
): string {
  const [one, many] = kind.nouns;
  const howMany =
    count === undefined ? `every ${one}` : count === 1 ? `1 ${one}` : `${rangeText(count)} ${many}`;
  const claims = [
    ...new Set(
      off.flatMap(({ wrongs }) => wrongs.map(({ what, expected }) => `${what} ${expected}`)),
    ),
  ];
  if (claims.length === 0) return count === undefined ? `at least one ${one}` : howMany;
  return `${howMany}: ${claims.slice(0, 5).join("; ")}`;
}

/** `20 deliveries: 17 as expected, 3 state waiting` */
function actualText<Claim, Thing>(
  kind: Kind<Claim, Thing>,
  count: number,
  things: number,
  off: readonly Judged<Thing>[],
): string {
  if (off.length === 0) return counted(kind, count);
  const seen = new Map<string, number>();
  for (const { wrongs } of off) {
    for (const { what, actual } of wrongs)
      seen.set(`${what} ${actual}`, (seen.get(`${what} ${actual}`) ?? 0) + 1);
  }
  const parts = [...seen].map(([text, times]) => (things === 1 ? text : `${times} ${text}`));
  if (off.length < things) parts.unshift(`${things - off.length} as expected`);
  return `${counted(kind, count)}: ${parts.slice(0, 6).join(", ")}${parts.length > 6 ? ", …" : ""}`;
}

function differencesOf<Claim, Thing>(
  kind: Kind<Claim, Thing>,
  judged: readonly Judged<Thing>[],
  history: History,
  view: View,
): Pick<Verdict, "differences" | "moreDifferences"> {
  const differences = judged
    .slice(0, maxDifferences)
    .map(({ thing, wrongs }): ScenarioDifference => {
      const attempts = kind.behind(thing, history);
      return {
        of: kind.label(thing),
        expected: wrongs.map(({ what, expected }) => `${what} ${expected}`.trim()).join("; "),
        actual: wrongs.map(({ what, actual }) => `${what} ${actual}`.trim()).join("; "),
        attempts: attempts
          .slice(-maxAttempts)
          .map((attempt) => attemptLine(attempt, view.startedAt)),
        attemptsBefore: Math.max(0, attempts.length - maxAttempts),
      };
    });
  return { differences, moreDifferences: judged.length - differences.length };
}

function attemptLine(
  { at, webhook, result, details }: SeenAttempt,
  startedAt: number,
): ScenarioAttempt {
  return {
    elapsedMs: at - startedAt,
    round: details.round,
    webhook,
    result: String(result),
    heldMs: details.simulated ? Math.round(details.durationMs) : null,
    error: details.error?.message ?? null,
  };
}

export function judgeClock(
  { elapsed, nextDue }: ClockClaim,
  history: History,
  startedAt: number,
): Verdict {
  const since = history.now - startedAt;
  const next = history.nextDueAt === null ? null : history.nextDueAt - history.now;
  const nextText = next === null ? "nothing" : `in ${formatDuration(next)}`;
  const nextFits =
    nextDue === undefined ||
    (nextDue === "nothing" ? next === null : next !== null && isWithin(next, nextDue));
  const wrongs = [
    ...(elapsed === undefined || isWithin(since, elapsed)
      ? []
      : wrong("elapsed", durationRangeText(elapsed), formatDuration(since))),
    ...(nextFits
      ? []
      : wrong(
          "next due",
          nextDue === "nothing" ? "nothing" : `in ${durationRangeText(nextDue ?? {})}`,
          nextText,
        )),
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
