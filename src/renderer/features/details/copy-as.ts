/** What was recorded, as a command for a shell or as an HTTP archive. Pure. */

import type { AnswerOf } from "../../../contract/contract.ts";
import {
  headerPairsWithoutCredentials,
  ingestHeadersWithoutCredentials,
  urlWithoutCredentials,
} from "../../../domain/credentials.ts";
import { bytesOf, sizeOf, type RecordedBytes } from "../../kit/byte-rows.ts";
import { shellQuoted } from "../../../domain/shell-quoted.ts";
import { requestVersion, statusLine } from "../attempt/attempt-words.ts";

type Message = AnswerOf<"messages.get">;
type Attempt = Message["deliveries"][number]["attempts"][number];
type Headers = [string, string][];

/**
 * What the user asked for: the values of headers and parts of URLs that let others in are left out
 * otherwise.
 */
type Asked = { credentials?: boolean };

export function attemptWithoutCredentials<One extends Attempt>(attempt: One): One {
  const { request, response, webhookUrl } = attempt;
  return {
    ...attempt,
    webhookUrl: urlWithoutCredentials(webhookUrl),
    request: {
      ...request,
      url: urlWithoutCredentials(request.url),
      startLine: request.startLine.split(" ").map(urlWithoutCredentials).join(" "),
      headers: headerPairsWithoutCredentials(request.headers),
    },
    response:
      response === null
        ? null
        : { ...response, headers: headerPairsWithoutCredentials(response.headers) },
  };
}

export function hasCredentials(attempts: readonly Attempt[]): boolean {
  return attempts.some(
    (attempt) => JSON.stringify(attemptWithoutCredentials(attempt)) !== JSON.stringify(attempt),
  );
}

/** curl makes these itself, or they describe the bytes of a body that curl writes itself. */
const madeByCurl = new Set([
  "host",
  "content-length",
  "connection",
  "transfer-encoding",
  "content-encoding",
  "accept-encoding",
  "expect",
  "keep-alive",
]);

/** A single argument must stay well below Linux's 128 KB. */
const longestArgument = 100_000;

/** `writeKey` is that of its source, which the call needs when it named it elsewhere in the body. */
type Where = { ingestUrl: string; writeKey?: string | undefined };

/**
 * The call that brings the message in again: the same path, headers and bytes; of a batch, this
 * message alone.
 */
export function curlOfIngest(
  { request, raw }: Pick<Message, "request" | "raw">,
  { ingestUrl, writeKey }: Where,
): string {
  const url = ingestUrl + request.path;
  const sent = ingestHeadersWithoutCredentials(
    request.headers.filter(([name]) => !madeByCurl.has(name.toLowerCase())),
  );
  // A pixel call: all of it is in the address.
  if (request.method === "GET")
    return [`curl ${urlArgument(url)}`, ...sent.map(header)].join(nextLine);
  const isSingle = /\/v1\/(?:identify|track|page|screen|group|alias|[itpsga])\/*(?:\?|$)/.test(
    request.path,
  );
  const isWhole = isSingle || sizeOf(raw) === request.size;
  const body = isWhole || typeof raw !== "string" ? raw : `{"batch":[${raw}]}`;
  const namesKey =
    sent.some(([name, value]) => isAuthorization(name) && /^\s*basic\s+\S/i.test(value)) ||
    /[?&]writeKey=[^&]/.test(request.path);
  if (namesKey || writeKey === undefined) return curl("POST", url, sent, body);
  const others = sent.filter(([name]) => !isAuthorization(name));
  return curl("POST", url, others, body, [`-u ${shellQuoted(`${writeKey}:`)}`]);
}

const isAuthorization = (name: string): boolean => name.toLowerCase() === "authorization";

const nextLine = " \\\n  ";

/** curl reads brackets and braces in an address as a list of addresses, without -g. */
const urlArgument = (url: string): string =>
  `${/[[\]{}]/.test(url) ? "-g " : ""}${shellQuoted(url)}`;

/** The attempt again, with all the headers that were sent. */
export function curlOfAttempt(attempt: Attempt, { credentials = false }: Asked = {}): string {
  const { request, webhookUrl } = credentials ? attempt : attemptWithoutCredentials(attempt);
  const headers = request.headers.filter(([name]) => !madeByCurl.has(name.toLowerCase()));
  return curl(request.method, request.url || webhookUrl, headers, request.body);
}

function curl(
  method: string,
  url: string,
  headers: Headers,
  body: RecordedBytes,
  user: readonly string[] = [],
): string {
  const hasType = headers.some(([name]) => name.toLowerCase() === "content-type");
  const parts = [
    `curl -X ${method} ${urlArgument(url)}`,
    ...user,
    ...headers.map(header),
    // Otherwise curl would say that the body is a form.
    ...(hasType ? [] : ["-H 'Content-Type:'"]),
  ];
  if (typeof body === "string" && body.length <= longestArgument && !body.includes("\0")) {
    // `--data-binary` would read a file when the body began with an @.
    return [...parts, `--data-raw ${shellQuoted(body)}`].join(nextLine);
  }
  const base64 = typeof body === "string" ? toBase64(bytesOf(body)) : body.base64;
  const command = [...parts, "--data-binary @-"].join(nextLine);
  return `base64 -d <<'EOF' | ${command}\n${base64.replace(/.{76}/g, "$&\n")}\nEOF`;
}

function header([name, value]: [string, string]): string {
  const basic = /^basic (\S+)$/i.exec(value)?.[1];
  if (isAuthorization(name) && basic !== undefined) {
    const user = fromBase64(basic);
    if (user !== null) return `-u ${shellQuoted(user)}`;
  }
  // A semicolon in place of the colon is how curl sends a header without a value.
  return `-H ${shellQuoted(value === "" ? `${name};` : `${name}: ${value}`)}`;
}

/** Null for what a shell's argument would not keep. */
function fromBase64(text: string): string | null {
  try {
    const user = atob(text);
    return /^[\x20-\x7e]*:[\x20-\x7e]*$/.test(user) ? user : null;
  } catch {
    return null;
  }
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

/** HTTP Archive 1.2, an entry for each attempt that sent something. */
export function harOfAttempts(
  attempts: readonly Attempt[],
  version: string,
  { credentials = false }: Asked = {},
): string {
  const sent = attempts.filter(({ request }) => request.sent);
  const entries = (credentials ? sent : sent.map(attemptWithoutCredentials)).map(entryOf);
  return JSON.stringify(
    { log: { version: "1.2", creator: { name: "Hookyard", version }, entries } },
    null,
    2,
  );
}

function entryOf(attempt: Attempt) {
  const { request, response, startedAt, durationMs, round, outcome, error } = attempt;
  const list = (headers: Headers) => headers.map(([name, value]) => ({ name, value }));
  const valueOf = (headers: Headers, wanted: string): string =>
    headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? "";
  const answered = statusLine(response?.startLine ?? "");
  const url = URL.canParse(request.url) ? new URL(request.url) : null;
  return {
    startedDateTime: startedAt,
    time: durationMs,
    request: {
      method: request.method,
      url: request.url,
      httpVersion: requestVersion(request.startLine),
      cookies: [],
      headers: list(request.headers),
      queryString: [...(url?.searchParams ?? [])].map(([name, value]) => ({ name, value })),
      postData: { mimeType: valueOf(request.headers, "content-type"), ...contentOf(request.body) },
      headersSize: -1,
      bodySize: sizeOf(request.body),
    },
    response: {
      status: response?.status ?? 0,
      statusText: answered?.reason ?? "",
      httpVersion: answered?.version ?? "",
      cookies: [],
      headers: list(response?.headers ?? []),
      content: {
        size: response?.bodyLength ?? 0,
        mimeType: valueOf(response?.headers ?? [], "content-type"),
        ...contentOf(response?.body ?? ""),
      },
      redirectURL: valueOf(response?.headers ?? [], "location"),
      headersSize: -1,
      bodySize: response?.bodyLength ?? -1,
    },
    cache: {},
    timings: timingsOf(attempt),
    comment: `round ${round}, ${outcome}${error === null ? "" : `: ${error.message}`}`,
  };
}

function contentOf(body: RecordedBytes): { text: string; encoding?: "base64" } {
  return typeof body === "string" ? { text: body } : { text: body.base64, encoding: "base64" };
}

/** -1 is what the format writes for a phase that did not take place. */
function timingsOf({ phases, durationMs }: Attempt) {
  const { dns, connect, tls, sent, firstByte, done } = phases;
  const opened = tls ?? connect ?? dns ?? 0;
  return {
    blocked: -1,
    dns: dns ?? -1,
    connect: connect === undefined ? -1 : (tls ?? connect) - (dns ?? 0),
    ssl: tls === undefined || connect === undefined ? -1 : tls - connect,
    send: Math.max(0, (sent ?? opened) - opened),
    wait: Math.max(0, (firstByte ?? durationMs) - (sent ?? opened)),
    receive: firstByte === undefined ? 0 : Math.max(0, (done ?? durationMs) - firstByte),
  };
}
