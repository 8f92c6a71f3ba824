/**
 * What the user has configured, in memory and in the store. Reads come from memory, because every message needs them; every
 * change is checked here, whoever makes it, and then stored.
 */

import { randomBytes } from "node:crypto";
import { defaultSettings, type Destination, type RetryProfile, type Settings, type Source } from "../domain/configuration.ts";
import { highestStatus, lowestStatus } from "../domain/http-status.ts";
import { destinationIds, retryProfileIds, sourceIds, type DestinationId, type RetryProfileId, type SourceId } from "../domain/ids.ts";
import { conflict, invalid, isProblem, notFound, type Problem } from "../domain/problem.ts";
import { builtInProfiles, documented, profileOf } from "../domain/retry.ts";
import { checkHeader, checkWebhookUrl, maxHeaders, maxWebhooks } from "../domain/webhook-rules.ts";
import type { Changes, Configuration, DestinationDraft, SourceDraft } from "./pipeline.ts";
import type { ConfigurationStore, NewDestination } from "./store-ports.ts";

type ConfigurationOptions = {
  store: ConfigurationStore;
  now: () => number;
  changes: Changes;
  /** After any change that can let deliveries move, or stop them. */
  onChange: () => void;
  onDestinationDeleted: (id: DestinationId) => void;
};

/** The sources of the kind `audience`: audiences and computed traits create them, and nobody else changes them. */
export type OwnSources = {
  createOwnSource(name: string): Source;
  renameOwnSource(id: SourceId, name: string): void;
  deleteOwnSource(id: SourceId): void;
  /** To these destinations and no others. */
  connectOwnSource(id: SourceId, to: readonly DestinationId[]): void;
};

/** Every quota has room for one request. */
const leastBytes = 1_000_000;

export function createConfiguration({
  store,
  now,
  changes,
  onChange,
  onDestinationDeleted,
}: ConfigurationOptions): Configuration & OwnSources & { reload(): void } {
  let sources: Source[] = [];
  let byWriteKey = new Map<string, Source>();
  let destinations: Destination[] = [];
  let customProfiles = store.retryProfiles();
  let settings: Settings = defaultSettings;

  /** Faults keep their identity, and with it their counts, until the faults of their source are changed. */
  function reload(rearmed?: SourceId): void {
    const faults = new Map(sources.map((source) => [source.id, source.faults]));
    sources = store
      .sources()
      .map((source) => (source.id === rearmed ? source : { ...source, faults: faults.get(source.id) ?? source.faults }));
    byWriteKey = new Map(sources.map((source) => [source.writeKey, source]));
    destinations = store.destinations();
    customProfiles = store.retryProfiles();
    settings = store.settings();
  }
  reload();

  function changed<T>(
    area: "sources" | "destinations" | "retry-profiles" | "settings",
    id: string | null,
    result: T,
    rearmed?: SourceId,
  ): T {
    reload(rearmed);
    changes.note(area, id);
    onChange();
    return result;
  }

  const retryProfiles = (): (RetryProfile & { id: RetryProfileId | null })[] => [
    ...builtInProfiles.map((profile) => ({ ...profile, id: null })),
    ...customProfiles,
  ];
  const isProfile = (name: string): boolean => retryProfiles().some((profile) => profile.name === name);

  const sourceOf = (draft: SourceDraft): Omit<Source, "id"> => ({
    name: draft.name,
    kind: draft.kind ?? "server",
    writeKey: draft.writeKey ?? randomBytes(16).toString("hex"),
    mode: draft.mode ?? "explain",
    deduplicate: draft.deduplicate ?? true,
    correctClockSkew: draft.correctClockSkew ?? false,
    faults: draft.faults ?? [],
    createdAt: now(),
  });

  /** The caller reloads the memory afterwards. */
  function connect(id: SourceId, to: readonly DestinationId[]): void {
    for (const destination of destinations) {
      if (destination.sourceIds.includes(id) === to.includes(destination.id)) continue;
      const others = destination.sourceIds.filter((other) => other !== id);
      store.updateDestination({ ...destination, sourceIds: to.includes(destination.id) ? [...others, id] : others });
      changes.note("destinations", destinationIds.format(destination.id));
    }
  }

  function checkSource(source: Omit<Source, "id">, id: SourceId | null): Problem | null {
    if (source.name.trim() === "") return invalid("A source needs a name.");
    if (source.writeKey === "" || source.writeKey.includes(":")) {
      return invalid("A write key is at least one character and has no colon, because clients send it as the user of Basic authorization.");
    }
    const other = byWriteKey.get(source.writeKey);
    if (other !== undefined && other.id !== id)
      return conflict("write_key_taken", `The write key ${source.writeKey} belongs to the source ${other.name} already.`);
    return null;
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

  function checkDestination(destination: NewDestination): Problem | null {
    if (destination.name.trim() === "") return invalid("A destination needs a name.");
    for (const id of destination.sourceIds) {
      if (!sources.some((source) => source.id === id)) return invalid(`There is no source ${sourceIds.format(id)} to connect.`);
    }
    if (!isProfile(destination.retryProfile)) {
      const names = retryProfiles()
        .map(({ name }) => name)
        .join(", ");
      return invalid(`There is no retry profile ${JSON.stringify(destination.retryProfile)}. There are: ${names}.`);
    }
    return checkWebhooks(destination.webhooks);
  }

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
    reload,
    sources: () => sources,
    source: (id) => sources.find((source) => source.id === id),
    sourceByWriteKey(writeKey) {
      const source = byWriteKey.get(writeKey);
      return source === undefined || source.kind === "audience" ? undefined : source;
    },
    createSource(draft) {
      const source = sourceOf(draft);
      const wrong = checkSource(source, null);
      if (wrong !== null) return wrong;
      const created = store.insertSource(source);
      return changed("sources", sourceIds.format(created.id), created);
    },
    updateSource(id, changesOfSource) {
      const before = sources.find((source) => source.id === id);
      if (before === undefined) return notFound("source", sourceIds.format(id));
      if (before.kind === "audience") return ownSource(before);
      const source: Source = { ...before, ...defined(changesOfSource) };
      const wrong = checkSource(source, id);
      if (wrong !== null) return wrong;
      store.updateSource(source);
      return changed("sources", sourceIds.format(id), source, changesOfSource.faults === undefined ? undefined : id);
    },
    deleteSource(id) {
      const source = sources.find((source) => source.id === id);
      if (source === undefined) return notFound("source", sourceIds.format(id));
      if (source.kind === "audience") return ownSource(source);
      connect(id, []);
      store.deleteSource(id);
      return changed("sources", sourceIds.format(id), null);
    },

    createOwnSource(name) {
      const created = store.insertSource({ ...sourceOf({ name, deduplicate: false }), kind: "audience" });
      return changed("sources", sourceIds.format(created.id), created);
    },
    renameOwnSource(id, name) {
      const before = sources.find((source) => source.id === id);
      if (before === undefined || before.name === name) return;
      store.updateSource({ ...before, name });
      changed("sources", sourceIds.format(id), null);
    },
    deleteOwnSource(id) {
      connect(id, []);
      store.deleteSource(id);
      changed("sources", sourceIds.format(id), null);
    },
    connectOwnSource(id, to) {
      connect(id, to);
      changed("sources", sourceIds.format(id), null);
    },

    destinations: () => destinations,
    destination: (id) => destinations.find((destination) => destination.id === id),
    createDestination(draft) {
      const destination = destinationOf(draft, null);
      const wrong = checkDestination(destination);
      if (wrong !== null) return wrong;
      const created = store.insertDestination(destination);
      return changed("destinations", destinationIds.format(created.id), created);
    },
    updateDestination(id, changesOfDestination) {
      const before = destinations.find((destination) => destination.id === id);
      if (before === undefined) return notFound("destination", destinationIds.format(id));
      const destination = destinationOf({ ...before, ...defined(changesOfDestination) }, before);
      const wrong = checkDestination(destination);
      if (wrong !== null) return wrong;
      const updated = store.updateDestination({ ...destination, id });
      return changed("destinations", destinationIds.format(id), updated);
    },
    deleteDestination(id) {
      if (!destinations.some((destination) => destination.id === id)) return notFound("destination", destinationIds.format(id));
      store.deleteDestination(id);
      changed("destinations", destinationIds.format(id), null);
      onDestinationDeleted(id);
      return null;
    },

    retryProfiles,
    retryProfileOf: (destination) => profileOf([...builtInProfiles, ...customProfiles], destination.retryProfile),
    createRetryProfile(draft) {
      const wrong = checkProfile(draft, isProfile(draft.name));
      if (wrong !== null) return wrong;
      const created = store.insertRetryProfile(draft);
      return changed("retry-profiles", retryProfileIds.format(created.id), created);
    },
    updateRetryProfile(id, changesOfProfile) {
      const before = profileById(id);
      if (isProblem(before)) return before;
      const profile = { ...before, ...defined(changesOfProfile), id };
      const wrong = checkProfile(profile, profile.name !== before.name && isProfile(profile.name));
      if (wrong !== null) return wrong;
      if (profile.name !== before.name) {
        for (const destination of destinations) {
          if (destination.retryProfile === before.name) store.updateDestination({ ...destination, retryProfile: profile.name });
        }
      }
      store.updateRetryProfile(profile);
      return changed("retry-profiles", retryProfileIds.format(id), profile);
    },
    deleteRetryProfile(id) {
      const profile = profileById(id);
      if (isProblem(profile)) return profile;
      const user = destinations.find((destination) => destination.retryProfile === profile.name);
      if (user !== undefined)
        return conflict("in_use", `The destination ${user.name} uses the retry profile ${profile.name}. Give it another one first.`);
      store.deleteRetryProfile(id);
      return changed("retry-profiles", retryProfileIds.format(id), null);
    },

    settings: () => settings,
    updateSettings(changesOfSettings) {
      const updated: Settings = { ...settings, ...defined(changesOfSettings) };
      if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(updated.vendor))
        return invalid("The vendor is a product token: letters, digits and -._ without spaces.");
      if (!Number.isSafeInteger(updated.seed)) return invalid("The seed is a whole number.");
      if (!Number.isInteger(updated.laneConnections) || updated.laneConnections < 1 || updated.laneConnections > 1024) {
        return invalid("A webhook's lane has between 1 and 1024 connections.");
      }
      if (updated.maxMessages !== null && (!Number.isInteger(updated.maxMessages) || updated.maxMessages < 1)) {
        return invalid("The number of messages kept is at least 1, or null to keep all.");
      }
      if (updated.maxAgeMs !== null && !(updated.maxAgeMs > 0))
        return invalid("The age up to which messages are kept is more than 0, or null to keep all.");
      const { maxBytes, maxRejectedBytes, maxUnknownKeyBytes } = updated;
      if ([maxBytes ?? leastBytes, maxRejectedBytes, maxUnknownKeyBytes].some((bytes) => !(bytes >= leastBytes))) {
        return invalid(`A limit in bytes is at least ${leastBytes}: one request may have half of that.`);
      }
      store.saveSettings(updated);
      return changed("settings", null, updated);
    },
  };

  function profileById(id: RetryProfileId): (typeof customProfiles)[number] | Problem {
    return customProfiles.find((profile) => profile.id === id) ?? notFound("retry profile", retryProfileIds.format(id));
  }
}

function ownSource({ name }: Source): Problem {
  const message = `The source ${name} belongs to the audience or computed trait of that name. Change or delete that; the source follows it.`;
  return conflict("audience_source", message);
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

function defined<T extends object>(changes: T): Partial<T> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined)) as Partial<T>;
}
