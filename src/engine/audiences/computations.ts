/**
 * Puts audiences and computed traits together: all that `app.ts` needs to know of them. Profiles call `onApplied` within
 * the transaction in which they change.
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
import { createAudiences } from "./audiences.ts";
import { createComputedTraits } from "./computed-traits.ts";
import { createLive } from "./live.ts";
import { createMaker } from "./make.ts";
import { createPeriods } from "./periods.ts";
import { Rechecks } from "./rechecks.ts";
import { createRegistry } from "./registry.ts";
import { Syncs } from "./sync.ts";
import { createTeller } from "./tell.ts";
import { createWalker } from "./walk.ts";

type ComputationsOptions = {
  store: ComputedStore & RuleStore & Atomically & Pick<ProfileStore, "facts" | "profiles" | "profileWithUser" | "user">;
  configuration: Configuration & OwnSources & { reload(): void };
  internalMessages: InternalMessages;
  clock: Clock;
  activity: Activity;
  changes: Changes;
  isSuppressed: (userId: string) => boolean;
  /** Resolves when every message that is committed by now is in the profiles. */
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

type Computations = {
  audiences: Audiences;
  computedTraits: ComputedTraits;
  onApplied(changes: readonly ProfileChange[]): void;
  sourceOf(audience: AudienceId): SourceId | undefined;
  /** What receivers were told of a user. */
  valuesOf(userId: string): ProfileValues;
  start(): void;
  stop(): void;
  /** After the store was emptied. */
  reload(): void;
};

export function createComputations(options: ComputationsOptions): Computations {
  const { store, configuration, clock, changes, report } = options;
  const registry = createRegistry({ store, changes });
  const walker = createWalker(options);
  const teller = createTeller({
    ...options,
    source: (id) => configuration.source(id),
    now: () => clock.now(),
    seed: () => configuration.settings().seed,
    onRecheck: (at) => rechecks.note(at),
    onTold: (computed) => registry.note(computed),
  });
  const syncs = new Syncs({ ...options, registry, walker, teller, onEnded: () => periods.arm() });
  const rechecks: Rechecks = new Rechecks({ ...options, registry, walker, teller });
  const periods = createPeriods({ registry, syncs, clock, report });
  const live = createLive({ store, registry, teller, clock });
  const maker = createMaker({ ...options, registry, syncs, onChange: arm });
  const stopping = createStopping();
  const parts = { ...options, registry, maker, syncs, walker, teller };
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
      for (const { sourceId, value, since } of store.toldOf(userId)) {
        const computed = registry.ofSource(sourceId);
        if (computed === undefined || value === null) continue;
        const { name, key } = computed.row;
        if (computed.kind === "audience") values.memberships.push({ id: computed.row.id, name, key, since });
        else values.computed.push({ id: computed.row.id, name, key, value, since });
      }
      return values;
    },
    start() {
      maker.forgetDeleted().catch(report);
      syncs.start();
      arm();
    },
    stop() {
      stopping.stop();
      periods.stop();
      rechecks.stop();
      syncs.stop();
      maker.stop();
    },
    reload() {
      registry.reload();
      arm();
    },
  };
}
