/**
 * Places in a message: the names and numbers on the way to a member, which are written like
 * `properties.items[0].sku`.
 */

import { isObject, type Json, type JsonObject } from "./json.ts";

const maxText = 200;

/** Names that are no words are in quotes. */
export function memberPath(tokens: readonly string[]): string {
  let text = "";
  for (const token of tokens) {
    if (/^\d+$/.test(token) && text !== "") text += `[${token}]`;
    else if (/^[\p{L}\p{N}_$-]+$/u.test(token)) text += text === "" ? token : `.${token}`;
    else text += `[${JSON.stringify(token)}]`;
  }
  return text.slice(0, maxText);
}

export function memberAt(root: Json, tokens: readonly string[]): Json | undefined {
  let at: Json | undefined = root;
  for (const token of tokens) {
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, token)) return undefined;
    at = (at as JsonObject)[token];
  }
  return at;
}

/**
 * A copy without a member, and where it was; null when it is not there. An element of an array
 * cannot go alone, because the others would move: then the whole array goes.
 */
export function withoutMember(
  root: JsonObject,
  tokens: readonly string[],
): { rest: JsonObject; removed: string[] } | null {
  let last = tokens.length;
  while (last > 0 && Array.isArray(memberAt(root, tokens.slice(0, last - 1)))) last -= 1;
  const removed = tokens.slice(0, last);
  if (last === 0 || memberAt(root, removed) === undefined) return null;
  return { rest: copyWithout(root, removed) as JsonObject, removed };
}

function copyWithout(value: Json, [token = "", ...rest]: readonly string[]): Json {
  if (Array.isArray(value))
    return value.map((each, place) => (String(place) === token ? copyWithout(each, rest) : each));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) =>
      name !== token ? [[name, each]] : rest.length === 0 ? [] : [[name, copyWithout(each, rest)]],
    ),
  );
}
