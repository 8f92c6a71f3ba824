/**
 * Reads a request to the ingest port: what its path asks for, its write key, its body under the
 * limits, the JSON in it and the places of its messages; or the reason why not. Keeps nothing and
 * decides nothing.
 */

import { isUtf8 } from "node:buffer";
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { brotliDecompress, gunzip, inflate, inflateRaw, type InputType } from "node:zlib";
import { measureJson, isObject, type Span, type Json, type JsonObject } from "../../domain/json.ts";
import { isProblem, problem, type Problem } from "../../domain/problem.ts";
import type { MessageType } from "../../domain/states.ts";

export type IngestCall =
  | { call: "batch" }
  | { call: "single"; type: MessageType; isPixel?: true }
  | { call: "metrics" }
  | { call: "settings"; writeKey: string; prefix: string }
  | { call: "sourceConfig" };

const calls: ReadonlyMap<string, IngestCall> = new Map(
  Object.entries<IngestCall>({
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
  }),
);

/** Of a path in small letters. */
const callAtEnd = /(?:^|\/)v1\/+([a-z]+)\/*$/;
const pixelAtEnd = /(?:^|\/)v1\/+pixel\/+(identify|track|page|screen|group|alias)\/*$/;
const sourceConfigAtEnd = /(?:^|\/)sourceConfig\/*$/;
const settingsAtEnd = /(?:^|\/)v1\/+projects\/+([^/]+)\/+settings\/*$/i;

export function parsePath(path: string): IngestCall | null {
  const usual = path.startsWith("/v1/") ? calls.get(path.slice(4)) : undefined;
  if (usual !== undefined) return usual;
  const lower = path.toLowerCase();
  const name = callAtEnd.exec(lower)?.[1];
  if (name !== undefined) return calls.get(name) ?? null;
  const pixel = pixelAtEnd.exec(lower)?.[1];
  if (pixel !== undefined) return { call: "single", type: pixel as MessageType, isPixel: true };
  if (sourceConfigAtEnd.test(path)) return { call: "sourceConfig" };
  const settings = settingsAtEnd.exec(path);
  if (settings === null) return null;
  const [, writeKey = ""] = settings;
  return { call: "settings", writeKey: decoded(writeKey), prefix: prefixBefore(settings) };
}

/** What a proxy before this port has in front of its paths, without a slash at its end. */
export function prefixBefore({ input, index }: RegExpExecArray): string {
  let end = index;
  while (input[end - 1] === "/") end -= 1;
  return input.slice(0, end).replace(/^\w+:\/\/[^/]*/, "");
}

const noQuery = new URLSearchParams();

/** Path and query of a request target, which may also be a full URL. */
export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf("?");
  if (mark < 0) return { path: target, query: noQuery };
  return { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) };
}

export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Of a header that a client sends with each of its calls: the last one is not read again. */
export function readingOnce<Read>(
  read: (header: string | undefined) => Read,
): (header: string | undefined) => Read {
  let last: { header: string | undefined; read: Read } | null = null;
  return (header) => {
    if (last === null || last.header !== header) last = { header, read: read(header) };
    return last.read;
  };
}

/** The user of Basic authorization, up to the first colon; null when there is no such header. */
export const keyInHeader = readingOnce((authorization): string | null => {
  const encoded = /^\s*basic\s+(\S+)\s*$/i.exec(authorization ?? "")?.[1];
  if (encoded === undefined) return null;
  const decoded = Buffer.from(encoded, "base64").toString("utf8");
  const colon = decoded.indexOf(":");
  return (colon < 0 ? decoded : decoded.slice(0, colon)) || null;
});

export function keyInBody(root: JsonObject): string | null {
  const key = root["writeKey"];
  return typeof key === "string" && key !== "" ? key : null;
}

/** 500 KB a request, before and after decompression. */
export const maxRequestBytes = 512_000;

const tooLarge = (): Problem =>
  problem(
    400,
    "request_too_large",
    `The request exceeds the limit of ${maxRequestBytes} bytes, which also applies after decompression. Send smaller batches.`,
  );

/** The bytes as sent, or null when the client disconnected. */
export function readBody(request: IncomingMessage): Promise<Buffer | Problem | null> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    let refused = false;
    const refuse = (): void => {
      refused = true;
      chunks.length = 0;
      resolve(tooLarge());
    };
    if (Number(request.headers["content-length"]) > maxRequestBytes) refuse();
    request.on("data", (chunk: Buffer) => {
      if (refused) return;
      size += chunk.length;
      if (size > maxRequestBytes) refuse();
      else chunks.push(chunk);
    });
    // The chunk of a small request is a copy already.
    request.on("end", () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)));
    // After an error too it is closed.
    request.on("error", () => {});
    request.on("close", () => resolve(null));
  });
}

type Decompress = (
  input: InputType,
  options: { maxOutputLength: number },
  callback: (error: Error | null, output: Buffer) => void,
) => void;

export async function decompress(
  body: Buffer,
  encoding: string | undefined,
): Promise<Buffer | Problem> {
  switch (encoding?.trim().toLowerCase()) {
    case undefined:
    case "":
    case "identity":
      return body;
    case "gzip":
    case "x-gzip":
      return run(gunzip, body, "gzip");
    case "deflate":
      // Some clients send a raw deflate stream, without zlib's two header bytes.
      return run(hasZlibHeader(body) ? inflate : inflateRaw, body, "deflate");
    case "br":
      return run(brotliDecompress, body, "br");
    default:
      return problem(
        400,
        "unsupported_encoding",
        `Content-Encoding ${JSON.stringify(encoding)} is not supported. Send gzip, deflate, br, or no compression.`,
      );
  }
}

function run(how: Decompress, body: Buffer, name: string): Promise<Buffer | Problem> {
  return new Promise((resolve) => {
    how(body, { maxOutputLength: maxRequestBytes }, (error, output) => {
      if (error === null) resolve(output);
      else if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE")
        resolve(tooLarge());
      else
        resolve(
          problem(
            400,
            "invalid_compression",
            `The body is not ${name}, as its Content-Encoding says: ${error.message}.`,
          ),
        );
    });
  });
}

function hasZlibHeader(body: Buffer): boolean {
  return body.length >= 2 && (body.readUInt8() & 0x0f) === 8 && body.readUInt16BE() % 31 === 0;
}

const maxDepth = 500;

/** Messages of a batch, as at the hosted service. */
export const maxBatchMessages = 2500;

/**
 * `spans` has those of the first items, up to one more than a batch may have. The last item ends at
 * `end`.
 */
export type ParsedBody = { root: JsonObject; items: Json[]; spans: Span[]; end: number };

/** With the key in it when it is an object. */
type UnreadBody = Problem & { writeKey?: string | null };

function unread(root: JsonObject, code: string, message: string): UnreadBody {
  return { ...problem(400, code, message), writeKey: keyInBody(root) };
}

/** Two bytes open and close a level. */
const flat: ReturnType<typeof measureJson> = { depth: 0, batch: null, batchEnd: 0 };

export function parseBody(body: Buffer, batched: boolean): ParsedBody | UnreadBody {
  if (!isUtf8(body)) return problem(400, "invalid_utf8", notUtf8(body));
  let root: Json;
  // A small message is never too deep, and a single call is its own message.
  const isFlat = !batched && body.length <= 2 * maxDepth;
  let measured: ReturnType<typeof measureJson>;
  try {
    measured = isFlat ? flat : measureJson(body, maxBatchMessages + 1);
    root = valueOfBody(body, measured.batch);
  } catch (error) {
    const why = hasMark(body)
      ? "it begins with a byte order mark. Leave it out"
      : (error as Error).message;
    return problem(400, "invalid_json", `The body is not JSON: ${why}.`);
  }
  if (!isObject(root)) return problem(400, "not_an_object", "The body is JSON, but not an object.");
  const { depth, batch: spans, batchEnd: end } = measured;
  if (depth > maxDepth)
    return unread(
      root,
      "too_deep",
      `The body is nested ${depth} levels deep; ${maxDepth} is the limit.`,
    );
  if (!batched) return { root, items: [root], spans: [trimmed(body)], end: body.length };
  const items = root["batch"];
  if (items === undefined)
    return unread(
      root,
      "missing_batch",
      "The body has no `batch`. Put the messages into an array with that name.",
    );
  if (items === null) return { root, items: [], spans: [], end };
  if (!Array.isArray(items))
    return unread(root, "invalid_batch", "`batch` is not an array of messages.");
  return { root, items, spans: spans as Span[], end };
}

function notUtf8(body: Buffer): string {
  return body[0] === 0x1f && body[1] === 0x8b
    ? "The body is not valid UTF-8: it is compressed with gzip. Send `Content-Encoding: gzip` with it, or send it without compression."
    : "The body is not valid UTF-8. Encode it as UTF-8.";
}

/** Clients on Windows write one, and nobody sees it in an error. */
function hasMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

/** Messages that are larger on average are parsed one by one. */
const minAlone = 1024;

/**
 * One text of many large messages costs memory of its own, twice as much with a single letter that
 * Latin-1 lacks. The rest of the body has a 0 in place of each message, so both are JSON if and only
 * if the body is. The error is that of the whole body.
 */
function valueOfBody(body: Buffer, spans: Span[] | null): Json {
  if (spans !== null && body.length > spans.length * minAlone)
    try {
      let rest = "";
      let from = 0;
      for (const { start, end } of spans) {
        rest += `${body.toString("utf8", from, start)}0`;
        from = end;
      }
      const root = JSON.parse(rest + body.toString("utf8", from)) as { batch: Json[] };
      for (const [place, { start, end }] of spans.entries())
        root.batch[place] = JSON.parse(body.toString("utf8", start, end)) as Json;
      return root;
    } catch {
      // Parsing all of it says what is wrong where.
    }
  return JSON.parse(body.toString("utf8")) as Json;
}

/** Of a body that is JSON, so it has more than space. */
function trimmed(body: Buffer): Span {
  let start = 0;
  let end = body.length;
  while (isSpace(body[start])) start += 1;
  while (isSpace(body[end - 1])) end -= 1;
  return { start, end };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** What the body of a batch has for each of its messages. */
export function batchDefaults(body: Uint8Array): {
  context?: JsonObject;
  integrations?: JsonObject;
} {
  const parsed = parseBody(Buffer.from(body), true);
  if (isProblem(parsed)) return {};
  const { context, integrations } = parsed.root;
  return {
    ...(isObject(context) ? { context } : {}),
    ...(isObject(integrations) ? { integrations } : {}),
  };
}

export function replayBody(
  body: Uint8Array,
  span: { offset: number; size: number },
  batched: boolean,
  messageId: string = randomUUID(),
): Buffer | Problem {
  const bytes = Buffer.from(body);
  const parsed = parseBody(bytes, batched);
  const message = bytes.subarray(span.offset, span.offset + span.size);
  const value = isProblem(parsed) ? null : valueOf(message);
  if (isProblem(parsed) || !isObject(value)) {
    return problem(
      409,
      "not_replayable",
      "This record is not a message, so it cannot be replayed.",
    );
  }
  const comma = Object.keys(value).length === 0 ? "" : ",";
  const replayed = Buffer.concat([
    message.subarray(0, -1),
    Buffer.from(`${comma}"messageId":${JSON.stringify(messageId)}}`),
  ]);
  if (!batched) return replayed;
  const { context, integrations, sentAt } = parsed.root;
  const defaults = JSON.stringify({ context, integrations, sentAt });
  return Buffer.concat([
    Buffer.from(`{"batch":[`),
    replayed,
    Buffer.from(defaults === "{}" ? "]}" : `],${defaults.slice(1)}`),
  ]);
}

/** The messages over the limit of a batch are recorded as one span, which is not JSON. */
function valueOf(message: Buffer): Json {
  try {
    return JSON.parse(message.toString("utf8")) as Json;
  } catch {
    return null;
  }
}

/** The client's address, an IPv4 one in its usual spelling. */
export function addressOf({ socket }: Pick<IncomingMessage, "socket">): string | null {
  return socket.remoteAddress?.replace(/^::ffff:/, "") ?? null;
}
