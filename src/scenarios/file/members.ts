/**
 * Mappings of a scenario file: each knows its members, so that an unknown one is answered with the
 * one that was probably meant.
 */

import { z } from "zod";
import { inOneLine, longestShown } from "./in-one-line.ts";

/** A mapping with these members and no others. */
export function members<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? unknownMembers(issue.keys, known) : wantedMapping(known),
  });
}

/** `a mapping of atLeast, atMost`; of many members the names would say nothing. */
function wantedMapping(known: readonly string[]): string {
  return known.length > 4 ? "a mapping" : `a mapping of ${known.join(", ")}`;
}

/** Looking for what was meant takes longer than all else, and twenty problems are shown. */
const maxUnknown = 500;

/** One line per unknown member, in their order. */
export function unknownMembers(unknown: readonly string[], known: readonly string[]): string {
  return unknown
    .slice(0, maxUnknown)
    .map((name) => unknownName(name, known))
    .join("\n");
}

/** `webhook is unknown. Did you mean webhooks?` */
export function unknownName(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  if (meant !== null) return `${inOneLine(name)} is unknown. Did you mean ${inOneLine(meant)}?`;
  const there =
    known.length === 0 ? "There are none." : `Known: ${known.map(inOneLine).join(", ")}.`;
  return `${inOneLine(name)} is unknown. ${there}`;
}

function nearest(name: string, known: readonly string[]): string | null {
  if (name.length > longestShown) return null;
  const lower = name.toLowerCase();
  let best: { name: string; distance: number } | null = null;
  for (const candidate of known) {
    const distance = editDistance(lower, candidate.toLowerCase());
    const close = distance <= Math.max(1, Math.floor(candidate.length / 3));
    const contained =
      lower.length > 2 &&
      (candidate.toLowerCase().startsWith(lower) || lower.startsWith(candidate.toLowerCase()));
    if ((close || contained) && (best === null || distance < best.distance))
      best = { name: candidate, distance };
  }
  return best?.name ?? null;
}

/** Letters that were left out, added, changed or swapped with their neighbour. */
function editDistance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= one.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      let least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + same,
      );
      const swapped = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1];
      if (swapped) least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1);
      row.push(least);
    }
    rows.push(row);
  }
  return rows[one.length]?.[other.length] ?? 0;
}
