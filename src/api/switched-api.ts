/**
 * The control API of a pipeline that is replaced from time to time: a story's, which is started
 * again for a step back. Calls wait until a pipeline is there, or a problem says that none comes;
 * whoever follows the changes continues to.
 */

import { isProblem, type Problem } from "../domain/problem.ts";
import type { Change, ChangeFeed } from "../engine/pipeline.ts";
import { refusal, type Api } from "./api.ts";

export function createSwitchedApi(
  /** Whether anybody follows the changes, each time when that has changed. */
  onWatched: (isWatched: boolean) => void,
): { served: Api; show(next: Api | Problem | null): void } {
  const listeners = new Set<(changes: Change[]) => void>();
  let current: Api | Problem | null = null;
  let arrival = Promise.withResolvers<Api | Problem>();
  let sequence = 0;
  let unsubscribe = (): void => undefined;

  const changes: ChangeFeed = {
    sequence: () => sequence,
    since: (seen) => (seen === sequence ? [] : null),
    subscribe(listener) {
      listeners.add(listener);
      if (listeners.size === 1) onWatched(true);
      return () => {
        if (listeners.delete(listener) && listeners.size === 0) onWatched(false);
      };
    },
  };
  const running = (): Api | null => (isProblem(current) ? null : current);
  return {
    served: {
      async call(...call) {
        const answering = current ?? (await arrival.promise);
        return isProblem(answering) ? refusal(answering) : answering.call(...call);
      },
      beside: () => undefined,
      changes,
      openApi: () => running()?.openApi(),
      metrics: () => running()?.metrics() ?? "",
    },
    show(next) {
      unsubscribe();
      unsubscribe = () => undefined;
      if (next !== null) arrival.resolve(next);
      else if (current !== null) arrival = Promise.withResolvers();
      current = next;
      if (next === null || isProblem(next)) return;
      unsubscribe = next.changes.subscribe((list) => {
        const renumbered = list.map((change) => ({ ...change, sequence: (sequence += 1) }));
        for (const listener of listeners) listener(renumbered);
      });
    },
  };
}
