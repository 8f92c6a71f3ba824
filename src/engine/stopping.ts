/**
 * For calls that take several turns of the event loop: a stop in between is not a failure, and
 * stored work continues at the next start.
 */

import { conflict, type Problem } from "../domain/problem.ts";

type Asynchronous<Args extends unknown[], Answer> = (...args: Args) => Promise<Answer>;

type Stopping = {
  /**
   * From now on every guarded call returns that Hookyard is stopping, also one that began before
   * and finds the store closed.
   */
  stop(): void;
  guard<Args extends unknown[], Answer>(
    run: Asynchronous<Args, Answer>,
  ): Asynchronous<Args, Answer | Problem>;
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
