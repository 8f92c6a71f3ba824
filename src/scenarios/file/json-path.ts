/**
 * Paths into a JSON body, such as `$.properties.items[0]['unit price']`: one place, no wildcards.
 */

import { isObject, type Json } from "../../domain/json.ts";

const part = /\.([\p{L}\p{N}_$-]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/uy;

/** Null when it cannot be read. */
export function parseJsonPath(text: string): (string | number)[] | null {
  if (!text.startsWith("$")) return null;
  const keys: (string | number)[] = [];
  part.lastIndex = 1;
  while (part.lastIndex < text.length) {
    const [, name, index, single, double] = part.exec(text) ?? [];
    if (index !== undefined) keys.push(Number(index));
    else if (name !== undefined) keys.push(name);
    else if (single !== undefined || double !== undefined)
      keys.push((single ?? double ?? "").replace(/\\(.)/gu, "$1"));
    else return null;
  }
  return keys;
}

/** What is there; undefined when nothing is. */
export function lookUp(
  root: Json | undefined,
  keys: readonly (string | number)[],
): Json | undefined {
  let at = root;
  for (const key of keys) {
    if (typeof key === "number") at = Array.isArray(at) ? at[key] : undefined;
    else at = isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

export const pathWords = "Write a path such as $.properties.items[0].sku or $['unit price'].";
