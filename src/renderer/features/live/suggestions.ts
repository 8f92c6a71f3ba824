/**
 * What the filter field offers while something is written in it: keys, and values that were seen,
 * with how often.
 */

import { filterKeys, tokensOf, withValue, type Filter, type FilterKey } from "./filter-text.ts";

/** Null: how many there are is not known. */
type SeenValue = { value: string; count: number | null };
export type Seen = Record<FilterKey, readonly SeenValue[]>;

export type Suggestion =
  | { kind: "key"; key: FilterKey; hint: string }
  | { kind: "value"; key: FilterKey; value: string; count: number | null };

/** As many as fit above the fold of the smallest window. */
const most = 10;

const hints: Record<FilterKey, string> = {
  type: "identify, track, …",
  state: "delivery state",
  user: "userId or anonymousId",
  event: "event, name or group",
  source: "name or id of the source",
  status: "503, 5xx",
  attempts: "3, >3, <=3",
  reason: "why it wasn't delivered",
};

/** Whose values are known whole: the best one is meant when Enter is pressed. */
export const isClosed = (key: FilterKey): boolean =>
  key === "type" || key === "state" || key === "source";

/** The word at the end of the draft, which is the one that is being written. */
export function wordAtEnd(draft: string): { key: FilterKey | null; part: string; start: number } {
  const last = tokensOf(draft).at(-1);
  if (last === undefined || last.ended) return { key: null, part: "", start: draft.length };
  if (last.key === null) return { key: null, part: last.text, start: last.start };
  const listed = last.text.slice(last.key.length + 1);
  const part = /,\s*$/.test(listed) || listed === "" ? "" : (last.values.at(-1) ?? "");
  return { key: last.key, part, start: last.start };
}

export function suggest(draft: string, filter: Filter, seen: Seen): Suggestion[] {
  const { key, part } = wordAtEnd(draft);
  const wanted = part.toLowerCase();
  if (key !== null) return valuesOf(key, wanted, filter, seen).slice(0, most);
  const keys = filterKeys
    .filter((each) => each.startsWith(wanted))
    .map((each): Suggestion => ({ kind: "key", key: each, hint: hints[each] }));
  if (wanted.length < 2) return keys;
  const values = filterKeys.flatMap((each) => valuesOf(each, wanted, filter, seen).slice(0, 3));
  return [...keys, ...values].slice(0, most);
}

function valuesOf(key: FilterKey, wanted: string, filter: Filter, seen: Seen): Suggestion[] {
  const taken = filter.values[key] ?? [];
  return seen[key]
    .filter(({ value }) => value.toLowerCase().includes(wanted) && !taken.includes(value))
    .toSorted(
      (a, b) => rank(a.value, wanted) - rank(b.value, wanted) || (b.count ?? 0) - (a.count ?? 0),
    )
    .map(({ value, count }) => ({ kind: "value", key, value, count }));
}

function rank(value: string, wanted: string): number {
  return value.toLowerCase().startsWith(wanted) ? 0 : 1;
}

/** The draft and the filter after a suggestion was chosen. */
export function choose(
  suggestion: Suggestion,
  draft: string,
  filter: Filter,
): { draft: string; filter: Filter } {
  const before = draft.slice(0, wordAtEnd(draft).start);
  if (suggestion.kind === "key") return { draft: `${before}${suggestion.key}:`, filter };
  const written = tokensOf(draft).at(-1);
  let next = filter;
  if (written !== undefined && !written.ended && written.key === suggestion.key) {
    for (const value of written.values.slice(0, -1)) next = withValue(next, suggestion.key, value);
  }
  return { draft: before, filter: withValue(next, suggestion.key, suggestion.value) };
}

type SeenRow = {
  event: string | null;
  userId: string | null;
  anonymousId: string | null;
  reason: string | null;
  lastStatus: number | null;
  attempts: number;
};

/**
 * Counts of the cached rows; types and states come from the stats, sources from the configuration.
 */
export function seenOf(
  rows: Iterable<SeenRow>,
  {
    byType,
    byState,
    sources,
  }: {
    byType: Record<string, number>;
    byState: Record<string, number>;
    sources: readonly { name: string }[];
  },
): Seen {
  const tally = {
    user: new Map<string, number>(),
    event: new Map<string, number>(),
    status: new Map<string, number>(),
    attempts: new Map<string, number>(),
    reason: new Map<string, number>(),
  };
  const add = (key: keyof typeof tally, value: string | null): void => {
    if (value !== null && value !== "") tally[key].set(value, (tally[key].get(value) ?? 0) + 1);
  };
  for (const row of rows) {
    add("user", row.userId ?? row.anonymousId);
    add("event", row.event);
    add("reason", row.reason);
    add("attempts", String(row.attempts));
    add("status", row.lastStatus === null ? null : String(row.lastStatus));
  }
  const listed = (key: keyof typeof tally): SeenValue[] =>
    [...tally[key]].map(([value, count]) => ({ value, count }));
  const counted = (counts: Record<string, number>): SeenValue[] =>
    Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([value, count]) => ({ value, count }));
  return {
    type: counted(byType),
    state: counted(byState),
    source: [...new Set(sources.map(({ name }) => name))].map((value) => ({ value, count: null })),
    user: listed("user"),
    event: listed("event"),
    status: listed("status"),
    attempts: listed("attempts"),
    reason: listed("reason"),
  };
}
