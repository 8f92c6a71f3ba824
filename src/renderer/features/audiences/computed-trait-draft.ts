/** A computed trait while it is being made or changed. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { Aggregate, Computation, Sync } from "../../../domain/rules.ts";
import { draftStore } from "../../stores/drafts.ts";

export type ComputedTrait = AnswerOf<"computedTraits.get">;

export type TraitDraft = { name: string; computation: Computation; sync: Sync; destinationIds: string[] };

/** The draft of the computed trait that does not exist yet. */
export const newTrait = "new";

export const aggregateWords: Record<Aggregate, string> = {
  count: "how often it was done",
  unique: "how many different values of",
  first: "the first value of",
  last: "the last value of",
  mostFrequent: "the most frequent value of",
  sum: "the sum of",
  average: "the average of",
  min: "the least of",
  max: "the greatest of",
};

export function emptyTrait(destinationIds: readonly string[]): TraitDraft {
  return { name: "", computation: { aggregate: "count", event: "" }, sync: "each-event", destinationIds: [...destinationIds] };
}

export function traitDraftOf({ name, computation, sync, destinationIds }: ComputedTrait): TraitDraft {
  return { name, computation, sync, destinationIds: [...destinationIds] };
}

export function traitChanges({ name, computation, sync, destinationIds }: TraitDraft): InputOf<"computedTraits.create"> {
  return { name, computation, sync, destinationIds };
}

export function isTraitChanged(draft: TraitDraft, trait: ComputedTrait): boolean {
  return JSON.stringify(traitChanges(draft)) !== JSON.stringify(traitChanges(traitDraftOf(trait)));
}

/** `count` takes no property, and all others need one. */
export function withAggregate({ property = "", ...rest }: Computation, aggregate: Aggregate): Computation {
  return aggregate === "count" ? { ...rest, aggregate } : { ...rest, aggregate, property };
}

export function missingInComputation({ aggregate, event, property, where = [] }: Computation): string | null {
  if (event === "") return "It needs the event’s name.";
  if (aggregate !== "count" && (property ?? "") === "") return "It needs the property’s name.";
  return where.some((one) => one.property === "") ? "A condition on a property needs the property’s name." : null;
}

export const useTraitDrafts = draftStore<TraitDraft>();
