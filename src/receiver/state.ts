/**
 * The part of a receiver's answer that is about one user or one run, so that two parts can be
 * compared. Called by the expectation `sameAs` of scenarios, and by searches, which also count
 * effects in it: a part of a long answer is counted quickly.
 */

import { isObject, type Json } from "../domain/json.ts";
import { isMentioned, parseJson, type Contains } from "./effects.ts";

/**
 * The part of an answer that mentions the token: lines, elements of arrays, or members of an object
 * that has none of its own. As often in it as in the whole.
 */
export function partAbout(text: string, token: string): string {
  return partsIn(text)(token);
}

/** For many tokens the text is read once. */
export function partsIn(text: string): (token: string) => string {
  const document = parseJson(text);
  const lines = document === undefined ? text.split(/\r\n|\r|\n/) : [];
  return (token) => {
    const contains = (one: string): boolean => one.includes(token);
    if (document === undefined) return lines.filter(contains).join("\n");
    return isMentioned(document, contains) ? JSON.stringify(partOf(document, contains, false)) : "";
  };
}

function partOf(value: Json, contains: Contains, isElement: boolean): Json {
  const isPlain = (one: Json): boolean => one === null || typeof one !== "object";
  if (Array.isArray(value)) {
    if (isElement && value.some(isPlain)) return value;
    return value
      .filter((one) => isMentioned(one, contains))
      .map((one) => partOf(one, contains, true));
  }
  if (!isObject(value)) return value;
  const entries = Object.entries(value);
  if (entries.some(([, member]) => isPlain(member) && isMentioned(member, contains))) return value;
  const about = entries.filter(([name, member]) => contains(name) || isMentioned(member, contains));
  return Object.fromEntries(
    about.map(([name, member]) => [
      name,
      contains(name) ? member : partOf(member, contains, false),
    ]),
  );
}

/**
 * For comparing two parts: without the token, without what may differ, and in an order of its own.
 */
export function stateOf(part: string, token: string, ignore: readonly string[]): string {
  const text = part.replaceAll(token, "{{token}}");
  const document = parseJson(text);
  return document === undefined
    ? text.split("\n").toSorted().join("\n")
    : JSON.stringify(inOrder(document, ignore));
}

/** Of both, so much that what differs is seen. */
const shownLength = 200;
const shownBefore = 60;

export function whereDifferent(one: string, other: string): [string, string] {
  let at = 0;
  while (at < one.length && one[at] === other[at]) at += 1;
  const from = at + shownBefore > shownLength ? at - shownBefore : 0;
  const cut = (text: string): string =>
    `${from > 0 ? "…" : ""}${text.slice(from, from + shownLength)}${text.length > from + shownLength ? "…" : ""}`;
  return [cut(one), cut(other)];
}

function inOrder(value: Json, ignore: readonly string[]): Json {
  if (Array.isArray(value))
    return value
      .map((one) => inOrder(one, ignore))
      .toSorted((one, other) => compare(JSON.stringify(one), JSON.stringify(other)));
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([name]) => !ignore.includes(name));
  return Object.fromEntries(
    kept
      .toSorted(([one], [other]) => compare(one, other))
      .map(([name, member]) => [name, inOrder(member, ignore)]),
  );
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
