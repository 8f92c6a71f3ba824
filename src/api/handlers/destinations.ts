import type { DestinationAnswer, DestinationChanges } from "../../contract/destinations.ts";
import type { Destination } from "../../domain/configuration.ts";
import { destinationIds, sourceIds, webhookIds } from "../../domain/ids.ts";
import type { Problem } from "../../domain/problem.ts";
import { isProblem, notFound, problem } from "../../domain/problem.ts";
import type { DestinationDraft, Pipeline } from "../../engine/pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { idsFrom } from "../inputs.ts";
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

/** The engine keeps the id of a webhook whose URL stays. */
export function webhooksFrom(
  drafts: readonly { url: string; headers?: Record<string, string> | undefined }[],
): DestinationDraft["webhooks"] {
  return drafts.map(({ url, headers = {} }) => ({ url, headers }));
}

/** The members that are given, as the engine takes them. */
function changesFrom(input: DestinationChanges): Partial<DestinationDraft> | Problem {
  const { sourceIds: sourceTexts, webhooks, sharedSecret, connectionMode, ...changes } = input;
  if (connectionMode === "device") {
    return problem(400, "device_mode_unsupported", "Webhooks only exists in cloud mode. Leave connectionMode out, or set it to cloud.");
  }
  const draft: Partial<DestinationDraft> = changes;
  if (sourceTexts !== undefined) {
    const ids = idsFrom(sourceIds, sourceTexts, (text, index) => `sourceIds[${index}]: there is no source ${text}.`);
    if (isProblem(ids)) return ids;
    draft.sourceIds = ids;
  }
  if (webhooks !== undefined) draft.webhooks = webhooksFrom(webhooks);
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
      const changes = changesFrom(input);
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
      const changes = changesFrom(input);
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
