/**
 * From a received request to the one that a `forward` step sends on: the URL, the headers that
 * belong to the message, and what is tampered with.
 */

import { createHash } from "node:crypto";
import type { Step } from "../../domain/configuration.ts";
import { isHopByHop } from "../../domain/webhook-rules.ts";
import { headerPairs } from "../http-port.ts";

type Received = { method: string; url: string; rawHeaders: readonly string[]; body: Uint8Array };

type ForwardedRequest = {
  method: string;
  url: string;
  headers: [string, string][];
  body: Uint8Array;
};

export function forwardedRequest(
  { to = "", tamper }: Step,
  { method, url, rawHeaders, body }: Received,
): ForwardedRequest {
  const headers = endToEnd(headerPairs(rawHeaders));
  const request = { method, url: withQuery(to, url), headers, body };
  switch (tamper) {
    case undefined:
      return request;
    case "body":
      return { ...request, body: withMember(body) };
    case "reserialise":
      return { ...request, body: respelled(body) };
    case "no-signature":
      return { ...request, headers: headers.filter(([name]) => !isSignature(name)) };
    case "signature":
      return { ...request, headers: withWrongSignature(headers, body) };
  }
}

/**
 * Without those that belong to one connection, and those that the sender writes itself. Also for
 * the headers of an answer.
 */
export function endToEnd(headers: readonly [string, string][]): [string, string][] {
  const named = headers
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, value]) => value.split(",").map((each) => each.trim().toLowerCase()));
  const isOwn = (name: string): boolean =>
    name === "host" || name === "content-length" || isHopByHop(name) || named.includes(name);
  return headers.filter(([name]) => !isOwn(name.toLowerCase()));
}

function withQuery(to: string, received: string): string {
  const query = /\?([^#]+)/.exec(received)?.[1];
  if (query === undefined) return to;
  const base = to.replace(/#.*$/s, "");
  return `${base}${base.includes("?") ? "&" : "?"}${query}`;
}

function isSignature(name: string): boolean {
  return name.toLowerCase() === "x-signature";
}

/** Of the right form, and of no secret. */
function withWrongSignature(headers: [string, string][], body: Uint8Array): [string, string][] {
  const wrong = createHash("sha1").update(body).digest("hex");
  if (!headers.some(([name]) => isSignature(name))) return [...headers, ["X-Signature", wrong]];
  return headers.map(([name, value]) => [name, isSignature(name) ? wrong : value]);
}

/** Another message: a JSON object gets one more member, anything else one more byte. */
function withMember(body: Uint8Array): Uint8Array {
  const text = latin1(body);
  const end = /\}\s*$/.exec(text)?.index;
  if (end === undefined) return Buffer.concat([body, Buffer.from(" ")]);
  const comma = /\{\s*$/.test(text.slice(0, end)) ? "" : ",";
  return Buffer.from(`${text.slice(0, end)}${comma}"tampered":true${text.slice(end)}`, "latin1");
}

/**
 * The same JSON in other bytes, as Python's `json.dumps` writes it: a space after each colon and
 * comma, and characters outside of ASCII as escapes. Numbers keep their spelling. What is not JSON
 * stays as it is.
 */
function respelled(body: Uint8Array): Uint8Array {
  const text = Buffer.from(body).toString("utf8");
  try {
    JSON.parse(text);
  } catch {
    return body;
  }
  const spelled = text.replace(/"(?:[^"\\]|\\.)*"|[:,]|\s+/g, (token) => {
    if (token.startsWith('"')) return token;
    return token === ":" || token === "," ? `${token} ` : "";
  });
  return Buffer.from(
    spelled.replace(
      /[\u007f-\uffff]/g,
      (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
    ),
  );
}

function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
}
