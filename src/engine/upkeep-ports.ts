/** What keeping the data small needs of a store. */

export type UpkeepStore = {
  /** Removes up to `limit` settled messages beyond the limits; answers how many. Pinned messages stay. */
  removeOld(limits: { maxMessages: number | null; olderThanWall: number | null }, limit: number): number;
  /** Removes all messages with all that came of them, and kept unknown requests; ids start again. */
  clearMessages(): void;
  /** Removes the configuration too, except settings. */
  clearEverything(): void;
};
