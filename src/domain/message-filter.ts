/**
 * The language in which messages are filtered, in the inspector and in the control API.
 *
 *   state:failed,expired -type:track event:"Order Completed" last:5m cart -refund
 *
 * Several values of one key mean any of them; a `-` in front of a key or a word leaves out what
 * matches. What is no key is free text: all of its words have to be found. Values and words with
 * spaces, commas or quotes stand in double quotes.
 */

import { askedStatusPattern } from "./http-status.ts";
import { messageIds } from "./ids.ts";
import {
  planStates,
  messageStates,
  messageTypes,
  outcomes,
  type MessageState,
  type MessageType,
  type Outcome,
} from "./states.ts";

export const filterKeys = [
  "event",
  "user",
  "state",
  "status",
  "outcome",
  "last",
  "type",
  "source",
  "destination",
  "webhook",
  "attempts",
  "reason",
  "plan",
  "batch",
  "since",
  "until",
] as const;
export type FilterKey = (typeof filterKeys)[number];

/** A key, or a key whose values are left out. */
export type ChipKey = FilterKey | `-${FilterKey}`;

export const chipKeys: readonly ChipKey[] = [
  ...filterKeys,
  ...filterKeys.map((key): ChipKey => `-${key}`),
];

export const keyOf = (key: ChipKey): FilterKey => key.replace(/^-/, "") as FilterKey;

/** Of these a filter has one value. */
const singleKeys: ReadonlySet<ChipKey> = new Set<ChipKey>(["last", "since", "until"]);

/** The free text is kept as it was written. */
export type Filter = { values: Partial<Record<ChipKey, readonly string[]>>; text: string };

export const noFilter: Filter = { values: {}, text: "" };

/** A word of the text: a key with its values, or free text. */
type Token = {
  key: ChipKey | null;
  /** A word that looks like a key, and is none. */
  unknown: string | null;
  values: string[];
  /** Free text without its quotes and its sign; of a key, what was written. */
  text: string;
  written: string;
  start: number;
  /** Something follows, so that nobody is still writing it. */
  ended: boolean;
};

/**
 * Whether a value may go on behind a space or a comma, so that a name needs no quotes while it is
 * written.
 */
export type GoesOn = (key: ChipKey, value: string) => boolean;

/** What else people write for a key. */
const aliases: Readonly<Record<string, FilterKey>> = {
  userid: "user",
  anonymousid: "user",
  from: "source",
  to: "destination",
  url: "webhook",
};

const keyPattern = new RegExp(
  `^([-!]?)(${[...filterKeys, ...Object.keys(aliases)].join("|")}):`,
  "i",
);
/** Not an address, and not a time of day. */
const unknownPattern = /^-?([a-z][\w.-]*):(?!\/\/)/i;

export function tokensOf(text: string, goesOn: GoesOn = () => false): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  for (;;) {
    while (isSpace(text[at])) at += 1;
    if (at >= text.length) return tokens;
    const start = at;
    const begin = keyPattern.exec(text.slice(start));
    const key = begin === null ? null : keyNamed(begin);
    const values: string[] = [];
    if (begin !== null) at += begin[0].length;
    else if (text[at] === "-" && at + 1 < text.length && !isSpace(text[at + 1])) at += 1;
    for (;;) {
      const value = readValue(text, at, key, goesOn);
      values.push(value.text);
      at = value.end;
      if (key === null || text[at] !== ",") break;
      at += 1;
    }
    const written = text.slice(start, at);
    tokens.push({
      key,
      unknown: key === null ? (unknownPattern.exec(written)?.[1] ?? null) : null,
      values: key === null ? [] : values.filter((value) => value !== ""),
      text: key === null ? (values[0] ?? "") : written,
      written,
      start,
      ended: at < text.length,
    });
  }
}

function keyNamed([, sign = "", name = ""]: RegExpExecArray): ChipKey {
  const key = aliases[name.toLowerCase()] ?? (name.toLowerCase() as FilterKey);
  return sign === "" ? key : `-${key}`;
}

function readValue(
  text: string,
  from: number,
  key: ChipKey | null,
  goesOn: GoesOn,
): { text: string; end: number } {
  if (text[from] === '"') {
    const quoted = /^"((?:[^"\\]|\\(?:.|$))*)"?/su.exec(text.slice(from));
    if (quoted !== null)
      return { text: (quoted[1] ?? "").replaceAll(/\\(.)/gsu, "$1"), end: from + quoted[0].length };
  }
  let end = from;
  for (; end < text.length; end += 1) {
    const isComma = key !== null && text[end] === ",";
    if (!isComma && !isSpace(text[end])) continue;
    const next = /^(?:,|\s+)[^\s,]*/.exec(text.slice(end))?.[0] ?? "";
    if (key === null || end === from || !goesOn(key, text.slice(from, end) + next)) break;
  }
  return { text: text.slice(from, end), end };
}

function isSpace(character: string | undefined): boolean {
  return character !== undefined && /\s/u.test(character);
}

export function parseFilter(text: string, goesOn?: GoesOn): Filter {
  let filter = noFilter;
  const words: string[] = [];
  for (const { key, values, written } of tokensOf(text, goesOn)) {
    if (key === null) words.push(written);
    else for (const value of values) filter = withValue(filter, key, value);
  }
  return { ...filter, text: words.join(" ") };
}

export function formatFilter(filter: Filter): string {
  const listed = chipKeys.flatMap((key) => {
    const values = filter.values[key] ?? [];
    return values.length === 0 ? [] : [`${key}:${formatValues(values)}`];
  });
  return [...listed, ...(filter.text === "" ? [] : [filter.text])].join(" ");
}

export function formatValues(values: readonly string[]): string {
  return values
    .map((value) => (value === "" || /[\s,"]/u.test(value) ? quoted(value) : value))
    .join(",");
}

function quoted(value: string): string {
  return `"${value.replaceAll(/["\\]/g, "\\$&")}"`;
}

export function isEmpty(filter: Filter): boolean {
  return filter.text === "" && chipKeys.every((key) => (filter.values[key] ?? []).length === 0);
}

const knownValues: Partial<Record<FilterKey, readonly string[]>> = {
  type: messageTypes,
  state: messageStates,
  outcome: outcomes,
  plan: planStates,
};

/**
 * Of a key with known values, the only one that begins like this; `2+` attempts are `>=2`.
 */
function completed(key: FilterKey, written: string): string {
  if (key === "attempts") return written.replace(/^(\d+)\+$/, ">=$1");
  const begin = written.toLowerCase();
  const found = knownValues[key]?.filter((known) => known.startsWith(begin)) ?? [];
  return begin !== "" && found.length === 1 ? (found[0] ?? written) : written;
}

export function withValue(filter: Filter, key: ChipKey, written: string): Filter {
  const value = completed(keyOf(key), written);
  const values = singleKeys.has(key) ? [] : (filter.values[key] ?? []);
  return values.includes(value) ? filter : withValues(filter, key, [...values, value]);
}

export function withValues(filter: Filter, key: ChipKey, values: readonly string[]): Filter {
  if (values.length > 0) return { ...filter, values: { ...filter.values, [key]: values } };
  const { [key]: _, ...rest } = filter.values;
  return { ...filter, values: rest };
}

/** Whether a name is meant, in any case: `order*` means all that begin with it. */
export function nameTest(wanted: string): (name: string) => boolean {
  const [begin = "", ...rest] = wanted.toLowerCase().split("*");
  const end = rest.pop();
  if (end === undefined) return (name) => name.toLowerCase() === begin;
  return (name) => {
    const text = name.toLowerCase();
    if (!text.startsWith(begin) || !text.endsWith(end)) return false;
    let at = begin.length;
    for (const part of rest) {
      const found = text.indexOf(part, at);
      if (found === -1) return false;
      at = found + part.length;
    }
    return at <= text.length - end.length;
  };
}

/** Which numbers are asked for: `503`, `5xx` for the whole class, `>=500`, also behind `last=`. */
export function numberTest(wanted: string): (value: number) => boolean {
  const [, sign = "", digits = ""] = /^(?:last=)?([<>]=?)?(.+)$/.exec(wanted) ?? [];
  const from = Number(digits.replace("xx", "00"));
  const to = digits.endsWith("xx") ? from + 99 : from;
  return (value) =>
    (value >= from && value <= to && sign !== "<" && sign !== ">") ||
    (value > to && sign.startsWith(">")) ||
    (value < from && sign.startsWith("<"));
}

/** Of free text: each is looked for in every message. */
const maxWords = 50;

/** The words of the free text: those that have to be found, and those that must not. */
export function wordsOf(text: string): { all: string[]; none: string[] } {
  const words = { all: [] as string[], none: [] as string[] };
  for (const token of tokensOf(text)) {
    if (token.key !== null || token.text === "") continue;
    const isNegated = token.written.startsWith("-") && token.text !== token.written;
    (isNegated ? words.none : words.all).push(token.text);
  }
  return words;
}

/** Why a filter cannot be asked, in a sentence; or null. */
export function problemOf({ values, text }: Filter): string | null {
  for (const key of chipKeys) {
    for (const value of values[key] ?? []) {
      const problem = problemOfValue(keyOf(key), value);
      if (problem !== null) return problem;
    }
  }
  for (const key of ["last", "since", "until"] as const)
    if (values[`-${key}`] !== undefined) return `“${key}” cannot be left out. Use since or until.`;
  const words = tokensOf(text);
  if (words.length > maxWords)
    return `A filter has at most ${maxWords} words of free text. Put a sentence in double quotes: it is one word.`;
  const unknown = words.find((token) => token.unknown !== null);
  if (unknown === undefined) return null;
  return `Unknown key “${unknown.unknown}”. The keys are ${filterKeys.join(", ")}. To search for the text, write "${unknown.written.replaceAll('"', "")}" in quotes.`;
}

function problemOfValue(key: FilterKey, value: string): string | null {
  switch (key) {
    case "type":
      return isType(value)
        ? null
        : `Unknown type “${value}”. The types are ${messageTypes.join(", ")}.`;
    case "state":
      return isState(value)
        ? null
        : `Unknown state “${value}”. The states are ${messageStates.join(", ")}.`;
    case "outcome":
      return isOutcome(value)
        ? null
        : `Unknown outcome “${value}”. The outcomes are ${outcomes.join(", ")}.`;
    case "plan":
      return isPlanState(value)
        ? null
        : `“${value}” says nothing of a plan. Use ok, violations, or none for messages that were not checked.`;
    case "status":
      if (isOutcome(value)) return `“${value}” is an outcome. Use outcome:${value}.`;
      return askedStatusPattern.test(value.toLowerCase())
        ? null
        : `“${value}” is not a status. Use a status such as 503, 5xx for the whole class, >=500, or last=503 for the newest.`;
    case "attempts":
      return /^(?:[<>]=?)?\d{1,6}$/.test(value)
        ? null
        : `“${value}” is not a number of attempts. Use 3, >3, >=3, <3 or <=3.`;
    case "last":
      return durationOf(value) === null
        ? `“${value}” is not a duration. Use 30s, 5m, 2h or 1d.`
        : null;
    case "since":
    case "until":
      return timeOf(value, 0) === null
        ? `“${value}” is not a time. Use 10:30, yesterday, 2026-11-21 or 2026-11-21T10:30.`
        : null;
    case "batch":
      return messageIds.parse(value) === null
        ? `“${value}” is not the id of a message. A batch is named by any of its messages.`
        : null;
    default:
      return null;
  }
}

const unitMs: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const units = "s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:ours?)?|d(?:ays?)?";
const durationPattern = new RegExp(`^(?:\\d{1,6}(?:${units})){1,4}$`, "i");

/** `30s`, `5m` or `5min`, `1h30m`, in milliseconds; null for anything else. */
export function durationOf(text: string): number | null {
  if (!durationPattern.test(text)) return null;
  return [...text.matchAll(/(\d+)([smhd])/gi)].reduce(
    (sum, [, n, unit = ""]) => sum + Number(n) * (unitMs[unit.toLowerCase()] ?? 0),
    0,
  );
}

/** A time of today, a day, or both, in the machine's time zone unless it names one. */
export function timeOf(text: string, now: number): number | null {
  const daysBack = ["today", "yesterday"].indexOf(text.toLowerCase());
  if (daysBack >= 0) {
    const day = new Date(new Date(now).setHours(0, 0, 0, 0));
    return day.setDate(day.getDate() - daysBack);
  }
  if (/^\d{1,2}:\d{2}(?::\d{2})?$/.test(text)) {
    const [hours = 0, minutes = 0, seconds = 0] = text.split(":").map(Number);
    if (hours > 23 || minutes > 59 || seconds > 59) return null;
    return new Date(now).setHours(hours, minutes, seconds, 0);
  }
  if (!/^\d{4}-\d\d-\d\d/.test(text)) return null;
  const at = Date.parse(text.length === 10 ? `${text}T00:00` : text.replace(" ", "T"));
  return Number.isNaN(at) ? null : at;
}

export function isType(value: string): value is MessageType {
  return (messageTypes as readonly string[]).includes(value);
}

export function isState(value: string): value is MessageState {
  return (messageStates as readonly string[]).includes(value);
}

export function isPlanState(value: string): value is (typeof planStates)[number] {
  return (planStates as readonly string[]).includes(value);
}

export function isOutcome(value: string): value is Outcome {
  return (outcomes as readonly string[]).includes(value);
}
