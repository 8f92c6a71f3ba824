import type { ComputedTraitAnswer } from "../../contract/computed-traits.ts";
import { computedTraitIds, profileIds, type ComputedTraitId } from "../../domain/ids.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import type { Pipeline } from "../../engine/pipeline.ts";
import type { ComputedTraitView } from "../../engine/profile-pipeline.ts";
import type { HandlersOf } from "../handler.ts";
import { withId } from "../inputs.ts";
import { computedChangesFrom, presentComputed } from "./computed.ts";

export function computedTraitHandlers({ computedTraits }: Pipeline): HandlersOf<"computedTraits"> {
  const withTrait = <Answer>(text: string, act: (id: ComputedTraitId) => Answer): Answer | Problem =>
    withId(computedTraitIds, "computed trait", text, act);
  const presented = (answer: ComputedTraitView | Problem): ComputedTraitAnswer | Problem =>
    isProblem(answer) ? answer : presentComputedTrait(answer);
  return {
    "computedTraits.list": () => ({ items: computedTraits.list().map(presentComputedTrait) }),
    "computedTraits.create": async ({ name, computation, ...input }) => {
      const changes = computedChangesFrom(input);
      return isProblem(changes) ? changes : presented(await computedTraits.create({ name, computation, ...changes }));
    },
    "computedTraits.get": ({ id: text }) => presented(withTrait(text, (id) => computedTraits.get(id))),
    "computedTraits.update": async ({ id: text, ...input }) => {
      const changes = computedChangesFrom(input);
      return isProblem(changes) ? changes : presented(await withTrait(text, (id) => computedTraits.update(id, changes)));
    },
    "computedTraits.delete": async ({ id: text }) => (await withTrait(text, (id) => computedTraits.delete(id))) ?? { id: text },
    "computedTraits.sync": ({ id: text }) => withTrait(text, (id) => computedTraits.sync(id)),
    "computedTraits.preview": async ({ computation, sample }) => {
      const preview = await computedTraits.preview(computation, sample);
      if (isProblem(preview)) return preview;
      return { ...preview, sample: preview.sample.map(({ profileId, ...user }) => ({ ...user, profileId: profileIds.format(profileId) })) };
    },
  };
}

function presentComputedTrait({ openSync: _, ...trait }: ComputedTraitView): ComputedTraitAnswer {
  return { ...trait, ...presentComputed(trait), id: computedTraitIds.format(trait.id) };
}
