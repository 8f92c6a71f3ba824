/** The first line of a request and its size on the wire, from what is recorded of it. Pure. */

import { sizeOf } from "../../kit/byte-rows.ts";
import type { Attempt } from "./rounds.ts";

type Request = Attempt["request"];

export function requestLine({ method, url }: Request): string {
  return `${method} ${targetOf(url)} HTTP/1.1`;
}

/** Path and query as written; an empty query keeps its question mark. */
function targetOf(url: string): string {
  if (!URL.canParse(url)) return url;
  const { href, protocol } = new URL(url);
  const withoutFragment = href.split("#", 1)[0] ?? "";
  return withoutFragment.slice(withoutFragment.indexOf("/", protocol.length + 2));
}

/** Heads are one byte a character; each line ends in two, and an empty one ends the head. */
export function requestSize(request: Request): number {
  const lines = [requestLine(request), ...request.headers.map(([name, value]) => `${name}: ${value}`), ""];
  return lines.reduce((sum, line) => sum + line.length + 2, 0) + sizeOf(request.body);
}
