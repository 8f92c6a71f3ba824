/**
 * Takes the secrets out of answers before they are shared: shared secrets, write keys, credentials
 * in headers and URLs wherever they were recorded, and what the user names by its path. What a
 * secret is, is known from the configuration; it is then left out wherever its text appears, also
 * inside bodies, escaped, in base64 and in addresses.
 */

import {
  headerPairsWithoutCredentials,
  headersWithoutCredentials,
  leftOut,
  urlWithoutCredentials,
} from "../domain/credentials.ts";
import type { Destination, SimulatedClient, Source } from "../domain/configuration.ts";

type Known = {
  sources: readonly Pick<Source, "writeKey">[];
  destinations: readonly Pick<Destination, "sharedSecret" | "webhooks">[];
  clients: readonly Pick<SimulatedClient, "writeKey" | "endpoint">[];
  tokens: readonly string[];
};

/** Shorter ones are words of the text around them, and are left out where they stand alone only. */
const shortest = 4;

/** Every spelling in which a known secret may have been recorded, the longest first. */
export function secretTexts({ sources, destinations, clients, tokens }: Known): string[] {
  const keys = [...sources, ...clients].map(({ writeKey }) => writeKey);
  const secrets = [
    ...keys,
    ...tokens,
    ...destinations.flatMap(({ sharedSecret, webhooks }) => [
      ...(sharedSecret === null ? [] : [sharedSecret]),
      ...webhooks.flatMap(({ url, headers }) => [
        ...changedValues(headers, headersWithoutCredentials(headers)),
        ...credentialsIn(url),
      ]),
    ]),
    ...clients.flatMap(({ endpoint }) => (endpoint === null ? [] : credentialsIn(endpoint))),
  ].filter((secret) => secret.length >= shortest && secret !== leftOut);
  const spelled = secrets.flatMap((secret) => [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret),
    ...["", ":"].map((end) => Buffer.from(`${secret}${end}`).toString("base64")),
  ]);
  return [...new Set(spelled)].toSorted((a, b) => b.length - a.length);
}

function changedValues(before: Record<string, string>, after: Record<string, string>): string[] {
  return Object.entries(before).flatMap(([name, value]) =>
    after[name] === value ? [] : [value, ...value.split(/\s+/).slice(1)],
  );
}

function credentialsIn(url: string): string[] {
  if (urlWithoutCredentials(url) === url) return [];
  try {
    const { username, password, searchParams } = new URL(url);
    const hidden = new URL(urlWithoutCredentials(url)).searchParams;
    return [
      password,
      ...(password === "" ? [username] : []),
      ...[...searchParams].flatMap(([name, value]) => (hidden.get(name) === value ? [] : [value])),
    ].flatMap((each) => (each === "" ? [] : [each, decoded(each)]));
  } catch {
    return [url];
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Cleaner = (value: unknown) => unknown;

/** `paths` name members of messages: `context.ip`, `properties.email`, `traits`. */
export function cleaner(secrets: readonly string[], paths: readonly string[]): Cleaner {
  const split = paths.map((path) => path.split("."));
  const text = (value: string): string => {
    let clean = value;
    for (const secret of secrets)
      if (clean.includes(secret)) clean = clean.replaceAll(secret, leftOut);
    return clean;
  };
  const body = (value: string): string => text(redacted(value, split));
  const clean = (value: unknown, name: string): unknown => {
    if (typeof value === "string") {
      if (name === "raw" || name === "payload" || name === "body") return body(value);
      if (name === "url" || name === "webhookUrl" || name === "to" || name === "path")
        return text(urlWithoutCredentials(value));
      if (name === "head" || name === "requestHead") return text(headWithoutCredentials(value));
      return text(value);
    }
    if (Array.isArray(value)) {
      if (name === "headers" && value.every(isPair))
        return headerPairsWithoutCredentials(value).map(([key, each]) => [key, text(each)]);
      return value.map((each) => clean(each, name));
    }
    if (typeof value !== "object" || value === null) return value;
    if (name === "headers" && Object.values(value).every((each) => typeof each === "string"))
      return Object.fromEntries(
        Object.entries(headersWithoutCredentials(value as Record<string, string>)).map(
          ([key, each]) => [key, text(each)],
        ),
      );
    if ("base64" in value && typeof value.base64 === "string")
      return cleanBytes(value.base64, text);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => [
        key,
        key === "writeKey" && typeof each === "string" ? leftOut : clean(each, key),
      ]),
    );
  };
  return (value) => clean(value, "");
}

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === "string");

/** Bytes that are no text may hold a secret all the same. */
function cleanBytes(base64: string, text: (value: string) => string): { base64: string } {
  const latin1 = Buffer.from(base64, "base64").toString("latin1");
  return { base64: Buffer.from(text(latin1), "latin1").toString("base64") };
}

function headWithoutCredentials(head: string): string {
  const [start = "", ...lines] = head.split("\r\n");
  const request = /^(\S+) (\S+)( HTTP\/.*)$/.exec(start);
  const first =
    request === null
      ? start
      : `${request[1]} ${urlWithoutCredentials(request[2] ?? "")}${request[3]}`;
  return [
    first,
    ...lines.map((line) => {
      const colon = line.indexOf(":");
      if (colon < 1) return line;
      const [pair] = headerPairsWithoutCredentials([
        [line.slice(0, colon), line.slice(colon + 1).trim()],
      ]);
      return pair?.[1] === leftOut ? `${line.slice(0, colon)}: ${leftOut}` : line;
    }),
  ].join("\r\n");
}

/** JSON with the members at the paths left out; other text as it is. */
function redacted(body: string, paths: readonly string[][]): string {
  if (paths.length === 0) return body;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return body;
  }
  let changed = false;
  for (const path of paths) changed = leaveOut(value, path) || changed;
  return changed ? JSON.stringify(value) : body;
}

function leaveOut(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || typeof value !== "object" || value === null) return false;
  if (Array.isArray(value))
    return value.map((each) => leaveOut(each, [name, ...rest])).some(Boolean);
  if (!Object.hasOwn(value, name)) return false;
  const members = value as Record<string, unknown>;
  if (rest.length > 0) return leaveOut(members[name], rest);
  members[name] = leftOut;
  return true;
}
