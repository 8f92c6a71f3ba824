/** The recorded first line of a request or an answer, taken apart, and what a request took on the wire. Pure. */

import { sizeOf } from "../../kit/byte-rows.ts";
import type { Attempt } from "./rounds.ts";

/** Null for a line that is none of an answer. */
export function statusLine(startLine: string): { version: string; status: string; reason: string } | null {
  const [, version, status, reason] = /^(\S+) (\d{3})(?: (.*))?$/s.exec(startLine) ?? [];
  return version === undefined || status === undefined ? null : { version, status, reason: reason ?? "" };
}

/** `HTTP/1.1`, as the request said it. */
export function requestVersion(startLine: string): string {
  return startLine.slice(startLine.lastIndexOf(" ") + 1);
}

/** Heads are one byte a character; each line ends in two, and an empty one ends the head. */
export function requestSize({ startLine, headers, body }: Attempt["request"]): number {
  const lines = [startLine, ...headers.map(([name, value]) => `${name}: ${value}`), ""];
  return lines.reduce((sum, line) => sum + line.length + 2, 0) + sizeOf(body);
}
