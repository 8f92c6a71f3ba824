/**
 * A program that the dev loop starts again when its sources change, and ends when the loop ends.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { startTimer } from "../engine/real-time.ts";

/**
 * Stopping in order has deadlines of about a second each. After this the program hangs, as in an
 * endless loop.
 */
const maxStopMs = 5_000;

type DevProgram = {
  /** Starts it, or ends it and starts it again. Changes while it does so cause one more restart. */
  restart(): void;
  /** Whether this is the child that runs, and that nobody has asked to end. */
  isCurrent(child: ChildProcess): boolean;
  stop(): Promise<void>;
};

export function createDevProgram(start: () => Promise<ChildProcess>): DevProgram {
  let child: ChildProcess | null = null;
  let isStale = false;
  let isOver = false;
  let work: Promise<void> | null = null;
  process.once("exit", () => child?.kill("SIGKILL"));

  async function end(): Promise<void> {
    const ending = child;
    child = null;
    if (ending === null || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, "exit");
    const deadline = startTimer(maxStopMs, () => ending.kill("SIGKILL"));
    ending.kill("SIGTERM");
    await ended;
    deadline.cancel();
  }

  async function restartWhileStale(): Promise<void> {
    while (isStale && !isOver) {
      isStale = false;
      await end();
      try {
        child = await start();
      } catch (error) {
        // What cannot be built is mended by the next change.
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      }
    }
    work = null;
  }

  return {
    restart() {
      isStale = true;
      work ??= restartWhileStale();
    },
    isCurrent: (other) => child === other,
    async stop() {
      isOver = true;
      await work;
      await end();
    },
  };
}
