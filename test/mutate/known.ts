/**
 * The mutants that somebody has looked at and left: found again by what they change, not by their
 * line's number.
 */

import { readFileSync } from "node:fs";
import type { Mutant } from "./mutations.ts";

export type Known = {
  file: string;
  within: string;
  /** The line that it changes. */
  text: string;
  change: string;
  /**
   * Equivalent: nobody can tell it from the original, and it does not count. Accepted: it counts as
   * alive.
   */
  verdict: "equivalent" | "accepted";
  reason: string;
};

export function readKnown(file: string): Known[] {
  return JSON.parse(readFileSync(file, "utf8")) as Known[];
}

export function knownOf(
  known: readonly Known[],
  path: string,
  { within, text, change }: Mutant,
): Known | undefined {
  return known.find(
    (one) =>
      one.file === path && one.within === within && one.text === text && one.change === change,
  );
}

/** Those whose code is there no more. */
export function staleIn(
  known: readonly Known[],
  mutants: ReadonlyMap<string, readonly Mutant[]>,
): Known[] {
  return known.filter(
    (one) =>
      !(mutants.get(one.file) ?? []).some(
        (mutant) => knownOf([one], one.file, mutant) !== undefined,
      ),
  );
}
