/** Computed traits as the control API sees them. */

import { computedTraitIds, type ComputedTraitId, type ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import { isProblem, notFound, type Problem } from "../../domain/problem.ts";
import type { ComputedTraits, ComputedTraitView } from "../profile-pipeline.ts";
import type { ComputedStore } from "../profile-ports.ts";
import { nextTurn } from "../wall.ts";
import type { Computed, TraitComputed } from "./computed.ts";
import type { Maker } from "./make.ts";
import type { Registry } from "./registry.ts";
import type { Syncs } from "./sync.ts";
import type { Walker } from "./walk.ts";

type ComputedTraitsOptions = {
  store: ComputedStore;
  registry: Registry;
  maker: Maker;
  syncs: Syncs;
  walker: Walker;
  caughtUp: () => Promise<void>;
};

export function createComputedTraits({ store, registry, maker, syncs, walker, caughtUp }: ComputedTraitsOptions): ComputedTraits {
  function view({ id, row }: TraitComputed): ComputedTraitView {
    return {
      ...row,
      destinationIds: maker.destinationsOf(row.sourceId),
      users: store.countTold(row.sourceId),
      syncing: syncs.progress(id),
    };
  }

  const find = (id: ComputedTraitId): TraitComputed | Problem =>
    registry.computedTrait(id) ?? notFound("computed trait", computedTraitIds.format(id));
  const viewOf = (made: Computed | Problem): ComputedTraitView | Problem => (isProblem(made) ? made : view(made as TraitComputed));

  return {
    list: () => registry.all().flatMap((computed) => (computed.kind === "computed_trait" ? [view(computed)] : [])),
    get(id) {
      const computed = registry.computedTrait(id);
      return computed === undefined ? undefined : view(computed);
    },
    async create({ computation, ...draft }) {
      return viewOf(await maker.create(draft, (row) => registry.insertComputedTrait({ ...row, computation })));
    },
    async update(id, { computation, ...draft }) {
      const computed = find(id);
      if (isProblem(computed)) return computed;
      return viewOf(await maker.update(computed, draft, computation === undefined ? {} : { computation }));
    },
    async delete(id) {
      const computed = find(id);
      if (isProblem(computed)) return computed;
      await maker.delete(computed);
      return null;
    },
    async sync(id) {
      const computed = find(id);
      return isProblem(computed) ? computed : syncs.run(computed.id);
    },
    async preview(computation, sample) {
      await caughtUp();
      const asks = { computation };
      const found: { profileId: ProfileId; userId: string; value: Json }[] = [];
      let count = 0;
      for (const { standings } of walker.present(asks)) {
        count += standings.length;
        for (const { profileId, userId, value } of standings) {
          if (profileId !== null && found.length < sample) found.push({ profileId, userId, value });
        }
        await nextTurn();
      }
      return { count, profiles: walker.total(asks), sample: found };
    },
  };
}
