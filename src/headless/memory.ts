/**
 * Keeps the memory of the process small. V8 lets the objects of a busy program take four times the
 * memory that they need, and the new ones among them 128 MB.
 */

import { PerformanceObserver } from "node:perf_hooks";
import { getHeapSpaceStatistics, setFlagsFromString } from "node:v8";

/** How far the heap may grow between two collections of all of it. */
const growthPercent = 70;

/**
 * From here on, the space for new objects no longer doubles. It then has 32 MB: half of it is empty
 * until a collection copies into it what lives.
 */
const youngEnough = 24 * 1024 * 1024;

/** The size of that space can be set on the command line of Node only; how it grows, at any time. */
export function keepMemorySmall(): void {
  setFlagsFromString(`--heap-growing-percent=${growthPercent}`);
  let factor = 2;
  const observer = new PerformanceObserver(() => {
    const next = youngBytes() < youngEnough ? 2 : 1;
    if (next !== factor) setFlagsFromString(`--semi-space-growth-factor=${next}`);
    factor = next;
  });
  observer.observe({ entryTypes: ["gc"] });
}

const youngBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name: name }) => name === "new_space")?.space_size ?? 0;
