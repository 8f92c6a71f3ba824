/** For answers that take several turns of the event loop: a stop in between is no failure, and what is stored goes on at the next start. */

import { conflict, type Problem } from "../domain/problem.ts";

type Asynchronous<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

type Stopping = {
  /** From now on whatever is guarded answers that Hookyard is stopping, also what has begun before and finds the store closed. */
  stop(): void;
  guard<Args extends unknown[], Answer>(run: Asynchronous<Args, Answer>): Asynchronous<Args, Answer | Problem>;
};

export function createStopping(): Stopping {
  let stopped = false;
  const answer = conflict("stopping", "Hookyard is stopping.");
  return {
    stop() {
      stopped = true;
    },
    guard(run) {
      return async (...args) => {
        if (stopped) return answer;
        try {
          const answered = await run(...args);
          return stopped ? answer : answered;
        } catch (error) {
          if (!stopped) throw error;
          return answer;
        }
      };
    },
  };
}
