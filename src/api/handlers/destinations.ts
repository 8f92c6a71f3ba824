import type { DestinationAnswer, DestinationChanges } from "../../contract/destinations.ts";
import type { Destination, Webhook } from "../../domain/configuration.ts";
import type { SourceId, WebhookId } from "../../domain/ids.ts";
import { destinationIds, sourceIds, webhookIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { invalid, isProblem, notFound, problem } from "../../domain/problem.ts";
import type { DestinationDraft, Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime } from "../presenters.ts";

function presentDestination({ sharedSecret, ...destination }: Destination): DestinationAnswer {
  return {
    ...destination,
    id: destinationIds.format(destination.id),
    sourceIds: destination.sourceIds.map(sourceIds.format),
    webhooks: destination.webhooks.map((webhook) => ({ ...webhook, id: webhookIds.format(webhook.id) })),
    hasSharedSecret: sharedSecret !== null,
    connectionMode: "cloud",
    createdAt: presentTime(destination.createdAt),
  };
}

type WebhookDraft = { id?: string | undefined; url: string; headers?: Record<string, string> | undefined };

/** A webhook that stays keeps its id, and with it its history: by the id that is given, else by its URL. */
export function keepWebhooks(drafts: readonly WebhookDraft[], existing: readonly Webhook[]): DestinationDraft["webhooks"] | Problem {
  const free = new Map(existing.map((webhook) => [webhook.id, webhook]));
  const chosen: (WebhookId | undefined)[] = [];
  for (const [index, draft] of drafts.entries()) {
    if (draft.id === undefined) continue;
    const id = webhookIds.parse(draft.id);
    if (id === null || !free.delete(id))
      return invalid(`webhooks[${index}].id: the destination has no webhook ${draft.id}, or it is listed twice.`);
    chosen[index] = id;
  }
  return drafts.map((draft, index) => {
    const headers = draft.headers ?? {};
    const id = chosen[index] ?? [...free.values()].find((webhook) => webhook.url === draft.url)?.id;
    if (id === undefined) return { url: draft.url, headers };
    free.delete(id);
    return { id, url: draft.url, headers };
  });
}

/** The members that are given, as the engine takes them. */
function changesFrom(input: DestinationChanges, existing: readonly Webhook[]): Partial<DestinationDraft> | Problem {
  const { sourceIds: sourceTexts, webhooks, sharedSecret, connectionMode, ...changes } = input;
  if (connectionMode === "device") {
    return problem(400, "device_mode_unsupported", "Webhooks only exists in cloud mode. Leave connectionMode out, or set it to cloud.");
  }
  const draft: Partial<DestinationDraft> = changes;
  if (sourceTexts !== undefined) {
    const ids: SourceId[] = [];
    for (const [index, text] of sourceTexts.entries()) {
      const id = sourceIds.parse(text);
      if (id === null) return invalid(`sourceIds[${index}]: there is no source ${text}.`);
      ids.push(id);
    }
    draft.sourceIds = ids;
  }
  if (webhooks !== undefined) {
    const kept = keepWebhooks(webhooks, existing);
    if (isProblem(kept)) return kept;
    draft.webhooks = kept;
  }
  if (sharedSecret !== undefined) draft.sharedSecret = sharedSecret === "" ? null : sharedSecret;
  return draft;
}

export function destinationHandlers({ configuration }: Pipeline): HandlersOf<"destinations" | "catalog"> {
  const find = (text: string): Destination | Problem => {
    const id = destinationIds.parse(text);
    return (id === null ? undefined : configuration.destination(id)) ?? notFound("destination", text);
  };
  return {
    "catalog.list": () => ({ items: [webhooksEntry] }),
    "destinations.list": () => ({ items: configuration.destinations().map(presentDestination) }),
    "destinations.create": (input) => {
      const changes = changesFrom(input, []);
      if (isProblem(changes)) return changes;
      const made = configuration.createDestination({ name: input.name, sourceIds: [], webhooks: [], ...changes });
      return isProblem(made) ? made : presentDestination(made);
    },
    "destinations.get": (input) => {
      const destination = find(input.id);
      return isProblem(destination) ? destination : presentDestination(destination);
    },
    "destinations.update": ({ id, ...input }) => {
      const destination = find(id);
      if (isProblem(destination)) return destination;
      const changes = changesFrom(input, destination.webhooks);
      if (isProblem(changes)) return changes;
      const changed = configuration.updateDestination(destination.id, changes);
      return isProblem(changed) ? changed : presentDestination(changed);
    },
    "destinations.delete": (input) => {
      const destination = find(input.id);
      if (isProblem(destination)) return destination;
      return configuration.deleteDestination(destination.id) ?? { id: input.id };
    },
    "destinations.secret": (input) => {
      const destination = find(input.id);
      return isProblem(destination) ? destination : { sharedSecret: destination.sharedSecret };
    },
  };
}

const webhooksEntry = {
  name: "Webhooks",
  title: "Webhooks",
  description: "Sends each message as a signed POST request to up to five URLs, and retries for up to four hours.",
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
      description: "When set, each request carries X-Signature: the HMAC-SHA1 of its body, keyed with this secret, in hex.",
      required: false,
    },
    {
      name: "enabled",
      title: "Enabled",
      description: "A disabled destination gets no new messages and holds its deliveries.",
      required: false,
    },
    { name: "retryProfile", title: "Retry profile", description: "What is retried, and when.", required: false },
    {
      name: "payload",
      title: "Payload",
      description: "documented, or full with receivedAt, sentAt, originalTimestamp, integrations and channel.",
      required: false,
    },
  ],
};
