/** All audiences and computed traits, in memory and in the store, and which of them a profile change can affect. */

import { evaluate } from "../../domain/evaluate.ts";
import type { AudienceId, ComputedTraitId, SourceId } from "../../domain/ids.ts";
import { audienceIds, computedTraitIds } from "../../domain/ids.ts";
import type { Changes } from "../pipeline.ts";
import type { Audience, ComputedStore, ComputedTrait, ProfileChange } from "../profile-ports.ts";
import { audienceOf, computedTraitOf, needsOfAll, type AudienceComputed, type Computed, type TraitComputed } from "./computed.ts";

/** What a running sync records, and what a user may change. */
type Changed = Partial<Omit<Audience, "id"> & Omit<ComputedTrait, "id">>;

const noFacts = { traits: new Map(), events: new Map() };

export type Registry = ReturnType<typeof createRegistry>;

export function createRegistry({ store, changes }: { store: ComputedStore; changes: Changes }) {
  let all = new Map<string, Computed>();
  /** Ids of live ones, by the names of the traits and events that they depend on. */
  let byTrait = new Map<string, string[]>();
  let byEvent = new Map<string, string[]>();
  /** Ids of live ones that are true for a user without traits and events. */
  let ofNobody: string[] = [];

  function index(): void {
    byTrait = new Map();
    byEvent = new Map();
    ofNobody = [];
    for (const computed of all.values()) {
      if (!computed.isLive) continue;
      const { traits, events } = needsOfAll([computed]);
      for (const name of traits) byTrait.set(name, [...(byTrait.get(name) ?? []), computed.id]);
      const { definition } = computed;
      if ("rule" in definition && evaluate(definition.rule, noFacts, 0).value) ofNobody.push(computed.id);
      for (const name of events.keys()) byEvent.set(name, [...(byEvent.get(name) ?? []), computed.id]);
    }
  }

  function reload(): void {
    const found = [...store.audiences().map((row) => audienceOf(row)), ...store.computedTraits().map((row) => computedTraitOf(row))];
    all = new Map(found.map((computed) => [computed.id, computed]));
    index();
  }
  reload();

  function keep<One extends Computed>(computed: One): One {
    const before = all.get(computed.id);
    all.set(computed.id, computed);
    if (before?.definition !== computed.definition || before.isLive !== computed.isLive) index();
    note(computed);
    return computed;
  }

  function live(): Computed[] {
    return [...all.values()].filter(({ isLive }) => isLive);
  }

  function note({ kind, id }: Pick<Computed, "kind" | "id">): void {
    changes.note(kind === "audience" ? "audiences" : "computed-traits", id);
  }

  return {
    /** Also needed after a transaction that failed, when memory is ahead of the store. */
    reload,
    note,
    all: (): Computed[] => [...all.values()],
    get: (id: string): Computed | undefined => all.get(id),
    audience: (id: AudienceId) => all.get(audienceIds.format(id)) as AudienceComputed | undefined,
    computedTrait: (id: ComputedTraitId) => all.get(computedTraitIds.format(id)) as TraitComputed | undefined,
    ofSource: (id: SourceId): Computed | undefined => [...all.values()].find(({ row }) => row.sourceId === id),
    insertAudience: (row: Omit<Audience, "id">): Computed => keep(audienceOf(store.insertAudience(row))),
    insertComputedTrait: (row: Omit<ComputedTrait, "id">): Computed => keep(computedTraitOf(store.insertComputedTrait(row))),
    change(computed: Computed, changed: Changed): Computed {
      if (computed.kind === "computed_trait") {
        const trait = computedTraitOf({ ...computed.row, ...changed }, computed);
        store.updateComputedTrait(trait.row);
        return keep(trait);
      }
      const audience = audienceOf({ ...computed.row, ...changed }, computed);
      store.updateAudience(audience.row);
      if (audience.row.members !== computed.row.members) store.setMembers(audience.row.id, audience.row.members);
      return keep(audience);
    },
    remove(computed: Computed): void {
      if (computed.kind === "audience") store.deleteAudience(computed.row.id);
      else store.deleteComputedTrait(computed.row.id);
      all.delete(computed.id);
      index();
      note(computed);
    },
    live,
    /** Live ones whose value for the profile may have changed. */
    affectedBy({ traits, events, rejoined, isNew }: ProfileChange): Computed[] {
      if (rejoined && !isNew) return live().filter(({ definition }) => !("members" in definition));
      const ids = new Set<string>(isNew ? ofNobody : []);
      for (const name of traits) for (const id of byTrait.get(name) ?? []) ids.add(id);
      for (const name of events) for (const id of byEvent.get(name) ?? []) ids.add(id);
      return [...ids].flatMap((id) => all.get(id) ?? []);
    },
  };
}
