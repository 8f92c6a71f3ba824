/** The part of the configuration that says where messages go: destinations, and the retry profiles that they use. */

import type { CustomRetryProfile, Destination, RetryProfile } from "../domain/configuration.ts";
import { highestStatus, lowestStatus } from "../domain/http-status.ts";
import { destinationIds, retryProfileIds, sourceIds, type DestinationId, type RetryProfileId } from "../domain/ids.ts";
import { conflict, invalid, isProblem, notFound, type Problem } from "../domain/problem.ts";
import { builtInProfiles, documented, profileOf } from "../domain/retry.ts";
import { checkHeader, checkWebhookUrl, maxHeaders, maxWebhooks } from "../domain/webhook-rules.ts";
import { defined, type ConfigurationMemory } from "./configuration-memory.ts";
import type { Configuration, DestinationDraft } from "./pipeline.ts";
import type { ConfigurationStore, NewDestination } from "./store-ports.ts";

type DestinationsOptions = {
  store: ConfigurationStore;
  memory: ConfigurationMemory;
  now: () => number;
  onDestinationDeleted: (id: DestinationId) => void;
};

type Destinations = Pick<
  Configuration,
  "destinations" | "destination" | "createDestination" | "updateDestination" | "deleteDestination" | "pointWebhook"
>;

export function createDestinations({ store, memory, now, onDestinationDeleted }: DestinationsOptions): Destinations {
  function destinationOf(draft: DestinationDraft, before: Destination | null): NewDestination {
    return {
      name: draft.name,
      enabled: draft.enabled ?? true,
      sourceIds: [...new Set(draft.sourceIds)],
      webhooks: withKnownWebhooks(draft.webhooks, before),
      sharedSecret: draft.sharedSecret === "" ? null : (draft.sharedSecret ?? null),
      retryProfile: draft.retryProfile ?? documented.name,
      payload: draft.payload ?? "documented",
      createdAt: before?.createdAt ?? now(),
    };
  }

  return {
    destinations: () => memory.destinations,
    destination: (id) => memory.destinations.find((destination) => destination.id === id),
    createDestination(draft) {
      const destination = destinationOf(draft, null);
      const wrong = checkDestination(destination, memory);
      if (wrong !== null) return wrong;
      const created = store.insertDestination(destination);
      return memory.changed("destinations", destinationIds.format(created.id), created);
    },
    updateDestination(id, changesOfDestination) {
      const before = memory.destinations.find((destination) => destination.id === id);
      if (before === undefined) return notFound("destination", destinationIds.format(id));
      const destination = destinationOf({ ...before, ...defined(changesOfDestination) }, before);
      const wrong = checkDestination(destination, memory);
      if (wrong !== null) return wrong;
      const updated = store.updateDestination({ ...destination, id });
      return memory.changed("destinations", destinationIds.format(id), updated);
    },
    pointWebhook(id, webhookId, url) {
      const before = memory.destinations.find((destination) => destination.id === id);
      if (before === undefined) return notFound("destination", destinationIds.format(id));
      const webhooks = before.webhooks.map((webhook) => (webhook.id === webhookId ? { ...webhook, url } : webhook));
      return memory.changed("destinations", destinationIds.format(id), store.updateDestination({ ...before, webhooks }));
    },
    deleteDestination(id) {
      if (!memory.destinations.some((destination) => destination.id === id)) return notFound("destination", destinationIds.format(id));
      store.deleteDestination(id);
      memory.changed("destinations", destinationIds.format(id), null);
      onDestinationDeleted(id);
      return null;
    },
  };
}

type RetryProfiles = Pick<
  Configuration,
  "retryProfiles" | "retryProfileOf" | "createRetryProfile" | "updateRetryProfile" | "deleteRetryProfile"
>;

export function createRetryProfiles({ store, memory }: Pick<DestinationsOptions, "store" | "memory">): RetryProfiles {
  function profileById(id: RetryProfileId): CustomRetryProfile | Problem {
    return memory.customProfiles.find((profile) => profile.id === id) ?? notFound("retry profile", retryProfileIds.format(id));
  }

  return {
    retryProfiles: () => memory.retryProfiles(),
    retryProfileOf: (destination) => profileOf([...builtInProfiles, ...memory.customProfiles], destination.retryProfile),
    createRetryProfile(draft) {
      const wrong = checkProfile(draft, memory.isProfile(draft.name));
      if (wrong !== null) return wrong;
      const created = store.insertRetryProfile(draft);
      return memory.changed("retry-profiles", retryProfileIds.format(created.id), created);
    },
    updateRetryProfile(id, changesOfProfile) {
      const before = profileById(id);
      if (isProblem(before)) return before;
      const profile = { ...before, ...defined(changesOfProfile), id };
      const wrong = checkProfile(profile, profile.name !== before.name && memory.isProfile(profile.name));
      if (wrong !== null) return wrong;
      if (profile.name !== before.name) {
        for (const destination of memory.destinations) {
          if (destination.retryProfile === before.name) store.updateDestination({ ...destination, retryProfile: profile.name });
        }
      }
      store.updateRetryProfile(profile);
      return memory.changed("retry-profiles", retryProfileIds.format(id), profile);
    },
    deleteRetryProfile(id) {
      const profile = profileById(id);
      if (isProblem(profile)) return profile;
      const user = memory.destinations.find((destination) => destination.retryProfile === profile.name);
      if (user !== undefined)
        return conflict("in_use", `The destination ${user.name} uses the retry profile ${profile.name}. Give it another one first.`);
      store.deleteRetryProfile(id);
      return memory.changed("retry-profiles", retryProfileIds.format(id), null);
    },
  };
}

function checkDestination(destination: NewDestination, memory: ConfigurationMemory): Problem | null {
  if (destination.name.trim() === "") return invalid("A destination needs a name.");
  for (const id of destination.sourceIds) {
    if (!memory.sources.some((source) => source.id === id)) return invalid(`There is no source ${sourceIds.format(id)} to connect.`);
  }
  if (!memory.isProfile(destination.retryProfile)) {
    const names = memory
      .retryProfiles()
      .map(({ name }) => name)
      .join(", ");
    return invalid(`There is no retry profile ${JSON.stringify(destination.retryProfile)}. There are: ${names}.`);
  }
  return checkWebhooks(destination.webhooks);
}

/** Webhooks that stay keep their id, and with it their lane and their attempts. */
function withKnownWebhooks(webhooks: NewDestination["webhooks"], before: Destination | null): NewDestination["webhooks"] {
  const free = [...(before?.webhooks ?? [])];
  return webhooks.map(({ url, headers }) => {
    const place = free.findIndex((webhook) => webhook.url === url);
    const [known] = place < 0 ? [] : free.splice(place, 1);
    return known === undefined ? { url, headers } : { id: known.id, url, headers };
  });
}

function checkWebhooks(webhooks: NewDestination["webhooks"]): Problem | null {
  if (webhooks.length === 0) return invalid("A destination needs at least one webhook.");
  if (webhooks.length > maxWebhooks) return invalid(`A destination has at most ${maxWebhooks} webhooks, not ${webhooks.length}.`);
  for (const { url, headers } of webhooks) {
    const wrongUrl = checkWebhookUrl(url);
    if (wrongUrl !== null) return invalid(wrongUrl);
    const entries = Object.entries(headers);
    if (entries.length > maxHeaders) return invalid(`A webhook has at most ${maxHeaders} headers, not ${entries.length}.`);
    const names = new Set<string>();
    for (const [name, value] of entries) {
      const wrongHeader = checkHeader(name, value);
      if (wrongHeader !== null) return invalid(wrongHeader);
      if (names.has(name.toLowerCase())) return invalid(`The header ${name} is there twice, in two spellings.`);
      names.add(name.toLowerCase());
    }
  }
  return null;
}

function checkProfile({ name, schedule, jitter, windowMs, timeoutMs, retriedStatuses }: RetryProfile, taken: boolean): Problem | null {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name)) return invalid("A retry profile's name is lower-case letters, digits and hyphens.");
  if (taken) return conflict("name_taken", `There is a retry profile ${name} already.`);
  const delays = schedule.kind === "list" ? schedule.delaysMs : [schedule.firstMs, schedule.capMs];
  if (delays.length > 1000 || delays.some((delay) => !(delay >= 0)))
    return invalid("Delays are 0 or more milliseconds, at most a thousand of them.");
  if (schedule.kind === "exponential" && !(schedule.factor >= 1 && schedule.firstMs >= 1000)) {
    return invalid("An exponential schedule starts with at least a second and grows by a factor of 1 or more.");
  }
  if (!(jitter >= 0 && jitter <= 1)) return invalid("Jitter is between 0 and 1.");
  if (!(windowMs > 0)) return invalid("The window is more than 0.");
  if (!(timeoutMs >= 100 && timeoutMs <= 600_000)) return invalid("The timeout is between 0.1 seconds and 10 minutes.");
  if (retriedStatuses.some(({ from, to }) => !(from >= lowestStatus && to <= highestStatus && from <= to)))
    return invalid(`Retried statuses are ranges between ${lowestStatus} and ${highestStatus}.`);
  return null;
}
