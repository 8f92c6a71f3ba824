/**
 * Lists of what is configured have no pages, and an answer stays below 1 MB. So all things of one
 * kind have a size together, checked where one is created or grows, whoever does it.
 */

import { sourceIds, type SourceId } from "../domain/ids.ts";
import { problem, type Problem } from "../domain/problem.ts";

/** An answer of 1 MB, less what a list's answer says beside what is stored. */
const maxBytes = 900_000;
/** Ids and times are longer in an answer, and it has members that are derived. */
const longerInAnswer = 100;

/** Things are replaced when they change, never written to. */
const sizes = new WeakMap<object, number>();

/** `listed` is what an answer has of one, where that is not all of it or more. */
type Room<One extends object> = {
  what: string;
  all: readonly One[];
  listed?: (one: One) => object;
};

/** `before` is what `next` replaces. What does not grow always fits. */
export function roomFor<One extends object>(
  { what, all, listed = (one) => one }: Room<One>,
  next: One,
  before: One | null = null,
): Problem | null {
  const sizeOf = (one: One): number => {
    const size = sizes.get(one) ?? longerInAnswer + Buffer.byteLength(JSON.stringify(listed(one)));
    sizes.set(one, size);
    return size;
  };
  const growth = sizeOf(next) - (before === null ? 0 : sizeOf(before));
  if (growth <= 0) return null;
  const bytes = all.reduce((sum, one) => sum + sizeOf(one), growth);
  if (bytes <= maxBytes) return null;
  return problem(
    409,
    "list_full",
    `With this, all ${what} together would take ${bytes.toLocaleString("en")} bytes as JSON; the limit is ${maxBytes.toLocaleString("en")}, because a list of them is one answer. Delete some, or make them smaller.`,
  );
}

type Connected = { sourceIds: readonly SourceId[] };

export function roomForDestination(
  all: readonly Connected[],
  next: Connected,
  before: Connected | null = null,
): Problem | null {
  const listed = (one: Connected): object => ({
    ...one,
    sourceIds: one.sourceIds.map(sourceIds.format),
  });
  return roomFor({ what: "destinations", all, listed }, next, before);
}

/** Room to connect a source to so many more of them. */
export const roomForConnections = (all: readonly Connected[], more: number): Problem | null =>
  more <= 0
    ? null
    : roomForDestination(all, { sourceIds: new Array<SourceId>(more).fill(1 as SourceId) });
