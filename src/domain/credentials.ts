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

/**
 * With the user and password before its host left out, and the values of parameters that are named
 * like a credential.
 */
export function urlWithoutCredentials(url: string): string {
  const [, scheme = "", authority = "", path = "", query = "", fragment = ""] =
    /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)([^?#]*)(\?[^#]*)?(#.*)?$/is.exec(url) ?? [];
  const at = scheme === "" ? -1 : authority.lastIndexOf("@");
  const user =
    at === -1 ? "" : `${leftOut}${authority.slice(0, at).includes(":") ? `:${leftOut}` : ""}@`;
  const shown = query.replace(/([?&;])([^=&;]*)=([^&;]*)/g, (whole, sign: string, name: string) =>
    isCredentialName(decoded(name)) ? `${sign}${name}=${leftOut}` : whole,
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

type ConfiguredWebhook = { url: string; headers: Record<string, string> };

export function webhookWithoutCredentials({ url, headers }: ConfiguredWebhook): ConfiguredWebhook {
  return { url: urlWithoutCredentials(url), headers: headersWithoutCredentials(headers) };
}

function hasPlaceholder(url: string): boolean {
  const filled = url.replaceAll(leftOut, "x");
  return urlWithoutCredentials(url) === url && urlWithoutCredentials(filled) !== filled;
}

/**
 * A webhook as a document has it, with the values that were left out taken from the one that is
 * there already; and what is still missing, in the words of a list.
 */
export function webhookWithKnown(
  drafted: ConfiguredWebhook,
  known: readonly ConfiguredWebhook[],
): { webhook: ConfiguredWebhook; missing: string[] } {
  const same = known.filter(
    ({ url }) => url === drafted.url || urlWithoutCredentials(url) === drafted.url,
  );
  const there = same.flatMap((each) => Object.entries(each.headers));
  const missing: string[] = [];
  const url = same[0]?.url ?? drafted.url;
  if (hasPlaceholder(url)) missing.push(`the credentials in the URL ${url}`);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(drafted.headers)) {
    if (value !== leftOut || !isCredentialHeader(name)) {
      headers[name] = value;
      continue;
    }
    const [, knownValue = leftOut] =
      there.find(([other]) => other.toLowerCase() === name.toLowerCase()) ?? [];
    if (knownValue === leftOut)
      missing.push(`the value of ${name}${drafted.url === "" ? "" : ` for ${drafted.url}`}`);
    headers[name] = knownValue;
  }
  return { webhook: { url, headers }, missing };
}

/** A webhook, a mapping, or a step of a test endpoint, whose URL is `to`. */
type Addressed = { url?: unknown; to?: unknown; headers?: unknown };

/** What it says itself, and no directive: only there may be credentials. */
export function literalsOf({ url, to, headers }: Addressed): ConfiguredWebhook {
  const address = url ?? to;
  const isNamed = typeof headers === "object" && headers !== null && !Array.isArray(headers);
  const texts = Object.entries(isNamed ? headers : {}).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return { url: typeof address === "string" ? address : "", headers: Object.fromEntries(texts) };
}

const withLiterals = <One extends Addressed>(
  one: One,
  { url, headers }: ConfiguredWebhook,
): One => ({
  ...one,
  ...(typeof one.url === "string" ? { url } : {}),
  ...(typeof one.to === "string" ? { to: url } : {}),
  ...(Object.keys(headers).length === 0
    ? {}
    : { headers: { ...(one.headers as object), ...headers } }),
});

export const withoutCredentials = <One extends Addressed>(one: One): One =>
  withLiterals(one, webhookWithoutCredentials(literalsOf(one)));

const isEqual = (one: unknown, other: unknown): boolean =>
  spellingOf(one as Json) === spellingOf(other as Json);

const addressOf = ({ url, to }: Addressed): unknown => url ?? to ?? null;

const withoutHeaders = (one: Addressed): Addressed => ({ ...one, headers: null });

/**
 * As `webhookWithKnown`, from what differs in its headers alone if there is any. A directive may
 * lead to any host, so only what has an equal one knows values for it.
 */
export function withKnown<One extends Addressed>(
  drafted: One,
  known: readonly Addressed[],
): { one: One; missing: string[] } {
  const usable = known.filter(
    (one) => literalsOf(one).url !== "" || isEqual(addressOf(one), addressOf(drafted)),
  );
  const equal = usable.filter((one) => isEqual(withoutHeaders(one), withoutHeaders(drafted)));
  const { webhook, missing } = webhookWithKnown(
    literalsOf(drafted),
    [...equal, ...usable].map(literalsOf),
  );
  return { one: withLiterals(drafted, webhook), missing };
}
