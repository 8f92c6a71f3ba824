/** From the bytes of a body to the JSON in it and the places of its messages, or the reason why not. Pure. */

import { isUtf8 } from "node:buffer";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { measureJson, type Span } from "../../domain/json-spans.ts";
import { problem, type Problem } from "../../domain/problem.ts";

const maxDepth = 500;

/** Messages of a batch, as at the hosted service. */
export const maxBatchMessages = 2500;

/** `spans` are those of the first items, one more than a batch may have; the last of all items ends at `end`. */
export type ParsedBody = { root: JsonObject; items: Json[]; spans: Span[]; end: number };

export function parseBody(body: Buffer, batched: boolean): ParsedBody | Problem {
  if (!isUtf8(body)) return problem(400, "invalid_utf8", "The body is not valid UTF-8.");
  let root: Json;
  try {
    root = JSON.parse(body.toString("utf8")) as Json;
  } catch (error) {
    return problem(400, "invalid_json", `The body is not JSON: ${error instanceof Error ? error.message : String(error)}.`);
  }
  if (!isObject(root)) return problem(400, "not_an_object", "The body is JSON, but not an object.");
  const { depth, batch: spans, batchEnd: end } = measureJson(body, maxBatchMessages + 1);
  if (depth > maxDepth) return problem(400, "too_deep", `The body nests ${depth} levels deep; ${maxDepth} is the limit.`);
  if (!batched) return { root, items: [root], spans: [trimmed(body)], end: body.length };
  const items = root["batch"];
  if (items === undefined) return problem(400, "missing_batch", "The body has no `batch`. Put the messages into an array of that name.");
  if (items === null) return { root, items: [], spans: [], end };
  if (!Array.isArray(items) || spans === null) return problem(400, "invalid_batch", "`batch` is not an array of messages.");
  return { root, items, spans, end };
}

function trimmed(body: Buffer): Span {
  let start = 0;
  let end = body.length;
  while (start < end && isSpace(body[start])) start += 1;
  while (end > start && isSpace(body[end - 1])) end -= 1;
  return { start, end };
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
