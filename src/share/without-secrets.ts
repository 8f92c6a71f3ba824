/**
 * Takes the secrets out of answers before they are shared: shared secrets, write keys, credentials
 * in headers and URLs wherever they were recorded, and what the user names by its path. What a
 * secret is, is known from the configuration and from the headers and URLs of each message; it is
 * then left out wherever its text appears, also inside bodies, escaped, in base64 and in hex.
 */

import {
  headerPairsWithoutCredentials,
  leftOut,
  urlWithoutCredentials,
} from "../domain/credentials.ts";
import { callNamed } from "../contract/contract.ts";
import { messageDetails, messageSummary } from "../contract/messages.ts";
import type { Destination, SimulatedClient, Source } from "../domain/configuration.ts";
import { parseMemberPath } from "../domain/member-path.ts";
import { invalid, type Problem } from "../domain/problem.ts";
import { isWrittenNumber, parseAsWritten } from "../domain/written-json.ts";
import {
  createRemoval,
  cutsIn,
  shortest,
  shortestRedacted,
  withoutSecrets,
  type Text,
} from "./text-removal.ts";

type Known = {
  sources: readonly Pick<Source, "writeKey">[];
  destinations: readonly Pick<Destination, "sharedSecret" | "webhooks" | "mappings">[];
  clients: readonly Pick<SimulatedClient, "writeKey" | "endpoint">[];
  endpoints: readonly {
    steps: readonly { to?: string; headers?: unknown }[];
    inFrontOf?: { url: string } | null;
  }[];
  /** Null when the data is in memory. Its path has the name of its user. */
  dataDir: string | null;
};

/** Of what only one message has. `theme=light` in a cookie does not hide the word. */
const shortestLearned = 8;

/** What the configuration knows to be secret. */
export function secretsOf({ sources, destinations, clients, endpoints, dataDir }: Known): string[] {
  const ofEndpoints = endpoints.flatMap(({ steps, inFrontOf }) => [
    ...credentialsIn(inFrontOf?.url ?? ""),
    ...steps.flatMap(({ to = "", headers }) => [
      ...credentialsIn(to),
      // `Max-Age=3600` in a cookie does not hide the number.
      ...credentialsOfHeaders(headers).filter((each) => each.length >= shortestLearned),
    ]),
  ]);
  return [
    ...ofEndpoints,
    ...(dataDir === null ? [] : [dataDir]),
    ...[...sources, ...clients].map(({ writeKey }) => writeKey),
    ...destinations.flatMap(({ sharedSecret, webhooks, mappings }) => [
      ...(sharedSecret === null ? [] : [sharedSecret]),
      ...[...webhooks, ...mappings].flatMap(({ url, headers }) => [
        ...credentialsOfHeaders(headers),
        ...textsIn(url).flatMap(credentialsIn),
      ]),
    ]),
    ...clients.flatMap(({ endpoint }) => (endpoint === null ? [] : credentialsIn(endpoint))),
  ].filter((secret) => secret.length >= shortest && secret !== leftOut);
}

/** The texts of a value; of a template what stands around its directives. */
function textsIn(value: unknown): string[] {
  if (typeof value === "string") return value.split(/\{\{.*?\}\}/s).filter((each) => each !== "");
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsIn);
}

/** In a mapping, at any depth of its directives. */
function credentialsOfHeaders(headers: unknown): string[] {
  if (typeof headers !== "object" || headers === null) return [];
  return Object.entries(headers).flatMap(([name, value]) =>
    isCredential(name) ? textsIn(value).flatMap(partsOf) : credentialsOfHeaders(value),
  );
}

const isCredential = (name: string): boolean =>
  headerPairsWithoutCredentials([[name, ""]])[0]?.[1] === leftOut;

/** `Bearer x`, `Basic dTpw` and `a=1; b=2` hold secrets that also stand alone. */
function partsOf(value: string): string[] {
  const [, ...rest] = value.split(/\s+/);
  const basic = /^basic\s+(\S+)/i.exec(value)?.[1];
  const pair = basic === undefined ? "" : Buffer.from(basic, "base64").toString("utf8");
  const cookies = [...value.matchAll(/=([^;]+)/g)].map(([, each = ""]) => each.trim());
  return [value, ...rest, pair, ...pair.split(":"), ...cookies].filter((each) => each !== "");
}

function credentialsIn(url: string): string[] {
  const shown = urlWithoutCredentials(url);
  if (shown === url) return [];
  const user = /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)@/i.exec(url)?.[1] ?? "";
  const [name = "", ...password] = user.split(":");
  const values = (of: string): string[] =>
    [...of.matchAll(/[?&;][^=&;#]*=([^&;#]*)/g)].map(([, value = ""]) => value);
  const after = values(shown);
  return [
    ...(password.length > 0 ? [user, password.join(":")] : [name]),
    ...values(url).filter((value, place) => value !== after[place]),
  ].flatMap((each) => (each === "" ? [] : [each, decoded(each)]));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

type Message = {
  raw: unknown;
  request: { path: string; headers: [string, string][] };
  deliveries: {
    payload: unknown;
    attempts: {
      request: { url: string; headers: [string, string][] };
      response: { headers: [string, string][] } | null;
    }[];
  }[];
};

export type Cleaner = {
  /** What a call about the configuration answers. */
  answer(name: string, value: unknown): unknown;
  /** Leaves out what the paths name in other messages, as far as they were read. */
  ofOthers(): { read(raw: unknown): void; text: Text };
  /** The row and the details of one message, which tell of others too. */
  message(row: object, details: Message, others: readonly Text[]): [row: unknown, details: unknown];
};

/**
 * Members of messages: `context.ip`, `traits["last name"]`, `properties.items[0].sku`. What is no
 * path is refused: whoever named it would believe that it is left out.
 */
export function redactedPaths(paths: readonly string[]): string[][] | Problem {
  const parsed: string[][] = [];
  for (const path of paths) {
    const tokens = parseMemberPath(path.replace(/^\$(?=[.[])\.?/, ""));
    // Several paths in one text are one name with a space or a comma, which no message has.
    const unquoted = path.replaceAll(/\["(?:[^"\\]|\\.)*"\]/g, "");
    if (tokens === null || /[\s,]|(?:^|\.)\*(?:$|[.[])/.test(unquoted))
      return invalid(
        `“${path}” is not the path of a member. Write properties.email, or properties["last name"], and each path on its own; through a list, a path applies to each element.`,
      );
    parsed.push(tokens);
  }
  return parsed;
}

/** What the payload of an alias calls them. */
const sentNames: Record<string, string> = { userId: "User ID", previousId: "Previous ID" };

export function cleaner({
  secrets,
  paths,
}: {
  /** Null: they are asked for. */
  secrets: readonly string[] | null;
  paths: readonly string[][];
}): Cleaner {
  const known = withoutSecrets(secrets ?? []);
  const split = paths.flatMap((path) => {
    const sent = path.length === 1 ? sentNames[path[0] ?? ""] : undefined;
    return sent === undefined ? [path] : [path, [sent]];
  });
  const redactedIn = (bodies: readonly unknown[]): string[] => {
    const found = bodies.flatMap((body) =>
      typeof body === "string" ? textsAt(parsedJson(body), split) : [],
    );
    return [...new Set(found)];
  };
  const learnedIn = (details: Message): string[] => {
    const payloads = details.deliveries.map(({ payload }) => payload);
    const redactedTexts = redactedIn([details.raw, ...payloads]);
    if (secrets === null) return redactedTexts;
    const { request, deliveries } = details;
    const attempts = deliveries.flatMap((delivery) => delivery.attempts);
    const pairs = [
      request.headers,
      ...attempts.flatMap((each) => [each.request.headers, each.response?.headers ?? []]),
    ].flat();
    const found = [
      ...pairs.flatMap(([name, value]) => (isCredential(name) ? partsOf(value) : [])),
      ...[request.path, ...attempts.map((each) => each.request.url)].flatMap(credentialsIn),
    ].filter((each) => each.length >= shortestLearned);
    return [...redactedTexts, ...new Set(found)].filter((each) => known(each) === each);
  };
  const hidesNames = secrets !== null;
  return {
    answer: (name, value) =>
      cleaned(callNamed(name)?.answer, value, { text: known, paths: [], hidesNames }),
    ofOthers() {
      const { add, text } = createRemoval(true);
      return {
        read(raw) {
          for (const each of redactedIn([raw])) add(each);
        },
        text,
      };
    },
    message(row, details, others) {
      const learned = learnedIn(details);
      const all = [known, ...(learned.length === 0 ? [] : [withoutSecrets(learned)]), ...others];
      const text: Text = (value, cuts) => all.reduce((rest, without) => without(rest, cuts), value);
      const how = { text, paths: split, hidesNames };
      const raw = split.length > 0 && !isJson(details.raw) ? leftOut : details.raw;
      return [
        withoutMembers(cleaned(messageSummary, row, how), split),
        withoutMembers(cleaned(messageDetails, { ...details, raw }, how), split),
      ];
    },
  };
}

type How = {
  text: Text;
  paths: readonly string[][];
  hidesNames: boolean;
  /** Set when a text was changed that is no body, URL or header. */
  changed: boolean;
};

type Schema = NonNullable<ReturnType<typeof callNamed>>["answer"];

/**
 * `delivered`, `msg_000000001` and times are no secrets, also where one is written like them: what
 * the schema does not allow any more stays as it was.
 */
function cleaned(schema: Schema | undefined, value: unknown, as: Omit<How, "changed">): unknown {
  const how = { ...as, changed: false };
  const now = clean(value, "", how);
  if (!how.changed) return now;
  for (const { path } of schema?.safeParse(now).error?.issues ?? []) {
    const last = String(path.at(-1));
    const [from, to] = [value, now].map((each) => valueAt(each, path.slice(0, -1)));
    if (hasMembers(from) && hasMembers(to) && typeof from[last] === "string") to[last] = from[last];
  }
  return now;
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const name of path) at = hasMembers(at) ? at[String(name)] : undefined;
  return at;
}

const bodies = new Set(["raw", "payload", "body", "signed", "before", "after"]);
const urls = new Set(["url", "webhookUrl", "to", "path"]);
const heads = new Set(["head", "requestHead", "startLine"]);

function clean(value: unknown, name: string, how: How): unknown {
  const { text, paths, hidesNames } = how;
  if (typeof value === "string") {
    if (hidesNames && name === "writeKey") return leftOut;
    if (bodies.has(name)) return text(redacted(value, paths));
    if (hidesNames && urls.has(name)) return text(urlWithoutCredentials(value));
    if (hidesNames && heads.has(name)) return text(headWithoutCredentials(value));
    const cleaned = text(value, cutsIn(value));
    if (cleaned !== value) how.changed = true;
    return cleaned;
  }
  if (Array.isArray(value)) {
    if (name === "headers" && value.every(isPair))
      return (hidesNames ? headerPairsWithoutCredentials(value) : value).map(([key, each]) => [
        key,
        text(each),
      ]);
    return value.map((each) => clean(each, name, how));
  }
  if (typeof value !== "object" || value === null) return value;
  if ("base64" in value && typeof value.base64 === "string") return cleanBytes(value.base64, text);
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      hidesNames && name === "headers" && isCredential(key)
        ? leftOut
        : // A directive of a mapping holds what its member does.
          clean(each, key.startsWith("@") ? name : key, how),
    ]),
  );
}

const isPair = (value: unknown): value is [string, string] =>
  Array.isArray(value) && value.length === 2 && value.every((each) => typeof each === "string");

/** Bytes that are no text may hold a secret all the same. */
function cleanBytes(base64: string, text: Text): { base64: string } {
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
      return colon > 0 && isCredential(line.slice(0, colon))
        ? `${line.slice(0, colon)}: ${leftOut}`
        : line;
    }),
  ].join("\r\n");
}

function parsedJson(text: string): unknown {
  try {
    return parseAsWritten(text);
  } catch {
    return undefined;
  }
}

const isJson = (body: unknown): boolean =>
  typeof body === "string" && parsedJson(body) !== undefined;

/** JSON with the members at the paths left out; other text as it is. */
function redacted(body: string, paths: readonly string[][]): string {
  if (paths.length === 0) return body;
  const value = parsedJson(body);
  let changed = false;
  for (const path of paths) changed = leaveOut(value, path) || changed;
  return changed ? JSON.stringify(value) : body;
}

function leaveOut(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (name === undefined || !hasMembers(value)) return false;
  const inElements =
    Array.isArray(value) && value.map((each) => leaveOut(each, [name, ...rest])).some(Boolean);
  if (!Object.hasOwn(value, name) || (Array.isArray(value) && name === "length")) return inElements;
  if (rest.length > 0) return leaveOut(value[name], rest) || inElements;
  value[name] = leftOut;
  return true;
}

const hasMembers = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !isWrittenNumber(value);

/** What a receiver repeats, or a mapping sends under another name. */
function textsAt(value: unknown, paths: readonly string[][]): string[] {
  const at = (each: unknown, [name, ...rest]: readonly string[]): string[] => {
    if (name === undefined) return valuesIn(each);
    if (!hasMembers(each)) return [];
    const inElements = Array.isArray(each) ? each.flatMap((item) => at(item, [name, ...rest])) : [];
    return Object.hasOwn(each, name) ? [...inElements, ...at(each[name], rest)] : inElements;
  };
  return paths.flatMap((path) => at(value, path)).filter((each) => each.length >= shortestRedacted);
}

/** Its texts and numbers, as they are written, and as a mapping writes them. */
function valuesIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (isWrittenNumber(value)) return [value.rawJSON, String(Number(value.rawJSON))];
  return hasMembers(value) ? Object.values(value).flatMap(valuesIn) : [];
}

/** `userId` is also a member of the row. */
function withoutMembers(value: unknown, paths: readonly string[][]): unknown {
  const members = value as Record<string, unknown>;
  for (const [path = "", ...rest] of paths) {
    const name = path === shownAsEvent[String(members["type"])] ? "event" : path;
    if (rest.length === 0 && shownMembers.has(name) && typeof members[name] === "string")
      members[name] = leftOut;
  }
  return members;
}

const shownMembers = new Set(["userId", "anonymousId", "event", "messageId", "traits"]);
/** By type: the member that lists show in place of an event. */
const shownAsEvent: Record<string, string> = { page: "name", screen: "name", group: "groupId" };
