/**
 * The body of a replay: the bytes of the message as they came, with a new message id put behind all other members,
 * where JSON lets it win. So number spellings survive a replay as well.
 */

import { randomUUID } from "node:crypto";
import type { JsonObject } from "../../domain/json.ts";
import { problem, type Problem } from "../../domain/problem.ts";

const curlyClose = 0x7d;

export function replayBody(body: Uint8Array, span: { offset: number; size: number }, batched: boolean): Buffer | Problem {
  const bytes = Buffer.from(body);
  const message = bytes.subarray(span.offset, span.offset + span.size);
  const root = parse(bytes);
  if (root === null || message.at(-1) !== curlyClose || message.length < 3) {
    return problem(409, "not_replayable", "This was rejected because it is no message at all, so there is nothing to send again.");
  }
  const replayed = Buffer.concat([message.subarray(0, -1), Buffer.from(`,"messageId":${JSON.stringify(randomUUID())}}`)]);
  if (!batched) return replayed;
  const defaults = JSON.stringify({ context: root["context"], integrations: root["integrations"], sentAt: root["sentAt"] });
  return Buffer.concat([Buffer.from(`{"batch":[`), replayed, Buffer.from(defaults === "{}" ? "]}" : `],${defaults.slice(1)}`)]);
}

function parse(bytes: Buffer): JsonObject | null {
  try {
    return JSON.parse(bytes.toString("utf8")) as JsonObject;
  } catch {
    return null;
  }
}
