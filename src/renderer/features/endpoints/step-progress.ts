/** How many requests each step has served since the program was set back, as far as the record tells. */

import type { AnswerOf } from "../../../contract/contract.ts";
import { limitOf } from "../../../domain/program.ts";
import type { ProgramStep } from "./program-text.ts";

type Endpoint = Pick<AnswerOf<"endpoints.get">, "after" | "position"> & { steps: readonly ProgramStep[] };

export type StepProgress = {
  /** Null when it cannot be told from what is listed. */
  served: number | null;
  /** Null when it serves any number. */
  of: number | null;
};

/**
 * The step that is next is counted by the API, and those before it are used up. One after it has served something only where
 * a step before it lets requests pass, and then the received requests tell: `recent` are those of this run, newest first.
 */
export function progressOf(
  { steps, after, position }: Endpoint,
  recent: readonly { step: number | null }[],
  isWhole: boolean,
): StepProgress[] {
  const next = position.step ?? steps.length;
  const letsPass = steps.findIndex((step, place) => place >= next && (step.match !== undefined || step.chance !== undefined));
  return steps.map((_, place) => {
    const of = limitOf(steps, place, after);
    if (place === next) return { served: position.served, of };
    if (place < next) return { served: of, of };
    if (letsPass < 0 || letsPass >= place) return { served: 0, of };
    return { served: isWhole ? recent.filter((request) => request.step === place).length : null, of };
  });
}
