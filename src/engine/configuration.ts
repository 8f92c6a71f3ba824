/**
 * What the user has configured, in memory and in the store. Every change is checked here, whoever makes it, and then stored.
 */

import { randomBytes } from "node:crypto";
import type { Settings, Source } from "../domain/configuration.ts";
import { destinationIds, sourceIds, type DestinationId, type SourceId } from "../domain/ids.ts";
import { conflict, invalid, notFound, type Problem } from "../domain/problem.ts";
import { createDestinations, createRetryProfiles } from "./configuration-destinations.ts";
import { ConfigurationMemory, defined } from "./configuration-memory.ts";
import type { Changes, Configuration, SourceDraft } from "./pipeline.ts";
import type { ConfigurationStore } from "./store-ports.ts";

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

export function createConfiguration(options: ConfigurationOptions): Configuration & OwnSources & { reload(): void } {
  const { store } = options;
  const memory = new ConfigurationMemory(options);
  return {
    reload: () => memory.reload(),
    ...createSources({ ...options, memory }),
    ...createDestinations({ ...options, memory }),
    ...createRetryProfiles({ store, memory }),
    ...createSettings({ store, memory }),
  };
}

type Part = Pick<ConfigurationOptions, "store" | "now"> & { memory: ConfigurationMemory };

type Sources = Pick<Configuration, "sources" | "source" | "sourceByWriteKey" | "createSource" | "updateSource" | "deleteSource">;

function createSources(part: Part): Sources & OwnSources {
  const { store, memory } = part;
  return {
    sources: () => memory.sources,
    source: (id) => memory.sources.find((source) => source.id === id),
    sourceByWriteKey(writeKey) {
      const source = memory.byWriteKey.get(writeKey);
      return source === undefined || source.kind === "audience" ? undefined : source;
    },
    createSource(draft) {
      const source = sourceOf(draft, part.now());
      const wrong = checkSource(source, null, memory);
      if (wrong !== null) return wrong;
      const created = store.insertSource(source);
      return memory.changed("sources", sourceIds.format(created.id), created);
    },
    updateSource(id, changesOfSource) {
      const before = memory.sources.find((source) => source.id === id);
      if (before === undefined) return notFound("source", sourceIds.format(id));
      if (before.kind === "audience") return ownSource(before);
      const source: Source = { ...before, ...defined(changesOfSource) };
      const wrong = checkSource(source, id, memory);
      if (wrong !== null) return wrong;
      store.updateSource(source);
      return memory.changed("sources", sourceIds.format(id), source, changesOfSource.faults === undefined ? undefined : id);
    },
    deleteSource(id) {
      const source = memory.sources.find((source) => source.id === id);
      if (source === undefined) return notFound("source", sourceIds.format(id));
      if (source.kind === "audience") return ownSource(source);
      connect({ store, memory }, id, []);
      store.deleteSource(id);
      return memory.changed("sources", sourceIds.format(id), null);
    },

    ...createOwnSources(part),
  };
}

function createOwnSources({ store, memory, now }: Part): OwnSources {
  return {
    createOwnSource(name) {
      const created = store.insertSource({ ...sourceOf({ name, deduplicate: false }, now()), kind: "audience" });
      return memory.changed("sources", sourceIds.format(created.id), created);
    },
    renameOwnSource(id, name) {
      const before = memory.sources.find((source) => source.id === id);
      if (before === undefined || before.name === name) return;
      store.updateSource({ ...before, name });
      memory.changed("sources", sourceIds.format(id), null);
    },
    deleteOwnSource(id) {
      connect({ store, memory }, id, []);
      store.deleteSource(id);
      memory.changed("sources", sourceIds.format(id), null);
    },
    connectOwnSource(id, to) {
      connect({ store, memory }, id, to);
      memory.changed("sources", sourceIds.format(id), null);
    },
  };
}

function createSettings({ store, memory }: Omit<Part, "now">): Pick<Configuration, "settings" | "updateSettings"> {
  return {
    settings: () => memory.settings,
    updateSettings(changesOfSettings) {
      const updated: Settings = { ...memory.settings, ...defined(changesOfSettings) };
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
        return invalid("The maximum age of messages is more than 0, or null to keep all.");
      const { maxBytes, maxRejectedBytes, maxUnknownKeyBytes } = updated;
      if ([maxBytes ?? leastBytes, maxRejectedBytes, maxUnknownKeyBytes].some((bytes) => !(bytes >= leastBytes))) {
        return invalid(`A limit in bytes is at least ${leastBytes}: one request may have half of that.`);
      }
      store.saveSettings(updated);
      return memory.changed("settings", null, updated);
    },
  };
}

function sourceOf(draft: SourceDraft, createdAt: number): Omit<Source, "id"> {
  return {
    name: draft.name,
    kind: draft.kind ?? "server",
    writeKey: draft.writeKey ?? randomBytes(16).toString("hex"),
    mode: draft.mode ?? "explain",
    deduplicate: draft.deduplicate ?? true,
    correctClockSkew: draft.correctClockSkew ?? false,
    faults: draft.faults ?? [],
    createdAt,
  };
}

/** The caller reloads the memory afterwards. */
function connect({ store, memory }: Pick<Part, "store" | "memory">, id: SourceId, to: readonly DestinationId[]): void {
  for (const destination of memory.destinations) {
    if (destination.sourceIds.includes(id) === to.includes(destination.id)) continue;
    const others = destination.sourceIds.filter((other) => other !== id);
    store.updateDestination({ ...destination, sourceIds: to.includes(destination.id) ? [...others, id] : others });
    memory.note("destinations", destinationIds.format(destination.id));
  }
}

function checkSource(source: Omit<Source, "id">, id: SourceId | null, memory: ConfigurationMemory): Problem | null {
  if (source.name.trim() === "") return invalid("A source needs a name.");
  if (source.writeKey === "" || source.writeKey.includes(":")) {
    return invalid("A write key is at least one character and has no colon, because clients send it as the user of Basic authorization.");
  }
  const other = memory.byWriteKey.get(source.writeKey);
  if (other !== undefined && other.id !== id)
    return conflict("write_key_taken", `The write key ${source.writeKey} belongs to the source ${other.name} already.`);
  return null;
}

function ownSource({ name }: Source): Problem {
  const message = `The source ${name} belongs to the audience or computed trait of that name. Change or delete that; the source follows it.`;
  return conflict("audience_source", message);
}
