/**
 * The control API of a pipeline that is replaced from time to time: a story's, which is started
 * again for a step back. Calls wait until a pipeline is there, and whoever follows the changes
 * continues to.
 */

import type { Change, ChangeFeed } from "../engine/pipeline.ts";
import type { Api } from "./api.ts";

export function createSwitchedApi(
  /** Whether anybody follows the changes, each time when that has changed. */
  onWatched: (isWatched: boolean) => void,
): { served: Api; show(api: Api | null): void } {
  const listeners = new Set<(changes: Change[]) => void>();
  let current: Api | null = null;
  let arrival = Promise.withResolvers<Api>();
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
  return {
    served: {
      call: async (...call) => (current ?? (await arrival.promise)).call(...call),
      beside: () => undefined,
      changes,
      openApi: () => current?.openApi(),
      metrics: () => current?.metrics() ?? "",
    },
    show(api) {
      unsubscribe();
      unsubscribe = () => undefined;
      current = api;
      if (api === null) return void (arrival = Promise.withResolvers());
      arrival.resolve(api);
      unsubscribe = api.changes.subscribe((list) => {
        const renumbered = list.map((change) => ({ ...change, sequence: (sequence += 1) }));
        for (const listener of listeners) listener(renumbered);
      });
    },
  };
}
