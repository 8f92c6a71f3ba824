import type { ComputedTraitAnswer } from "../../contract/computed-traits.ts";
import { computedTraitIds, destinationIds, profileIds, sourceIds, type ComputedTraitId } from "../../domain/ids.ts";
import { isProblem, notFound } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { ComputedTraitView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { presentTime, presentTimeOrNull } from "../presenters.ts";
import { computedChangesFrom, presentLastSync } from "./computed.ts";

export function computedTraitHandlers({ computedTraits }: Pipeline): HandlersOf<"computedTraits"> {
  const find = (text: string): ComputedTraitId | null => {
    const id = computedTraitIds.parse(text);
    return id !== null && computedTraits.get(id) !== undefined ? id : null;
  };
  return {
    "computedTraits.list": () => ({ items: computedTraits.list().map(presentComputedTrait) }),
    "computedTraits.create": async ({ name, computation, ...input }) => {
      const changes = computedChangesFrom(input);
      if (isProblem(changes)) return changes;
      const made = await computedTraits.create({ name, computation, ...changes });
      return isProblem(made) ? made : presentComputedTrait(made);
    },
    "computedTraits.get": (input) => {
      const id = find(input.id);
      const trait = id === null ? undefined : computedTraits.get(id);
      return trait === undefined ? notFound("computed trait", input.id) : presentComputedTrait(trait);
    },
    "computedTraits.update": async ({ id: text, ...input }) => {
      const id = find(text);
      if (id === null) return notFound("computed trait", text);
      const changes = computedChangesFrom(input);
      if (isProblem(changes)) return changes;
      const changed = await computedTraits.update(id, changes);
      return isProblem(changed) ? changed : presentComputedTrait(changed);
    },
    "computedTraits.delete": async (input) => {
      const id = find(input.id);
      if (id === null) return notFound("computed trait", input.id);
      return (await computedTraits.delete(id)) ?? { id: input.id };
    },
    "computedTraits.sync": (input) => {
      const id = find(input.id);
      return id === null ? notFound("computed trait", input.id) : computedTraits.sync(id);
    },
    "computedTraits.preview": async ({ computation, sample }) => {
      const preview = await computedTraits.preview(computation, sample);
      if (isProblem(preview)) return preview;
      return { ...preview, sample: preview.sample.map(({ profileId, ...user }) => ({ ...user, profileId: profileIds.format(profileId) })) };
    },
  };
}

function presentComputedTrait({ id, lastSync, openSync: _, ...trait }: ComputedTraitView): ComputedTraitAnswer {
  return {
    ...trait,
    id: computedTraitIds.format(id),
    destinationIds: trait.destinationIds.map(destinationIds.format),
    sourceId: sourceIds.format(trait.sourceId),
    lastSync: presentLastSync(lastSync),
    nextSyncAt: presentTimeOrNull(trait.nextSyncAt),
    createdAt: presentTime(trait.createdAt),
  };
}
