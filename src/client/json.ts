/**
 * JSON as Go's encoding/json writes it: members of an object sorted by the bytes of their names,
 * and `<`, `>`, `&` and the two line separators of Unicode escaped in strings. What cannot be JSON
 * is treated as `JSON.stringify` does, but a bigint is written in full.
 */

/**
 * Hookyard's ingest takes 500 levels a request, some of which are the batch's and the message's
 * own.
 */
export const deepest = 490;

export class TooDeepError extends Error {}

/** Undefined when the value has no JSON, as a function has none. */
export function encodeJson(value: unknown, depth = 0): string | undefined {
  switch (typeof value) {
    case "string":
      return encodeString(value);
    case "number":
      return Number.isFinite(value) ? String(value) : "null";
    case "boolean":
    case "bigint":
      return String(value);
    case "object":
      return value === null ? "null" : encodeObject(value, depth);
    default:
      return undefined;
  }
}

function encodeObject(value: object, depth: number): string | undefined {
  // An object that refers to itself ends here too.
  if (depth > deepest) throw new TooDeepError();
  if (isRawJson(value)) return value.rawJSON;
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const instead: unknown = value.toJSON();
    if (instead !== value) return encodeJson(instead, depth + 1);
  }
  if (Array.isArray(value))
    return `[${Array.from(value, (item) => encodeJson(item, depth + 1) ?? "null").join(",")}]`;
  let members = "";
  for (const name of sortedNames(value)) {
    const encoded = encodeJson((value as Record<string, unknown>)[name], depth + 1);
    if (encoded === undefined) continue;
    members += `${members === "" ? "" : ","}${encodeString(name)}:${encoded}`;
  }
  return `{${members}}`;
}

/** TypeScript does not know it yet. */
const { isRawJSON: isRawJson } = JSON as typeof JSON & {
  isRawJSON(value: object): value is { rawJSON: string };
};

/** A number that cannot hold the digits of its text was a bigint in the call. */
export function parseJson(json: string): unknown {
  return JSON.parse(json, ((_: string, value: unknown, { source }: { source: string }) =>
    typeof value === "number" && String(value) !== source && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value) as Parameters<typeof JSON.parse>[1]);
}

const special = /["\\<>&\u0000-\u001f\u2028\u2029\ud800-\udfff]/;
const escapedByGo = /[<>&\u2028\u2029]/g;
const escapes: Record<string, string> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029",
};

export function encodeString(text: string): string {
  if (!special.test(text)) return `"${text}"`;
  return JSON.stringify(text.toWellFormed()).replace(
    escapedByGo,
    (character) => escapes[character] ?? character,
  );
}

const surrogate = /[\ud800-\udfff]/;

export function sortedNames(value: object): string[] {
  const names = Object.keys(value).sort();
  // The order of UTF-16 is that of UTF-8 but for these.
  return names.some((name) => surrogate.test(name))
    ? names.sort((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
    : names;
}
