/**
 * A filter as text, as chips, and as members of the address.
 *
 *   state:failed,expired user:u_1042 event:"Order Completed" what is left is free text
 *
 * Several values of one key mean any of them. Values with spaces, commas or quotes stand in double
 * quotes.
 */

import type { InputOf } from "../../../contract/contract.ts";
import { statusPattern } from "../../../domain/http-status.ts";
import {
  messageStates,
  messageTypes,
  type MessageState,
  type MessageType,
} from "../../../domain/states.ts";

export const filterKeys = [
  "type",
  "state",
  "user",
  "event",
  "source",
  "status",
  "attempts",
  "reason",
] as const;
export type FilterKey = (typeof filterKeys)[number];

export type Filter = { values: Partial<Record<FilterKey, readonly string[]>>; text: string };

export const noFilter: Filter = { values: {}, text: "" };

/** A word of the text: a key with its values, or free text. */
type Token = {
  key: FilterKey | null;
  values: string[];
  /** Free text; of a key, what was written. */
  text: string;
  start: number;
  /** Something follows, so that nobody is still writing it. */
  ended: boolean;
};

const keyPattern = new RegExp(`^(${filterKeys.join("|")}):`);

export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    while (isSpace(text[at])) at += 1;
    if (at >= text.length) return tokens;
    const start = at;
    const key = (keyPattern.exec(text.slice(start))?.[1] ?? null) as FilterKey | null;
    if (key !== null) at += key.length + 1;
    const values: string[] = [];
    for (;;) {
      const value = readValue(text, at, key !== null);
      values.push(value.text);
      at = value.end;
      if (key === null || text[at] !== ",") break;
      at += 1;
    }
    const written = text.slice(start, at);
    tokens.push({
      key,
      values: values.filter((value) => value !== ""),
      text: key === null ? (values[0] ?? "") : written,
      start,
      ended: at < text.length,
    });
  }
}

function readValue(text: string, from: number, isListed: boolean): { text: string; end: number } {
  if (text[from] === '"') {
    const quoted = /^"((?:[^"\\]|\\.)*)"?/su.exec(text.slice(from));
    if (quoted !== null)
      return { text: (quoted[1] ?? "").replaceAll(/\\(.)/gsu, "$1"), end: from + quoted[0].length };
  }
  let end = from;
  while (end < text.length && !isSpace(text[end]) && !(isListed && text[end] === ",")) end += 1;
  return { text: text.slice(from, end), end };
}

function isSpace(character: string | undefined): boolean {
  return character !== undefined && /\s/u.test(character);
}

export function parseFilter(text: string): Filter {
  let filter = noFilter;
  const words: string[] = [];
  for (const { key, values, text: word } of tokensOf(text)) {
    if (key === null) words.push(word);
    else for (const value of values) filter = withValue(filter, key, value);
  }
  return { ...filter, text: words.join(" ") };
}

export function formatFilter(filter: Filter): string {
  const listed = filterKeys.flatMap((key) => {
    const values = filter.values[key] ?? [];
    return values.length === 0 ? [] : [`${key}:${formatValues(values)}`];
  });
  return [...listed, ...(filter.text === "" ? [] : [formatText(filter.text)])].join(" ");
}

/** Free text so that it reads as the same free text again. */
export function formatText(text: string): string {
  const parsed = parseFilter(text);
  return parsed.text === text && isEmpty({ ...parsed, text: "" }) && !text.includes('"')
    ? text
    : quoted(text);
}

function formatValues(values: readonly string[]): string {
  return values
    .map((value) => (value === "" || /[\s,"]/u.test(value) ? quoted(value) : value))
    .join(",");
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

/** Of the address: each key is a member of its own, and the free text is `text`. */
export function filterOf(query: Readonly<Record<string, string>>): Filter {
  let filter: Filter = { values: {}, text: query["text"] ?? "" };
  for (const key of filterKeys) {
    const values = query[key];
    if (values === undefined) continue;
    for (const token of tokensOf(`${key}:${values}`))
      for (const value of token.values) filter = withValue(filter, key, value);
  }
  return filter;
}

/** For `change`: members of the address that the filter does not have are null. */
export function queryOf(filter: Filter): Record<string, string | null> {
  const members = filterKeys.map((key): [string, string | null] => {
    const values = filter.values[key] ?? [];
    return [key, values.length === 0 ? null : formatValues(values)];
  });
  return Object.fromEntries([...members, ["text", filter.text === "" ? null : filter.text]]);
}

export function isEmpty(filter: Filter): boolean {
  return filter.text === "" && filterKeys.every((key) => (filter.values[key] ?? []).length === 0);
}

export function withValue(filter: Filter, key: FilterKey, value: string): Filter {
  const values = filter.values[key] ?? [];
  return values.includes(value)
    ? filter
    : { ...filter, values: { ...filter.values, [key]: [...values, value] } };
}

export function withoutValue(filter: Filter, key: FilterKey, value: string): Filter {
  return withValues(
    filter,
    key,
    (filter.values[key] ?? []).filter((each) => each !== value),
  );
}

export function withValues(filter: Filter, key: FilterKey, values: readonly string[]): Filter {
  const { [key]: _, ...rest } = filter.values;
  return { ...filter, values: values.length === 0 ? rest : { ...rest, [key]: values } };
}

/** The last chip's last value goes. */
export function withoutLast(filter: Filter): Filter {
  const key = Object.keys(filter.values).at(-1) as FilterKey | undefined;
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
  all: boolean,
): { filter: Filter; rest: string } {
  let taken = filter;
  let rest = draft;
  for (const token of tokensOf(draft).toReversed()) {
    if (token.key === null || token.values.length === 0 || !(all || token.ended)) continue;
    for (const value of token.values) taken = withValue(taken, token.key, value);
    rest =
      rest.slice(0, token.start) + rest.slice(token.start + token.text.length).replace(/^\s/, "");
  }
  return { filter: taken, rest };
}

/** The free text of a draft: all but the keys. */
export function textOf(draft: string): string {
  return tokensOf(draft)
    .filter(({ key }) => key === null)
    .map(({ text }) => text)
    .join(" ");
}

export type ListFilter = Omit<InputOf<"messages.list">, "limit" | "cursor">;

type NamedSource = { id: string; name: string };

/** No source has this id, so a filter for a source that is not there finds nothing. */
const noSource = "src_000000000";

/**
 * From what a user wrote in the filter to what the API is asked; what cannot be asked becomes a
 * sentence.
 */
export function listFilterOf(
  { values, text }: Filter,
  sources: readonly NamedSource[],
): ListFilter {
  const sourceIds = values.source?.flatMap((value) => {
    const named = sources
      .filter(({ id, name }) => id === value || sameText(name, value))
      .map(({ id }) => id);
    return named.length === 0 ? [noSource] : named;
  });
  return {
    ...(values.type === undefined ? {} : { type: values.type.filter(isType) }),
    ...(values.state === undefined ? {} : { state: values.state.filter(isState) }),
    ...(values.user === undefined ? {} : { userId: [...values.user] }),
    ...(values.event === undefined ? {} : { event: [...values.event] }),
    ...(sourceIds === undefined ? {} : { sourceId: sourceIds }),
    ...(values.status === undefined
      ? {}
      : { status: values.status.map((value) => value.toLowerCase()) }),
    ...(values.attempts === undefined ? {} : { attempts: [...values.attempts] }),
    ...(values.reason === undefined ? {} : { reason: [...values.reason] }),
    ...(text === "" ? {} : { search: text }),
  };
}

/** What stands in the way of asking, or null. */
export function problemOf({ values }: Filter): string | null {
  const type = values.type?.find((value) => !isType(value));
  if (type !== undefined)
    return `Unknown type “${type}”. The types are ${messageTypes.join(", ")}.`;
  const state = values.state?.find((value) => !isState(value));
  if (state !== undefined)
    return `Unknown state “${state}”. The states are ${messageStates.join(", ")}.`;
  const status = values.status?.find((value) => !statusPattern.test(value.toLowerCase()));
  if (status !== undefined)
    return `“${status}” is not a status. Use a status such as 503, or 5xx for the whole class.`;
  const attempts = values.attempts?.find((value) => !/^(?:[<>]=?)?\d{1,6}$/.test(value));
  if (attempts !== undefined)
    return `“${attempts}” is not a number of attempts. Use 3, >3, >=3, <3 or <=3.`;
  return null;
}

/** What happens to a message after it came can make it match, or match no more. */
export function matchesLater({ values }: Filter): boolean {
  return (
    values.state !== undefined ||
    values.status !== undefined ||
    values.attempts !== undefined ||
    values.reason !== undefined
  );
}

function isType(value: string): value is MessageType {
  return (messageTypes as readonly string[]).includes(value);
}

function isState(value: string): value is MessageState {
  return (messageStates as readonly string[]).includes(value);
}

function sameText(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
