/**
 * The request that a mapping makes of an event, as the open source of the hosted service makes it:
 * the URL, the method, the headers and the body are the same. It is made once, when the event is
 * routed. What cannot be sent is a sentence.
 */

import { createHash } from "node:crypto";
import type { Mapping } from "../../domain/configuration.ts";
import type { JsonObject } from "../../domain/json.ts";
import { MappingError, resolveMapping } from "../../domain/mapping.ts";
import { isHopByHop } from "../../domain/webhook-rules.ts";
import type { MappedRequest } from "./decision.ts";

class PayloadError extends Error {}

type Values = { url?: unknown; method: string; headers?: unknown; data?: unknown };

/** Of mappings in use: the same text for those that make the same of every event. */
const texts = new WeakMap<Mapping, string>();

export function textOfMapping(mapping: Mapping): string {
  let text = texts.get(mapping);
  if (text === undefined) {
    const { url, method, headers, data, batch } = mapping;
    text = JSON.stringify([url, method, headers, data, batch]);
    texts.set(mapping, text);
  }
  return text;
}

/** Makes the requests of one event: equal mappings, of any destination, share the work. */
export function createRequests(event: JsonObject): (mapping: Mapping) => MappedRequest | string {
  const made = new Map<string, MappedRequest | string>();
  return (mapping) => {
    const text = textOfMapping(mapping);
    let request = made.get(text);
    if (request === undefined) {
      request = mappedRequest(mapping, event);
      made.set(text, request);
    }
    return typeof request === "string" ? request : { ...request, webhookId: mapping.id };
  };
}

function mappedRequest(mapping: Mapping, event: JsonObject): MappedRequest | string {
  const { url, method, headers, data, batch } = mapping;
  try {
    const values = resolveMapping({ url, method, headers, data }, event) as Values;
    const body = bodyOf(values.data);
    return {
      webhookId: mapping.id,
      url: urlOf(values.url),
      method,
      headers: headersOf(values.headers),
      body: body === null ? null : Buffer.from(body),
      batch: batch.enabled
        ? { key: batchKey(values, batch.keys), size: batch.size, waitMs: batch.waitMs }
        : null,
    };
  } catch (error) {
    if (error instanceof MappingError || error instanceof PayloadError) return error.message;
    // Of what `@json` decodes: the message that has it fails, and not its whole request.
    if (error instanceof RangeError) return "The data is nested too deeply to be written.";
    return `The request cannot be written: ${error instanceof Error ? error.message : ""}`;
  }
}

const isMembers = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isNothing = (value: unknown): boolean =>
  value === undefined || value === null || value === "";

/** Null is an empty body. */
function bodyOf(data: unknown): string | null {
  if (isNothing(data)) return null;
  if (!isMembers(data)) throw new PayloadError("The data must be an object.");
  return JSON.stringify(data);
}

const character = "(?:[\\w.~!$&'()*+,;=:-]|%[0-9a-f]{2})";
const inPath = "(?:[\\w.~!$&'()*+,;=:@/-]|%[0-9a-f]{2})";
const inQuery = "(?:[\\w.~!$&'()*+,;=:@/?-]|%[0-9a-f]{2})";
const uri = new RegExp(
  `^[a-z][a-z0-9+.-]*:(?:/?/(?:${character}*@)?(?:\\[[0-9a-fv.:]+\\]|${character}*))?` +
    `${inPath}*(?:\\?${inQuery}*)?(?:#${inQuery}*)?$`,
  "i",
);

function urlOf(value: unknown): string {
  // The schema there coerces to text.
  const text: unknown = Array.isArray(value) && value.length === 1 ? value[0] : value;
  if (isNothing(text)) throw new PayloadError("The URL is missing.");
  if (typeof text !== "string" || !uri.test(text) || !URL.canParse(text))
    throw new PayloadError(`${shown(text)} is not a full URL. Escape characters outside ASCII.`);
  const url = new URL(text);
  if (url.protocol !== "http:" && url.protocol !== "https:")
    throw new PayloadError(`${shown(text)} is not an http or https URL.`);
  url.hash = "";
  // As the HTTP client of the open source writes it; of the query `URL` does so too.
  url.pathname = url.pathname.replaceAll("'", "%27");
  return url.href;
}

function shown(value: unknown): string {
  // A path may lead to a function, such as `$.properties.constructor`.
  const text = (JSON.stringify(value) as string | undefined) ?? `A ${typeof value}`;
  return text.length > 100 ? `${text.slice(0, 100)}…` : text;
}

const illegalInName = /[^^_`a-zA-Z\-0-9!#$%&'*+.|~]/;
const illegalInValue = /[^\t\x20-\x7e\x80-\xff]/;

/**
 * Names in lower case, in the order of what was configured. A value `undefined` removes a header
 * that Hookyard sets, so it stays in the list.
 */
function headersOf(given: unknown): [string, string][] {
  if (isNothing(given)) return [];
  if (!isMembers(given)) throw new PayloadError("The headers must be an object.");
  const values = new Map<string, string[]>();
  for (const [name, one] of Object.entries(given)) {
    if (name === "" || illegalInName.test(name))
      throw new PayloadError(`${shown(name)} is not a legal header name.`);
    const text = textOf(one);
    if (illegalInValue.test(text))
      throw new PayloadError(`The value of the header ${name} has a character that is not legal.`);
    const lower = name.toLowerCase();
    if (lower === "host" || isHopByHop(lower))
      throw new PayloadError(`Hookyard sets the header ${name} itself. Remove it.`);
    values.set(lower, [...(values.get(lower) ?? []), text]);
  }
  values.delete("content-length");
  return [...values].map(([name, each]): [string, string] => [name, each.join(", ")]).sort(byName);
}

const byName = ([a]: [string, string], [b]: [string, string]): number =>
  a < b ? -1 : Number(a > b);

function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    throw new PayloadError("The value of a header cannot be written as text.");
  }
}

/** Events that agree in these values share a batch. */
function batchKey(values: Values, keys: readonly string[]): string {
  const chosen = keys.map((key) => (values as Record<string, unknown>)[key]);
  return createHash("sha1").update(JSON.stringify(chosen)).digest("hex");
}
