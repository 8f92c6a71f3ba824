/**
 * Durations as people type and read them: `250 ms`, `5.1 s`, `10 m`, `4 h`. What is printed can be
 * typed again.
 */

const sizes = { ms: 1, s: 1000, m: 60_000, min: 60_000, h: 3_600_000, d: 86_400_000 } as const;
type Unit = keyof typeof sizes;

/** Up to two days in hours, because retry schedules are spoken of that way. */
const longestInHoursMs = 48 * sizes.h;

export function durationText(ms: number): string {
  if (ms > longestInHoursMs && ms % sizes.d === 0) return `${ms / sizes.d} d`;
  if (ms >= sizes.h && ms % sizes.h === 0) return `${ms / sizes.h} h`;
  if (ms >= sizes.m && ms % sizes.m === 0) return `${ms / sizes.m} m`;
  if (ms >= sizes.s || ms === 0) return `${ms / sizes.s} s`;
  return `${ms} ms`;
}

const part = /(\d+(?:\.\d+)?)\s*(ms|min|s|m|h|d)?\s*/y;

/**
 * In whole milliseconds; null when it is not a duration. A bare number is in `bare`; `1 m 30 s` is
 * a sum.
 */
export function parseDuration(text: string, bare: Unit = "s"): number | null {
  const given = text.trim().toLowerCase();
  if (given === "") return null;
  let sum = 0;
  part.lastIndex = 0;
  while (part.lastIndex < given.length) {
    const match = part.exec(given);
    if (match === null) return null;
    const isWhole = match[0].length === given.length;
    if (match[2] === undefined && !isWhole) return null;
    sum += Number(match[1]) * sizes[(match[2] ?? bare) as Unit];
  }
  return Math.round(sum);
}
