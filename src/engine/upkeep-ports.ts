/** What keeping the data small, and trusting it, needs of a store. */

import type { Problem } from "../domain/problem.ts";

export type UpkeepStore = {
  /** Removes up to `limit` settled messages beyond the limits; answers how many. Count and bytes are of accepted ones. Pinned messages stay. */
  removeOld(limits: { maxMessages: number | null; maxBytes?: number | null; olderThanWall: number | null }, limit: number): number;
  /** What rejected and duplicate messages take. */
  rejectedBytes(): number;
  /** Removes the oldest of them beyond so many bytes, up to `limit`; answers how many. Pinned messages stay, and the newest. */
  removeRejected(maxBytes: number, limit: number): number;
  /** Removes all messages with all that came of them, and kept unknown requests; ids start again. */
  clearMessages(): void;
  /** Removes the configuration too, except settings. */
  clearEverything(): void;
};

export type HealthStore = {
  /** What is wrong with the data file; null when nothing is known to be. */
  trouble(): Problem | null;
  /** An error that a call of the store threw, from wherever it arrives; all others are passed over. */
  noteFailure(error: unknown): void;
  /** Looks after the files from now on, and calls back when the trouble has changed. */
  watch(onChange: () => void): void;
};
