/** What an identify sets, in the few words that a list has room for. */

import type { JsonObject } from "./json.ts";

/** More names than a row shows. */
const maxNames = 6;
const maxLength = 120;

/**
 * `email, plan, city`; a single trait that is true or false, as audiences send it, with its value:
 * `big_spenders: true`. Null without traits.
 */
export function traitWords(traits: JsonObject): string | null {
  const names = Object.keys(traits);
  const [first] = names;
  if (first === undefined) return null;
  const value = traits[first];
  const words =
    names.length === 1 && typeof value === "boolean"
      ? `${first}: ${value}`
      : names.slice(0, maxNames).join(", ");
  const isCut = names.length > maxNames || words.length > maxLength;
  return isCut ? `${words.slice(0, maxLength).toWellFormed()}…` : words;
}
