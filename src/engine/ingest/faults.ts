/** Which fault, if any, a request at the ingest port meets. Counts start anew when a source's faults are changed. */

import type { IngestFault, Source } from "../../domain/configuration.ts";
import { drawUnit } from "../../domain/random.ts";

type MetFault = { delayMs: number; end: IngestFault | null };

/** Tells the draws of ingest faults from all other draws of the same seed. */
const drawsOfIngest = 0x1f;

export function createFaults(seed: () => number): (source: Source) => MetFault {
  const progress = new WeakMap<IngestFault, { seen: number; served: number }>();
  return (source) => {
    let delayMs = 0;
    for (const [place, fault] of source.faults.entries()) {
      const count = progress.get(fault) ?? { seen: 0, served: 0 };
      progress.set(fault, count);
      if (fault.times !== undefined && count.served >= fault.times) continue;
      count.seen += 1;
      if (fault.chance !== undefined && drawUnit(seed(), drawsOfIngest, source.id, place, count.seen) >= fault.chance) continue;
      count.served += 1;
      delayMs += fault.delayMs ?? 0;
      if (fault.do !== "delay") return { delayMs, end: fault };
    }
    return { delayMs, end: null };
  };
}
