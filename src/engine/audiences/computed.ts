/**
 * What audiences and computed traits have in common: a value for each user. The value of an audience is `true` for its
 * members and null for everybody else; that of a computed trait is the computed value, or null without one. Receivers
 * are sent every value that differs from the one last sent.
 */

import { compute } from "../../domain/compute.ts";
import { evaluate } from "../../domain/evaluate.ts";
import { needsOf, type Needs, type ProfileFacts } from "../../domain/facts.ts";
import { audienceIds, computedTraitIds, type ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import type { Computation, Rule } from "../../domain/rules.ts";
import type { Audience, ComputedTrait } from "../profile-ports.ts";

export type Definition = { rule: Rule } | { members: ReadonlySet<string> } | { computation: Computation };

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
export type CurrentValue = { userId: string; profileId: ProfileId | null; value: Json; until: number | null };

export function audienceOf(row: Audience, before?: AudienceComputed): AudienceComputed {
  const same = before?.row.rule === row.rule && before.row.members === row.members;
  const id = audienceIds.format(row.id);
  const isLive = row.sync === "each-event";
  if (before !== undefined && same) return { kind: "audience", id, row, definition: before.definition, isLive };
  const definition = row.rule === null ? { members: new Set(row.members) } : { rule: row.rule };
  return { kind: "audience", id, row, definition, isLive };
}

export function computedTraitOf(row: ComputedTrait, before?: TraitComputed): TraitComputed {
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

export function valueOf(
  definition: Exclude<Definition, { members: unknown }>,
  facts: ProfileFacts,
  now: number,
): Pick<CurrentValue, "value" | "until"> {
  if ("computation" in definition) return compute(definition.computation, facts, now);
  const { value, until } = evaluate(definition.rule, facts, now);
  return { value: value ? true : null, until };
}
