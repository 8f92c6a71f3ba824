/**
 * What routing makes of a message, by the documentation: tracking plans, integrations, filters and
 * mappings. Each is drawn from a few for which the result is plain.
 */

import type { InputOf } from "../../src/contract/contract.ts";
import type { JsonObject } from "../../src/domain/json.ts";
import type { Destination, Source } from "./model.ts";
import type { Random } from "./random.ts";
import type { Simulation } from "./simulation.ts";

type DestinationDraft = InputOf<"destinations.create">;
type Filter = NonNullable<DestinationDraft["filters"]>[number];
type MappingDraft = NonNullable<DestinationDraft["mappings"]>[number];
type PlanDraft = NonNullable<InputOf<"sources.create">["plan"]>;

export type Message = {
  type: string;
  messageId: string;
  userId?: string | undefined;
  anonymousId?: string | undefined;
  event?: string | undefined;
  properties?: JsonObject;
  traits?: JsonObject;
  integrations?: object;
};

/** What a destination does with a message. */
type Route = {
  reason: string;
  /** With a sample that decides first whether there is that reason or `filter_sampled`. */
  sample: string | null;
  /** Of each mapping, by its id. */
  mappings: ReadonlyMap<string, string> | null;
  /** The properties or traits that are sent. */
  members: JsonObject | undefined;
  isFiltered: boolean;
};

export type Routing = {
  /** Null without a plan. */
  plan: { violations: string[]; dropped: string[]; reason: string | null } | null;
  routes: ReadonlyMap<string, Route>;
};

/** With what they mean to destinations of either kind. */
const integrations: readonly [object | undefined, webhooks: string, actions: string][] = [
  [undefined, "routed", "routed"],
  [undefined, "routed", "routed"],
  [undefined, "routed", "routed"],
  [undefined, "routed", "routed"],
  [{ All: false }, "integrations_all_false", "integrations_all_false"],
  [{ All: false, Webhooks: true }, "routed", "integrations_all_false"],
  [{ All: false, Webhooks: {} }, "routed", "integrations_all_false"],
  [{ All: false, "Actions Webhook": true }, "integrations_all_false", "routed"],
  [{ Webhooks: false }, "integrations_false", "routed"],
  [{ "Actions Webhook": false }, "routed", "integrations_false"],
  [{ all: false, webhooks: false }, "routed", "routed"],
];

export const drawIntegrations = (random: Random): object | undefined =>
  random.pick(integrations)[0];

/** Conditions, and what they say. */
const conditions: readonly [text: string, holds: (message: Message) => boolean][] = [
  ['event = "Viewed"', ({ event }) => event === "Viewed"],
  ['type = "identify" and traits.plan = "free"', ({ traits }) => traits?.["plan"] === "free"],
  ['userId = "eve"', ({ userId }) => userId === "eve"],
  ["properties.total >= 50", ({ properties }) => Number(properties?.["total"]) >= 50],
  ['type = "track"', ({ type }) => type === "track"],
];

const holds = (text: string | null, message: Message): boolean =>
  conditions.find(([known]) => known === text)?.[1](message) ?? true;

const drawCondition = (random: Random): string => random.pick(conditions)[0];

const filters: readonly Filter[] = [
  { name: "Half of the users", action: "sample", share: 0.5, by: "user" },
  { name: "Few of the messages", action: "sample", share: 0.05, by: "random" },
  { name: "Drop", action: "drop" },
  { name: "Mask", action: "drop-properties", properties: ["properties.total", "traits.visits"] },
  { name: "Only", action: "allow-properties", properties: ["properties.unit", "traits.plan"] },
];

/** At most one is a sample, so that what is drawn can be seen. */
export function drawFilters(random: Random): Filter[] {
  if (random.chance(0.5)) return [];
  const [users, messages, ...others] = filters as [Filter, Filter, ...Filter[]];
  return random.some([random.pick([users, messages]), ...others]).map((filter) => ({
    ...filter,
    ...(filter.action === "drop" || random.chance(0.4) ? { if: drawCondition(random) } : {}),
    enabled: random.chance(0.8),
  }));
}

export function drawMappings(random: Random, target: () => string): MappingDraft[] {
  const members = ["messageId", "type", "userId", "properties", "traits"];
  const data = Object.fromEntries(members.map((name) => [name, { "@path": `$.${name}` }]));
  return ["One", "Two", "Three"].slice(0, random.between(1, 3)).map((name) => ({
    name,
    enabled: random.chance(0.9),
    trigger: random.chance(0.6) ? null : drawCondition(random),
    url: drawUrl(random, target),
    ...(random.chance(0.5) ? { data } : {}),
    ...(random.chance(0.7)
      ? {
          batch: {
            enabled: true,
            size: random.pick([1, 2, 3, maxBatchSize]),
            waitMs: random.pick([1000, 30_000, maxWaitMs]),
            ...(random.chance(0.3) ? { keys: ["url" as const] } : {}),
          },
        }
      : {}),
  }));
}

function drawUrl(random: Random, target: () => string): unknown {
  const kind = random.weighted({ text: 6, byUser: 2, missing: 0.5 });
  if (kind === "missing") return { "@path": "$.properties.url" };
  return kind === "text" ? target() : { "@template": `${target()}?user={{userId}}` };
}

export const maxBatchSize = 8;
export const maxWaitMs = 600_000;

export function drawPlan(random: Random): PlanDraft | null {
  if (random.chance(0.4)) return null;
  return {
    schemas: {
      Bought: { properties: { total: { maximum: 49 } } },
      identify: { properties: { plan: { enum: ["pro"] } } },
    },
    onViolation: random.pick(["record", "drop-properties", "block"] as const),
    unplannedEvents: random.pick(["allow", "record", "block"] as const),
    unplannedProperties: random.pick(["allow", "record", "drop"] as const),
  };
}

export const memberOf = ({ type }: Message): "properties" | "traits" =>
  type === "identify" || type === "group" ? "traits" : "properties";

function planned(source: Source, message: Message): Routing["plan"] {
  const { plan } = source;
  if (plan === null) return null;
  const isBought = message.event === "Bought";
  const member = memberOf(message);
  const result = { violations: [] as string[], dropped: [] as string[], reason: null };
  if (message.type === "track" && !isBought) {
    if (plan.unplannedEvents !== "allow") result.violations.push("event");
    const reason = plan.unplannedEvents === "block" ? "plan_unplanned_event" : null;
    return { ...result, reason };
  }
  if (!isBought && message.type !== "identify") return result;
  const { total, unit, visits } = { ...message.properties, ...message.traits };
  const isWrong = isBought ? Number(total) > 49 : message.traits?.["plan"] !== "pro";
  const wrong = isWrong ? [`${member}.${isBought ? "total" : "plan"}`] : [];
  const others = [
    ...(unit === undefined ? [] : ["unit"]),
    ...(visits === undefined ? [] : ["visits"]),
  ];
  const unnamed =
    plan.unplannedProperties === "allow" ? [] : others.map((name) => `${member}.${name}`);
  return {
    violations: [...wrong, ...unnamed],
    dropped: [
      ...(plan.onViolation === "drop-properties" ? wrong : []),
      ...(plan.unplannedProperties === "drop" ? unnamed : []),
    ],
    reason: isWrong && plan.onViolation === "block" ? "plan_violations" : null,
  };
}

export function without(message: Message, dropped: readonly string[]): Message {
  const member = memberOf(message);
  const of = message[member];
  if (of === undefined || dropped.length === 0) return message;
  const kept = Object.entries(of).filter(([name]) => !dropped.includes(`${member}.${name}`));
  return { ...message, [member]: Object.fromEntries(kept) };
}

export function routingOf({ model }: Simulation, sent: Message, source: Source): Routing {
  const plan = planned(source, sent);
  const message = without(sent, plan?.dropped ?? []);
  const connected = [...model.destinations.values()].filter(({ sourceIds }) =>
    sourceIds.includes(source.id),
  );
  const routes = connected.map((destination): [string, Route] => {
    const route = routeTo(destination, message);
    return [destination.id, plan?.reason ? { ...route, sample: null, reason: plan.reason } : route];
  });
  return { plan, routes: new Map(routes) };
}

function routeTo(destination: Destination, message: Message): Route {
  const { enabled, kind, mappings } = destination;
  const members = message[memberOf(message)];
  const route: Route = {
    reason: "disabled",
    sample: null,
    mappings: null,
    members,
    isFiltered: false,
  };
  if (!enabled) return route;
  const text = JSON.stringify(message.integrations);
  const [, webhooks, actions] = integrations.find(([one]) => JSON.stringify(one) === text) ?? [];
  route.reason = (kind === "webhooks" ? webhooks : actions) ?? "routed";
  if (route.reason !== "routed") return route;
  let left = message;
  for (const {
    name,
    enabled: isOn,
    if: condition,
    action,
    by,
    properties = [],
  } of destination.filters) {
    if (!isOn || !holds(condition || null, message)) continue;
    if (action === "drop") return { ...route, reason: "filter_dropped" };
    const { userId, anonymousId, messageId } = message;
    if (action === "sample")
      route.sample = `${name}: ${by === "user" ? (userId ?? anonymousId) : messageId}`;
    else {
      const member = memberOf(message);
      const all = Object.keys(message[member] ?? {}).map((key) => `${member}.${key}`);
      const isListed = (path: string): boolean => properties.includes(path);
      left = without(
        left,
        all.filter((path) => isListed(path) === (action === "drop-properties")),
      );
    }
  }
  route.members = left[memberOf(left)];
  route.isFiltered = JSON.stringify(route.members) !== JSON.stringify(members);
  if (kind === "webhooks") return route;
  const reasons = mappings.map(({ id, enabled: isOn, trigger, url }): [string, string] => {
    if (!isOn) return [id, "mapping_disabled"];
    if (!holds(trigger, left)) return [id, "trigger_not_met"];
    return [id, JSON.stringify(url).includes("$.properties.url") ? "payload_error" : "routed"];
  });
  const order = ["routed", "payload_error", "trigger_not_met", "mapping_disabled"];
  const [reason] = reasons
    .map(([, each]) => each)
    .toSorted((a, b) => order.indexOf(a) - order.indexOf(b));
  return { ...route, reason: reason ?? "", mappings: new Map(reasons) };
}
