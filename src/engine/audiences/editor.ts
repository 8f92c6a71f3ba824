/**
 * Creates, changes and deletes audiences and computed traits: the key, the source, its
 * destinations, the first sync.
 */

import { snakeCase } from "../../domain/snake-case.ts";
import { destinationIds, type DestinationId, type SourceId } from "../../domain/ids.ts";
import { conflict, invalid, isProblem, problem, type Problem } from "../../domain/problem.ts";
import type { Sync } from "../../domain/rules.ts";
import type { Clock } from "../clock/clock.ts";
import type { Configuration, OwnSources } from "../pipeline.ts";
import type { Atomically, Audience, ComputedStore, ComputedTrait } from "../profile-ports.ts";
import { roomFor, roomForConnections } from "../list-room.ts";
import { nextTurn } from "../real-time.ts";
import type { LateDestinations } from "./late-destinations.ts";
import type { Computed, Registry } from "./registry.ts";
import type { Syncs } from "./sync.ts";

/** Last sent values removed between two turns of the event loop. */
const slice = 2000;

type EditorOptions = {
  store: ComputedStore & Atomically;
  configuration: Pick<Configuration, "destinations" | "destinationsOf"> &
    OwnSources & { reload(): void };
  registry: Registry;
  syncs: Syncs;
  clock: Clock;
  /** A change may have moved the time of the next sync or recheck. */
  onChange: () => void;
  lateDestinations: LateDestinations;
};

export type Draft = {
  name: string;
  key?: string;
  destinationIds?: readonly DestinationId[];
  sync?: Sync;
};
type Common = Pick<
  Audience,
  | "name"
  | "key"
  | "sync"
  | "sourceId"
  | "createdAt"
  | "openSync"
  | "lastSync"
  | "nextSyncAt"
  | "reached"
  | "firstSyncs"
>;
export type DefinitionChange = Partial<
  Pick<Audience, "rule" | "members"> & Pick<ComputedTrait, "computation">
>;

export type Editor = ReturnType<typeof createEditor>;

export function createEditor({
  store,
  configuration,
  registry,
  syncs,
  clock,
  onChange,
  lateDestinations,
}: EditorOptions) {
  let stopped = false;

  /** All or nothing, in the store and in memory. */
  function atomically<Result>(write: () => Result): Result {
    try {
      return store.atomically(write);
    } catch (error) {
      configuration.reload();
      registry.reload();
      throw error;
    }
  }

  async function removeLastSent(source: SourceId): Promise<void> {
    while (!stopped && store.removeLastSentBy(source, slice) === slice) await nextTurn();
  }

  const nextSyncAt = (sync: Sync): number | null =>
    typeof sync === "string" ? null : clock.now() + sync.everyMs;

  const destinationsOf = (source: SourceId): DestinationId[] =>
    configuration.destinationsOf(source).map(({ id }) => id);

  type Listed = DefinitionChange & Pick<Draft, "name"> & { to: readonly DestinationId[] };
  const listedAs = new WeakMap<Computed, Listed>();
  const listed = (computed: Computed): Listed => {
    const { row } = computed;
    const known = listedAs.get(computed) ?? { ...row, to: destinationsOf(row.sourceId) };
    listedAs.set(computed, known);
    return known;
  };
  const noRoomFor = (next: Listed, before: Computed | null): Problem | null =>
    roomFor<Listed>(
      {
        what: "audiences and computed traits",
        all: registry.all().map(listed),
        // The limit of members is another one.
        listed: ({ members: _, to, ...one }) => ({ ...one, to: to.map(destinationIds.format) }),
      },
      next,
      before && listed(before),
    );

  return {
    destinationsOf,

    /** Resolves when the first sync is committed. */
    async create(
      draft: Draft,
      definition: DefinitionChange,
      insert: (row: Common) => Computed,
    ): Promise<Computed | Problem> {
      const key = draft.key ?? snakeCase(draft.name);
      const to =
        draft.destinationIds ??
        configuration.destinations().flatMap(({ id, enabled }) => (enabled ? [id] : []));
      const wrong =
        checkKey(draft.name, key, registry) ??
        checkDestinations(to, configuration) ??
        configuration.checkOwnSource(draft.name) ??
        roomForConnections(configuration.destinations(), to.length) ??
        noRoomFor({ ...draft, ...definition, to }, null);
      if (wrong !== null) return wrong;
      const { name, sync = "manual" } = draft;
      const now = clock.now();
      const created = atomically(() => {
        const source = configuration.createOwnSource(name);
        configuration.connectOwnSource(source.id, to);
        const openSync = { startedAt: now, entered: 0, left: 0 };
        const connected = configuration.destinationsOf(source.id);
        const [reached, waiting] = [true, false].map((isOn) =>
          connected.flatMap(({ id, enabled }) => (enabled === isOn ? [id] : [])),
        ) as [DestinationId[], DestinationId[]];
        const row = {
          name,
          key,
          sync,
          createdAt: now,
          openSync,
          lastSync: null,
          nextSyncAt: nextSyncAt(sync),
          reached,
          // Those that are disabled wait until they are enabled.
          firstSyncs: waiting.map((id) => ({ destinationId: id, after: "", sent: 0 })),
        };
        return insert({ ...row, sourceId: source.id });
      });
      await syncs.run(created.id);
      return registry.get(created.id) ?? created;
    },

    /**
     * Receivers are sent the changed values with the next sync, which runs at once for one that
     * follows each event.
     */
    async update(
      computed: Computed,
      { name, sync, destinationIds: to }: Partial<Draft>,
      definition: DefinitionChange,
    ): Promise<Computed | Problem> {
      if (name !== undefined && snakeCase(name) === "")
        return invalid("A name needs a letter or a digit.");
      const before = listed(computed);
      const next = { ...before, name: name ?? before.name, ...definition, to: to ?? before.to };
      const more = next.to.filter((id) => !before.to.includes(id)).length;
      const wrong =
        checkDestinations(to ?? [], configuration) ??
        roomForConnections(configuration.destinations(), more) ??
        noRoomFor(next, computed);
      if (isProblem(wrong)) return wrong;
      const { changed, isSynced } = atomically(() => {
        const { sourceId } = computed.row;
        if (name !== undefined) configuration.renameOwnSource(sourceId, name);
        if (to !== undefined) configuration.connectOwnSource(sourceId, to);
        lateDestinations.note();
        const current = registry.get(computed.id) ?? computed;
        // A sync that is the same stays at its time.
        const isOtherSync =
          sync !== undefined && JSON.stringify(sync) !== JSON.stringify(current.row.sync);
        const changed = registry.change(current, {
          ...definition,
          ...ruleBefore(current, definition),
          ...(name === undefined ? {} : { name }),
          ...(isOtherSync ? { sync, nextSyncAt: nextSyncAt(sync) } : {}),
        });
        const isOther = changed.definition !== computed.definition || !computed.isLive;
        const isSynced = changed.isLive && isOther;
        // With the change, so that a start after a kill continues the sync.
        if (isSynced && changed.row.openSync === null) {
          registry.change(changed, { openSync: { startedAt: clock.now(), entered: 0, left: 0 } });
        }
        return { changed, isSynced };
      });
      onChange();
      if (isSynced) await syncs.run(changed.id);
      await lateDestinations.run();
      return registry.get(changed.id) ?? changed;
    },

    /** Its messages stay; its last sent values are removed in slices. */
    async delete(computed: Computed): Promise<void> {
      const { sourceId } = computed.row;
      atomically(() => {
        registry.remove(computed);
        configuration.deleteOwnSource(sourceId);
      });
      onChange();
      await removeLastSent(sourceId);
    },

    /** Removes what a crash left behind of deleted ones. */
    async removeLeftovers(): Promise<void> {
      for (const source of store.lastSentSources())
        if (registry.ofSource(source) === undefined) await removeLastSent(source);
    },
    stop(): void {
      stopped = true;
    },
  };
}

/** The rule that the last sync used. */
function ruleBefore(
  computed: Computed,
  { rule }: DefinitionChange,
): Partial<Pick<Audience, "ruleBefore">> {
  if (computed.kind === "computed_trait" || rule === undefined) return {};
  return { ruleBefore: computed.row.ruleBefore ?? computed.row.rule };
}

function checkKey(name: string, key: string, registry: Registry): Problem | null {
  if (key === "") {
    const message = `${JSON.stringify(name)} has no letter and no digit, so the trait sent to receivers would have no name. Choose another name.`;
    return problem(400, "empty_key", message);
  }
  const other = registry.all().find(({ row }) => row.key === key);
  if (other === undefined) return null;
  const what = other.kind === "audience" ? "audience" : "computed trait";
  return conflict(
    "key_taken",
    `The key ${key} already belongs to the ${what} ${other.row.name}. Choose another name.`,
  );
}

function checkDestinations(
  ids: readonly DestinationId[],
  configuration: Pick<Configuration, "destinations">,
): Problem | null {
  const known = configuration.destinations();
  const missing = ids.find((id) => !known.some((destination) => destination.id === id));
  return missing === undefined
    ? null
    : invalid(`There is no destination ${destinationIds.format(missing)} to connect.`);
}
