/**
 * The body of a replay: the bytes of the message as they came, with a new message id put behind all other members,
 * where JSON lets it win. So number spellings survive a replay as well.
 */

import { randomUUID } from "node:crypto";
import { isObject, type Json } from "../../domain/json.ts";
import { isProblem, problem, type Problem } from "../../domain/problem.ts";
import { parseBody } from "./parse.ts";

export function replayBody(body: Uint8Array, span: { offset: number; size: number }, batched: boolean): Buffer | Problem {
  const bytes = Buffer.from(body);
  const parsed = parseBody(bytes, batched);
  const message = bytes.subarray(span.offset, span.offset + span.size);
  const value = isProblem(parsed) ? null : valueOf(message);
  if (isProblem(parsed) || !isObject(value)) {
    return problem(409, "not_replayable", "This was rejected because it is no message at all, so there is nothing to send again.");
  }
  const comma = Object.keys(value).length === 0 ? "" : ",";
  const replayed = Buffer.concat([message.subarray(0, -1), Buffer.from(`${comma}"messageId":${JSON.stringify(randomUUID())}}`)]);
  if (!batched) return replayed;
  const { context, integrations, sentAt } = parsed.root;
  const defaults = JSON.stringify({ context, integrations, sentAt });
  return Buffer.concat([Buffer.from(`{"batch":[`), replayed, Buffer.from(defaults === "{}" ? "]}" : `],${defaults.slice(1)}`)]);
}

/** What is over the limit of a batch is on record as one span of several messages. */
function valueOf(message: Buffer): Json {
  try {
    return JSON.parse(message.toString("utf8")) as Json;
  } catch {
    return null;
  }
}
