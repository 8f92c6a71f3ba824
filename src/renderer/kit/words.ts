/** Times, durations and sizes as words, the same everywhere. */

const two = (n: number): string => String(n).padStart(2, "0");

const days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/** `16:47:32`, in the zone of the machine. */
export function clockTime(ms: number): string {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

export function milliseconds(ms: number): string {
  return `.${String(new Date(ms).getMilliseconds()).padStart(3, "0")}`;
}

export function calendarDate(ms: number): string {
  const at = new Date(ms);
  return `${days[at.getDay()]} ${at.getDate()} ${months[at.getMonth()]} ${at.getFullYear()}`;
}

const sameWeekMs = 6 * 86_400_000;

/**
 * With its day when that is another than that of one of `besides`: `Mon 06:28:07`, `30 Nov
 * 06:28:07`.
 */
export function dayAndTime(ms: number, ...besides: number[]): string {
  const date = calendarDate(ms);
  if (besides.every((beside) => date === calendarDate(beside))) return clockTime(ms);
  const [weekday, day, month] = date.split(" ");
  const isNear = besides.every((beside) => Math.abs(ms - beside) < sameWeekMs);
  const name = isNear ? weekday : `${day} ${month}`;
  return `${name} ${clockTime(ms)}`;
}

const units: readonly [ms: number, unit: string][] = [
  [86_400_000, "d"],
  [3_600_000, "h"],
  [60_000, "m"],
  [1000, "s"],
];

/** The two greatest units: `1 h 31 m`, `4 m 40 s`, `33 s`, `0 s`. */
export function span(ms: number): string {
  let rest = Math.round(Math.abs(ms) / 1000) * 1000;
  const parts: string[] = [];
  for (const [size, unit] of units) {
    if (rest < size && parts.length === 0) continue;
    const n = Math.floor(rest / size);
    rest -= n * size;
    if (n > 0) parts.push(`${n} ${unit}`);
    if (parts.length === 2 || n === 0) break;
  }
  return parts.length === 0 ? "0 s" : parts.join(" ");
}

/** How long something took: `3 ms`, `142 ms`, `1.20 s`, `5.000 s`. */
export function duration(ms: number): string {
  if (ms < 1) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return `${(ms / 1000).toFixed(ms >= 4900 && ms < 5100 ? 3 : 2)} s`;
}

/** Once: to make one for each number took 2 % of a busy page's time. */
const grouped = new Intl.NumberFormat("en-US");

export function count(n: number): string {
  return grouped.format(n);
}

export function bytes(n: number): string {
  if (n < 1024) return some(n, "byte");
  if (n < 1024 * 1024) return `${(n / 1024).toFixed(1)} KB`;
  return `${(n / 1024 / 1024).toFixed(1)} MB`;
}

export const some = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

/** The name of one of these; nothing while they are being read, and `otherwise` when it is gone. */
export const nameIn = (
  items: readonly { id: string; name: string }[] | undefined,
  id: string | undefined,
  otherwise: string,
): string => (items === undefined ? "" : (items.find((item) => item.id === id)?.name ?? otherwise));
