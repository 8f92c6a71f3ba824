/**
 * The bytes of the requests, as the Go library of each version writes them: paths, headers and
 * their order, members and their order, times. Knows no sockets and no queue.
 */

import type { CallType, Members } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";
import { encodeJson, encodeString, sortedNames, TooDeepError } from "./json.ts";

export type WireMode = "v2.1" | "v2.0" | "v1.2";

export const wireModes: readonly WireMode[] = ["v2.1", "v2.0", "v1.2"];

/** 32 KB and 500 KB, as Hookyard's ingest counts them. */
export const maxMessageBytes = 32 * 1024;
export const maxBatchBytes = 500 * 1024;

const versions: Record<WireMode, string> = { "v2.1": "2.1.0", "v2.0": "2.0.0", "v1.2": "1.2.0" };

export function pathOf(mode: WireMode): string {
  return mode === "v1.2" ? "/v1/import" : "/v1/batch";
}

/** In the order in which they are sent. */
export function headersOf(
  mode: WireMode,
  host: string,
  writeKey: string,
  length: number,
): Record<string, string> {
  return {
    Host: host,
    "User-Agent": `analytics-go (version: ${versions[mode]})`,
    "Content-Length": String(length),
    Authorization: `Basic ${Buffer.from(`${writeKey}:`).toString("base64")}`,
    "Content-Type": "application/json",
    "Accept-Encoding": "gzip",
  };
}

const order: Record<CallType, readonly string[]> = {
  identify: ["context", "integrations", "traits", "anonymousId", "userId"],
  track: ["context", "integrations", "properties", "anonymousId", "userId", "event"],
  page: ["context", "integrations", "properties", "anonymousId", "userId", "category", "name"],
  // Version 2 has none: that of a page.
  screen: ["context", "integrations", "properties", "anonymousId", "userId", "category", "name"],
  group: ["context", "integrations", "traits", "anonymousId", "userId", "groupId"],
  alias: ["context", "integrations", "previousId", "userId"],
};

export function encodeMessage(
  mode: WireMode,
  type: CallType,
  call: Members,
  messageId: string,
  timestamp: string,
): string {
  return mode === "v1.2"
    ? encodeAsMap(type, call, messageId, timestamp)
    : encodeAsStruct(type, call, messageId, timestamp);
}

/** Version 2: its structs leave out what is empty. */
function encodeAsStruct(
  type: CallType,
  call: Members,
  messageId: string,
  timestamp: string,
): string {
  let members = "";
  for (const name of order[type]) {
    const value = call[name];
    if (value === undefined || value === null || value === "") continue;
    const encoded = encodeMember(name, value);
    if (encoded !== undefined && encoded !== "{}") members += `"${name}":${encoded},`;
  }
  return `{${members}"type":"${type}","messageId":${encodeString(messageId)},"timestamp":${encodeString(timestamp)}}`;
}

/** Version 1: one map with everything in it, also with the library. */
function encodeAsMap(type: CallType, call: Members, messageId: string, timestamp: string): string {
  const context = { library: libraryOf("v1.2"), ...(call["context"] as object | null | undefined) };
  const message: Record<string, unknown> = { ...call, context, type, messageId, timestamp };
  const members: string[] = [];
  for (const name of sortedNames(message)) {
    const encoded = message[name] === null ? undefined : encodeMember(name, message[name]);
    if (encoded !== undefined) members.push(`"${name}":${encoded}`);
  }
  return `{${members.join(",")}}`;
}

function encodeMember(name: string, value: unknown): string | undefined {
  try {
    return encodeJson(value);
  } catch (error) {
    if (!(error instanceof TooDeepError)) throw error;
    throw new AnalyticsError(
      "invalid_call",
      `'${name}' is nested too deeply, or refers to itself.`,
      name,
    );
  }
}

function libraryOf(mode: WireMode): object {
  return { name: "analytics-go", version: versions[mode] };
}

export type Envelope = { head: string; tail: string };

/** The envelope of the messages of a batch. */
export function envelopeOf(mode: WireMode, batchId: string, sentAt: string): Envelope {
  const id = `"messageId":${encodeString(batchId)}`;
  if (mode === "v1.2") return { head: '{"batch":[', tail: `],${id}}` };
  return {
    head: `{"context":${encodeJson({ library: libraryOf(mode) })},"batch":[`,
    tail: `],${id},"sentAt":"${sentAt}"}`,
  };
}

/** `2026-11-21T03:24:59+0000`: whole seconds in the local zone. */
export function formatTime(at: number, zoneMinutes = -new Date(at).getTimezoneOffset()): string {
  const local = new Date(at + zoneMinutes * 60_000).toISOString().slice(0, -5);
  const minutes = Math.abs(zoneMinutes);
  const zone = `${twoDigits(Math.floor(minutes / 60))}${twoDigits(minutes % 60)}`;
  return `${local}${zoneMinutes < 0 ? "-" : "+"}${zone}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
