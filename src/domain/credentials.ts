/**
 * Which configured values let others in: headers and parts of a URL. Exports leave them out unless
 * they are asked for, as they leave out shared secrets. The name decides, because a value says
 * nothing: `X-Api-Key: 12345`.
 */

import { spellingOf } from "./evaluate.ts";
import type { Json } from "./json.ts";

/** What stands in place of a value that was left out. */
export const leftOut = "left-out";

const credentialWords =
  /(?:^|[-_.])(?:authorization|authentication|auth|api[-_]?keys?|apikeys?|access[-_]?keys?|keys?|tokens?|secrets?|passwords?|passwd|pwd|passphrase|credentials?|cookies?|sessions?|session[-_]?ids?|jwt|bearer|signature|sig|sas)(?:$|[-_.])/i;

/** `xApiKey` and `X-Api-Key` are one name. */
const spread = (name: string): string => name.replace(/([a-z0-9])([A-Z])/g, "$1-$2");

const isCredentialName = (name: string): boolean =>
  credentialWords.test(spread(name)) ||
  /(?:token|apikey|secret|password|authorization)$/i.test(name);

/** A signature of Hookyard's proves what was sent, and opens nothing; the others only sort. */
const harmless = /^(?:x-signature|.*(?:idempotency|partition|routing|sort)-key)$/i;

const isCredentialHeader = (name: string): boolean =>
  !harmless.test(name) && isCredentialName(name);

const withoutCredential = ([name, value]: readonly [string, string]): [string, string] => [
  name,
  isCredentialHeader(name) ? leftOut : value,
];

export function headersWithoutCredentials(headers: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(withoutCredential));
}

/** As they were recorded. */
export function headerPairsWithoutCredentials(
  headers: readonly [string, string][],
): [string, string][] {
  return headers.map(withoutCredential);
}

/**
 * Of a call at the ingest port: the write key in `Authorization` stays, because every client shows
 * it.
 */
export function ingestHeadersWithoutCredentials(
  headers: readonly [string, string][],
): [string, string][] {
  return headers.map((pair) =>
    pair[0].toLowerCase() === "authorization" ? pair : withoutCredential(pair),
  );
}

/** A template in a mapping that has nothing but values of the event. */
const isOfEvent = (text: string): boolean => /^(?:\{{2,3}[^{}]*\}{2,3})+$/.test(text);

const withoutText = (text: string): string => (isOfEvent(text) ? text : leftOut);

/**
 * With the user and password before its host left out, and the values of parameters that are named
 * like a credential.
 */
export function urlWithoutCredentials(url: string): string {
  const [, scheme = "", authority = "", path = "", query = "", fragment = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url) ?? [];
  const at = scheme === "" ? -1 : authority.lastIndexOf("@");
  const [, name = "", password] = /^([^:]*)(?::(.*))?$/s.exec(authority.slice(0, at)) ?? [];
  const user =
    at === -1
      ? ""
      : `${withoutText(name)}${password === undefined ? "" : `:${withoutText(password)}`}@`;
  const shown = query.replace(
    /([?&;])([^=&;]*)=([^&;]*)/g,
    (whole, sign: string, parameter: string, value: string) =>
      isCredentialName(decoded(parameter)) ? `${sign}${parameter}=${withoutText(value)}` : whole,
  );
  return (
    scheme + user + (at === -1 ? authority : authority.slice(at + 1)) + path + shown + fragment
  );
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** A webhook, a mapping, or a step of a test endpoint, whose URL is `to`. */
type Addressed = { url?: unknown; to?: unknown; headers?: unknown };

export const addressOf = ({ url, to }: Addressed): unknown => url ?? to ?? null;

const isMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const withAddress = <One extends Addressed>(one: One, address: unknown): One => ({
  ...one,
  ...(one.url === undefined ? {} : { url: address }),
  ...(one.to === undefined ? {} : { to: address }),
});

/** URLs and headers of a mapping may be directives, which have credentials at any depth. */
export function withoutCredentials<One extends Addressed>(one: One): One {
  return {
    ...withAddress(one, addressWithoutCredentials(addressOf(one))),
    ...(one.headers === undefined ? {} : { headers: withoutValues(one.headers) }),
  };
}

function addressWithoutCredentials(value: unknown): unknown {
  if (typeof value === "string") return urlWithoutCredentials(value);
  if (Array.isArray(value)) return value.map(addressWithoutCredentials);
  if (!isMembers(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [name, addressWithoutCredentials(each)]),
  );
}

function withoutValues(headers: unknown): unknown {
  if (Array.isArray(headers)) return headers.map(withoutValues);
  if (!isMembers(headers)) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      if (!isCredentialHeader(name)) return [name, withoutValues(value)];
      return [name, saysNothing(value) ? value : leftOut];
    }),
  );
}

/** The event has all of it, and the configuration no part. */
function saysNothing(value: unknown): boolean {
  if (!isMembers(value)) return value === null;
  const [[name, text] = ["", null], ...others] = Object.entries(value);
  if (others.length > 0 || typeof text !== "string") return false;
  return name === "@path" || (name === "@template" && isOfEvent(text));
}

function hasPlaceholder(address: unknown): boolean {
  if (typeof address !== "string")
    return (
      typeof address === "object" &&
      Object.values(address ?? {}).some((each) => hasPlaceholder(each))
    );
  const filled = address.replaceAll(leftOut, "x");
  return urlWithoutCredentials(address) === address && urlWithoutCredentials(filled) !== filled;
}

export const isEqual = (one: unknown, other: unknown): boolean =>
  spellingOf(one as Json) === spellingOf(other as Json);

/** But for its headers. */
const spellingBeside = (one: Addressed): string =>
  spellingOf(withoutCredentials({ ...one, headers: null }) as Json);

/**
 * What a document says, with the values that were left out taken from what is there already and has
 * the same URL: first from what differs in its headers alone. A directive may lead to any host, so values are taken only from an entry with an equal directive. `missing` lists the values that are not known, as phrases for a sentence.
 */
export function withKnown<One extends Addressed>(
  drafted: One,
  known: readonly Addressed[],
): { one: One; missing: string[] } {
  const address = addressOf(drafted);
  const same = known.filter(
    (one) =>
      isEqual(addressOf(one), address) ||
      isEqual(addressWithoutCredentials(addressOf(one)), address),
  );
  const beside = spellingBeside(drafted);
  const equal = same.filter((one) => spellingBeside(one) === beside);
  const missing: string[] = [];
  const complete = hasPlaceholder(address)
    ? same.map(addressOf).find((each) => !hasPlaceholder(each))
    : address;
  if (complete === undefined)
    missing.push(
      `the credentials in the URL ${typeof address === "string" ? address : JSON.stringify(address)}`,
    );
  const { headers } = drafted;
  const there = [...equal, ...same].map((one) => one.headers);
  const where = typeof address === "string" && address !== "" ? ` for ${address}` : "";
  const values = valuesFrom(there, headers, (name) => missing.push(`the value of ${name}${where}`));
  return {
    one: {
      ...withAddress(drafted, complete ?? address),
      ...(headers === undefined ? {} : { headers: values }),
    },
    missing,
  };
}

function valuesFrom(
  there: readonly unknown[],
  headers: unknown,
  miss: (name: string) => void,
): unknown {
  if (Array.isArray(headers))
    return headers.map((each, place) =>
      valuesFrom(
        there.map((one) => (Array.isArray(one) ? (one[place] as unknown) : null)),
        each,
        miss,
      ),
    );
  if (!isMembers(headers)) return headers;
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const known = there
        .filter(isMembers)
        .flatMap((one) => Object.entries(one))
        .flatMap(([other, each]) => (other.toLowerCase() === name.toLowerCase() ? [each] : []));
      if (!isCredentialHeader(name)) return [name, valuesFrom(known, value, miss)];
      if (value !== leftOut) return [name, value];
      const found = known.find((each) => each !== leftOut);
      if (found === undefined) miss(name);
      return [name, found ?? leftOut];
    }),
  );
}
