/** What is checked, while it is being typed, and what of it is sent to the API. */

import type { InputOf } from "../../../contract/contract.ts";
import { leftOut } from "../../../domain/credentials.ts";

export type CheckFields = {
  url: string;
  secret: string;
  effects: string;
  message: string;
  seed: string;
};

export type CheckDraft = CheckFields & {
  /** A destination whose shared secret signs; the page never reads it. */
  destination: { id: string; name: string } | null;
  /** Of a webhook. */
  headers: Readonly<Record<string, string>>;
  /** The name of its destination. */
  headersOf: string;
};

export const emptyCheck: CheckDraft = {
  url: "",
  secret: "",
  effects: "",
  message: "",
  seed: "",
  destination: null,
  headers: {},
  headersOf: "",
};

/** What was taken from a webhook is for its receiver only: another one does not get it. */
export function withUrl({ url: before }: CheckDraft, url: string): Partial<CheckDraft> {
  const { destination, headers, headersOf } = emptyCheck;
  return originOf(url) === originOf(before) ? { url } : { url, destination, headers, headersOf };
}

/** Of a check that was made: with credentials that were left out it would be refused. */
export const urlToRepeat = (url: string): string => (url.includes(leftOut) ? "" : url);

const originOf = (url: string): string | null =>
  URL.canParse(url.trim()) ? new URL(url.trim()).origin : null;

/** Of those that a check draws, and that the API takes. */
const largestSeed = 2_147_483_647;

/** What `checks.start` takes. Throws what is missing, as a sentence. */
export function inputOf({
  url,
  secret,
  effects,
  message,
  seed,
  destination,
  headers,
}: CheckDraft): InputOf<"checks.start"> {
  if (url.trim() === "") throw new Error("Enter the URL of a receiver first.");
  if (seed.trim() !== "" && !(/^\d+$/.test(seed.trim()) && Number(seed) <= largestSeed))
    throw new Error(`The seed is a whole number from 0 to ${largestSeed}.`);
  return {
    url: url.trim(),
    ...(destination === null ? (secret === "" ? {} : { secret }) : { useSecretOf: destination.id }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
    ...(effects.trim() === "" ? {} : { effects: { url: effects.trim() } }),
    ...(message.trim() === "" ? {} : { message: messageIn(message.trim()) }),
    ...(seed.trim() === "" ? {} : { seed: Number(seed) }),
  };
}

function messageIn(text: string): InputOf<"checks.start">["message"] {
  try {
    return JSON.parse(text) as InputOf<"checks.start">["message"];
  } catch {
    throw new Error('The message must be JSON, such as {"event": "Signed Up", "properties": {}}.');
  }
}
