/**
 * What became of a message on its way into the payload: members that were added, changed, or
 * spelled in another way.
 */

import type { TreeMark } from "../../kit/code-tree.tsx";
import { keyName, linesInside, type TreeLine } from "../../kit/json-tokens.ts";

export type Json = { text: string; lines: readonly TreeLine[] };

export type PayloadChanges = {
  /** By the place of the value in the payload's text. */
  marks: ReadonlyMap<number, TreeMark>;
  /** Members of the message that the payload does not have. */
  leftOut: string[];
};

/** Members of the payload that have another name in the message. */
const renamed: Readonly<Record<string, string>> = {
  "Previous ID": "previousId",
  "User ID": "userId",
  originalTimestamp: "timestamp",
};

/** Null for a batch, which has several messages. */
export function payloadChanges(raw: Json, payload: Json): PayloadChanges | null {
  if (!payload.text.startsWith("{")) return null;
  const marks = new Map<number, TreeMark>();
  const taken = new Set<string>();
  const before = membersOf(raw, 0);
  for (const [name, line] of membersOf(payload, 0)) {
    const rawName = before.has(name) ? name : (renamed[name] ?? name);
    const from = before.get(rawName);
    taken.add(rawName);
    compare(raw, from, payload, line, marks);
    const value = payload.lines[line]?.value.start ?? 0;
    if (from !== undefined && rawName !== name && !marks.has(value))
      marks.set(value, { kind: "changed", was: rawName });
  }
  return { marks, leftOut: [...before.keys()].filter((name) => !taken.has(name)) };
}

function compare(
  raw: Json,
  from: number | undefined,
  payload: Json,
  at: number,
  marks: Map<number, TreeMark>,
): void {
  const line = payload.lines[at];
  if (line === undefined) return;
  const was = from === undefined ? undefined : raw.lines[from];
  if (was === undefined || from === undefined) {
    marks.set(line.value.start, { kind: "added" });
    for (const inner of linesInside(payload.lines, at))
      compare(raw, undefined, payload, inner, marks);
    return;
  }
  const bracket = payload.text[line.value.start];
  if (line.kind === "open" && was.kind === "open" && raw.text[was.value.start] === bracket) {
    const before = bracket === "{" ? membersOf(raw, from) : itemsOf(raw, from);
    for (const [name, inner] of bracket === "{" ? membersOf(payload, at) : itemsOf(payload, at))
      compare(raw, before.get(name), payload, inner, marks);
    return;
  }
  const spelling = spellingOf(raw, from);
  if (spelling !== spellingOf(payload, at))
    marks.set(line.value.start, {
      kind: "changed",
      was: shortened(spelling, spellingOf(payload, at)),
    });
}

/** The last member of a name is the one that counts. */
function membersOf({ text, lines }: Json, at: number): Map<string, number> {
  const members = new Map<string, number>();
  for (const inner of linesInside(lines, at)) {
    const key = lines[inner]?.key;
    if (key) members.set(keyName(text, key), inner);
  }
  return members;
}

function itemsOf({ lines }: Json, at: number): Map<string, number> {
  return new Map([...linesInside(lines, at)].map((inner, place) => [String(place), inner]));
}

function spellingOf({ text, lines }: Json, at: number): string {
  const line = lines[at] as TreeLine;
  const { start, end } = line.value;
  if (line.kind === "open") return text[start] === "{" ? "an object" : "an array";
  return text.slice(start, end).replace(/^([[{])\s+([\]}])$/, "$1$2");
}

/** What matters is where they differ. */
const longestSpelling = 120;
/** Characters shown of what both have in front of that. */
const shownBefore = 9;

function shortened(was: string, is: string): string {
  const areStrings = was.startsWith('"') && is.startsWith('"');
  const before = areStrings ? was.slice(1, -1) : was;
  const now = areStrings ? is.slice(1, -1) : is;
  let same = 0;
  while (same < before.length && before[same] === now[same]) same++;
  const from = areStrings && same > shownBefore + 2 ? same - shownBefore : 0;
  const shown = before.slice(from, from + longestSpelling);
  return `${from > 0 ? "…" : ""}${shown}${from + longestSpelling < before.length ? "…" : ""}`;
}
