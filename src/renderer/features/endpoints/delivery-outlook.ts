/**
 * What a delivery makes of a test endpoint whose program is at its first step: which step serves which round, when, and how
 * it ends. The same draws as the pipeline's, so that the times are those that will be.
 */

import type { RetryProfile } from "../../../domain/configuration.ts";
import { endpointIds } from "../../../domain/ids.ts";
import { drawUnit } from "../../../domain/random.ts";
import { isRetryable, nextRoundAt } from "../../../domain/retry.ts";
import type { Outcome } from "../../../domain/states.ts";
import { printAction, type ProgramStep } from "./program-text.ts";
import { outcomeOf, statusOf } from "./step-words.ts";

export type OutlookOptions = {
  endpointId: string;
  steps: readonly ProgramStep[];
  after: "repeat-last" | "start-over";
  profile: RetryProfile;
  seed: number;
  jitter: boolean;
};

export type Bead = { round: number; atMs: number; outcome: Outcome; word: string };
type Outlook = { beads: Bead[]; end: "delivered" | "failed" | "expired" };

/** Jitter differs from delivery to delivery; the first one of a store stands for all. */
const sequence = 1;

/** A custom profile may allow thousands of rounds. */
const mostRounds = 1000;

/** The message is taken to be one that every `match` lets through. */
export function outlookOf({ endpointId, steps, after, profile, seed, jitter }: OutlookOptions): Outlook {
  const serve = createServing(steps, after, (step, nth) => drawUnit(seed, endpointIds.parse(endpointId) ?? 0, step, nth));
  const beads: Bead[] = [];
  let atMs = 0;
  for (let round = 1; round <= mostRounds; round += 1) {
    const step = serve();
    const outcome = step === null ? "success" : outcomeOf(step, profile.timeoutMs);
    beads.push({ round, atMs, outcome, word: step === null ? "200" : wordOf(step) });
    if (outcome === "success") return { beads, end: "delivered" };
    const status = step !== null && outcome === "http_error" ? statusOf(step) : null;
    if (!isRetryable(profile, outcome, status)) return { beads, end: "failed" };
    const next = nextRoundAt({ profile, round, roundStartedAt: atMs, firstAttemptAt: 0, seed, sequence, jitter });
    if (next === null) return { beads, end: "expired" };
    atMs = next;
  }
  return { beads, end: "expired" };
}

function wordOf(step: ProgramStep): string {
  return printAction({ do: step.do, ...(step.status === undefined ? {} : { status: step.status }) });
}

/** The program's rule: the first step, in order, that is not used up and whose draw falls into its chance. */
function createServing(
  steps: readonly ProgramStep[],
  after: "repeat-last" | "start-over",
  draw: (step: number, nth: number) => number,
): () => ProgramStep | null {
  const served = steps.map(() => 0);
  let received = 0;
  const limits = steps.map((step, place) => {
    if (after === "repeat-last" && place === steps.length - 1) return null;
    return step.times ?? (step.chance === undefined ? 1 : null);
  });
  const isUsedUp = (place: number): boolean => {
    const limit = limits[place] ?? null;
    return limit !== null && (served[place] ?? 0) >= limit;
  };
  return () => {
    received += 1;
    const place = steps.findIndex((step, at) => !isUsedUp(at) && (step.chance === undefined || draw(at, received) < step.chance));
    if (place < 0) return null;
    served[place] = (served[place] ?? 0) + 1;
    const limited = limits.flatMap((limit, at) => (limit === null ? [] : [at]));
    if (after === "start-over" && limited.length > 0 && limited.every(isUsedUp)) served.fill(0);
    return steps[place] ?? null;
  };
}
