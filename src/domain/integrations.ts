import { isObject, type Json, type JsonObject } from "./json.ts";

/** The name of every destination in the integrations object, since there is one kind of destination. */
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
  const own = Object.hasOwn(integrations, destinationName) ? integrations[destinationName] : undefined;
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
      detail: "The source is connected and nothing in the message's integrations leaves this destination out.",
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
  return name.length === destinationName.length && name.toLowerCase() === "webhooks" ? destinationName : null;
}

function wrongCase(name: string, meant: string, value: Json | undefined): string {
  return `\`${name}\` in the integrations changes nothing, because names are case-sensitive: \`${meant}: ${brief(value)}\` was probably meant.`;
}

function wrongValue(name: string, value: Json | undefined): string {
  const text = typeof value === "string" ? value.trim().toLowerCase() : brief(value);
  const meant = text === "false" || text === "0" ? "false" : text === "true" || text === "1" ? "true" : null;
  const advice = meant === null ? "true, false or an options object was probably meant" : `\`${name}: ${meant}\` was probably meant`;
  return `\`${name}: ${brief(value)}\` in the integrations changes nothing, because it is neither true, false nor an object: ${advice}.`;
}

function brief(value: Json | undefined): string {
  const text = JSON.stringify(value) ?? "null";
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}
