/** One kind of what is computed, audiences or computed traits, as far as the control API asks the same of both. */

import type { DestinationId } from "../../domain/ids.ts";
import { isProblem, type Problem } from "../../domain/problem.ts";
import type { SyncProgress } from "../profile-pipeline.ts";
import type { Computed } from "./computed.ts";
import type { Definition, Draft, Maker } from "./make.ts";
import type { Registry } from "./registry.ts";
import type { Syncs } from "./sync.ts";

type KindOptions<Id, One extends Computed, View> = {
  registry: Registry;
  maker: Maker;
  syncs: Syncs;
  kind: One["kind"];
  find: (id: Id) => One | Problem;
  view: (one: One) => View;
};

export function createKind<Id, One extends Computed, View>({ registry, maker, syncs, kind, find, view }: KindOptions<Id, One, View>) {
  type Shown = View & { destinationIds: DestinationId[]; syncing: SyncProgress | null };
  const show = (one: One): Shown => ({
    ...view(one),
    destinationIds: maker.destinationsOf(one.row.sourceId),
    syncing: syncs.progress(one.id),
  });
  const shown = (found: Computed | Problem): Shown | Problem => (isProblem(found) ? found : show(found as One));

  return {
    list: (): Shown[] => registry.all().flatMap((computed) => (computed.kind === kind ? [show(computed as One)] : [])),
    get: (id: Id): Shown | Problem => shown(find(id)),
    create: async (...made: Parameters<Maker["create"]>): Promise<Shown | Problem> => shown(await maker.create(...made)),
    async update(id: Id, draft: Partial<Draft>, definition: Definition): Promise<Shown | Problem> {
      const one = find(id);
      return isProblem(one) ? one : shown(await maker.update(one, draft, definition));
    },
    async delete(id: Id): Promise<Problem | null> {
      const one = find(id);
      if (isProblem(one)) return one;
      await maker.delete(one);
      return null;
    },
    async sync(id: Id): Promise<{ entered: number; left: number } | Problem> {
      const one = find(id);
      return isProblem(one) ? one : syncs.run(one.id);
    },
  };
}
