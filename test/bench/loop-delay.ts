/**
 * Preloaded into a program whose event loop is watched (`--import`). On any message from the parent
 * it answers how late its timers came since the last one, and starts again. It keeps no process
 * alive.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds between two looks, of which one is the interval itself. */
export type LoopDelay = { p50: number; p99: number; p999: number; max: number; looks: number };

const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();

process.on("message", () => {
  const ms = (nanoseconds: number): number => Math.round(nanoseconds / 1e4) / 100;
  const { max, count } = delay;
  const [p50, p99, p999] = [50, 99, 99.9].map((share) => ms(delay.percentile(share))) as [
    number,
    number,
    number,
  ];
  process.send?.({ p50, p99, p999, max: ms(max), looks: count } satisfies LoopDelay);
  delay.reset();
});
process.channel?.unref();
