/**
 * What the status line and headers of a response mean for the connection, parsed from their exact
 * text.
 */

export type ResponseHead = {
  status: number;
  headers: [string, string][];
  framing: Framing;
  /** The receiver accepts another request on this connection. */
  keepAlive: boolean;
  /** `Keep-Alive: timeout=N` in milliseconds; null without it. */
  keepAliveMs: number | null;
  /** `Keep-Alive: max=M`; infinite without it. */
  keepAliveMax: number;
};

/** How the end of the body is found. */
type Framing = { by: "length"; length: number } | { by: "chunks" } | { by: "close" };

/**
 * What is wrong with a head. The status is set when status line and headers are valid and only the
 * framing is wrong.
 */
export type HeadProblem = { problem: string; status: number | null };

// Node's own parser stops at 2,000; no receiver comes near either.
const maxHeaders = 1_000;

const headerName = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const statusLine = /^HTTP\/1\.(\d) ([1-9]\d\d)(?: .*)?$/;

/**
 * Reads a whole head, up to and including its empty line. Lines may end in a bare line feed, as RFC
 * 9112 allows a recipient to accept.
 */
export function parseResponseHead(text: string): ResponseHead | HeadProblem {
  const headers: [string, string][] = [];
  let status = 0;
  let minor = 0;
  let start = 0;
  for (;;) {
    const feed = text.indexOf("\n", start);
    if (feed === -1) return unreadable("the empty line is missing");
    const line = text.slice(start, text.charCodeAt(feed - 1) === 13 ? feed - 1 : feed);
    if (line.includes("\r")) return unreadable("a line contains a carriage return");
    if (start === 0) {
      const match = statusLine.exec(line);
      if (!match) return unreadable("its first line is not an HTTP/1 status line");
      minor = Number(match[1]);
      status = Number(match[2]);
    } else if (line === "") {
      break;
    } else {
      const problem = addHeader(headers, line);
      if (problem) return unreadable(problem);
    }
    start = feed + 1;
  }
  return readFraming(status, minor, headers);
}

function addHeader(headers: [string, string][], line: string): string | null {
  const first = line.charCodeAt(0);
  if (first === 32 || first === 9) {
    const last = headers.at(-1);
    if (!last) return "it starts with a folded line";
    last[1] = `${last[1]} ${trimBlanks(line)}`;
    return null;
  }
  if (headers.length === maxHeaders) return `it has more than ${maxHeaders} headers`;
  const colon = line.indexOf(":");
  if (colon === -1) return `header line ${headers.length + 1} has no colon`;
  const name = line.slice(0, colon);
  if (!headerName.test(name)) return `the name of header ${headers.length + 1} is not legal`;
  headers.push([name, trimBlanks(line, colon + 1)]);
  return null;
}

/**
 * `String.trim` would also remove a no-break space, which is part of a value; and a regular
 * expression takes seconds for a value of 60,000 spaces.
 */
export function trimBlanks(line: string, from = 0): string {
  let start = from;
  let end = line.length;
  while (start < end && isBlank(line.charCodeAt(start))) start += 1;
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1;
  return line.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function readFraming(
  status: number,
  minor: number,
  headers: [string, string][],
): ResponseHead | HeadProblem {
  let length: string | null = null;
  let coding: string | null = null;
  let connection = "";
  let keepAliveMs: number | null = null;
  let keepAliveMax = Infinity;
  for (const [name, value] of headers) {
    // The length alone rules out nearly all headers.
    if (name.length === 10) {
      const lower = name.toLowerCase();
      if (lower === "connection") connection += `,${value.toLowerCase()}`;
      else if (lower === "keep-alive") {
        const seconds = keepAliveNumber(value, "timeout");
        if (seconds !== null) keepAliveMs = Math.min(keepAliveMs ?? Infinity, seconds * 1_000);
        keepAliveMax = Math.min(keepAliveMax, keepAliveNumber(value, "max") ?? Infinity);
      }
    } else if (name.length === 14 && name.toLowerCase() === "content-length") {
      length = length === null ? value : `${length},${value}`;
    } else if (name.length === 17 && name.toLowerCase() === "transfer-encoding") {
      coding = value.toLowerCase();
    }
  }
  const wantsClose = hasToken(connection, "close");
  const keepAlive = !wantsClose && (minor >= 1 || hasToken(connection, "keep-alive"));
  const head = { status, headers, keepAlive, keepAliveMs, keepAliveMax };

  if (status < 200 || status === 204 || status === 304)
    return { ...head, framing: { by: "length", length: 0 } };
  if (coding !== null) {
    // RFC 9112 6.3: chunked last says where the body ends, anything else runs to the end of the
    // connection. A length beside it is overruled, and the connection is not trusted with another
    // request.
    const chunked = coding === "chunked" || /,[ \t]*chunked$/.test(coding);
    if (chunked)
      return {
        ...head,
        framing: { by: "chunks" },
        keepAlive: keepAlive && length === null && minor >= 1,
      };
    return { ...head, framing: { by: "close" }, keepAlive: false };
  }
  if (length === null) return { ...head, framing: { by: "close" }, keepAlive: false };
  const parsed = parseLength(length);
  if (typeof parsed === "string") return { problem: parsed, status };
  return { ...head, framing: { by: "length", length: parsed } };
}

function parseLength(text: string): number | string {
  let length: number | null = null;
  for (const part of text.split(",")) {
    const digits = part.trim();
    if (!/^\d+$/.test(digits)) return `its Content-Length is not a number: ${text.slice(0, 60)}`;
    const value = Number(digits);
    if (!Number.isSafeInteger(value))
      return `its Content-Length is too large: ${text.slice(0, 60)}`;
    if (length !== null && length !== value)
      return `its Content-Length headers differ: ${text.slice(0, 60)}`;
    length = value;
  }
  return length ?? 0;
}

/** A parameter such as `timeout=5` or `max = "100"`; null when it is absent or not a number. */
function keepAliveNumber(value: string, name: "timeout" | "max"): number | null {
  const match = new RegExp(
    `(?:^|[,; \\t])${name}[ \\t]{0,9}=[ \\t]{0,9}"?(\\d{1,9})(?:\\.\\d{1,9})?(?:$|[",; \\t])`,
    "i",
  ).exec(value);
  return match ? Number(match[1]) : null;
}

function hasToken(list: string, token: string): boolean {
  return list.split(",").some((part) => part.trim() === token);
}

function unreadable(problem: string): HeadProblem {
  return { problem, status: null };
}
