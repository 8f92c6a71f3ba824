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
import type { DestinationId, RetryProfileId, SourceId } from "../domain/ids.ts";
import { builtInProfiles } from "../domain/retry.ts";
import type { Changes } from "./pipeline.ts";
import type { Atomically } from "./profile-ports.ts";
import type { ConfigurationStore } from "./store-ports.ts";

type MemoryOptions = {
  store: ConfigurationStore & Atomically;
  changes: Changes;
  /** After any change that can let deliveries move, or stop them. */
  onChange: () => void;
};

type Area = "sources" | "destinations" | "retry-profiles" | "settings";

type Stored = Pick<
  ConfigurationMemory,
  "sources" | "byWriteKey" | "destinations" | "byId" | "bySource" | "customProfiles" | "settings"
>;

export class ConfigurationMemory {
  readonly #options: MemoryOptions;
  sources: Source[] = [];
  byWriteKey = new Map<string, Source>();
  destinations: Destination[] = [];
  byId = new Map<DestinationId, Destination>();
  bySource = new Map<SourceId, Destination[]>();
  customProfiles: CustomRetryProfile[] = [];
  settings: Settings = defaultSettings;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.reload();
  }

  reload(): void {
    Object.assign(this, this.#read());
  }

  /**
   * Faults keep their identity, and with it their counts, until the faults of their source are
   * changed.
   */
  #read(rearmed?: SourceId): Stored {
    const { store } = this.#options;
    const faults = new Map(this.sources.map((source) => [source.id, source.faults]));
    const sources = store
      .sources()
      .map((source) =>
        source.id === rearmed
          ? source
          : { ...source, faults: faults.get(source.id) ?? source.faults },
      );
    const destinations = store.destinations();
    const bySource = new Map<SourceId, Destination[]>(sources.map(({ id }) => [id, []]));
    for (const destination of destinations)
      for (const id of destination.sourceIds) bySource.get(id)?.push(destination);
    return {
      sources,
      byWriteKey: new Map(sources.map((source) => [source.writeKey, source])),
      destinations,
      byId: new Map(destinations.map((destination) => [destination.id, destination])),
      bySource,
      customProfiles: store.retryProfiles(),
      settings: store.settings(),
    };
  }

  /**
   * Writes, reads everything again, and announces the change of what `idOf` names. A failure leaves
   * the file and this memory as they were.
   */
  change<Result>(
    area: Area,
    idOf: (result: Result) => string | null,
    write: () => Result,
    rearmed?: SourceId,
  ): Result {
    const { store, onChange } = this.#options;
    const { result, stored } = store.atomically(() => {
      const result = write();
      return { result, stored: this.#read(rearmed) };
    });
    Object.assign(this, stored);
    this.note(area, idOf(result));
    onChange();
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
