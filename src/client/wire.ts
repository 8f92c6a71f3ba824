/**
 * The bytes of the requests, as the Go library of each version writes them: paths, headers and
 * their order, members and their order, times. Knows no sockets and no queue.
 */

import type { CallType, Members } from "./calls.ts";
import { AnalyticsError } from "./errors.ts";
import { encodeJson, encodeString, sortedNames, TooDeepError } from "./json.ts";

export type WireMode = "v3" | "v2.1" | "v2.0" | "v1.2";

export const wireModes: readonly WireMode[] = ["v3", "v2.1", "v2.0", "v1.2"];

/** 32 KB and 500 KB: version 3 counts in thousands, and Hookyard's ingest in 1,024s. */
export function limitsOf(mode: WireMode): { messageBytes: number; batchBytes: number } {
  const kilobyte = mode === "v3" ? 1000 : 1024;
  return { messageBytes: 32 * kilobyte, batchBytes: 500 * kilobyte };
}

/** All versions 3 name the same. */
const versions: Record<WireMode, string> = {
  v3: "3.0.0",
  "v2.1": "2.1.0",
  "v2.0": "2.0.0",
  "v1.2": "1.2.0",
};

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

/** Version 3 has no category: that is written before the name. */
const view3 = ["anonymousId", "userId", "category", "name", "timestamp", "context", "properties"];
const order3: Record<CallType, readonly string[]> = {
  identify: ["anonymousId", "userId", "timestamp", "context", "traits", "integrations"],
  track: ["anonymousId", "userId", "event", "timestamp", "context", "properties", "integrations"],
  page: [...view3, "integrations"],
  screen: [...view3, "integrations"],
  group: ["anonymousId", "userId", "groupId", "timestamp", "context", "traits", "integrations"],
  alias: ["previousId", "userId", "timestamp", "context", "integrations"],
};

export function encodeMessage(
  mode: WireMode,
  type: CallType,
  call: Members,
  messageId: string,
  timestamp: string,
): string {
  if (mode === "v1.2") return encodeAsMap(type, call, messageId, timestamp);
  const id = encodeString(messageId);
  if (mode === "v3") {
    const members = encodeFields(order3[type], { ...call, timestamp }, "context");
    return `{"type":"${type}","messageId":${id},${members.slice(0, -1)}}`;
  }
  return `{${encodeFields(order[type], call)}"type":"${type}","messageId":${id},"timestamp":${encodeString(timestamp)}}`;
}

/** The structs of versions 2 and 3 leave out what is empty; version 3 keeps an empty context. */
function encodeFields(names: readonly string[], call: Members, kept = ""): string {
  let members = "";
  for (const name of names) {
    const value = call[name];
    if (value === undefined || value === null || value === "") continue;
    const encoded = encodeMember(name, value);
    if (encoded !== undefined && (encoded !== "{}" || name === kept))
      members += `"${name}":${encoded},`;
  }
  return members;
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

/** The envelope of the messages of a batch. Only version 3 has a default context. */
export function envelopeOf(
  mode: WireMode,
  batchId: string,
  sentAt: string,
  defaultContext: Members = {},
): Envelope {
  const id = `"messageId":${encodeString(batchId)}`;
  if (mode === "v1.2") return { head: '{"batch":[', tail: `],${id}}` };
  if (mode === "v3") {
    const context = encodeMember("defaultContext", {
      ...defaultContext,
      library: libraryOf(mode),
    });
    return { head: `{${id},"sentAt":"${sentAt}","batch":[`, tail: `],"context":${context}}` };
  }
  return {
    head: `{"context":${encodeJson({ library: libraryOf(mode) })},"batch":[`,
    tail: `],${id},"sentAt":"${sentAt}"}`,
  };
}

/** `2026-11-21T03:24:59+0000`: whole seconds in the local zone. */
export function formatTime(at: number, zoneMinutes = -new Date(at).getTimezoneOffset()): string {
  return `${localTime(at, zoneMinutes)}${zoneText(zoneMinutes, "")}`;
}

/**
 * `2026-11-21T03:25:00.220911357Z`, or with an offset: version 3 writes up to nine digits, and no
 * zeros at their end.
 */
export function formatNanoTime(
  at: number,
  nanoseconds: number,
  zoneMinutes = -new Date(at).getTimezoneOffset(),
): string {
  const below = (at - Math.floor(at / 1000) * 1000) * 1_000_000 + nanoseconds;
  const fraction = String(below).padStart(9, "0").replace(/0+$/, "");
  const zone = zoneMinutes === 0 ? "Z" : zoneText(zoneMinutes, ":");
  return `${localTime(at, zoneMinutes)}${fraction === "" ? "" : `.${fraction}`}${zone}`;
}

function localTime(at: number, zoneMinutes: number): string {
  return new Date(at + zoneMinutes * 60_000).toISOString().slice(0, -5);
}

function zoneText(zoneMinutes: number, colon: string): string {
  const minutes = Math.abs(zoneMinutes);
  return `${zoneMinutes < 0 ? "-" : "+"}${twoDigits(Math.floor(minutes / 60))}${colon}${twoDigits(minutes % 60)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
