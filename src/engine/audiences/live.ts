/**
 * Audiences and computed traits that follow each event: looked at in the transaction in which a profile changes, and
 * only those that ask for something that has changed. What time alone changes comes by `rechecks.ts`.
 */

import type { Clock } from "../clock/clock.ts";
import type { ComputedStore, ProfileChange, ProfileStore } from "../profile-ports.ts";
import { needsOfAll, valueOf, type Computed } from "./computed.ts";
import type { Registry } from "./registry.ts";
import type { Teller, UserValue } from "./tell.ts";

type LiveOptions = {
  store: Pick<ProfileStore, "facts"> & Pick<ComputedStore, "toldOf">;
  registry: Registry;
  teller: Teller;
  clock: Clock;
};

export function createLive({ store, registry, teller, clock }: LiveOptions): { onApplied(changes: readonly ProfileChange[]): void } {
  return {
    onApplied(changes) {
      const now = clock.now();
      const values = new Map<Computed, UserValue[]>();
      const add = (computed: Computed, value: UserValue): void => {
        const users = values.get(computed);
        if (users === undefined) values.set(computed, [value]);
        else users.push(value);
      };
      for (const change of changes) {
        // Receivers know the ids of before by themselves, and hear that those are over.
        for (const userId of change.formerUserIds) {
          for (const computed of liveOnesThatTold(userId)) add(computed, { userId, value: null, until: null });
        }
        const { profileId, userId } = change;
        if (userId === null) continue;
        const affected = registry.affectedBy(change);
        if (affected.length === 0) continue;
        const facts = store.facts(profileId, needsOfAll(affected), now);
        for (const computed of affected) {
          if (!("members" in computed.asks)) add(computed, { userId, ...valueOf(computed.asks, facts, now) });
        }
      }
      teller.tell(values);
    },
  };

  function liveOnesThatTold(userId: string): Computed[] {
    return store.toldOf(userId).flatMap(({ sourceId }) => {
      const computed = registry.ofSource(sourceId);
      return computed !== undefined && computed.isLive && !("members" in computed.asks) ? [computed] : [];
    });
  }
}
