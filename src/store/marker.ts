/**
 * `hookyard.state`: what a data file must hold at least, kept beside it, so that an emptied,
 * replaced or shortened file or a missing log is noticed at the next start. Only `open.ts` and
 * `health.ts` write it.
 *
 * A kill at any moment must not look like damage. So everything in it is a lower bound, written
 * after the transaction that it describes has been committed, and it demands a log only while
 * SQLite cannot have removed it.
 */

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileMode } from "../data-directory.ts";

export const markerName = "hookyard.state";

export type Marker = {
  /** `meta.database`: which database this is. A backup has the same. */
  database: string;
  /** `meta.beat`, which grows at every start, and each second in which something was written. */
  beat: number;
  /** Bytes of the data file without its log. */
  size: number;
  /**
   * True from the first commit after a start until just before the end: `hookyard.db-wal` exists
   * and is not empty.
   */
  hasLog: boolean;
};

/** Null where there is none, or nothing that can be read: data of an older version has none. */
export function readMarker(data: string): Marker | null {
  try {
    const { database, beat, size, hasLog } = JSON.parse(
      readFileSync(join(data, markerName), "utf8"),
    ) as Partial<Marker>;
    if (
      typeof database !== "string" ||
      typeof beat !== "number" ||
      typeof size !== "number" ||
      typeof hasLog !== "boolean"
    )
      return null;
    return { database, beat, size, hasLog };
  } catch {
    return null;
  }
}

export function writeMarker(data: string, marker: Marker): void {
  const part = join(data, `${markerName}.part`);
  writeFileSync(part, `${JSON.stringify(marker)}\n`, { mode: fileMode });
  renameSync(part, join(data, markerName));
}

/** Where it cannot be written any more, no marker is better than one that asks for too much. */
export function removeMarker(data: string): void {
  rmSync(join(data, markerName), { force: true });
}
