/** The period of the clock whose messages the funnel shows and sends again. */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

export const periodChoices = [
  { value: "all", label: "all messages" },
  { value: "hour", label: "the last hour" },
  { value: "day", label: "the last 24 hours" },
  { value: "own", label: "a period" },
] as const;

export type PeriodChoice = {
  choice: (typeof periodChoices)[number]["value"];
  /** As they are typed, for a period of one's own. */
  from: string;
  to: string;
};

type Period = { since?: string; until?: string };

export function periodOf({ choice, from, to }: PeriodChoice, now: number): Period {
  if (choice === "all") return {};
  if (choice !== "own") return { since: isoOf(now - (choice === "hour" ? hourMs : 24 * hourMs)) };
  return {
    ...(isTime(from) ? { since: isoOf(Date.parse(from)) } : {}),
    ...(isTime(to) ? { until: isoOf(Date.parse(to)) } : {}),
  };
}

export const isoOf = (ms: number): string => new Date(ms).toISOString();

/** While a year is typed, it may have five digits or more, and is no time yet. */
const isTime = (text: string): boolean => /^\d{4}-/.test(text);

export const isHalfTyped = ({ choice, from, to }: PeriodChoice): boolean =>
  choice === "own" && [from, to].some((text) => text !== "" && !isTime(text));

/** The time by the minute: what is asked is another question at most once a second. */
export function steadyTime(now: number, speed: number): number {
  const step = Math.max(minuteMs, speed * 1000);
  return Math.floor(now / step) * step;
}
