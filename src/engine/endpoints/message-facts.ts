/** What a delivered payload says about its message: enough to match a step and to name it in a list. */

import { isObject } from "../../domain/json.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import type { MessageFacts } from "../../domain/program.ts";
import { messageTypes } from "../../domain/states.ts";

const unknown: MessageFacts = { type: null, messageId: null, event: null, userId: null };

export function readMessageFacts(body: Uint8Array): MessageFacts {
  const payload = parse(body);
  if (!isObject(payload)) return unknown;
  const type = messageTypes.find((known) => known === payload["type"]) ?? null;
  return {
    type,
    messageId: text(payload, "messageId"),
    event: text(payload, type === "group" ? "groupId" : type === "page" || type === "screen" ? "name" : "event"),
    userId: text(payload, "userId") ?? text(payload, "User ID"),
  };
}

function parse(body: Uint8Array): Json | undefined {
  if (body.byteLength === 0) return undefined;
  try {
    return JSON.parse(Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString()) as Json;
  } catch {
    return undefined;
  }
}

function text(payload: JsonObject, member: string): string | null {
  const value = payload[member];
  return typeof value === "string" ? value : null;
}
