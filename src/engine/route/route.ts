/**
 * Decides which destinations a message goes to: one decision, with its reason, for each destination connected to its
 * source; and creates the payloads of its deliveries, one of each shape.
 */

import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination, PayloadShape } from "../../domain/configuration.ts";
import type { SourceId } from "../../domain/ids.ts";
import { answerForWebhooks } from "../../domain/integrations.ts";
import { makePayload } from "../../domain/payload.ts";
import type { Decision, RoutedMessage } from "../ports.ts";

type RouteOptions = {
  message: CheckedMessage & { messageId: string };
  sourceId: SourceId;
  receivedAt: number;
  destinations: readonly Destination[];
};

const nowhere: RoutedMessage = { decisions: [], payloads: {} };

export function route({ message, sourceId, receivedAt, destinations }: RouteOptions): RoutedMessage {
  const connected = destinations.filter((destination) => destination.sourceIds.includes(sourceId));
  if (connected.length === 0) return nowhere;
  const answer = answerForWebhooks(message.integrations);
  const decisions = connected.map((destination): Decision => {
    const { id: destinationId, payload } = destination;
    if (!destination.enabled) {
      const detail = `${destination.name} is disabled, so nothing is sent to it. Enable it to have later messages delivered.`;
      return { destinationId, routed: false, reason: "disabled", detail, warnings: answer.warnings, payload };
    }
    return { destinationId, routed: answer.routed, reason: answer.reason, detail: answer.detail, warnings: answer.warnings, payload };
  });
  const shapes = new Set(decisions.filter(({ routed }) => routed).map(({ payload }) => payload));
  const payloads: Partial<Record<PayloadShape, Uint8Array>> = {};
  for (const shape of shapes) payloads[shape] = Buffer.from(makePayload(message, shape, receivedAt));
  return { decisions, payloads };
}
