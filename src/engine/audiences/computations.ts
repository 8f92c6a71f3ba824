/**
 * Assembles audiences and computed traits for `app.ts`. Profiles call `onApplied` within the transaction in which they
 * change.
 */

import type { AudienceId, SourceId } from "../../domain/ids.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { OwnSources } from "../configuration.ts";
import type { InternalMessages } from "../ingest/internal-messages.ts";
import type { Changes, Configuration } from "../pipeline.ts";
import type { Audiences, ComputedTraits, ProfileValues } from "../profile-pipeline.ts";
import type { Atomically, ComputedStore, ProfileChange, ProfileStore, RuleStore } from "../profile-ports.ts";
import { createStopping } from "../stopping.ts";
import { createAudiences, createComputedTraits } from "./audiences.ts";
import { createEditor } from "./editor.ts";
import { createLive, Rechecks } from "./live.ts";
import { createNotifier } from "./notifier.ts";
import { createRegistry } from "./registry.ts";
import { createPeriods, Syncs } from "./sync.ts";
import { createWalker } from "./walk.ts";

type ComputationsOptions = {
  store: ComputedStore & RuleStore & Atomically & Pick<ProfileStore, "facts" | "profiles" | "profileWithUser" | "user">;
  configuration: Configuration & OwnSources & { reload(): void };
  internalMessages: InternalMessages;
  clock: Clock;
  activity: Activity;
  changes: Changes;
  isSuppressed: (userId: string) => boolean;
  /** Resolves when every message committed so far is in the profiles. */
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

type Computations = {
  audiences: Audiences;
  computedTraits: ComputedTraits;
  onApplied(changes: readonly ProfileChange[]): void;
  sourceOf(audience: AudienceId): SourceId | undefined;
  /** The values of a user that were sent to receivers. */
  valuesOf(userId: string): ProfileValues;
  start(): void;
  stop(): void;
  /** Called after the store was emptied. */
  reload(): void;
};

export function createComputations(options: ComputationsOptions): Computations {
  const { store, configuration, clock, changes, report } = options;
  const registry = createRegistry({ store, changes });
  const walker = createWalker(options);
  const notifier = createNotifier({
    ...options,
    source: (id) => configuration.source(id),
    now: () => clock.now(),
    seed: () => configuration.settings().seed,
    onRecheck: (at) => rechecks.note(at),
    onNotified: (computed) => registry.note(computed),
  });
  const syncs = new Syncs({ ...options, registry, walker, notifier, onEnded: () => periods.arm() });
  const rechecks: Rechecks = new Rechecks({ ...options, registry, walker, notifier });
  const periods = createPeriods({ registry, syncs, clock, report });
  const live = createLive({ store, registry, notifier, clock });
  const editor = createEditor({ ...options, registry, syncs, onChange: arm });
  const stopping = createStopping();
  const parts = { ...options, registry, editor, syncs, walker, notifier };
  const audiences = createAudiences(parts);
  const computedTraits = createComputedTraits(parts);

  function arm(): void {
    periods.arm();
    rechecks.start();
  }

  return {
    audiences: {
      ...audiences,
      create: stopping.guard(audiences.create),
      update: stopping.guard(audiences.update),
      delete: stopping.guard(audiences.delete),
      sync: stopping.guard(audiences.sync),
      changes: stopping.guard(audiences.changes),
      preview: stopping.guard(audiences.preview),
      explain: stopping.guard(audiences.explain),
    },
    computedTraits: {
      ...computedTraits,
      create: stopping.guard(computedTraits.create),
      update: stopping.guard(computedTraits.update),
      delete: stopping.guard(computedTraits.delete),
      sync: stopping.guard(computedTraits.sync),
      preview: stopping.guard(computedTraits.preview),
    },
    onApplied: (profiles) => live.onApplied(profiles),
    sourceOf: (audience) => registry.audience(audience)?.row.sourceId,
    valuesOf(userId) {
      const values: ProfileValues = { memberships: [], computed: [] };
      for (const { sourceId, value, since } of store.lastSentFor(userId)) {
        const computed = registry.ofSource(sourceId);
        if (computed === undefined || value === null) continue;
        const { name, key } = computed.row;
        if (computed.kind === "audience") values.memberships.push({ id: computed.row.id, name, key, since });
        else values.computed.push({ id: computed.row.id, name, key, value, since });
      }
      return values;
    },
    start() {
      editor.removeLeftovers().catch(report);
      syncs.start();
      arm();
    },
    stop() {
      stopping.stop();
      periods.stop();
      rechecks.stop();
      syncs.stop();
      editor.stop();
    },
    reload() {
      registry.reload();
      arm();
    },
  };
}
