/**
 * All audiences and computed traits, in memory and in the store, and which of them a profile change
 * can affect.
 */

import { evaluateInPieces } from "../../domain/evaluate.ts";
import {
  audienceIds,
  computedTraitIds,
  type AudienceId,
  type ComputedTraitId,
  type SourceId,
  type ProfileId,
} from "../../domain/ids.ts";
import type { Changes } from "../pipeline.ts";
import type { Audience, ComputedStore, ComputedTrait, ProfileEffects } from "../profile-ports.ts";
import { computeInPieces } from "../../domain/compute.ts";
import {
  atOnce,
  needsOf,
  stepsOfPiece,
  type InPieces,
  type Needs,
  type ProfileFacts,
  type Steps,
} from "../../domain/facts.ts";
import type { Json } from "../../domain/json.ts";
import type { Computation, Rule } from "../../domain/rules.ts";
import type { Cause } from "../../domain/cause.ts";

/** What a running sync records, and what a user may change. */
type Changed = Partial<Omit<Audience, "id" | "ruleBefore"> & Omit<ComputedTrait, "id">> & {
  ruleBefore?: Audience["ruleBefore"] | undefined;
};

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
      if ("rule" in definition) {
        const pieces = evaluateInPieces(definition.rule, noFacts, 0, { left: stepsOfPiece });
        if (atOnce(pieces)?.value === true) ofNobody.push(computed.id);
      }
      for (const name of events.keys())
        byEvent.set(name, [...(byEvent.get(name) ?? []), computed.id]);
    }
  }

  function reload(): void {
    const found = [
      ...store.audiences().map((row) => audienceOf(row)),
      ...store.computedTraits().map((row) => computedTraitOf(row)),
    ];
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
    computedTrait: (id: ComputedTraitId) =>
      all.get(computedTraitIds.format(id)) as TraitComputed | undefined,
    ofSource: (id: SourceId): Computed | undefined =>
      [...all.values()].find(({ row }) => row.sourceId === id),
    insertAudience: (row: Omit<Audience, "id">): Computed =>
      keep(audienceOf(store.insertAudience(row))),
    insertComputedTrait: (row: Omit<ComputedTrait, "id">): Computed =>
      keep(computedTraitOf(store.insertComputedTrait(row))),
    change(computed: Computed, changed: Changed): Computed {
      if (computed.kind === "computed_trait") {
        const trait = computedTraitOf({ ...computed.row, ...changed }, computed);
        store.updateComputedTrait(trait.row);
        return keep(trait);
      }
      const audience = audienceOf({ ...computed.row, ...changed }, computed);
      store.updateAudience(audience.row);
      if (audience.row.members !== computed.row.members)
        store.setMembers(audience.row.id, audience.row.members);
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
    affectedBy({ traits, events, rejoined, isNew }: ProfileEffects): Computed[] {
      if (rejoined && !isNew) return live().filter(({ definition }) => !("members" in definition));
      const ids = new Set<string>(isNew ? ofNobody : []);
      for (const name of traits) for (const id of byTrait.get(name) ?? []) ids.add(id);
      for (const name of events) for (const id of byEvent.get(name) ?? []) ids.add(id);
      return [...ids].flatMap((id) => all.get(id) ?? []);
    },
  };
}

/**
 * What audiences and computed traits have in common: a value for each user. The value of an
 * audience is `true` for its members and null for everybody else; that of a computed trait is the
 * computed value, or null without one. Receivers are sent every value that differs from the one
 * last sent.
 */
export type Definition =
  | { rule: Rule }
  | { members: ReadonlySet<string> }
  | { computation: Computation };

type Common = {
  /** As in the API and in its messages. */
  id: string;
  /** The same object until the definition changes. */
  definition: Definition;
  /** It is evaluated at each event. */
  isLive: boolean;
};
export type AudienceComputed = Common & { kind: "audience"; row: Audience };
export type TraitComputed = Common & { kind: "computed_trait"; row: ComputedTrait };
export type Computed = AudienceComputed | TraitComputed;

/** The value of a user now; at `until`, time alone may change it (null: never). */
export type CurrentValue = {
  userId: string;
  profileId: ProfileId | null;
  value: Json;
  until: number | null;
};

export type UserValue = Pick<CurrentValue, "userId" | "value" | "until">;

/** Called only for a value that is sent. */
export type CauseOf = (computed: Computed, user: UserValue, before: Json) => Cause;

function audienceOf(row: Audience, before?: AudienceComputed): AudienceComputed {
  const same = before?.row.rule === row.rule && before.row.members === row.members;
  const id = audienceIds.format(row.id);
  const isLive = row.sync === "each-event";
  if (before !== undefined && same)
    return { kind: "audience", id, row, definition: before.definition, isLive };
  const definition = row.rule === null ? { members: new Set(row.members) } : { rule: row.rule };
  return { kind: "audience", id, row, definition, isLive };
}

function computedTraitOf(row: ComputedTrait, before?: TraitComputed): TraitComputed {
  const id = computedTraitIds.format(row.id);
  const isSame = before?.row.computation === row.computation;
  const definition = isSame ? before.definition : { computation: row.computation };
  return { kind: "computed_trait", id, row, definition, isLive: row.sync === "each-event" };
}

/** The facts of a profile that evaluating all of them needs. A fixed list needs none. */
export function needsOfAll(computed: readonly Pick<Computed, "definition">[]): Needs {
  const parts = computed.flatMap(({ definition }): (Rule | Computation)[] => {
    if ("rule" in definition) return [definition.rule];
    return "computation" in definition ? [definition.computation] : [];
  });
  return needsOf(...parts);
}

export function* valueOf(
  definition: Exclude<Definition, { members: unknown }>,
  facts: ProfileFacts,
  now: number,
  steps: Steps,
): InPieces<Pick<CurrentValue, "value" | "until">> {
  if ("computation" in definition)
    return yield* computeInPieces(definition.computation, facts, now, steps);
  const { value, until } = yield* evaluateInPieces(definition.rule, facts, now, steps);
  return { value: value ? true : null, until };
}
