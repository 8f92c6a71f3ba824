/** What everything else stands on: the store, the clock, the configuration, and who hears of what. */

import { createConfiguration } from "../engine/configuration.ts";
import { createChangeFeed } from "../engine/changes.ts";
import { Activity, Holds } from "../engine/clock/activity.ts";
import type { AdvanceWork } from "../engine/clock/advances.ts";
import type { ClockMode } from "../engine/clock/clock.ts";
import { PipelineClock } from "../engine/clock/pipeline-clock.ts";
import { createSuppressions } from "../engine/deletions/suppressions.ts";
import { createSignals } from "../engine/signals.ts";
import { reportTo } from "../engine/store-failure.ts";
import { wallClockNow } from "../engine/real-time.ts";
import { openStore } from "../store/sqlite-store.ts";

type CoreOptions = {
  /** A directory, or `:memory:`. */
  data: string;
  /** Where the clock of new data begins; the machine's time, and running, when left out. */
  clock?: { startAt: number; mode: ClockMode };
  report: (error: unknown) => void;
};

export type Core = ReturnType<typeof createCore>;

export function createCore({ data, clock: firstClock, report: reportUnexpected }: CoreOptions) {
  const store = openStore(data);
  const report = reportTo(store, reportUnexpected);
  if (firstClock !== undefined && store.loadClock() === null) {
    store.saveClock({ now: firstClock.startAt, wallAt: wallClockNow(), mode: firstClock.mode, speed: 1 });
  }
  const signals = createSignals();
  const changes = createChangeFeed();
  const activity = new Activity();
  /** What an advance of the clock waits for: delivery and profiles put themselves in. */
  const advanceWork: AdvanceWork = {
    isPending: () => false,
    isWaiting: () => false,
    attemptsMade: () => 0,
    trouble: () => store.trouble(),
  };
  const clock = new PipelineClock({
    store,
    activity,
    work: advanceWork,
    onOverdue: signals.overdue.emit,
    onChange: (advance) => changes.noteClock(advance),
    report,
  });
  const now = (): number => clock.now();
  const configuration = createConfiguration({
    store,
    now,
    changes,
    onChange: signals.configurationChanged.emit,
    onDestinationDeleted: signals.destinationDeleted.emit,
  });
  const suppressions = createSuppressions({ store, now, changes });
  const seed = (): number => configuration.settings().seed;
  return {
    store,
    report,
    signals,
    changes,
    activity,
    holds: new Holds(),
    clock,
    advanceWork,
    configuration,
    seed,
    suppressions,
    isSuppressed: suppressions.isSuppressed,
  };
}
