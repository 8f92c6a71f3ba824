/**
 * Decides which destinations a message goes to: one decision, with its reason, for each destination
 * connected to its source; and creates the payloads of its deliveries, one of each shape.
 */

import type { CheckedMessage } from "../../domain/check.ts";
import { matchesCondition, parseCondition, type Condition } from "../../domain/condition.ts";
import {
  integrationNames,
  type Destination,
  type DestinationKind,
  type Mapping,
  type PayloadShape,
  type Source,
} from "../../domain/configuration.ts";
import { makeEvent, makePayload, payloadOf } from "../../domain/payload.ts";
import type { Decision, MappedRequest, MappingDecision, RoutedMessage } from "./decision.ts";
import { brief, cut, isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { applyFilters } from "../../domain/destination-filter.ts";
import { jsonBytes, type MessageSpan } from "../json-bytes.ts";
import { createRequests, textOfMapping } from "./mapped-request.ts";
import { checkPlan, weightOfPlan } from "../plans/plans.ts";

/** What one turn of the event loop routes: some 50 ms. */
export const stepsPerTurn = 5000;

const noSpan: MessageSpan = { body: new Uint8Array(0), offset: 0, size: 0 };

export type RouteOptions = {
  message: CheckedMessage & { messageId: string };
  source: Pick<Source, "id" | "name" | "plan">;
  receivedAt: number;
  destinations: readonly Destination[];
  /** For samples. */
  seed: number;
  /** As it came. */
  span?: MessageSpan;
};

/**
 * A routing in steps, so that whoever routes a message with many destinations can give the event
 * loop a turn between two of them. Each step says how long it took, in tens of microseconds.
 */
export type Routing = Generator<number, RoutedMessage>;

export function route(options: RouteOptions): RoutedMessage {
  return finished(routing(options));
}

export function finished(steps: Routing): RoutedMessage {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

export function* routing({
  message: received,
  source,
  receivedAt,
  destinations,
  seed,
  span = noSpan,
}: RouteOptions): Routing {
  // A receiver must hear of a deletion whatever a plan says of other messages.
  const sourcePlan = received.type === "delete" ? null : source.plan;
  if (sourcePlan !== null) yield weightOfPlan(sourcePlan, span.size);
  const checked = sourcePlan === null ? null : checkPlan(source, sourcePlan, received);
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
  const answers: Partial<Record<DestinationKind, RoutingAnswer>> = {};
  const answerFor = (kind: DestinationKind): RoutingAnswer =>
    (answers[kind] ??= answerForWebhooks(message.integrations, kind));
  const shared: Shared = {
    ...{ message, receivedAt, seed, size: span.size },
    ...{ event: null, unfiltered: null, made: { bytes: 0 } },
  };
  const decisions: Decision[] = [];
  for (const destination of connected)
    decisions.push(yield* decisionOf(destination, answerFor(destination.kind), shared));
  const shapes = new Set(
    decisions
      .filter(
        ({ routed, filtered, requests }) =>
          routed && requests === undefined && (filtered?.bodies ?? null) === null,
      )
      .map(({ payload }) => payload),
  );
  const payloads: Partial<Record<PayloadShape, Uint8Array>> = {};
  for (const shape of shapes)
    payloads[shape] = jsonBytes(payloadOf(message, shape, receivedAt), span);
  return { decisions, plan, payloads };
}

/** What the decisions of one message have in common. */
type Shared = Pick<RouteOptions, "message" | "receivedAt" | "seed"> & {
  /** Of the message as it came, in bytes. */
  size: number;
  /** As conditions and mappings see it before the filters. */
  event: JsonObject | null;
  /** For mappings of destinations whose filters change nothing. */
  unfiltered: ReturnType<typeof routingEvent> | null;
  /** By mappings of all destinations. */
  made: { bytes: number };
};

function* decisionOf(
  destination: Destination,
  answer: RoutingAnswer,
  shared: Shared,
): Generator<number, Decision> {
  const { id: destinationId, payload, kind, name, filters } = destination;
  const { receivedAt } = shared;
  yield 1;
  if (!destination.enabled) {
    const detail = `${name} is disabled, so nothing is sent to it. Enable it to have later messages delivered.`;
    const { warnings } = answer;
    return { destinationId, routed: false, reason: "disabled", detail, warnings, payload };
  }
  const { routed, reason, detail, warnings } = answer;
  const decision: Decision = { destinationId, routed, reason, detail, warnings, payload };
  if (!routed) return decision;
  const applied = filters.length === 0 ? null : filteredFor(destination, shared);
  if (applied !== null) {
    const [weight, perByte] = weightOfFilters(destination);
    yield weight + perByte * shared.size;
  }
  const after = { ...decision, ...applied?.changes };
  if (kind === "webhooks" || !after.routed) return after;
  const toMappings =
    applied === null
      ? (shared.unfiltered ??= routingEvent(eventOf(shared), shared.made))
      : routingEvent(makeEvent(applied.message, receivedAt), shared.made);
  const mapped = yield* toMappings(destination.mappings);
  const removed = applied?.changes.detail;
  const details = removed === undefined ? mapped.detail : `${removed} ${mapped.detail}`;
  return { ...after, ...mapped, detail: details };
}

const eventOf = (shared: Shared): JsonObject =>
  (shared.event ??= makeEvent(shared.message, shared.receivedAt));

/** A step at a filter with this many properties takes as long as one at a destination. */
const pathsPerStep = 16;
/** A property may be looked for in each element of an array. */
const searchedBytesPerStep = 2000;

/** The second is for each byte of the message. */
function weightOfFilters({ filters }: Destination): [number, number] {
  const paths = filters.reduce((sum, { properties }) => sum + (properties?.length ?? 0), 0);
  return [filters.length + paths / pathsPerStep, paths / searchedBytesPerStep];
}

/**
 * Says, for messages of a source, how long the routing of one that is so large may take, in steps,
 * and the writing of what it makes: an estimate, on the safe side where there are mappings.
 */
export function createWeigher(
  { id, plan = null }: Pick<Source, "id"> & Partial<Pick<Source, "plan">>,
  destinations: readonly Destination[],
): (size: number) => number {
  let fixed = 1;
  let filtered = 0;
  let mapped = 0;
  for (const destination of destinations) {
    if (!destination.sourceIds.includes(id)) continue;
    const [weight, perByte] = weightOfFilters(destination);
    fixed += 1 + weight + destination.mappings.length * stepsPerMapping;
    filtered += perByte;
    for (const mapping of destination.mappings) mapped += textOfMapping(mapping).length;
  }
  return (size) =>
    fixed +
    filtered * size +
    (mapped / 100) * (1 + size / 200) +
    (plan === null ? 0 : weightOfPlan(plan, size));
}

/** What the filters of a destination change of the decision, and of the message. */
function filteredFor(
  { name, kind, filters: all, payload }: Destination,
  shared: Shared,
): { changes: Partial<Decision>; message: RouteOptions["message"] } {
  const { message, receivedAt, seed } = shared;
  const { type, userId, anonymousId, messageId, members, context } = message;
  const whole: JsonObject = { ...members, type, context };
  const user = userId ?? anonymousId ?? "";
  const {
    event,
    applied: filters,
    removed,
    isUnread = false,
  } = applyFilters(all, whole, { seed, messageId, user }, () => eventOf(shared));
  const last = filters.at(-1);
  if (last === undefined) return { changes: {}, message };
  if (event === null) {
    const isDrop = last.action === "drop" || isUnread;
    const detail = isUnread
      ? `The condition of the filter ${last.name} of ${name} cannot be read, so nothing is sent. Correct the condition.`
      : isDrop
        ? `The filter ${last.name} of ${name} drops this message.`
        : `The filter ${last.name} of ${name} lets a share of its messages through, and this one is not in it.`;
    const reason = isDrop ? "filter_dropped" : "filter_sampled";
    const changes = { routed: false, reason, detail, filtered: { filters, bodies: null } };
    return { changes, message };
  }
  const changed = {
    ...message,
    members: event,
    context: isObject(event["context"]) ? event["context"] : {},
  };
  const bytesOf = (of: typeof message): Uint8Array =>
    Buffer.from(
      kind === "webhooks"
        ? makePayload(of, payload, receivedAt)
        : JSON.stringify(makeEvent(of, receivedAt)),
    );
  const names = filters.map((filter) => filter.name).join(", ");
  const detail = `${filters.length === 1 ? "The filter" : "The filters"} ${names} of ${name} removed ${cut(removed.join(", "))}.`;
  const bodies = { before: bytesOf(message), after: bytesOf(changed) };
  return { changes: { detail, filtered: { filters, bodies } }, message: changed };
}

type ToMappings = Pick<Decision, "routed" | "reason" | "detail" | "mappings" | "requests">;

/** A mapping takes so many steps, and one more for so many bytes that it makes. */
const stepsPerMapping = 5;
const mappedBytesPerStep = 25;

/** Each mapping is on its own: it sends a request, or says why it does not. */
function routingEvent(
  event: JsonObject,
  made: Shared["made"],
): (mappings: readonly Mapping[]) => Generator<number, ToMappings> {
  const requestOf = createRequests(event);
  return (mappings) =>
    routeToMappings(mappings, event, (mapping) => within(made, requestOf(mapping)));
}

/** A message is written in one transaction, with the bodies of all its mappings. */
const maxMadeBytes = 8_000_000;

function within(made: Shared["made"], request: MappedRequest | string): MappedRequest | string {
  if (typeof request === "string" || request.body === null) return request;
  if (made.bytes + request.body.length > maxMadeBytes)
    return "The mappings of all destinations together would make more than 8 MB of this message.";
  made.bytes += request.body.length;
  return request;
}

function* routeToMappings(
  mappings: readonly Mapping[],
  event: JsonObject,
  requestOf: ReturnType<typeof createRequests>,
): Generator<number, ToMappings> {
  const requests: MappedRequest[] = [];
  const decided: MappingDecision[] = [];
  for (const mapping of mappings) {
    const request = requestOrReason(mapping, event, requestOf);
    yield (
      stepsPerMapping + ("body" in request ? (request.body?.length ?? 0) / mappedBytesPerStep : 0)
    );
    const { name } = mapping;
    if ("reason" in request) {
      decided.push({ name, ...request });
      continue;
    }
    requests.push(request);
    const detail =
      request.batch === null ? "Its request is sent." : "Its data goes into a batch of requests.";
    decided.push({ name, reason: "routed", detail });
  }
  const [first] = ["routed", "payload_error", "trigger_not_met", "mapping_disabled"].filter(
    (reason) => decided.some((each) => each.reason === reason),
  );
  return {
    routed: requests.length > 0,
    reason: first ?? "trigger_not_met",
    detail: decided.map(({ name, detail }) => `${name}: ${detail}`).join(" "),
    mappings: decided,
    requests,
  };
}

function requestOrReason(
  mapping: Mapping,
  event: JsonObject,
  requestOf: ReturnType<typeof createRequests>,
): MappedRequest | Omit<MappingDecision, "name"> {
  const { enabled, trigger } = mapping;
  if (!enabled) return { reason: "mapping_disabled", detail: "It is disabled." };
  if (trigger !== null && !isMet(mapping, trigger, event)) {
    const detail = `The message does not match its trigger \`${trigger}\`.`;
    return { reason: "trigger_not_met", detail };
  }
  const request = requestOf(mapping);
  return typeof request === "string" ? { reason: "payload_error", detail: request } : request;
}

/** Of mappings in use, each read once. */
const triggers = new WeakMap<Mapping, Condition | null>();

function isMet(mapping: Mapping, trigger: string, event: JsonObject): boolean {
  let condition = triggers.get(mapping);
  if (condition === undefined) {
    ({ condition } = parseCondition(trigger));
    triggers.set(mapping, condition);
  }
  return condition !== null && matchesCondition(condition, event);
}

/** What people write for them, in lower case. */
const otherNames: Readonly<Record<string, DestinationKind>> = {
  webhooks: "webhooks",
  "actions webhook": "webhooks-actions",
  "webhooks (actions)": "webhooks-actions",
  "webhook (actions)": "webhooks-actions",
  "actions-webhook": "webhooks-actions",
};

/** That of a message for these destinations and no others. */
export function integrationsFor(destinations: readonly Destination[]): JsonObject {
  const named = destinations.map(({ kind }) => [integrationNames[kind], true] as const);
  return { All: false, ...Object.fromEntries(named) };
}

type RoutingAnswer = {
  routed: boolean;
  reason: "routed" | "integrations_all_false" | "integrations_false";
  detail: string;
  warnings: string[];
};

/** What the merged integrations object of a message says about destinations of a kind. */
export function answerForWebhooks(
  integrations: JsonObject,
  kind: DestinationKind = "webhooks",
): RoutingAnswer {
  const destinationName = integrationNames[kind];
  const warnings: string[] = [];
  for (const [name, value] of Object.entries(integrations)) {
    const meant = meantBy(name, kind);
    if (meant === null) continue;
    if (name !== meant) warnings.push(wrongName(name, meant, value));
    else if (typeof value !== "boolean" && !isObject(value)) warnings.push(wrongValue(name, value));
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

function meantBy(name: string, kind: DestinationKind): string | null {
  const lower = name.toLowerCase();
  if (lower === "all") return "All";
  return otherNames[lower] === kind ? integrationNames[kind] : null;
}

function wrongName(name: string, meant: string, value: Json): string {
  const why =
    name.toLowerCase() === meant.toLowerCase()
      ? "names are case-sensitive"
      : "that is not the destination's name";
  return `\`${name}\` in the integrations changes nothing, because ${why}: \`${meant}: ${brief(value)}\` was probably meant.`;
}

function wrongValue(name: string, value: Json): string {
  const text = typeof value === "string" ? value.trim().toLowerCase() : brief(value);
  const meant =
    text === "false" || text === "0" ? "false" : text === "true" || text === "1" ? "true" : null;
  const advice =
    meant === null
      ? "true, false or an options object was probably meant"
      : `\`${name}: ${meant}\` was probably meant`;
  return `\`${name}: ${brief(value)}\` in the integrations changes nothing, because it is neither true, false nor an object: ${advice}.`;
}
