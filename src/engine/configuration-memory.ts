/**
 * What the user has configured, as it is read: in memory, because every message needs it. Only the
 * calls of `configuration.ts` write.
 */

import {
  defaultSettings,
  type CustomRetryProfile,
  type Destination,
  type RetryProfile,
  type Settings,
  type Source,
} from "../domain/configuration.ts";
import type { RetryProfileId, SourceId } from "../domain/ids.ts";
import { builtInProfiles } from "../domain/retry.ts";
import type { Changes } from "./pipeline.ts";
import type { ConfigurationStore } from "./store-ports.ts";

type MemoryOptions = {
  store: ConfigurationStore;
  changes: Changes;
  /** After any change that can let deliveries move, or stop them. */
  onChange: () => void;
};

type Area = "sources" | "destinations" | "retry-profiles" | "settings";

export class ConfigurationMemory {
  readonly #options: MemoryOptions;
  sources: Source[] = [];
  byWriteKey = new Map<string, Source>();
  destinations: Destination[] = [];
  customProfiles: CustomRetryProfile[] = [];
  settings: Settings = defaultSettings;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.reload();
  }

  /**
   * Faults keep their identity, and with it their counts, until the faults of their source are
   * changed.
   */
  reload(rearmed?: SourceId): void {
    const { store } = this.#options;
    const faults = new Map(this.sources.map((source) => [source.id, source.faults]));
    this.sources = store
      .sources()
      .map((source) =>
        source.id === rearmed
          ? source
          : { ...source, faults: faults.get(source.id) ?? source.faults },
      );
    this.byWriteKey = new Map(this.sources.map((source) => [source.writeKey, source]));
    this.destinations = store.destinations();
    this.customProfiles = store.retryProfiles();
    this.settings = store.settings();
  }

  /** After a write: reloads, and announces the change. Returns `result`. */
  changed<Result>(area: Area, id: string | null, result: Result, rearmed?: SourceId): Result {
    this.reload(rearmed);
    this.note(area, id);
    this.#options.onChange();
    return result;
  }

  note(area: Area, id: string | null): void {
    this.#options.changes.note(area, id);
  }

  retryProfiles(): (RetryProfile & { id: RetryProfileId | null })[] {
    return [
      ...builtInProfiles.map((profile) => ({ ...profile, id: null })),
      ...this.customProfiles,
    ];
  }

  isProfile(name: string): boolean {
    return this.retryProfiles().some((profile) => profile.name === name);
  }
}

/** Without the members that are undefined. */
export function defined<T extends object>(changes: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
