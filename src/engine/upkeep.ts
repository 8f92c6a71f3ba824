/** Retention: old messages go, by count and by age. It goes by the wall, in slices between which everything else runs. */

import type { Settings } from "../domain/configuration.ts";
import type { Changes } from "./pipeline.ts";
import type { UpkeepStore } from "./upkeep-ports.ts";
import { startIdleTimer, wallNow, type WallTimer } from "./wall.ts";

const everyMs = 10_000;

/** Messages removed at once: about ten milliseconds' work. */
const slice = 200;

type UpkeepOptions = { store: UpkeepStore; settings: () => Settings; changes: Changes; report: (error: unknown) => void };

export function createUpkeep({ store, settings, changes, report }: UpkeepOptions): { start(): void; stop(): void } {
  let timer: WallTimer | null = null;

  function run(): void {
    const { maxMessages, maxAgeMs } = settings();
    let removed = 0;
    try {
      removed = store.removeOld({ maxMessages, olderThanWall: maxAgeMs === null ? null : wallNow() - maxAgeMs }, slice);
    } catch (error) {
      report(error);
    }
    if (removed > 0) {
      changes.noteGone("messages", removed);
      // With them go the events of profiles.
      changes.note("profiles", null);
    }
    timer = startIdleTimer(removed > 0 ? 1 : everyMs, run);
  }

  return {
    start: run,
    stop: () => timer?.cancel(),
  };
}
