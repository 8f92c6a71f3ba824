/** The names in braces that the messages and expectations of an `explore` section may have. */

import { isObject, type Json } from "../domain/json.ts";
import type { Path } from "../scenarios/file/yaml-places.ts";

/**
 * From the names that a file uses to `{{token}}`: `{{user2}}`, `{{message}}` of the message itself,
 * and `{{message3}}` of another.
 */
export function placed(given: string, nth: number): string {
  return given
    .replace(/\{\{user(\d*)\}\}/g, (_, number: string) => `{{token}}-u${number}`)
    .replace(
      /\{\{message(\d*)\}\}/g,
      (_, number: string) => `{{token}}-m${number === "" ? nth : number}`,
    );
}

/** The reverse, for what a receiver shows. */
export function asWritten(text: string): string {
  return text
    .replace(/\{\{token\}\}-u(\d*)/g, "{{user$1}}")
    .replace(/\{\{token\}\}-m(\d+)/g, "{{message$1}}");
}

type Wrong = { path: Path; isName: boolean; message: string };

/** One that nothing replaces would be sent as it is, or expected and never there. */
export function wrongPlaceholders(value: Json, path: Path, messages: number): Wrong[] {
  const wrongIn = (text: string, at: Path, isName: boolean): Wrong[] =>
    [...text.matchAll(/\{\{[^{}]*\}\}/g)].flatMap(([placeholder]) => {
      const message = problemOf(placeholder, messages);
      return message === null ? [] : [{ path: at, isName, message }];
    });
  if (typeof value === "string") return wrongIn(value, path, false);
  if (Array.isArray(value))
    return value.flatMap((one, index) => wrongPlaceholders(one, [...path, index], messages));
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, one]) => [
    ...wrongIn(name, [...path, name], true),
    ...wrongPlaceholders(one, [...path, name], messages),
  ]);
}

function problemOf(placeholder: string, messages: number): string | null {
  const [isKnown, , nth] = /^\{\{(user|message)(\d*)\}\}$/.exec(placeholder) ?? [];
  if (isKnown === undefined)
    return `${placeholder} is unknown. There are {{user}}, {{user2}} …, {{message}} and {{message2}} ….`;
  if (!placeholder.startsWith("{{message") || nth === "") return null;
  return Number(nth) >= 1 && Number(nth) <= messages
    ? null
    : `Message ${Number(nth)} does not exist: the file has ${messages}.`;
}

/** What is wrong with the token of an expectation beside that, or null. */
export function wrongToken(token: string): string | null {
  if (token.includes("{{message}}"))
    return "Say which message it is: {{message1}}, {{message2}} ….";
  return token.includes("{{")
    ? null
    : "The token needs {{user}}, {{user2}}, {{message1}} or {{message2}} …: any other text is the same in all schedules.";
}
