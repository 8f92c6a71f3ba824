/**
 * How much work a JSON Schema can make, with all its references in place. A schema without a bound
 * is refused with a sentence: messages of 32 KB are checked against it, as they arrive.
 */

import { isObject, type Json, type JsonObject } from "./json.ts";

/**
 * Members and values of a rule, so that it is compiled within 100 ms. One with a hundred
 * properties has about seven hundred.
 */
const maxSize = 2000;
/** Below keywords that apply to every element: a message has up to 16,000 of those. */
const maxRepeatedSize = 500;
export const maxSchemaDepth = 64;

const repeating: ReadonlySet<string> = new Set([
  "items",
  "additionalItems",
  "prefixItems",
  "unevaluatedItems",
  "contains",
  "additionalProperties",
  "unevaluatedProperties",
  "patternProperties",
  "propertyNames",
]);

/** Their members are names, which may be those of keywords. */
export const membersByName: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "definitions",
  "$defs",
  "dependencies",
  "dependentSchemas",
]);

/** Values that are compared and never looked into. */
const data: ReadonlySet<string> = new Set(["enum", "const", "default", "examples", "required"]);

export type SchemaSize = {
  all: number;
  /** Of this, what applies to every element. */
  repeated: number;
  /** Characters of all patterns. */
  patterns: number;
};

const nothing: SchemaSize = { all: 1, repeated: 0, patterns: 0 };

/** Returns the end of a sentence when the schema is refused. */
export function sizeOfSchema(root: JsonObject): SchemaSize | string {
  const known = new Map<JsonObject, SchemaSize>();
  const open = new Set<JsonObject>();
  let wrong: string | null = null;
  /** Also without a reference to them they are checked when the rule is compiled. */
  let definitions = 0;

  function sizeOf(schema: Json, depth: number): SchemaSize {
    if (wrong !== null || !isObject(schema)) return nothing;
    const measured = known.get(schema);
    if (measured !== undefined) return measured;
    if (open.has(schema)) {
      wrong =
        "its `$ref`s go round in a circle, so there is no bound on the work of a check. Write the levels out.";
      return nothing;
    }
    if (depth > maxSchemaDepth) {
      wrong = `it is nested deeper than ${maxSchemaDepth} levels.`;
      return nothing;
    }
    open.add(schema);
    const size = { ...nothing };
    for (const [keyword, value] of Object.entries(schema)) {
      if (keyword === "definitions" || keyword === "$defs") {
        definitions += countOf(value);
        if (definitions > maxSize)
          wrong ??= `its definitions have more than ${maxSize} keywords and values.`;
        continue;
      }
      const below = belowOf(keyword, value, depth);
      size.all += below.all;
      size.patterns += below.patterns;
      size.repeated += repeating.has(keyword) ? below.all : below.repeated;
    }
    open.delete(schema);
    known.set(schema, size);
    if (size.all > maxSize)
      wrong ??= `with its \`$ref\`s it has more than ${maxSize} keywords and values.`;
    else if (size.repeated > maxRepeatedSize)
      wrong ??= `what it asks of each element of an array, or of each unnamed member, has more than ${maxRepeatedSize} keywords and values.`;
    return size;
  }

  function belowOf(keyword: string, value: Json, depth: number): SchemaSize {
    if (keyword === "$ref" || keyword === "$dynamicRef" || keyword === "$recursiveRef") {
      const target = typeof value === "string" ? targetOf(root, value) : null;
      if (target === null) {
        const why =
          typeof value === "string" && value.startsWith("#/")
            ? "The schema has no such place."
            : "Only `#/…`, a place in the same schema, is.";
        wrong ??= `the \`${keyword}\` ${JSON.stringify(value).slice(0, 100)} is not followed. ${why}`;
        return nothing;
      }
      return sizeOf(target, depth + 1);
    }
    if (data.has(keyword)) return { ...nothing, all: countOf(value) };
    if (membersByName.has(keyword) && isObject(value)) {
      const size = sum(Object.values(value), depth);
      const names = keyword === "patternProperties" ? Object.keys(value).join("") : "";
      return { ...size, patterns: size.patterns + names.length };
    }
    if (Array.isArray(value)) return sum(value, depth);
    if (keyword === "pattern" && typeof value === "string")
      return { ...nothing, patterns: value.length };
    return isObject(value) ? sizeOf(value, depth + 1) : nothing;
  }

  function sum(schemas: readonly Json[], depth: number): SchemaSize {
    const size = { ...nothing, all: schemas.length };
    for (const schema of schemas) {
      const below = sizeOf(schema, depth + 1);
      size.all += below.all;
      size.repeated += below.repeated;
      size.patterns += below.patterns;
    }
    return size;
  }

  const size = sizeOf(root, 0);
  return wrong ?? size;
}

function countOf(value: Json): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, each) => sum + countOf(each), 1);
}

/** A place in the same schema; null for anything else. */
export function targetOf(root: JsonObject, reference: string): Json | null {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return null;
  let at: Json | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decoded(part);
    if (name === null || typeof at !== "object" || at === null || !Object.hasOwn(at, name))
      return null;
    at = (at as JsonObject)[name];
  }
  return at ?? null;
}

function decoded(part: string): string | null {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return null;
  }
}
