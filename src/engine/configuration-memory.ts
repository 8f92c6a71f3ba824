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

type Stored = Pick<ConfigurationMemory, "sources" | "destinations" | "customProfiles" | "settings">;

export class ConfigurationMemory {
  readonly #options: MemoryOptions;
  /** The store has the same object for what has not changed. */
  #stored: Source[] = [];
  readonly #sources = new Map<SourceId, Source>();
  sources: Source[] = [];
  readonly byWriteKey = new Map<string, Source>();
  destinations: Destination[] = [];
  readonly byId = new Map<DestinationId, Destination>();
  readonly bySource = new Map<SourceId, Destination[]>();
  customProfiles: CustomRetryProfile[] = [];
  settings: Settings = defaultSettings;

  constructor(options: MemoryOptions) {
    this.#options = options;
    this.reload();
  }

  reload(): void {
    this.#keep(this.#read());
  }

  source(id: SourceId): Source | undefined {
    return this.#sources.get(id);
  }

  #read(): Stored {
    const { store } = this.#options;
    return {
      sources: store.sources(),
      destinations: store.destinations(),
      customProfiles: store.retryProfiles(),
      settings: store.settings(),
    };
  }

  /** Of a thousand sources and destinations, one has changed: all else stays as it is. */
  #keep({ sources, destinations, customProfiles, settings }: Stored, rearmed?: SourceId): void {
    this.#keepDestinations(differing(this.destinations, destinations), destinations);
    this.#keepSources(differing(this.#stored, sources), rearmed);
    this.#stored = sources;
    this.sources = [...this.#sources.values()];
    Object.assign(this, { destinations, customProfiles, settings });
  }

  /**
   * Faults keep their identity, and with it their counts, until the faults of their source are
   * changed.
   */
  #keepSources(changed: readonly Changed<Source>[], rearmed: SourceId | undefined): void {
    for (const { before } of changed) if (before !== null) this.byWriteKey.delete(before.writeKey);
    for (const { before, after } of changed) {
      if (after === null) {
        this.#sources.delete((before as Source).id);
        this.bySource.delete((before as Source).id);
        continue;
      }
      const known = after.id === rearmed ? undefined : this.#sources.get(after.id);
      const source = known === undefined ? after : { ...after, faults: known.faults };
      this.#sources.set(after.id, source);
      this.byWriteKey.set(after.writeKey, source);
    }
  }

  #keepDestinations(
    changed: readonly Changed<Destination>[],
    destinations: readonly Destination[],
  ): void {
    const lists = new Map<SourceId, Destination[]>();
    for (const { before, after } of changed) {
      if (before !== null) this.byId.delete(before.id);
      if (after !== null) this.byId.set(after.id, after);
      for (const id of [...(before?.sourceIds ?? []), ...(after?.sourceIds ?? [])])
        lists.set(id, []);
    }
    if (lists.size === 0) return;
    for (const destination of destinations)
      for (const id of destination.sourceIds) lists.get(id)?.push(destination);
    for (const [id, list] of lists) this.bySource.set(id, list);
  }

  /**
   * Writes, and announces the change of what `idOf` names. A failure leaves the file and this memory
   * as they were.
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
      return { result, stored: this.#read() };
    });
    this.#keep(stored, rearmed);
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

type Changed<Thing> = { before: Thing | null; after: Thing | null };

/** What is another object in one of two lists in the order of ids, or is in one of them alone. */
function differing<Thing extends { id: number }>(
  before: readonly Thing[],
  after: readonly Thing[],
): Changed<Thing>[] {
  const changed: Changed<Thing>[] = [];
  let at = 0;
  for (const thing of after) {
    for (let old = before[at]; old !== undefined && old.id < thing.id; old = before[at]) {
      changed.push({ before: old, after: null });
      at += 1;
    }
    const old = before[at]?.id === thing.id ? (before[at++] as Thing) : null;
    if (old !== thing) changed.push({ before: old, after: thing });
  }
  return [...changed, ...before.slice(at).map((old) => ({ before: old, after: null }))];
}

/** Without the members that are undefined. */
export function defined<T extends object>(changes: T): Partial<T> {
  return Object.fromEntries(
    Object.entries(changes).filter(([, value]) => value !== undefined),
  ) as Partial<T>;
}
