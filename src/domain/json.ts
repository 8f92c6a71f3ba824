export type Json = null | boolean | number | string | Json[] | JsonObject;
export type JsonObject = { [key: string]: Json };

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** For sentences. */
export const brief = (value: Json | undefined): string => cut(JSON.stringify(value ?? null));

export function cut(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

export type Span = { start: number; end: number };

const quote = 0x22;
const comma = 0x2c;
const squareOpen = 0x5b;
const backslash = 0x5c;
/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const bracketBit = 0x20;
const opening = 0x7b;
const closing = 0x7d;

type Measured = {
  /** The greatest nesting of arrays and objects. */
  depth: number;
  /**
   * The first items of the top-level member `batch`, the last one of that name, when it is an
   * array.
   */
  batch: Span[] | null;
  /** Where the last of all its items ends. */
  batchEnd: number;
};

/**
 * Finds the messages of a batch in the bytes of a request, so that each is kept exactly as it came:
 * `maxItems` of them. The bytes must be JSON that JSON.parse accepts; of others, what is found means nothing.
 */
export function measureJson(bytes: Uint8Array, maxItems = Infinity): Measured {
  const length = bytes.length;
  let depth = 0;
  let deepest = 0;
  let batch: Span[] | null = null;
  let batchEnd = 0;
  let itemStart = 0;
  let inBatch = false;
  let topIsObject = false;
  /** At depth 1: the next string is a key, and the last key was `batch`. */
  let keyComes = false;
  let keyIsBatch = false;

  let at = 0;
  while (at < length) {
    const byte = bytes[at++] as number;
    if (byte === quote) {
      const start = at;
      at = afterString(bytes, start);
      if (keyComes) {
        keyComes = false;
        keyIsBatch = spellsBatch(bytes, start, at - 1);
        if (keyIsBatch) batch = null;
      }
    } else if ((byte | bracketBit) === opening) {
      depth++;
      if (depth > deepest) deepest = depth;
      if (depth === 1) {
        topIsObject = byte === opening;
        keyComes = topIsObject;
      } else if (depth === 2 && keyIsBatch && byte === squareOpen) {
        inBatch = true;
        batch = [];
        itemStart = at;
      }
    } else if ((byte | bracketBit) === closing) {
      if (inBatch && depth === 2) {
        inBatch = false;
        if ((batch as Span[]).length < maxItems) addSpan(bytes, batch as Span[], itemStart, at - 1);
        batchEnd = at - 1;
      }
      depth--;
    } else if (byte === comma) {
      if (depth === 2) {
        if (inBatch) {
          if ((batch as Span[]).length < maxItems)
            addSpan(bytes, batch as Span[], itemStart, at - 1);
          itemStart = at;
        }
      } else if (depth === 1) {
        keyComes = topIsObject;
      }
    }
  }
  return { depth: deepest, batch, batchEnd };
}

/** A longer search pays for the call. */
const readOneByOne = 64;

/** After the closing quote of a string that begins here. */
function afterString(bytes: Uint8Array, start: number): number {
  for (let at = start; ;) {
    for (const end = Math.min(at + readOneByOne, bytes.length); at < end;) {
      const byte = bytes[at++];
      if (byte === quote) return at;
      if (byte === backslash) at++;
    }
    const found = at < bytes.length ? bytes.indexOf(quote, at) : -1;
    if (found < 0) return bytes.length;
    let escapes = 0;
    while (found - escapes > at && bytes[found - escapes - 1] === backslash) escapes++;
    at = found + 1;
    if (escapes % 2 === 0) return at;
  }
}

function addSpan(bytes: Uint8Array, spans: Span[], from: number, to: number): void {
  let start = from;
  let end = to;
  while (start < end && (bytes[start] as number) <= 0x20) start++;
  while (end > start && (bytes[end - 1] as number) <= 0x20) end--;
  if (start < end) spans.push({ start, end });
}

const batchKey = [0x62, 0x61, 0x74, 0x63, 0x68];
/** Five characters of `\uXXXX`, the longest way to write it. */
const longestSpelling = 30;

const escaped = /\\u([0-9a-f]{4})/gi;
const letterOf = (_: string, hex: string): string => String.fromCharCode(Number.parseInt(hex, 16));

function spellsBatch(bytes: Uint8Array, start: number, end: number): boolean {
  const size = end - start;
  if (size === batchKey.length)
    return batchKey.every((byte, index) => bytes[start + index] === byte);
  if (size < batchKey.length || size > longestSpelling) return false;
  let spelling = "";
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte >= 0x80) return false;
    spelling += String.fromCharCode(byte);
  }
  return spelling.includes("\\") && spelling.replace(escaped, letterOf) === "batch";
}

export function isDeeperThan(levels: number, value: Json): boolean {
  if (value === null || typeof value !== "object") return false;
  if (levels === 0) return true;
  const inner = Array.isArray(value) ? value : Object.values(value);
  return inner.some((one) => isDeeperThan(levels - 1, one));
}
