/** Durations as people write them, `90m` or `1h30m`, and as reports show them. */

const unitsMs: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export const durationPattern = /^\d+(?:\.\d+)?(?:ms|s|m|h|d)(?: ?\d+(?:\.\d+)?(?:ms|s|m|h|d))*$/;

const part = /(\d+(?:\.\d+)?)(ms|s|m|h|d)/g;

/** Whole milliseconds of a text that fits the pattern. */
export function parseDuration(text: string): number {
  let ms = 0;
  for (const [, number = "", unit = ""] of text.matchAll(part))
    ms += Number(number) * (unitsMs[unit] ?? 0);
  return Math.round(ms);
}

/** `1h30m`, which `parseDuration` reads back; `0s` for nothing. */
export function formatDuration(ms: number): string {
  let rest = Math.abs(ms);
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitsMs[unit] ?? 1;
    const count = Math.floor(rest / size);
    if (count === 0) continue;
    text += `${count}${unit}`;
    rest -= count * size;
  }
  return text === "" ? "0s" : `${ms < 0 ? "-" : ""}${text}`;
}

/**
 * Time since the start of a scenario: `01:30:00`, with milliseconds where there are some, with days
 * beyond the first.
 */
export function formatElapsed(ms: number): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  const days = Math.floor(ms / 86_400_000);
  const seconds = Math.floor(ms / 1000) % 60;
  const clock = `${two(Math.floor(ms / 3_600_000) % 24)}:${two(Math.floor(ms / 60_000) % 60)}:${two(seconds)}`;
  const fraction = ms % 1000 === 0 ? "" : `.${String(ms % 1000).padStart(3, "0")}`;
  return `${days === 0 ? "" : `${days}d `}${clock}${fraction}`;
}
