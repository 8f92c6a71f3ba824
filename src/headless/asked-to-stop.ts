/** The signals that ask a command to stop. */

import { monotonic } from "../engine/real-time.ts";

/**
 * The terminal sends SIGINT to all of its programs, and npm and npx pass theirs on: one press of
 * Ctrl+C can arrive twice.
 */
const onePressMs = 500;

type Counting = { stop: () => void; end: () => void; now?: () => number };

/**
 * Calls `stop` the first time that it is asked, `end` the second time. The input of a program whose
 * parent ends at the same press ends too: that only begins a stop.
 */
export function createStopCount({ stop, end, now = monotonic }: Counting): (by: string) => void {
  let first: { by: string; at: number } | null = null;
  return (by) => {
    if (first === null) {
      first = { by, at: now() };
      stop();
    } else if (by !== "input" && (by !== first.by || now() - first.at > onePressMs)) end();
  };
}

type Asking = { signals?: readonly NodeJS.Signals[]; untilInputEnds?: boolean };

/** At the first signal. A second one ends the process at once. */
export function whenAskedToStop({
  signals = ["SIGINT", "SIGTERM"],
  untilInputEnds = false,
}: Asking = {}): Promise<void> {
  return new Promise((resolve) => {
    const ask = createStopCount({ stop: resolve, end: () => process.exit(130) });
    for (const signal of signals) process.on(signal, ask);
    // An error ends it too.
    if (untilInputEnds)
      process.stdin
        .on("error", () => undefined)
        .once("close", () => ask("input"))
        .resume();
  });
}
