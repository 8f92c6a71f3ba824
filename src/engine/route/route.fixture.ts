/** A message, and destinations and mappings that it is routed to. */

import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination, Mapping } from "../../domain/configuration.ts";
import type { DestinationId, SourceId, WebhookId } from "../../domain/ids.ts";
import type { JsonObject } from "../../domain/json.ts";

export const source = 1 as SourceId;
export const receivedAt = Date.UTC(2026, 10, 21);

export function messageWith(integrations: JsonObject): CheckedMessage & { messageId: string } {
  return {
    type: "track",
    messageId: "m",
    userId: "u",
    anonymousId: null,
    event: "e",
    timestamp: receivedAt,
    originalTimestamp: null,
    sentAt: null,
    members: { type: "track", userId: "u", event: "e" },
    context: {},
    integrations,
    warnings: [],
  };
}

export function destinationOf(id: number, changes: Partial<Destination> = {}): Destination {
  return {
    id: id as DestinationId,
    kind: "webhooks",
    mappings: [],
    name: `Number ${id}`,
    enabled: true,
    sourceIds: [source],
    webhooks: [],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    filters: [],
    createdAt: 0,
    ...changes,
  };
}

export const mappingOf = (id: number, more: Partial<Mapping> = {}): Mapping => ({
  ...{ id: id as WebhookId, name: `M${id}`, enabled: true, trigger: null },
  ...{ url: "http://127.0.0.1/", method: "POST", headers: {}, data: {} },
  batch: { enabled: false, size: 1, waitMs: 1000, keys: [] },
  ...more,
});
