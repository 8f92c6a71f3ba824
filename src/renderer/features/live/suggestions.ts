/**
 * What the filter field offers while something is written in it: keys, and values that the store
 * has, with how often.
 */

import type { Asked, SeenValue } from "../../../domain/known-values.ts";
import {
  type ChipKey,
  type Filter,
  type FilterKey,
  filterKeys,
  type GoesOn,
  keyOf,
  tokensOf,
  withValue,
} from "../../../domain/message-filter.ts";

export type Suggestion =
  | { kind: "key"; key: ChipKey; hint: string }
  | { kind: "value"; key: ChipKey; value: string; count: number | null };

/** As many as fit above the fold of the smallest window. */
const most = 10;

const hints: Record<FilterKey, string> = {
  event: "event, name or group",
  user: "userId or anonymousId",
  state: "delivered, failed, …",
  status: "503, 5xx, >=500, last=503",
  outcome: "success, timeout, …",
  last: "5m, 2h, on the clock",
  type: "identify, track, …",
  source: "name of the source",
  destination: "name of the destination",
  webhook: "a part of its URL",
  attempts: "3, >3, <=3",
  reason: "why it wasn't delivered",
  plan: "ok, violations or none",
  batch: "a message of the request",
  since: "10:30, yesterday",
  until: "10:30, yesterday",
};

/** Of these, only the value that is written is meant when Enter is pressed. */
const literal: ReadonlySet<FilterKey> = new Set<FilterKey>(["status", "attempts"]);

const durations = ["1m", "5m", "15m", "1h", "4h", "1d"];

/** The word at the end of the draft, which is the one that is being written. */
type Word = { key: ChipKey | null; part: string; start: number };

export function wordAtEnd(draft: string, goesOn: GoesOn): Word {
  const tokens = tokensOf(draft, goesOn);
  const last = tokens.at(-1);
  if (last === undefined || last.ended) return { key: null, part: "", start: draft.length };
  if (last.key === null) {
    const before = tokens.at(-2);
    // “not delivered” is offered as `-state:delivered`.
    return before?.written.toLowerCase() === "not"
      ? { key: null, part: `-${last.written}`, start: before.start }
      : { key: null, part: last.written, start: last.start };
  }
  const listed = last.text.slice(last.key.length + 1);
  const part = /,\s*$/.test(listed) || listed === "" ? "" : (last.values.at(-1) ?? "");
  return { key: last.key, part, start: last.start };
}

/** `seen`: what the store has answered for the word. */
export function suggest(word: Word, filter: Filter, seen: readonly SeenValue[]): Suggestion[] {
  const { key, part } = word;
  if (key === "last")
    return durations
      .filter((value) => value.startsWith(part))
      .map((value) => ({ kind: "value", key, value, count: null }));
  if (key !== null) {
    const taken = filter.values[key] ?? [];
    return matching(seen, part)
      .filter((each) => each.key === keyOf(key) && !taken.includes(each.value))
      .slice(0, most)
      .map(({ value, count }) => ({ kind: "value", key, value, count }));
  }
  const sign = part.startsWith("-") ? "-" : "";
  const wanted = part.slice(sign.length).toLowerCase();
  const keys = filterKeys
    .filter((each) => each.startsWith(wanted))
    .map((each): Suggestion => ({ kind: "key", key: `${sign}${each}`, hint: hints[each] }));
  if (wanted.length < 2) return keys;
  const values = matching(seen, wanted)
    .filter((each) => !(filter.values[`${sign}${each.key}`] ?? []).includes(each.value))
    .map((each): Suggestion => ({ ...each, kind: "value", key: `${sign}${each.key}` }));
  return [...keys, ...values].slice(0, most);
}

const matching = (seen: readonly SeenValue[], part: string): SeenValue[] =>
  seen.filter(({ value }) => value.toLowerCase().includes(soughtIn(part)));

/** Of a name with a star, what is looked for: `order` of `order*`. */
const soughtIn = (part: string): string =>
  (part.split("*").find((each) => each !== "") ?? "").toLowerCase();

/** Which one Enter takes before the arrows have chosen: -1 for none. */
export function firstOf({ key, part }: Word, suggestions: readonly Suggestion[]): number {
  const [first] = suggestions;
  if (key === null || first?.kind !== "value") return -1;
  const isMeantSo = literal.has(keyOf(key)) || part.includes("*");
  if (isMeantSo && part !== "" && first.value !== part) return -1;
  return 0;
}

/** The draft and the filter after a suggestion was chosen. */
export function choose(
  suggestion: Suggestion,
  draft: string,
  filter: Filter,
  goesOn: GoesOn,
): { draft: string; filter: Filter } {
  const before = draft.slice(0, wordAtEnd(draft, goesOn).start);
  if (suggestion.kind === "key") return { draft: `${before}${suggestion.key}:`, filter };
  const written = tokensOf(draft, goesOn).at(-1);
  let next = filter;
  if (written !== undefined && !written.ended && written.key === suggestion.key) {
    for (const value of written.values.slice(0, -1)) next = withValue(next, suggestion.key, value);
  }
  return { draft: before, filter: withValue(next, suggestion.key, suggestion.value) };
}

/** What the store is asked for a word; null when nothing of it would help. */
export function askedFor({ key, part }: Word): Asked | null {
  if (key !== null) return { key: keyOf(key), text: soughtIn(part) };
  const text = part.replace(/^-/, "");
  return text.length < 2 ? null : { text };
}
