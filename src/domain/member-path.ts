/**
 * Places in a message: the names and numbers on the way to a member, which are written like
 * `properties.items[0].sku`.
 */

import type { Json, JsonObject } from "./json.ts";

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

/** The tokens of `properties.items[0].sku` or `properties["a.b"]`; null for what is no path. */
export function parseMemberPath(text: string): string[] | null {
  const part = /(?:^|\.)([^.[\]"]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]/gy;
  const tokens: string[] = [];
  while (part.lastIndex < text.length) {
    const found = part.exec(text);
    if (found === null) return null;
    const [, name, number, quoted] = found;
    const token = name ?? number ?? textIn(quoted ?? '""');
    if (token === null) return null;
    tokens.push(token);
  }
  return tokens.length === 0 ? null : tokens;
}

/** Null for what is no JSON text: an unknown escape, or a line break. */
function textIn(quoted: string): string | null {
  try {
    return JSON.parse(quoted) as string;
  } catch {
    return null;
  }
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
 * Removes members of a message one after the other, and copies what it changes once: a message can
 * have thousands. An element of an array cannot go alone, because the others would move: then the
 * whole array goes. Neither does a member of the message itself go.
 */
export class MemberRemoval {
  #rest: JsonObject;
  readonly #copies = new Set<Json>();

  constructor(message: JsonObject) {
    this.#rest = message;
  }

  /** What is left: the message itself while nothing was removed. */
  get rest(): JsonObject {
    return this.#rest;
  }

  /** Returns where the member was that is gone now; null when there is none. */
  remove(tokens: readonly string[]): string[] | null {
    let last = tokens.length;
    while (last > 0 && Array.isArray(memberAt(this.#rest, tokens.slice(0, last - 1)))) last -= 1;
    const removed = tokens.slice(0, last);
    const name = removed.at(-1);
    if (last < 2 || name === undefined || memberAt(this.#rest, removed) === undefined) return null;
    this.#rest = this.#copyOf(this.#rest);
    let parent = this.#rest;
    for (const token of removed.slice(0, -1)) {
      const value = this.#copyOf(parent[token] as JsonObject);
      // An assignment to `__proto__` would do something else.
      Object.defineProperty(parent, token, { ...asMember, value });
      parent = value;
    }
    delete parent[name];
    return removed;
  }

  #copyOf(value: JsonObject): JsonObject {
    if (this.#copies.has(value)) return value;
    const copy = (Array.isArray(value) ? [...value] : { ...value }) as JsonObject;
    this.#copies.add(copy);
    return copy;
  }
}

const asMember = { writable: true, enumerable: true, configurable: true };
