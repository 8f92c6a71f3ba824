/** A computed trait while it is being made or changed. */

import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import type { Aggregate, Computation, Sync } from "../../../domain/rules.ts";
import { draftStore } from "../../stores/drafts.ts";
import { call } from "../../transport/transport.ts";
import type { ComputedKind } from "./computed-kind.ts";

export type ComputedTrait = AnswerOf<"computedTraits.get">;

type TraitDraft = { name: string; computation: Computation; sync: Sync; destinationIds: string[] };

/** Computed traits stand below the audiences, with this before their id in the address. */
export const traitsPath = "traits";

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

function emptyTrait(destinationIds: readonly string[]): TraitDraft {
  return { name: "", computation: { aggregate: "count", event: "" }, sync: "each-event", destinationIds: [...destinationIds] };
}

function traitDraftOf({ name, computation, sync, destinationIds }: ComputedTrait): TraitDraft {
  return { name, computation, sync, destinationIds: [...destinationIds] };
}

function traitChanges({ name, computation, sync, destinationIds }: TraitDraft): InputOf<"computedTraits.create"> {
  return { name, computation, sync, destinationIds };
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

export const traitKind: ComputedKind<ComputedTrait, TraitDraft> = {
  useDrafts: draftStore(),
  path: [traitsPath],
  empty: emptyTrait,
  draftOf: traitDraftOf,
  changesOf: traitChanges,
  missingIn: ({ computation }) => missingInComputation(computation),
  create: (draft) => call("computedTraits.create", traitChanges(draft)),
  update: (id, draft) => call("computedTraits.update", { id, ...traitChanges(draft) }),
  remove: (id) => call("computedTraits.delete", { id }),
};
