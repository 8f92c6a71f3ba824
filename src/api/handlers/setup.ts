/**
 * What a user sets up: sources, destinations, retry profiles, test endpoints, simulated clients,
 * workspaces.
 */

import { matchesCondition, parseCondition } from "../../domain/condition.ts";
import { parseFilterCondition } from "../../domain/filter-condition.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { Destination, RetryProfile, Source } from "../../domain/configuration.ts";
import {
  clientIds,
  destinationIds,
  endpointIds,
  retryProfileIds,
  sourceIds,
  type RetryProfileId,
} from "../../domain/ids.ts";
import { conflict, isProblem, notFound, problem, type Problem } from "../../domain/problem.ts";
import { documented } from "../../domain/retry.ts";
import type { ForwardedExchange } from "../../engine/endpoint-pipeline.ts";
import type {
  DestinationDraft,
  Pipeline,
  SourceDraft,
  TestedEvent,
} from "../../engine/pipeline.ts";
import { preparePlan, rulesOf } from "../../engine/plans/plans.ts";
import type { DestinationChanges } from "../../contract/destinations.ts";
import type { HandlersOf } from "../../contract/contract.ts";
import { deliveryFunnel, sendAgain } from "./delivery-overview.ts";
import { previewFilters } from "./filter-preview.ts";
import { noBytes, receivedSize, receivedWithin, withinAnswer } from "./answer-size.ts";
import { exchangeOf } from "./messages.ts";

function sourceAnswer(source: Source) {
  const { plan } = source;
  return { ...source, plan: plan && { ...plan, rules: rulesOf(plan).length } };
}

const answerOr = (source: Source | Problem) => (isProblem(source) ? source : sourceAnswer(source));

export function sourceHandlers({
  configuration,
  messages,
  refused,
}: Pipeline): HandlersOf<"sources" | "unknownKeys" | "refused"> {
  return {
    "sources.list": () => ({ items: configuration.sources().map(sourceAnswer) }),
    "sources.create": async (draft) => {
      const wrong = await preparePlan(draft.plan as SourceDraft["plan"]);
      return wrong ?? answerOr(configuration.createSource(draft as SourceDraft));
    },
    "sources.get": ({ id }) =>
      answerOr(configuration.source(id) ?? notFound("source", sourceIds.format(id))),
    "sources.plan": ({ id }) => {
      const source = configuration.source(id);
      if (source === undefined) return notFound("source", sourceIds.format(id));
      if (source.plan === null) return { plan: null };
      const rules = rulesOf(source.plan).map(({ schema, ...rule }) => ({
        ...rule,
        jsonSchema: schema,
      }));
      return { plan: { ...source.plan, rules } };
    },
    "sources.update": async ({ id, ...changes }) => {
      const wrong = await preparePlan(changes.plan as SourceDraft["plan"]);
      return wrong ?? answerOr(configuration.updateSource(id, changes as Partial<SourceDraft>));
    },
    "sources.send": ({ id, type, body }) => messages.send(id, type, body),
    "sources.delete": ({ id }) => configuration.deleteSource(id) ?? { id },
    "unknownKeys.list": () => ({ items: messages.unknownKeys() }),
    "unknownKeys.adopt": async ({ writeKey, name }) =>
      answerOr(await messages.adopt(writeKey, name)),
    "unknownKeys.forget": ({ writeKey }) => messages.forgetUnknownKey(writeKey) ?? { writeKey },
    "refused.list": () => refused.list(),
    "refused.clear": () => ({ count: refused.clear() }),
  };
}

export const conditionHandlers: HandlersOf<"conditions"> = {
  "conditions.check": ({ condition: text, event, of }) => {
    const parsed = of === "filter" ? parseFilterCondition(text) : parseCondition(text);
    if (parsed.condition === null) {
      return { error: parsed.error, warnings: [], matches: event === undefined ? null : false };
    }
    const { condition } = parsed;
    const matches =
      event === undefined
        ? null
        : typeof condition === "function"
          ? condition(event as JsonObject)
          : matchesCondition(condition, event);
    return { error: null, warnings: [...parsed.warnings], matches };
  },
};

export function mappingHandlers({
  previewMapping,
  configuration,
}: Pipeline): HandlersOf<"mappings"> {
  return {
    "mappings.preview": async ({ mapping, sourceIds: from, sharedSecret, destinationId, id }) => {
      const saved =
        destinationId === undefined ? undefined : configuration.destination(destinationId);
      const secret = sharedSecret === undefined ? (saved?.sharedSecret ?? null) : sharedSecret;
      return previewMapping({
        mapping,
        sourceIds: from,
        secret: secret === "" ? null : secret,
        filters: saved?.filters,
        id,
      });
    },
  };
}

export function destinationHandlers(pipeline: Pipeline): HandlersOf<"destinations" | "catalog"> {
  const { configuration, faults, testEvents } = pipeline;
  const destinationAnswer = (destination: Destination) => ({
    ...destination,
    webhooks: destination.webhooks.map((webhook) => {
      const endpoint = faults.behind(webhook.id);
      if (endpoint?.inFrontOf === null || endpoint?.inFrontOf === undefined) return webhook;
      return {
        ...webhook,
        behind: { endpointId: endpoint.id, name: endpoint.name, url: endpoint.inFrontOf.url },
      };
    }),
    audienceCalls: destination.audienceCalls ?? ("identify" as const),
    hasSharedSecret: destination.sharedSecret !== null,
    connectionMode: "cloud" as const,
  });
  const answerTo = (destination: Destination | Problem) =>
    isProblem(destination) ? destination : destinationAnswer(destination);
  const find = (id: Destination["id"]) =>
    configuration.destination(id) ?? notFound("destination", destinationIds.format(id));
  return {
    "catalog.list": () => ({ items: [webhooksEntry, mappingsEntry] }),
    "destinations.list": () => ({ items: configuration.destinations().map(destinationAnswer) }),
    "destinations.create": (input) => {
      const changes = changesFrom(input);
      if (isProblem(changes)) return changes;
      const { name } = input;
      return answerTo(configuration.createDestination({ name, sourceIds: [], ...changes }));
    },
    "destinations.get": ({ id }) => answerTo(find(id)),
    "destinations.update": ({ id, ...input }) => {
      const changes = changesFrom(input);
      return isProblem(changes) ? changes : answerTo(configuration.updateDestination(id, changes));
    },
    "destinations.delete": ({ id }) => configuration.deleteDestination(id) ?? { id },
    "destinations.previewFilters": ({ id, filters }) => {
      const destination = find(id);
      if (isProblem(destination)) return destination;
      return previewFilters(pipeline, destination, filters ?? destination.filters);
    },
    "destinations.test": async ({ id, event }, caller) => {
      const tested = await testEvents.send(id, event, caller);
      return isProblem(tested) ? tested : testAnswer(tested);
    },
    "destinations.funnel": ({ id, ...period }) => {
      const destination = find(id);
      return isProblem(destination) ? destination : deliveryFunnel(pipeline, destination, period);
    },
    "destinations.sendAgain": ({ id, ...period }) => {
      const destination = find(id);
      return isProblem(destination) ? destination : sendAgain(pipeline, destination, period);
    },
    "destinations.putFault": ({ id, webhookId, ...fault }) =>
      answerTo(faults.put(id, webhookId, fault)),
    "destinations.undoFault": ({ id, webhookId }) => answerTo(faults.undo(id, webhookId)),
    "destinations.secret": ({ id }) => find(id),
  };
}

function testAnswer({ messageId, decision, payload, attempts }: TestedEvent) {
  const { routed: sent, reason, detail, warnings, filtered, mappings = [] } = decision;
  const exchanges = attempts.map((attempt) => ({
    ...attempt,
    ...exchangeOf({ ...attempt, url: attempt.webhookUrl }),
  }));
  const filters = (filtered?.filters ?? []).map(({ name }) => name);
  const answer = { sent, messageId, reason, detail, warnings, filters, mappings };
  const body = payload ?? noBytes;
  const { forwarded } = receivedWithin({ ...answer, body, headers: [], forwarded: exchanges });
  return { ...answer, payload, attempts: forwarded };
}

/** The engine keeps the id of a webhook whose URL stays. */
function webhooksFrom(
  drafts: readonly { url: string; headers?: Record<string, string> | undefined }[],
): NonNullable<DestinationDraft["webhooks"]> {
  return drafts.map(({ url, headers = {} }) => ({ url, headers }));
}

/** The members that are given, as the engine takes them. */
function changesFrom(input: DestinationChanges): Partial<DestinationDraft> | Problem {
  const { webhooks, mappings, sharedSecret, connectionMode, ...changes } = input;
  if (connectionMode === "device") {
    return problem(
      400,
      "device_mode_unsupported",
      "The Webhooks destination exists only in cloud mode. Leave connectionMode out, or set it to cloud.",
    );
  }
  const draft: Partial<DestinationDraft> = changes;
  if (webhooks !== undefined) draft.webhooks = webhooksFrom(webhooks);
  if (mappings !== undefined) draft.mappings = mappings;
  if (sharedSecret !== undefined) draft.sharedSecret = sharedSecret === "" ? null : sharedSecret;
  return draft;
}

const webhooksEntry = {
  kind: "webhooks" as const,
  name: "Webhooks",
  title: "Webhooks",
  description:
    "Sends each message as a signed POST request to up to five URLs, and retries for up to four hours.",
  connectionModes: ["cloud" as const],
  settings: [
    {
      name: "webhooks",
      title: "Webhook URLs",
      description: "One to five full http or https URLs, each with up to five headers.",
      required: true,
    },
    {
      name: "sharedSecret",
      title: "Shared secret",
      description:
        "When set, each request carries X-Signature: the HMAC-SHA1 of its body, keyed with this secret, in hex.",
      required: false,
    },
    {
      name: "enabled",
      title: "Enabled",
      description: "A disabled destination gets no new messages, and its deliveries are paused.",
      required: false,
    },
    {
      name: "retryProfile",
      title: "Retry profile",
      description: "What is retried, and when.",
      required: false,
    },
    {
      name: "payload",
      title: "Payload",
      description:
        "documented, or full with receivedAt, sentAt, originalTimestamp, integrations and channel.",
      required: false,
    },
    {
      name: "audienceCalls",
      title: "Audiences as",
      description: "identify, track or both: the calls that carry values of audiences and traits.",
      required: false,
    },
  ],
};

const mappingsEntry = {
  kind: "webhooks-actions" as const,
  name: "Actions Webhook",
  title: "Webhooks (Actions)",
  description:
    "Sends what up to five mappings make of each message, one by one or in batches, and retries for up to four hours.",
  connectionModes: ["cloud" as const],
  settings: [
    {
      name: "mappings",
      title: "Mappings",
      description:
        "One to five, each with a trigger, a URL, a method, headers, data and batches of its own.",
      required: true,
    },
    {
      name: "sharedSecret",
      title: "Shared secret",
      description:
        "When set, each request carries X-Signature: the HMAC-SHA1 of its data, of a batch that of its first element, in hex.",
      required: false,
    },
    ...webhooksEntry.settings.filter(({ name }) => ["enabled", "retryProfile"].includes(name)),
  ],
};

type Profile = RetryProfile & { id: RetryProfileId | null };

/** A new profile; what its draft leaves out is as in `documented`. */
export function completeProfile(draft: Partial<RetryProfile> & { name: string }): RetryProfile {
  const {
    name,
    schedule,
    jitter,
    windowMs,
    timeoutMs,
    retriedStatuses,
    retryTimeouts,
    retryConnectionErrors,
    honourRetryAfter,
  } = {
    ...documented,
    ...draft,
  };
  return {
    name,
    schedule,
    jitter,
    windowMs,
    timeoutMs,
    retriedStatuses,
    retryTimeouts,
    retryConnectionErrors,
    honourRetryAfter,
  };
}

export function retryProfileHandlers({ configuration }: Pipeline): HandlersOf<"retryProfiles"> {
  const answer = (profile: Profile | Problem) =>
    isProblem(profile) ? profile : { ...profile, builtIn: profile.id === null };
  const find = (text: string): Profile | Problem => {
    const id = retryProfileIds.parse(text);
    const all = configuration.retryProfiles();
    return (
      all.find((profile) => profile.id !== null && profile.id === id) ??
      all.find((profile) => profile.name === text) ??
      notFound("retry profile", text)
    );
  };
  const findCustom = (text: string): RetryProfileId | Problem => {
    const profile = find(text);
    if (isProblem(profile)) return profile;
    return (
      profile.id ??
      conflict(
        "built_in",
        `The retry profile ${profile.name} is built in. Create a custom profile and change that one.`,
      )
    );
  };
  return {
    "retryProfiles.list": () => ({
      items: configuration
        .retryProfiles()
        .map((profile) => ({ ...profile, builtIn: profile.id === null })),
    }),
    "retryProfiles.create": (draft) =>
      answer(configuration.createRetryProfile(completeProfile(draft))),
    "retryProfiles.get": ({ id }) => answer(find(id)),
    "retryProfiles.update": ({ id: text, ...changes }) => {
      const id = findCustom(text);
      return isProblem(id) ? id : answer(configuration.updateRetryProfile(id, changes));
    },
    "retryProfiles.delete": ({ id: text }) => {
      const id = findCustom(text);
      return isProblem(id) ? id : (configuration.deleteRetryProfile(id) ?? { id: text });
    },
  };
}

export function endpointHandlers({ endpoints, faults }: Pipeline): HandlersOf<"endpoints"> {
  return {
    "endpoints.list": () => ({ items: endpoints.list() }),
    "endpoints.create": (draft) => endpoints.create(draft),
    "endpoints.get": ({ id }) =>
      endpoints.get(id) ?? notFound("test endpoint", endpointIds.format(id)),
    "endpoints.update": ({ id, ...changes }) => {
      const updated = endpoints.update(id, changes);
      faults.refresh();
      return updated;
    },
    "endpoints.delete": ({ id }) => faults.deleteEndpoint(id) ?? { id },
    "endpoints.rewind": ({ id }) => endpoints.rewind(id),
    "endpoints.requests": ({ id, limit, cursor = null }) => {
      const received = endpoints.received(id, limit, cursor);
      if (isProblem(received)) return received;
      const inLines = (exchange: ForwardedExchange) => ({ ...exchange, ...exchangeOf(exchange) });
      const items = received.items.map((item) =>
        receivedWithin({ ...item, forwarded: item.forwarded.map(inLines) }),
      );
      return withinAnswer({ ...received, items }, (item) => item.id, receivedSize);
    },
    "endpoints.clearRequests": ({ id }) => endpoints.clearReceived(id) ?? { id },
    "endpoints.presets": () => ({ items: endpoints.presets() }),
  };
}

export function clientHandlers({ clients }: Pipeline): HandlersOf<"clients"> {
  return {
    "clients.list": () => ({ items: clients.list() }),
    "clients.create": (draft) => clients.create(draft),
    "clients.get": ({ id }) => clients.get(id) ?? notFound("client", clientIds.format(id)),
    "clients.update": ({ id, ...changes }) => clients.update(id, changes),
    "clients.delete": ({ id }) => clients.delete(id) ?? { id },
    "clients.call": ({ id, type, call }) => clients.call(id, type, call),
    "clients.flush": ({ id }) => clients.flush(id),
    "clients.close": ({ id, timeoutMs }) => clients.close(id, timeoutMs),
    "clients.reopen": ({ id }) => clients.reopen(id),
    "clients.generate": ({ id, count, perSecond }) => clients.generate(id, count, perSecond),
    "clients.stopGenerating": ({ id }) => clients.stopGenerating(id),
    "clients.batches": ({ id, limit, cursor = null }) => clients.batches(id, limit, cursor),
    "clients.log": ({ id, limit, cursor = null }) => clients.log(id, limit, cursor),
  };
}

export function workspaceHandlers({ workspaces }: Pipeline): HandlersOf<"workspaces"> {
  return {
    "workspaces.get": () => ({ demo: workspaces.isDemoOpen() }),
    "workspaces.close": () => {
      workspaces.closeDemo();
      return { demo: false };
    },
    "workspaces.open": ({ kind }) => (kind === "first" ? workspaces.first() : workspaces.demo()),
  };
}
