/** Computed traits as the control API sees them. */

import { computedTraitIds, type ComputedTraitId, type ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import { notFound, type Problem } from "../../domain/problem.ts";
import type { ComputedTraits } from "../profile-pipeline.ts";
import type { ComputedStore } from "../profile-ports.ts";
import { nextTurn } from "../real-time.ts";
import type { TraitComputed } from "./computed.ts";
import { createKind } from "./kind.ts";
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
  const find = (id: ComputedTraitId): TraitComputed | Problem =>
    registry.computedTrait(id) ?? notFound("computed trait", computedTraitIds.format(id));
  const kind = createKind({
    registry,
    maker,
    syncs,
    kind: "computed_trait",
    find,
    view: ({ row }) => ({ ...row, users: store.countTold(row.sourceId) }),
  });

  return {
    ...kind,
    create: ({ computation, ...draft }) => kind.create(draft, (row) => registry.insertComputedTrait({ ...row, computation })),
    update: (id, { computation, ...draft }) => kind.update(id, draft, computation === undefined ? {} : { computation }),
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
