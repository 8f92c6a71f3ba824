/** JSON over HTTP: the body of a request, and answers. */

import type { ServerResponse, IncomingMessage } from "node:http";
import { type Problem, invalid, isProblem, problem } from "../domain/problem.ts";
import { nextTurn } from "../engine/real-time.ts";

/**
 * On every answer of this host: never sniffed, never framed, never read by another origin, never
 * cached.
 */
export const guardHeaders = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

export function answerJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  answerText(response, JSON.stringify(body), "application/json; charset=utf-8", status, headers);
}

export function answerText(
  response: ServerResponse,
  text: string,
  type: string,
  status = 200,
  headers: Record<string, string> = {},
): void {
  const bytes = Buffer.from(text);
  response.writeHead(status, {
    ...guardHeaders,
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    ...headers,
    "Content-Type": type,
    "Content-Length": String(bytes.length),
  });
  response.end(response.req.method === "HEAD" ? undefined : bytes);
}

export function answerProblem(
  response: ServerResponse,
  problem: Problem,
  headers: Record<string, string> = {},
): void {
  const { status, code, message, data } = problem;
  answerJson(
    response,
    status,
    data === undefined ? { code, message } : { code, message, data },
    headers,
  );
}

/**
 * A client that is still sending reads no answer, so the excess is discarded for this long before
 * the answer.
 */
const maxDiscardedBytes = 64 * 1024 * 1024;

/** Of more, counting the values, parsing and checking are a turn of the event loop each. */
const bytesPerTurn = 2 * 1024 * 1024;

const utf8 = new TextDecoder("utf-8", { fatal: true });

/** The JSON object in a request's body, `{}` for an empty one; null when the client went away. */
export async function readJsonObject(
  request: IncomingMessage,
  limits: { maxValues: number; maxBytes: number },
): Promise<object | Problem | null> {
  const read = await readJson(request, limits);
  if (read === null || isProblem(read)) return read;
  return typeof read.value === "object" && read.value !== null && !Array.isArray(read.value)
    ? read.value
    : invalid("The body must be a JSON object.");
}

/** More than any object of the contract has. Going through 240,000 members takes 0.2 seconds, each time. */
const maxMembers = 10_000;

/** Parsing takes far longer than counting. Returns what there is too much of. */
function excessIn(json: Uint8Array, most: number): string | null {
  let count = 0;
  /** How many members each open object can still have; lists are limited by their values alone. */
  const open: number[] = [];
  let isText = false;
  let before = 0;
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number;
    if (isText) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isText = false;
      continue;
    }
    if (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) continue;
    const isOpening = byte === 0x5b || byte === 0x7b;
    const isClosing = byte === 0x5d || byte === 0x7d;
    if (isOpening || byte === 0x2c) count += 1;
    // What is empty has no first value.
    else if (isClosing && (before === 0x5b || before === 0x7b)) count -= 1;
    if (count > most) return `The body has more than the ${most} values allowed.`;
    if (isOpening) open.push(byte === 0x7b ? maxMembers : Infinity);
    else if (isClosing) open.pop();
    else if (byte === 0x2c) {
      const left = (open.pop() ?? Infinity) - 1;
      if (left <= 0)
        return `An object of the body has more than the ${maxMembers} members allowed.`;
      open.push(left);
    }
    isText = byte === quote;
    before = byte;
  }
  return null;
}
const quote = 0x22;
const backslash = 0x5c;

/** Any JSON in a request's body, `{}` for an empty one; null when the client went away. */
export async function readJson(
  request: IncomingMessage,
  { maxValues, maxBytes }: { maxValues: number; maxBytes: number },
): Promise<{ value: unknown } | Problem | null> {
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding !== "identity")
    return problem(
      415,
      "unsupported_encoding",
      `The control API accepts uncompressed bodies only, not Content-Encoding ${encoding}.`,
    );
  const bytes = await readBytes(request, maxBytes);
  if (bytes === null) return null;
  if (bytes === "too large")
    return problem(413, "too_large", `The body is larger than ${maxBytes / 1024 / 1024} MiB.`);
  if (bytes.length === 0) return { value: {} };
  const excess = excessIn(bytes, maxValues);
  if (excess !== null) return invalid(`${excess} Divide it among several calls.`);
  if (bytes.length > bytesPerTurn) await nextTurn();
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    return problem(400, "bad_utf8", "The body is not valid UTF-8.");
  }
  try {
    const value = JSON.parse(text) as unknown;
    if (bytes.length > bytesPerTurn) await nextTurn();
    return { value };
  } catch (error) {
    return problem(400, "bad_json", `The body is not valid JSON: ${(error as Error).message}.`);
  }
}

function readBytes(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | "too large" | null> {
  return new Promise((resolve) => {
    let chunks: Buffer[] = [];
    let size = 0;
    request.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else chunks = [];
      if (size > maxDiscardedBytes) resolve("too large");
    });
    request.on("end", () => resolve(size > maxBytes ? "too large" : Buffer.concat(chunks)));
    request.on("close", () => resolve(null));
  });
}
