import type { Clock } from "./clock/clock.ts";
import { createConfiguration } from "./configuration.ts";
import type { Changes } from "./pipeline.ts";
import type { Store } from "./store-ports.ts";

/** Of a store, while nobody listens to its changes. */
export function openConfiguration(parts: {
  store: Store;
  clock: Pick<Clock, "now">;
  changes: Changes;
}) {
  return createConfiguration({
    ...parts,
    now: () => parts.clock.now(),
    onChange: () => {},
    onDestinationDeleted: () => {},
  });
}
