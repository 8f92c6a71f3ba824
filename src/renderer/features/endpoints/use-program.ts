/** The program that is being edited: what was changed is shown at once, saved in the order of the changes, and taken back when it is refused. */

import { useEffect, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { call } from "../../transport/transport.ts";
import type { ProgramStep } from "./program-text.ts";

type EditedProgram = {
  steps: readonly ProgramStep[];
  /** Rejects with what the API says. */
  change(steps: readonly ProgramStep[]): Promise<void>;
};

export function useProgram(endpoint: AnswerOf<"endpoints.get">): EditedProgram {
  const [pending, setPending] = useState<readonly ProgramStep[] | null>(null);
  const queue = useRef<Promise<unknown>>(Promise.resolve());
  const newest = useRef<readonly ProgramStep[] | null>(null);
  const saved = JSON.stringify(endpoint.steps);

  useEffect(() => setPending((steps) => (steps !== null && JSON.stringify(steps) === saved ? null : steps)), [saved]);

  return {
    steps: pending ?? endpoint.steps,
    change(steps) {
      newest.current = steps;
      setPending(steps);
      const run = queue.current.then(async () => {
        try {
          await call("endpoints.update", { id: endpoint.id, steps: [...steps] });
        } catch (error) {
          if (newest.current === steps) setPending(null);
          throw error;
        }
      });
      queue.current = run.catch(() => undefined);
      return run;
    },
  };
}
