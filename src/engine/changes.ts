/**
 * The feed of changes. The parts of the pipeline note changes as they commit them; the feed gathers
 * those that are close together into one line per area and numbers the lines, so that a listener
 * can resume where it stopped.
 */

import { formatTimestamp } from "../domain/timestamp.ts";
import type { AdvanceProgress } from "./clock/clock.ts";
import type { Area, Change, ChangeFeed, Changes } from "./pipeline.ts";
import { startIdleTimer, wallClockNow, type RealTimer } from "./real-time.ts";

/**
 * Changes this close together are one line: twenty lines a second is as fast as a person can
 * follow.
 */
const gatherMs = 50;

/** Lines that are kept: several minutes of a busy pipeline. */
const maxLines = 4096;

const maxIds = 100;

/** Lists of ids that are gathered before all but the last ids are dropped. */
const maxGathered = 200;

/** `ids` may name some twice. The feed names few of them, so they become texts at the end. */
type Gathered = Pick<Change, "count" | "added" | "advance"> & { ids: (() => readonly string[])[] };

/** Each once, in the order of their last changes: the feed names the last ones. */
function lastOf(ids: Gathered["ids"]): string[] {
  const last = new Set<string>();
  for (const named of ids.toReversed()) {
    for (const id of named().toReversed()) last.add(id);
    if (last.size >= maxIds) break;
  }
  return [...last].slice(0, maxIds).reverse();
}

type ClockChanges = {
  /** The clock was set or moved, or an advance is in progress. */
  noteClock(advance: AdvanceProgress | null): void;
};

export function createChangeFeed(): ChangeFeed & Changes & ClockChanges & { stop(): void } {
  const listeners = new Set<(changes: Change[]) => void>();
  let lines: Change[] = [];
  // Numbers start at the wall-clock time, so that they also grow from one run to the next.
  let sequence = wallClockNow() * 1000;
  let gathered = new Map<Area, Gathered>();
  let timer: RealTimer | null = null;

  function publish(): void {
    timer = null;
    const fresh = [...gathered].map(([area, { ids, ...more }]): Change => {
      sequence += 1;
      return { sequence, area, ids: lastOf(ids), ...more };
    });
    gathered = new Map();
    lines.push(...fresh);
    if (lines.length > maxLines * 2) lines = lines.slice(-maxLines);
    for (const listener of listeners) listener(fresh);
  }

  function gather(
    area: Area,
    ids: () => readonly string[],
    count: number,
    added: number,
  ): Gathered {
    let entry = gathered.get(area);
    if (entry === undefined) {
      entry = { ids: [], count: 0, added: 0 };
      gathered.set(area, entry);
    }
    entry.ids.push(ids);
    if (entry.ids.length > maxGathered) {
      const last = lastOf(entry.ids);
      entry.ids = [() => last];
    }
    entry.count += count;
    entry.added += added;
    timer ??= startIdleTimer(gatherMs, publish);
    return entry;
  }

  return {
    note: (area, id, added = false) =>
      void gather(area, () => (id === null ? [] : [id]), 1, added ? 1 : 0),
    noteClock(advance) {
      gather("clock", () => [], 1, 0).advance =
        advance === null
          ? null
          : {
              ...advance,
              from: formatTimestamp(advance.from),
              to: typeof advance.to === "number" ? formatTimestamp(advance.to) : advance.to,
              now: formatTimestamp(advance.now),
            };
    },
    noteMany(area, ids, format, added) {
      if (ids.length === 0) return;
      const last = ids.slice(-maxIds);
      gather(area, () => last.map(format), ids.length, added ? ids.length : 0);
    },
    noteGone: (area, count) => void gather(area, () => [], count, 0),
    sequence: () => sequence,
    since(from) {
      const oldest = lines[0]?.sequence ?? sequence + 1;
      if (from > sequence || from < oldest - 1) return null;
      return lines.filter((line) => line.sequence > from);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    stop() {
      timer?.cancel();
      listeners.clear();
    },
  };
}
