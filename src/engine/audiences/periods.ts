/** Syncs on a period of the clock. Their timer is a background one: it never keeps an advance to `idle` going. */

import type { Clock, ClockTimer } from "../clock/clock.ts";
import type { Registry } from "./registry.ts";
import type { Syncs } from "./sync.ts";

type PeriodsOptions = { registry: Registry; syncs: Syncs; clock: Clock; report: (error: unknown) => void };

export function createPeriods({ registry, syncs, clock, report }: PeriodsOptions): { arm(): void; stop(): void } {
  let timer: ClockTimer | null = null;

  /** One that is running has its next time when it has ended, which arms anew. */
  function arm(): void {
    timer?.cancel();
    timer = null;
    const times = registry
      .all()
      .flatMap(({ id, row: { nextSyncAt } }) => (nextSyncAt === null || syncs.isUnderWay(id) ? [] : [nextSyncAt]));
    if (times.length > 0) timer = clock.schedule(Math.min(...times), run, { background: true });
  }

  function run(): void {
    const now = clock.now();
    for (const { id, row } of registry.all()) {
      if (row.nextSyncAt !== null && row.nextSyncAt <= now && !syncs.isUnderWay(id)) syncs.run(id).catch(report);
    }
    arm();
  }

  return {
    arm,
    stop: () => timer?.cancel(),
  };
}
