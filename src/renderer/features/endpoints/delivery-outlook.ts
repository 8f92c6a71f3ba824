/**
 * What a delivery makes of a test endpoint whose program is at its first step: which step serves which round, when, and how
 * it ends. The same draws as the pipeline's, so that the times are those that will be.
 */

import type { RetryProfile } from "../../../domain/configuration.ts";
import { endpointIds } from "../../../domain/ids.ts";
import { Program, type Offer } from "../../../domain/program.ts";
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
  const program = new Program(steps, after);
  const offer: Offer = { fits: () => true, draw: (step, nth) => drawUnit(seed, endpointIds.parse(endpointId) ?? 0, step, nth) };
  const beads: Bead[] = [];
  let atMs = 0;
  for (let round = 1; round <= mostRounds; round += 1) {
    const step = steps[program.serve(offer) ?? -1];
    const outcome = step === undefined ? "success" : outcomeOf(step, profile.timeoutMs);
    beads.push({ round, atMs, outcome, word: step === undefined ? "200" : wordOf(step) });
    if (outcome === "success") return { beads, end: "delivered" };
    const status = step !== undefined && outcome === "http_error" ? statusOf(step) : null;
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
