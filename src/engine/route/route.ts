/**
 * Decides which destinations a message goes to: one decision, with its reason, for each destination
 * connected to its source; and creates the payloads of its deliveries, one of each shape.
 */

import type { CheckedMessage } from "../../domain/check.ts";
import type { Destination, PayloadShape, Source } from "../../domain/configuration.ts";
import { makePayload } from "../../domain/payload.ts";
import type { Decision, RoutedMessage } from "../ports.ts";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { checkPlan } from "../plans/plans.ts";

type RouteOptions = {
  message: CheckedMessage & { messageId: string };
  source: Pick<Source, "id" | "name" | "plan">;
  receivedAt: number;
  destinations: readonly Destination[];
};

export function route({
  message: received,
  source,
  receivedAt,
  destinations,
}: RouteOptions): RoutedMessage {
  const checked = source.plan === null ? null : checkPlan(source, source.plan, received);
  const plan = checked && {
    violations: checked.violations,
    dropped: checked.dropped,
    reason: checked.reason?.reason ?? null,
  };
  const connected = destinations.filter((destination) => destination.sourceIds.includes(source.id));
  if (connected.length === 0) return { decisions: [], plan, payloads: {} };
  if (checked !== null && checked.reason !== null) {
    const { reason } = checked;
    const decisions = connected.map(({ id: destinationId, payload }): Decision => {
      return { destinationId, routed: false, ...reason, warnings: [], payload };
    });
    return { decisions, plan, payloads: {} };
  }
  const message =
    checked === null ? received : { ...checked.message, messageId: received.messageId };
  const answer = answerForWebhooks(message.integrations);
  const decisions = connected.map((destination): Decision => {
    const { id: destinationId, payload } = destination;
    if (!destination.enabled) {
      const detail = `${destination.name} is disabled, so nothing is sent to it. Enable it to have later messages delivered.`;
      return {
        destinationId,
        routed: false,
        reason: "disabled",
        detail,
        warnings: answer.warnings,
        payload,
      };
    }
    return {
      destinationId,
      routed: answer.routed,
      reason: answer.reason,
      detail: answer.detail,
      warnings: answer.warnings,
      payload,
    };
  });
  const shapes = new Set(decisions.filter(({ routed }) => routed).map(({ payload }) => payload));
  const payloads: Partial<Record<PayloadShape, Uint8Array>> = {};
  for (const shape of shapes)
    payloads[shape] = Buffer.from(makePayload(message, shape, receivedAt));
  return { decisions, plan, payloads };
}

/**
 * The name of every destination in the integrations object, since there is one kind of destination.
 */
const destinationName = "Webhooks";

type RoutingAnswer = {
  routed: boolean;
  reason: "routed" | "integrations_all_false" | "integrations_false";
  detail: string;
  warnings: string[];
};

/** What the merged integrations object of a message says about the destination `Webhooks`. */
export function answerForWebhooks(integrations: JsonObject): RoutingAnswer {
  const warnings: string[] = [];
  for (const name in integrations) {
    const meant = meantBy(name);
    if (meant === null) continue;
    if (name !== meant) warnings.push(wrongCase(name, meant, integrations[name]));
    else if (typeof integrations[name] !== "boolean" && !isObject(integrations[name])) {
      warnings.push(wrongValue(name, integrations[name]));
    }
  }

  const all = Object.hasOwn(integrations, "All") ? integrations["All"] : undefined;
  const own = Object.hasOwn(integrations, destinationName)
    ? integrations[destinationName]
    : undefined;
  if (own === false) {
    return {
      routed: false,
      reason: "integrations_false",
      detail: `The message's integrations name \`${destinationName}\` with false, which leaves this destination out.`,
      warnings,
    };
  }
  if (all !== false)
    return {
      routed: true,
      reason: "routed",
      detail:
        "The source is connected and nothing in the message's integrations leaves this destination out.",
      warnings,
    };
  if (own === true || isObject(own)) {
    return {
      routed: true,
      reason: "routed",
      detail: `The message's integrations say \`All: false\`, but name \`${destinationName}\`, so it goes to this destination.`,
      warnings,
    };
  }
  return {
    routed: false,
    reason: "integrations_all_false",
    detail: `The message's integrations say \`All: false\` and do not name \`${destinationName}\` with true or an options object.`,
    warnings,
  };
}

function meantBy(name: string): string | null {
  if (name.length === 3) return name.toLowerCase() === "all" ? "All" : null;
  return name.length === destinationName.length && name.toLowerCase() === "webhooks"
    ? destinationName
    : null;
}

function wrongCase(name: string, meant: string, value: Json | undefined): string {
  return `\`${name}\` in the integrations changes nothing, because names are case-sensitive: \`${meant}: ${brief(value)}\` was probably meant.`;
}

function wrongValue(name: string, value: Json | undefined): string {
  const text = typeof value === "string" ? value.trim().toLowerCase() : brief(value);
  const meant =
    text === "false" || text === "0" ? "false" : text === "true" || text === "1" ? "true" : null;
  const advice =
    meant === null
      ? "true, false or an options object was probably meant"
      : `\`${name}: ${meant}\` was probably meant`;
  return `\`${name}: ${brief(value)}\` in the integrations changes nothing, because it is neither true, false nor an object: ${advice}.`;
}

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
