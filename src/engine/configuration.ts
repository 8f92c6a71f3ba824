/**
 * What the user has configured, in memory and in the store. Every change is checked here, whoever
 * makes it, and then stored.
 */

import { randomBytes } from "node:crypto";
import {
  defaultSettings,
  maxWriteKeyLength,
  type CustomRetryProfile,
  type Destination,
  type RetryProfile,
  type Settings,
  type Source,
} from "../domain/configuration.ts";
import {
  destinationIds,
  sourceIds,
  retryProfileIds,
  type DestinationId,
  type SourceId,
  type RetryProfileId,
} from "../domain/ids.ts";
import { conflict, invalid, notFound, isProblem, type Problem } from "../domain/problem.ts";
import { ConfigurationMemory, defined } from "./configuration-memory.ts";
import { roomFor, roomForDestination } from "./list-room.ts";
import { updateSettings } from "./settings.ts";
import type {
  OwnSources,
  Changes,
  Configuration,
  SourceDraft,
  DestinationDraft,
} from "./pipeline.ts";
import { planFrom } from "./plans/plans.ts";
import type { Atomically } from "./profile-ports.ts";
import type { ConfigurationStore, NewDestination } from "./store-ports.ts";
import { wrongFilter } from "../domain/destination-filter.ts";
import { highestStatus, lowestStatus } from "../domain/http-status.ts";
import {
  checkMappings,
  checkWebhooks,
  mappingOf,
  misplacedIn,
  webhooksOfMappings,
  withKnownWebhooks,
} from "./mappings.ts";
import { builtInProfiles, defaultProfile, maxDelays, profileOf } from "../domain/retry.ts";

type ConfigurationOptions = {
  store: ConfigurationStore & Atomically;
  now: () => number;
  changes: Changes;
  /** After any change that can let deliveries move, or stop them. */
  onChange: () => void;
  onDestinationDeleted: (id: DestinationId) => void;
  newWriteKey?: () => string;
};

export function createConfiguration(
  options: ConfigurationOptions,
): Configuration & OwnSources & { reload(): void } {
  const { store } = options;
  const memory = new ConfigurationMemory(options);
  return {
    reload: () => memory.reload(),
    ...createSources({ ...options, memory }),
    ...createDestinations({ ...options, memory }),
    ...createRetryProfiles({ store, memory }),
    settings: () => memory.settings,
    defaultMaxBytes: () => store.defaultMaxBytes(),
    updateSettings: (changes) => updateSettings({ store, memory }, changes),
  };
}

type Part = Pick<ConfigurationOptions, "store" | "now" | "newWriteKey"> & {
  memory: ConfigurationMemory;
};

type Sources = Pick<
  Configuration,
  "sources" | "source" | "sourceByWriteKey" | "createSource" | "updateSource" | "deleteSource"
>;

function createSources(part: Part): Sources & OwnSources {
  const { store, memory } = part;
  return {
    sources: () => memory.sources,
    source: (id) => memory.source(id),
    sourceByWriteKey(writeKey) {
      const source = memory.byWriteKey.get(writeKey);
      return source === undefined || source.kind === "audience" ? undefined : source;
    },
    createSource(draft) {
      const plan = planFrom(draft.plan, null);
      if (isProblem(plan)) return plan;
      const source = { ...sourceOf(draft, part, memory.settings), plan };
      const wrong = checkSource(source, null, memory) ?? roomForSource(memory, source);
      if (wrong !== null) return wrong;
      return memory.change("sources", idOfSource, () => store.insertSource(source));
    },
    updateSource(id, changesOfSource) {
      const before = memory.source(id);
      if (before === undefined) return notFound("source", sourceIds.format(id));
      if (before.kind === "audience") return ownSource(before);
      const plan = planFrom(changesOfSource.plan, before.plan);
      if (isProblem(plan)) return plan;
      const source: Source = { ...before, ...defined(changesOfSource), plan };
      const wrong = checkSource(source, id, memory) ?? roomForSource(memory, source, before);
      if (wrong !== null) return wrong;
      const write = (): Source => {
        store.updateSource(source);
        return source;
      };
      const rearmed = changesOfSource.faults === undefined ? undefined : id;
      return memory.change("sources", idOfSource, write, rearmed);
    },
    deleteSource(id) {
      const source = memory.source(id);
      if (source === undefined) return notFound("source", sourceIds.format(id));
      if (source.kind === "audience") return ownSource(source);
      deleteSource({ store, memory }, id);
      return null;
    },

    ...createOwnSources(part),
  };
}

function createOwnSources(part: Part): OwnSources {
  const { store, memory } = part;
  return {
    checkOwnSource: (name) => roomForSource(memory, sourceOf({ name, deduplicate: false }, part)),
    createOwnSource(name) {
      const source = sourceOf({ name, deduplicate: false }, part);
      return memory.change("sources", idOfSource, () =>
        store.insertSource({ ...source, kind: "audience" }),
      );
    },
    renameOwnSource(id, name) {
      const before = memory.source(id);
      if (before === undefined || before.name === name) return;
      memory.change(
        "sources",
        () => sourceIds.format(id),
        () => store.updateSource({ ...before, name }),
      );
    },
    deleteOwnSource: (id) => deleteSource({ store, memory }, id),
    connectOwnSource(id, to) {
      memory.change(
        "sources",
        () => sourceIds.format(id),
        () => connect({ store, memory }, id, to),
      );
    },
  };
}

function sourceOf(
  draft: SourceDraft,
  { now, newWriteKey }: Part,
  { answers, correctClockSkew }: Pick<Settings, "answers" | "correctClockSkew"> = defaultSettings,
): Omit<Source, "id"> {
  return {
    name: draft.name,
    kind: draft.kind ?? "server",
    writeKey: draft.writeKey ?? newWriteKey?.() ?? randomBytes(16).toString("hex"),
    mode: draft.mode ?? answers,
    deduplicate: draft.deduplicate ?? true,
    correctClockSkew: draft.correctClockSkew ?? correctClockSkew,
    faults: draft.faults ?? [],
    plan: null,
    createdAt: now(),
  };
}

const idOfSource = ({ id }: Source): string => sourceIds.format(id);

function deleteSource(part: Pick<Part, "store" | "memory">, id: SourceId): void {
  const write = (): void => {
    connect(part, id, []);
    part.store.deleteSource(id);
  };
  part.memory.change("sources", () => sourceIds.format(id), write);
}

/** In a change of the memory. */
function connect(
  { store, memory }: Pick<Part, "store" | "memory">,
  id: SourceId,
  to: readonly DestinationId[],
): void {
  for (const destination of memory.destinations) {
    if (destination.sourceIds.includes(id) === to.includes(destination.id)) continue;
    const others = destination.sourceIds.filter((other) => other !== id);
    store.updateDestination({
      ...destination,
      sourceIds: to.includes(destination.id) ? [...others, id] : others,
    });
    memory.note("destinations", destinationIds.format(destination.id));
  }
}

function checkSource(
  source: Omit<Source, "id">,
  id: SourceId | null,
  memory: ConfigurationMemory,
): Problem | null {
  if (source.name.trim() === "") return invalid("A source needs a name.");
  if (source.writeKey === "" || source.writeKey.includes(":"))
    return invalid(
      "A write key is at least one character and has no colon, because clients send it as the user of Basic authorization.",
    );
  const other = memory.byWriteKey.get(source.writeKey);
  // One from before the limit stays.
  if (source.writeKey.length > maxWriteKeyLength && other?.id !== id)
    return invalid(`A write key has at most ${maxWriteKeyLength} characters.`);
  if (other !== undefined && other.id !== id)
    return conflict(
      "write_key_taken",
      `The write key ${source.writeKey} belongs to the source ${other.name} already.`,
    );
  return null;
}

function roomForSource(
  { sources }: ConfigurationMemory,
  source: Omit<Source, "id">,
  before: Source | null = null,
): Problem | null {
  // A list has the number of a plan's rules.
  const listed = ({ plan, ...rest }: Omit<Source, "id">): object => ({
    ...rest,
    plan: plan && { ...plan, rules: 0 },
  });
  return roomFor({ what: "sources", all: sources, listed }, source, before);
}

function ownSource({ name }: Source): Problem {
  const message = `The source ${name} belongs to the audience or computed trait of that name. Change or delete that; the source follows it.`;
  return conflict("audience_source", message);
}

const idOfDestination = ({ id }: Destination): string => destinationIds.format(id);

type DestinationsOptions = {
  store: ConfigurationStore & Atomically;
  memory: ConfigurationMemory;
  now: () => number;
  onDestinationDeleted: (id: DestinationId) => void;
};

type Destinations = Pick<
  Configuration,
  | "destinations"
  | "destination"
  | "destinationsOf"
  | "createDestination"
  | "updateDestination"
  | "deleteDestination"
  | "pointWebhook"
>;

/**
 * The part of the configuration that says where messages go: destinations, and the retry profiles
 * that they use.
 */
function createDestinations({
  store,
  memory,
  now,
  onDestinationDeleted,
}: DestinationsOptions): Destinations {
  function destinationOf(draft: DestinationDraft, before: Destination | null): NewDestination {
    const kind = draft.kind ?? "webhooks";
    const mappings = (draft.mappings ?? []).map(mappingOf);
    return {
      kind,
      name: draft.name,
      enabled: draft.enabled ?? true,
      sourceIds: [...new Set(draft.sourceIds)],
      webhooks:
        kind === "webhooks"
          ? withKnownWebhooks(draft.webhooks ?? [], before)
          : webhooksOfMappings(mappings, before),
      mappings,
      sharedSecret: draft.sharedSecret === "" ? null : (draft.sharedSecret ?? null),
      retryProfile: draft.retryProfile ?? defaultProfile({ kind }, memory.settings),
      payload: draft.payload ?? "documented",
      ...(draft.audienceCalls === undefined ? {} : { audienceCalls: draft.audienceCalls }),
      filters: draft.filters ?? [],
      createdAt: before?.createdAt ?? now(),
    };
  }

  return {
    destinations: () => memory.destinations,
    destination: (id) => memory.byId.get(id),
    destinationsOf: (id) => memory.bySource.get(id) ?? [],
    createDestination(draft) {
      const misplaced = misplacedIn(draft, null);
      if (misplaced !== null) return misplaced;
      const destination = destinationOf(draft, null);
      const wrong =
        checkDestination(destination, memory) ??
        roomForDestination(memory.destinations, destination);
      if (wrong !== null) return wrong;
      return memory.change("destinations", idOfDestination, () =>
        store.insertDestination(destination),
      );
    },
    updateDestination(id, changesOfDestination) {
      const before = memory.byId.get(id);
      if (before === undefined) return notFound("destination", destinationIds.format(id));
      const misplaced = misplacedIn(
        { kind: before.kind, ...defined(changesOfDestination) },
        before,
      );
      if (misplaced !== null) return misplaced;
      const destination = destinationOf({ ...before, ...defined(changesOfDestination) }, before);
      const wrong =
        checkDestination(destination, memory, before) ??
        roomForDestination(memory.destinations, destination, before);
      if (wrong !== null) return wrong;
      return memory.change("destinations", idOfDestination, () =>
        store.updateDestination({ ...destination, id }),
      );
    },
    pointWebhook(id, webhookId, url) {
      const before = memory.byId.get(id);
      if (before === undefined) return notFound("destination", destinationIds.format(id));
      const webhooks = before.webhooks.map((webhook) =>
        webhook.id === webhookId ? { ...webhook, url } : webhook,
      );
      return memory.change("destinations", idOfDestination, () =>
        store.updateDestination({ ...before, webhooks }),
      );
    },
    deleteDestination(id) {
      if (!memory.byId.has(id)) return notFound("destination", destinationIds.format(id));
      memory.change(
        "destinations",
        () => destinationIds.format(id),
        () => store.deleteDestination(id),
      );
      onDestinationDeleted(id);
      return null;
    },
  };
}

const idOfProfile = ({ id }: CustomRetryProfile): string => retryProfileIds.format(id);

type RetryProfiles = Pick<
  Configuration,
  | "retryProfiles"
  | "retryProfileOf"
  | "createRetryProfile"
  | "updateRetryProfile"
  | "deleteRetryProfile"
>;

function createRetryProfiles({
  store,
  memory,
}: Pick<DestinationsOptions, "store" | "memory">): RetryProfiles {
  function profileById(id: RetryProfileId): CustomRetryProfile | Problem {
    return (
      memory.customProfiles.find((profile) => profile.id === id) ??
      notFound("retry profile", retryProfileIds.format(id))
    );
  }

  /** In a change of the memory: what uses the profile follows its name. */
  function rename(before: string, name: string): void {
    for (const destination of memory.destinations) {
      if (destination.retryProfile !== before) continue;
      store.updateDestination({ ...destination, retryProfile: name });
      memory.note("destinations", destinationIds.format(destination.id));
    }
    if (memory.settings.retryProfile !== before) return;
    store.saveSettings({ ...memory.settings, retryProfile: name });
    memory.note("settings", null);
  }

  return {
    retryProfiles: () => memory.retryProfiles(),
    retryProfileOf: (destination) =>
      profileOf([...builtInProfiles, ...memory.customProfiles], destination.retryProfile),
    createRetryProfile(draft) {
      const wrong =
        checkProfile(draft, memory.isProfile(draft.name)) ??
        roomFor<RetryProfile>({ what: "retry profiles", all: memory.customProfiles }, draft);
      if (wrong !== null) return wrong;
      return memory.change("retry-profiles", idOfProfile, () => store.insertRetryProfile(draft));
    },
    updateRetryProfile(id, changesOfProfile) {
      const before = profileById(id);
      if (isProblem(before)) return before;
      const profile = { ...before, ...defined(changesOfProfile), id };
      const isTaken = profile.name !== before.name && memory.isProfile(profile.name);
      const wrong =
        checkProfile(profile, isTaken) ??
        roomFor<RetryProfile>(
          { what: "retry profiles", all: memory.customProfiles },
          profile,
          before,
        );
      if (wrong !== null) return wrong;
      return memory.change("retry-profiles", idOfProfile, () => {
        if (profile.name !== before.name) rename(before.name, profile.name);
        store.updateRetryProfile(profile);
        return profile;
      });
    },
    deleteRetryProfile(id) {
      const profile = profileById(id);
      if (isProblem(profile)) return profile;
      const user = memory.destinations.find(
        (destination) => destination.retryProfile === profile.name,
      );
      if (user !== undefined)
        return conflict(
          "in_use",
          `The destination ${user.name} uses the retry profile ${profile.name}. Give it another profile first.`,
        );
      if (memory.settings.retryProfile === profile.name)
        return conflict(
          "in_use",
          `New destinations get the retry profile ${profile.name}. Choose another one in the settings first.`,
        );
      memory.change(
        "retry-profiles",
        () => retryProfileIds.format(id),
        () => store.deleteRetryProfile(id),
      );
      return null;
    },
  };
}

function checkDestination(
  destination: NewDestination,
  memory: ConfigurationMemory,
  before?: Destination,
): Problem | null {
  if (destination.name.trim() === "") return invalid("A destination needs a name.");
  for (const id of destination.sourceIds) {
    if (memory.source(id) === undefined)
      return invalid(`There is no source ${sourceIds.format(id)} to connect.`);
  }
  if (!memory.isProfile(destination.retryProfile)) {
    const names = Array.from(memory.retryProfiles(), ({ name }) => name).join(", ");
    return invalid(
      `There is no retry profile ${JSON.stringify(destination.retryProfile)}. Known: ${names}.`,
    );
  }
  const wrong = wrongFilter(destination.filters, before?.filters);
  if (wrong !== null) return invalid(wrong);
  return destination.kind === "webhooks-actions"
    ? checkMappings(destination.mappings ?? [])
    : checkWebhooks(destination.webhooks);
}

/** Far more than any receiver is down, and no due time leaves the range of dates. */
const longestRetryMs = 3650 * 24 * 60 * 60 * 1000;

function checkProfile(
  { name, schedule, jitter, windowMs, timeoutMs, retriedStatuses }: RetryProfile,
  taken: boolean,
): Problem | null {
  if (!/^[a-z0-9][a-z0-9-]*$/.test(name))
    return invalid("A retry profile's name is lower-case letters, digits and hyphens.");
  if (taken) return conflict("name_taken", `A retry profile ${name} already exists.`);
  const delays = schedule.kind === "list" ? schedule.delaysMs : [schedule.firstMs, schedule.capMs];
  if (delays.length > maxDelays || delays.some((delay) => !(delay >= 0 && delay <= longestRetryMs)))
    return invalid(
      "A schedule has at most a thousand delays, each of 0 ms to ten years (3,650 days).",
    );
  if (schedule.kind === "exponential" && !(schedule.factor >= 1 && schedule.firstMs >= 1000)) {
    return invalid(
      "An exponential schedule starts with at least a second and grows by a factor of 1 or more.",
    );
  }
  if (!(jitter >= 0 && jitter <= 1)) return invalid("Jitter is between 0 and 1.");
  if (!(windowMs > 0 && windowMs <= longestRetryMs))
    return invalid("The window is more than 0 and at most ten years (3,650 days).");
  if (!(timeoutMs >= 100 && timeoutMs <= 600_000))
    return invalid("The timeout is between 0.1 seconds and 10 minutes.");
  if (
    retriedStatuses.some(
      ({ from, to }) => !(from >= lowestStatus && to <= highestStatus && from <= to),
    )
  )
    return invalid(`Retried statuses are ranges between ${lowestStatus} and ${highestStatus}.`);
  return null;
}
