/** The same JSON, spelled in the ways in which the usual libraries of receivers write it. */

import { isDeeperThan, isObject, type Json } from "./json.ts";

const aspects = [
  "key_order",
  "spaces",
  "escaped_non_ascii",
  "escaped_html",
  "escaped_slash",
  "number_spelling",
  "trailing_newline",
] as const;
export type Aspect = (typeof aspects)[number];

type Spelling = { text: string; aspects: Aspect[] };

type Style = {
  sorted: boolean;
  /** Between items, after a colon, and one step of indentation (null: all on one line). */
  itemGap: string;
  keyGap: string;
  indent: string | null;
  string: (value: string) => string;
  number: (value: number) => string;
};

const orders: [boolean, Aspect[]][] = [
  [false, []],
  [true, ["key_order"]],
];

const layouts: [Pick<Style, "itemGap" | "keyGap" | "indent">, Aspect[]][] = [
  [{ itemGap: ",", keyGap: ":", indent: null }, []],
  [{ itemGap: ", ", keyGap: ": ", indent: null }, ["spaces"]],
  [{ itemGap: ",", keyGap: ": ", indent: "  " }, ["spaces"]],
  [{ itemGap: ",", keyGap: ": ", indent: "    " }, ["spaces"]],
  [{ itemGap: ",", keyGap: ": ", indent: "\t" }, ["spaces"]],
];

/** Below this, indentation would be most of the text: nobody's receiver is looked for there. */
const maxIndentedDepth = 16;

const plainString = (value: string): string => JSON.stringify(value);
const unicodeEscape = (unit: string): string =>
  `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
const escapeNonAscii = (value: string): string =>
  plainString(value).replace(/[\u0080-\uffff]/g, unicodeEscape);
const escapeHtml = (value: string): string =>
  plainString(value).replace(/[<>&\u2028\u2029]/g, unicodeEscape);
const escapeSlash = (value: string): string => plainString(value).replaceAll("/", "\\/");

const strings: [Style["string"], Aspect[]][] = [
  [plainString, []],
  [escapeNonAscii, ["escaped_non_ascii"]],
  [escapeHtml, ["escaped_html"]],
  [escapeSlash, ["escaped_slash"]],
  [(value) => escapeNonAscii(value).replaceAll("/", "\\/"), ["escaped_non_ascii", "escaped_slash"]],
  [
    (value) => escapeNonAscii(value).replace(/[<>&]/g, unicodeEscape),
    ["escaped_non_ascii", "escaped_html"],
  ],
];

const plainNumber = (value: number): string => JSON.stringify(value);

const numbers: [Style["number"], Aspect[]][] = [
  [plainNumber, []],
  // Every number a floating one, as libraries write them that read into doubles: 1.0.
  [
    (value) =>
      Number.isInteger(value) && Math.abs(value) < 1e21 ? `${value}.0` : plainNumber(value),
    ["number_spelling"],
  ],
  [pythonNumber, ["number_spelling"]],
];

/** Python writes an exponent from 1e-05 downwards, and with two digits. */
function pythonNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 1e-4) return plainNumber(value);
  return value.toExponential().replace(/e-(\d)$/, "e-0$1");
}

const endings: [string, Aspect[]][] = [
  ["", []],
  ["\n", ["trailing_newline"]],
  ["\r\n", ["trailing_newline"]],
];

/** All the spellings that differ from each other, the plainest first. */
export function* spellings(value: Json): Generator<Spelling> {
  const plain: Style = {
    sorted: false,
    itemGap: ",",
    keyGap: ":",
    indent: null,
    string: plainString,
    number: plainNumber,
  };
  const compact = write(value, plain, "");
  /** Choices that change nothing here would only repeat what others give. */
  const useful = <T>(choices: [T, Aspect[]][], style: (choice: T) => Style): [T, Aspect[]][] =>
    choices.filter(
      ([choice, changed]) => changed.length === 0 || write(value, style(choice), "") !== compact,
    );
  const usefulOrders = useful(orders, (sorted) => ({ ...plain, sorted }));
  const usefulStrings = useful(strings, (string) => ({ ...plain, string }));
  const usefulNumbers = useful(numbers, (number) => ({ ...plain, number }));
  const isDeep = isDeeperThan(maxIndentedDepth, value);
  const usefulLayouts = layouts.filter(([{ indent }]) => indent === null || !isDeep);
  const combined = usefulOrders.flatMap(([sorted, inOrder]) =>
    usefulLayouts.flatMap(([layout, inLayout]) =>
      usefulStrings.flatMap(([string, inStrings]) =>
        usefulNumbers.flatMap(([number, inNumbers]) =>
          endings.map(([ending, inEnding]) => ({
            style: { sorted, ...layout, string, number },
            ending,
            aspects: [...inOrder, ...inLayout, ...inStrings, ...inNumbers, ...inEnding],
          })),
        ),
      ),
    ),
  );
  combined.sort((a, b) => a.aspects.length - b.aspects.length);
  for (const { style, ending, aspects: changed } of combined)
    yield { text: write(value, style, "") + ending, aspects: changed };
}

function write(value: Json, style: Style, margin: string): string {
  if (typeof value === "string") return style.string(value);
  if (typeof value === "number") return style.number(value);
  if (Array.isArray(value)) {
    const inner = style.indent === null ? "" : margin + style.indent;
    return enclose(
      "[",
      value.map((item) => write(item, style, inner)),
      "]",
      style,
      margin,
    );
  }
  if (isObject(value)) {
    const inner = style.indent === null ? "" : margin + style.indent;
    const keys = style.sorted ? Object.keys(value).sort() : Object.keys(value);
    const members = keys.map(
      (key) => `${style.string(key)}${style.keyGap}${write(value[key] as Json, style, inner)}`,
    );
    return enclose("{", members, "}", style, margin);
  }
  return String(value);
}

function enclose(
  open: string,
  parts: string[],
  close: string,
  style: Style,
  margin: string,
): string {
  if (parts.length === 0 || style.indent === null) return open + parts.join(style.itemGap) + close;
  const inner = `\n${margin}${style.indent}`;
  return `${open}${inner}${parts.join(style.itemGap + inner)}\n${margin}${close}`;
}

const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|[[\]{}:,]|true|false|null|\s+/g;

/**
 * Which aspects two spellings of JSON differ in, or null when they do not say the same. Both must
 * parse.
 */
export function differingAspects(ours: string, theirs: string): Aspect[] | null {
  const left = JSON.parse(ours) as Json;
  const right = JSON.parse(theirs) as Json;
  if (sortedSpelling(left) !== sortedSpelling(right)) return null;
  const mine = tokensOf(ours.trimEnd());
  const other = tokensOf(theirs.trimEnd());
  const found = new Set<Aspect>();
  if (JSON.stringify(left) !== JSON.stringify(right)) found.add("key_order");
  if (mine.spaces !== other.spaces) found.add("spaces");
  if (mine.numbers !== other.numbers) found.add("number_spelling");
  const ourStrings = new Set(mine.strings);
  for (const token of other.strings) {
    if (ourStrings.has(token)) continue;
    if (/\\u00(?:3[cCeE]|26)/.test(token)) found.add("escaped_html");
    if (token.includes("\\/")) found.add("escaped_slash");
    if (/\\u(?!00[0-7])/i.test(token)) found.add("escaped_non_ascii");
  }
  if (ours.trimEnd() !== ours || theirs.trimEnd() !== theirs) found.add("trailing_newline");
  return aspects.filter((aspect) => found.has(aspect));
}

function sortedSpelling(value: Json): string {
  return write(
    value,
    {
      sorted: true,
      itemGap: ",",
      keyGap: ":",
      indent: null,
      string: plainString,
      number: plainNumber,
    },
    "",
  );
}

function tokensOf(text: string): { spaces: string; numbers: string; strings: string[] } {
  const all = text.match(tokens) ?? [];
  return {
    spaces: all
      .filter((token) => /^\s/.test(token))
      .sort()
      .join("|"),
    numbers: all
      .filter((token) => /^[-\d]/.test(token))
      .sort()
      .join("|"),
    strings: all.filter((token) => token.startsWith('"')),
  };
}
