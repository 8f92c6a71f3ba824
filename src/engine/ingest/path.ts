/** What a path at the ingest port asks for. Real clients send doubled and trailing slashes, prefixes and any case. */

import type { MessageType } from "../../domain/states.ts";

export type IngestCall =
  | { call: "batch" }
  | { call: "single"; type: MessageType }
  | { call: "metrics" }
  | { call: "settings"; writeKey: string };

const calls: Readonly<Record<string, IngestCall>> = {
  batch: { call: "batch" },
  import: { call: "batch" },
  b: { call: "batch" },
  identify: { call: "single", type: "identify" },
  i: { call: "single", type: "identify" },
  track: { call: "single", type: "track" },
  t: { call: "single", type: "track" },
  page: { call: "single", type: "page" },
  p: { call: "single", type: "page" },
  screen: { call: "single", type: "screen" },
  s: { call: "single", type: "screen" },
  group: { call: "single", type: "group" },
  g: { call: "single", type: "group" },
  alias: { call: "single", type: "alias" },
  a: { call: "single", type: "alias" },
  m: { call: "metrics" },
};

const callAtEnd = /(?:^|\/)v1\/+([a-z]+)\/*$/i;
const settingsAtEnd = /(?:^|\/)v1\/+projects\/+([^/]+)\/+settings\/*$/i;

export function parsePath(path: string): IngestCall | null {
  const name = callAtEnd.exec(path)?.[1]?.toLowerCase();
  if (name !== undefined) return Object.hasOwn(calls, name) ? (calls[name] ?? null) : null;
  const writeKey = settingsAtEnd.exec(path)?.[1];
  return writeKey === undefined ? null : { call: "settings", writeKey: decoded(writeKey) };
}

/** Path and query of a request target, which may also be a whole URL. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target, query: new URLSearchParams() };
  return { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
