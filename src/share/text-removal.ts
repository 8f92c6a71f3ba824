/**
 * Replaces texts wherever they are: as they are, escaped, percent-encoded, in base64 and in hex; in
 * sentences of Hookyard also what is left of one that was cut.
 */

import { leftOut } from "../domain/credentials.ts";
import { maxText } from "../engine/plans/violations.ts";

/** A shorter one is a part of many words. */
export const shortest = 4;
export const shortestRedacted = 6;

/** Every way in which programs write a text into another one. */
function spellings(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const hex = bytes.toString("hex");
  const json = (text: string): string => JSON.stringify(text).slice(1, -1);
  const ascii = (text: string): string =>
    text.replaceAll(
      /[^\x20-\x7e]/g,
      (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  const lower = (text: string): string =>
    text.replaceAll(/%[0-9A-F]{2}/g, (code) => code.toLowerCase());
  const percent = encodeURIComponent(secret);
  const form = new URLSearchParams({ a: secret }).toString().slice(2);
  const html = secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const inJson = [json(secret), ascii(json(secret)), ascii(json(secret)).replaceAll("/", "\\/")];
  return [
    secret,
    ...inJson,
    ...inJson.map(json),
    ...[percent, form, encodeURIComponent(percent)].flatMap((each) => [each, lower(each)]),
    html,
    html.replaceAll('"', "&quot;").replaceAll("'", "&#39;"),
    hex,
    hex.toUpperCase(),
    ...["", ":"].map((end) => Buffer.from(`${secret}${end}`).toString("base64")),
    ...[0, 1, 2].flatMap((offset) => withinBase64(bytes, offset)),
  ];
}

/** What is the same in the base64 of every text that has the secret at this offset. */
function withinBase64(secret: Buffer, offset: number): string[] {
  const text = Buffer.concat([Buffer.alloc(offset), secret]).toString("base64url");
  const own = text.slice(
    Math.ceil((offset * 8) / 6),
    Math.floor(((offset + secret.length) * 8) / 6),
  );
  return own.length < 6 ? [] : [own, own.replaceAll("-", "+").replaceAll("_", "/")];
}

/** `cuts`: where a value may have been cut. */
export type Text = (value: string, cuts?: RegExp) => string;

/** As older versions recorded it: the first 100 characters of an event, without a mark. */
const cutEvent = String.raw`(?:\\ud[89ab]..)?(?=" is not in the plan)(?<="(?:[^"\\]|\\.){100,})`;
/** Half a character may be left in front of a cut. */
const cuts = new RegExp(String.raw`[\uD800-\uDBFF\uFFFD]?…|${cutEvent}`, "g");
const cutsAndEnd = new RegExp(String.raw`[\uD800-\uDBFF\uFFFD]?(?:…|$)|${cutEvent}`, "g");

export const cutsIn = (sentence: string): RegExp => (sentence.length < maxText ? cuts : cutsAndEnd);

type Removal = {
  add(secret: string): void;
  /** Looks once at each place, however many secrets there are. */
  text: Text;
};

/** Sentences show fewer characters of a value. */
const maxCut = 100;

export function withoutSecrets(secrets: readonly string[]): Text {
  if (secrets.length === 0) return (value) => value;
  const { add, text } = createRemoval(secrets.length > 8);
  for (const secret of new Set(secrets)) add(secret);
  return text;
}

export function createRemoval(isLarge: boolean): Removal {
  /** By the first characters: the texts of each length, the longest first. */
  const byStart = new Map<string, { length: number; texts: Set<string> }[]>();
  const all: string[] = [];
  let isSorted = false;
  const isStart = new Uint8Array(isLarge ? 65_536 : 2048);
  const mask = isStart.length - 1;
  const startAt = (value: string, at: number): number =>
    ((value.charCodeAt(at) * 31 + value.charCodeAt(at + 1)) * 31 + value.charCodeAt(at + 2)) & mask;
  function add(secret: string): void {
    for (const text of spellings(secret)) {
      const { length } = text;
      if (length < shortest) continue;
      all.push(text);
      isSorted = false;
      const start = text.slice(0, shortest);
      isStart[startAt(text, 0)] = 1;
      const group = byStart.get(start) ?? [];
      const same = group.find((each) => each.length === length);
      if (same !== undefined) same.texts.add(text);
      else {
        group.push({ length, texts: new Set([text]) });
        byStart.set(
          start,
          group.sort((a, b) => b.length - a.length),
        );
      }
    }
  }
  function isStartOfOne(part: string): boolean {
    if (!isSorted) all.sort();
    isSorted = true;
    let [low, high] = [0, all.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((all[middle] as string) < part) low = middle + 1;
      else high = middle;
    }
    return all[low]?.startsWith(part) ?? false;
  }
  function withoutCut(value: string, cuts: RegExp): string {
    let clean = "";
    let from = 0;
    for (const { index } of value.matchAll(cuts))
      for (let at = Math.max(from, index - maxCut); at + shortestRedacted <= index; at += 1) {
        if (!isStartOfOne(value.slice(at, index))) continue;
        clean += value.slice(from, at) + leftOut;
        from = index;
        break;
      }
    return clean + value.slice(from);
  }
  function text(value: string, cuts?: RegExp): string {
    const rest = withoutWhole(value);
    return cuts === undefined ? rest : withoutCut(rest, cuts);
  }
  function withoutWhole(value: string): string {
    let clean = "";
    let from = 0;
    for (let at = 0; at + shortest <= value.length; at += 1) {
      if (isStart[startAt(value, at)] === 0) continue;
      const found = byStart
        .get(value.slice(at, at + shortest))
        ?.find(({ length, texts }) => texts.has(value.slice(at, at + length)));
      if (found === undefined) continue;
      clean += value.slice(from, at) + leftOut;
      from = at + found.length;
      at = from - 1;
    }
    return from === 0 ? value : clean + value.slice(from);
  }
  return { add, text };
}
