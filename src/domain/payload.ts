/**
 * The body that webhooks get. It is made once, when the delivery is queued, from values that
 * JSON.parse made, so that a receiver which parses and re-stringifies it has the same bytes again.
 */

import type { CheckedMessage } from "./check.ts";
import type { PayloadShape } from "./configuration.ts";
import { isObject, type Json, type JsonObject } from "./json.ts";
import { formatTimestamp } from "./timestamp.ts";

export function makePayload(...about: Parameters<typeof payloadOf>): string {
  return JSON.stringify(payloadOf(...about));
}

export function payloadOf(
  message: CheckedMessage & { messageId: string },
  shape: PayloadShape,
  receivedAt: number,
): JsonObject {
  const { type, members } = message;
  const timestamp = formatTimestamp(message.timestamp);
  if (type === "delete") return { type, userId: message.userId, timestamp };

  const payload: JsonObject = { version: 1, type, messageId: message.messageId, timestamp };
  if (message.userId !== null && type !== "alias") payload["userId"] = message.userId;
  if (message.anonymousId !== null) payload["anonymousId"] = message.anonymousId;
  switch (type) {
    case "identify":
      payload["traits"] = objectOr(members["traits"]);
      break;
    case "track":
      payload["event"] = message.event;
      payload["properties"] = objectOr(members["properties"]);
      break;
    case "page":
      addGiven(payload, "name", members["name"]);
      addGiven(payload, "category", members["category"]);
      payload["properties"] = objectOr(members["properties"]);
      break;
    case "screen":
      addGiven(payload, "name", members["name"]);
      payload["properties"] = objectOr(members["properties"]);
      break;
    case "group":
      payload["groupId"] = message.event;
      payload["traits"] = objectOr(members["traits"]);
      break;
    case "alias":
      addGiven(payload, "Previous ID", members["previousId"]);
      payload["User ID"] = message.userId;
      break;
  }
  payload["context"] = message.context;
  if (shape === "full") {
    payload["receivedAt"] = formatTimestamp(receivedAt);
    payload["sentAt"] = message.sentAt;
    payload["originalTimestamp"] =
      message.originalTimestamp === null ? null : formatTimestamp(message.originalTimestamp);
    payload["integrations"] = message.integrations;
    addGiven(payload, "channel", members["channel"]);
  }
  return payload;
}

/** The whole event, for conditions and mappings: what came, and what the pipeline made of it. */
export function makeEvent(
  message: CheckedMessage & { messageId: string },
  receivedAt: number,
): JsonObject {
  const { type, members, userId, anonymousId, sentAt, originalTimestamp } = message;
  // What a sender says of itself, and no receiver needs, is left out.
  const { writeKey: _, _metadata: __, ...sent } = members;
  // Spreading copies a member `__proto__` as a member.
  const event: JsonObject = { type, messageId: message.messageId, ...sent };
  // Null and empty ones are missing.
  if (userId === null) delete event["userId"];
  if (anonymousId === null) delete event["anonymousId"];
  event["type"] = type;
  event["messageId"] = message.messageId;
  if (type === "identify" || type === "group") event["traits"] = objectOr(members["traits"]);
  if (type === "track" || type === "page" || type === "screen")
    event["properties"] = objectOr(members["properties"]);
  event["context"] = message.context;
  event["integrations"] = message.integrations;
  event["timestamp"] = formatTimestamp(message.timestamp);
  if (originalTimestamp !== null) event["originalTimestamp"] = formatTimestamp(originalTimestamp);
  if (sentAt !== null) event["sentAt"] = sentAt;
  event["receivedAt"] = formatTimestamp(receivedAt);
  return event;
}

function objectOr(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

function addGiven(payload: JsonObject, name: string, value: Json | undefined): void {
  if (value !== undefined && value !== null) payload[name] = value;
}
