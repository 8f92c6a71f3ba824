/** Users whose messages are no longer accepted: in the store, and in memory because every message is checked. */

import { nameOf } from "../../domain/facts.ts";
import type { DeletionId } from "../../domain/ids.ts";
import { problem } from "../../domain/problem.ts";
import type { Changes } from "../pipeline.ts";
import type { Suppressions } from "../profile-pipeline.ts";
import type { DeletionStore } from "../profile-ports.ts";

type SuppressionsOptions = {
  store: Pick<DeletionStore, "suppressedUsers" | "suppress" | "lift" | "suppressions">;
  now: () => number;
  changes: Changes;
};

export type SuppressionControl = Suppressions & {
  isSuppressed(userId: string): boolean;
  /** Within a transaction of the caller, who calls `reload` when it fails. */
  suppress(userIds: readonly string[], deletion: DeletionId): void;
  reload(): void;
};

export function createSuppressions({ store, now, changes }: SuppressionsOptions): SuppressionControl {
  let users = new Set(store.suppressedUsers());
  return {
    isSuppressed: (userId) => users.has(nameOf(userId)),
    suppress(userIds, deletion) {
      for (const userId of userIds) {
        store.suppress(userId, now(), deletion);
        users.add(userId);
      }
      changes.noteMany("suppressions", userIds, (userId) => userId, true);
    },
    reload() {
      users = new Set(store.suppressedUsers());
    },
    list: (search, limit, after) => store.suppressions(search, limit, after),
    lift(userId) {
      if (!store.lift(userId)) return problem(404, "not_found", `The user ${JSON.stringify(userId)} is not suppressed.`);
      users.delete(userId);
      changes.note("suppressions", userId);
      return null;
    },
  };
}
