/**
 * The filter of the list in the address, as chips, and while it is written. Its language is that of
 * the control API, `domain/message-filter.ts`.
 */

import {
  type ChipKey,
  chipKeys,
  durationOf,
  type Filter,
  type FilterKey,
  formatFilter,
  formatValues,
  type GoesOn,
  isEmpty,
  isState,
  keyOf,
  tokensOf,
  withValue,
  withValues,
} from "../../../domain/message-filter.ts";

/** Of the address: each key is a member of its own, and the free text is `text`. */
export function filterOf(query: Readonly<Record<string, string>>): Filter {
  let filter: Filter = { values: {}, text: query["text"] ?? "" };
  for (const key of chipKeys) {
    const values = query[key];
    if (values === undefined) continue;
    for (const token of tokensOf(`${key}:${values}`))
      for (const value of token.values) filter = withValue(filter, key, value);
  }
  return filter;
}

/** For the address: members that the filter does not have are null. */
export function queryOf(filter: Filter): Record<string, string | null> {
  const members = chipKeys.map((key): [string, string | null] => {
    const values = filter.values[key] ?? [];
    return [key, values.length === 0 ? null : formatValues(values)];
  });
  return Object.fromEntries([...members, ["text", filter.text === "" ? null : filter.text]]);
}

export function withoutValue(filter: Filter, key: ChipKey, value: string): Filter {
  return withValues(
    filter,
    key,
    (filter.values[key] ?? []).filter((each) => each !== value),
  );
}

/** The last chip's last value goes. */
export function withoutLast(filter: Filter): Filter {
  const key = Object.keys(filter.values).at(-1) as ChipKey | undefined;
  if (key === undefined) return filter;
  return withValues(filter, key, (filter.values[key] ?? []).slice(0, -1));
}

/**
 * What is being written in the field: keys that are complete become chips, what is left stays. With
 * `all`, a key at the end counts as complete.
 */
export function extractChips(
  draft: string,
  filter: Filter,
  { all, goesOn }: { all: boolean; goesOn: GoesOn },
): { filter: Filter; rest: string } {
  let taken = filter;
  let rest = draft;
  for (const token of tokensOf(draft, goesOn).toReversed()) {
    if (token.key === null || token.values.length === 0 || !(all || token.ended)) continue;
    for (const value of token.values) taken = withValue(taken, token.key, value.trim());
    rest =
      rest.slice(0, token.start) + rest.slice(token.start + token.text.length).replace(/^\s/, "");
  }
  return { filter: taken, rest };
}

/** The free text of a draft: all but the keys. */
export function textOf(draft: string, goesOn: GoesOn): string {
  return tokensOf(draft, goesOn)
    .filter(({ key }) => key === null)
    .map(({ written }) => written)
    .join(" ");
}

/** “not delivered” or “last 5 minutes” in the free text as what its writer means, or null. */
export function meantBy(filter: Filter): Filter | null {
  const words = tokensOf(filter.text).map(({ written }) => written);
  for (const [place, word] of words.entries()) {
    const [next = "", unit = ""] = words.slice(place + 1).map((each) => each.toLowerCase());
    const instead = (key: ChipKey, value: string, count: number): Filter => ({
      ...withValue(filter, key, value),
      text: words.toSpliced(place, count).join(" "),
    });
    if (word.toLowerCase() === "not" && isState(next)) return instead("-state", next, 2);
    if (word.toLowerCase() !== "last") continue;
    if (durationOf(next) !== null) return instead("last", next, 2);
    if (/^\D/.test(next) && durationOf(`1${next}`) !== null)
      return instead("last", `1${next.charAt(0)}`, 2);
    if (durationOf(next + unit) !== null) return instead("last", next + unit.charAt(0), 3);
  }
  return null;
}

/** What the API is asked. */
export type ListFilter = { filter?: string };

export const listFilterOf = (filter: Filter): ListFilter =>
  isEmpty(filter) ? {} : { filter: formatFilter(filter) };

/** What a message has when it comes, and keeps. */
const lasting: ReadonlySet<FilterKey> = new Set<FilterKey>([
  ...(["type", "user", "event", "source", "destination"] as const),
  ...(["batch", "since", "until"] as const),
]);

/** What happens to a message after it came can make it match, or match no more. */
export function matchesLater({ values, text }: Filter): boolean {
  return text !== "" || (Object.keys(values) as ChipKey[]).some((key) => !lasting.has(keyOf(key)));
}
