/**
 * Quitting, for any reason: the window closes immediately, what still runs ends, and then the
 * process does.
 */

import { app } from "electron";
import { startTimer } from "../engine/real-time.ts";

/** Stopping has deadlines of its own, a few seconds together; this is for a stop that hangs. */
const deadlineMs = 15_000;

export function quitDrained({
  close,
  stop,
  report,
}: {
  close: () => void;
  stop: () => Promise<void>;
  report: (error: unknown) => void;
}): void {
  let isDraining = false;
  const drain = async (): Promise<void> => {
    startTimer(deadlineMs, () => app.exit(1));
    close();
    try {
      await stop();
      app.exit(0);
    } catch (error) {
      report(error);
      app.exit(1);
    }
  };
  app.on("before-quit", (event) => {
    event.preventDefault();
    if (isDraining) return;
    isDraining = true;
    void drain();
  });
  process.on("SIGTERM", () => app.quit());
  process.on("SIGINT", () => app.quit());
}
