/**
 * Retention: removes old messages by count, by bytes and by age, and rejected ones beyond their quota. It uses wall-clock time and
 * runs in slices, with everything else in between.
 */

import type { Settings } from "../domain/configuration.ts";
import type { Changes } from "./pipeline.ts";
import type { UpkeepStore } from "./store-ports.ts";
import { nextTurn, startIdleTimer, wallClockNow, type RealTimer } from "./real-time.ts";

const everyMs = 10_000;

/** Messages removed at once: about ten milliseconds' work. */
const slice = 200;

/** Rejected and duplicate messages have no deliveries. As many are removed at once as a batch can add, so that a client cannot add them faster. */
const rejectedSlice = 2500;

type UpkeepOptions = { store: UpkeepStore; settings: () => Settings; changes: Changes; report: (error: unknown) => void };

type Upkeep = {
  start(): void;
  stop(): void;
  /** Messages were committed. */
  kick(): void;
};

export function createUpkeep({ store, settings, changes, report }: UpkeepOptions): Upkeep {
  let timer: RealTimer | null = null;
  let isTrimming = false;
  let isStopped = false;

  function run(): void {
    kick();
    const { maxMessages, maxBytes, maxAgeMs } = settings();
    let removed = 0;
    try {
      removed = store.removeOld({ maxMessages, maxBytes, olderThanWall: maxAgeMs === null ? null : wallClockNow() - maxAgeMs }, slice);
    } catch (error) {
      report(error);
    }
    noteGone(removed);
    timer = startIdleTimer(removed > 0 ? 1 : everyMs, run);
  }

  function kick(): void {
    if (isTrimming) return;
    try {
      if (store.rejectedBytes() <= settings().maxRejectedBytes) return;
    } catch (error) {
      // After a commit that failed, the store has to read the number again.
      return report(error);
    }
    isTrimming = true;
    void trim().catch(report);
  }

  async function trim(): Promise<void> {
    try {
      for (let removed = -1; removed !== 0;) {
        await nextTurn();
        if (isStopped) return;
        removed = store.removeRejected(settings().maxRejectedBytes, rejectedSlice);
        noteGone(removed);
      }
    } finally {
      isTrimming = false;
    }
  }

  function noteGone(removed: number): void {
    if (removed === 0) return;
    changes.noteGone("messages", removed);
    // With them go the events of profiles.
    changes.note("profiles", null);
  }

  return {
    start: run,
    stop() {
      isStopped = true;
      timer?.cancel();
    },
    kick,
  };
}
