/**
 * Deletion requests: kept with the users that are still to be deleted, carried out in slices of one transaction each, and
 * gone on with after a crash. From the moment a request is kept its users are suppressed, so that nothing of them comes in
 * behind it; what had come in before is followed to its end first.
 */

import { nameOf } from "../../domain/facts.ts";
import { deletionIds, messageIds, type DeletionId } from "../../domain/ids.ts";
import { conflict, notFound } from "../../domain/problem.ts";
import { isSettled } from "../../domain/states.ts";
import type { DeletionState } from "../../domain/deletion.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Change, ChangeFeed, Changes } from "../pipeline.ts";
import type { Deletions, DeletionView } from "../profile-pipeline.ts";
import type { Atomically, Deletion, DeletionStore } from "../profile-ports.ts";
import { createStopping } from "../stopping.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import { createDeleteUsers, type DeleteUsersOptions } from "./delete-users.ts";
import type { SuppressionControl } from "./suppressions.ts";

/** Users deleted between two turns of the event loop. */
const slice = 50;

/** When the store refused a slice (a full disk), the request is gone on with after this time of the wall. */
const retryMs = 500;

type DeletionsOptions = DeleteUsersOptions & {
  store: DeletionStore & Atomically;
  suppressions: Pick<SuppressionControl, "suppress" | "reload">;
  clock: Pick<Clock, "now">;
  activity: Activity;
  changes: Changes & Pick<ChangeFeed, "subscribe">;
  /** Resolves when what was taken in by now is in the profiles. */
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

type DeletionControl = Deletions & {
  start(): void;
  stop(): void;
  /** After the store was emptied. */
  reload(): void;
};

export function createDeletions(options: DeletionsOptions): DeletionControl {
  const { store, suppressions, changes, report } = options;
  const deleteUsers = createDeleteUsers(options);
  const stopping = createStopping();
  const running = new Set<DeletionId>();
  /** The last known state of each request, and which message belongs to which. */
  const states = new Map<DeletionId, DeletionState>();
  const ofMessage = new Map<string, DeletionId>();
  let retry: RealTimer | null = null;
  let stopped = false;

  const isUnderWay = ({ users }: Deletion): boolean => users.some(({ deleted }) => deleted === null);

  function stateOf(id: DeletionId, underWay: boolean): DeletionState {
    if (underWay) return "queued";
    const state = store.stateOfMessages(id);
    return state === null || state === "filtered" || state === "duplicate" || state === "rejected" ? "nothing_to_send" : state;
  }
  const view = (deletion: Deletion): DeletionView => ({ ...deletion, state: stateOf(deletion.id, isUnderWay(deletion)) });

  function note(id: DeletionId): void {
    const state = stateOf(id, store.usersToDelete(id, 1).length > 0);
    if (states.get(id) === state) return;
    states.set(id, state);
    changes.note("deletions", deletionIds.format(id));
  }

  function remember(): void {
    states.clear();
    ofMessage.clear();
    for (const { messageId, deletionId } of store.deleteMessages()) {
      ofMessage.set(messageIds.format(messageId), deletionId);
      if (!states.has(deletionId)) note(deletionId);
    }
  }

  changes.subscribe((lines: Change[]) => {
    if (stopped) return;
    const { ids = [], count = 0 } = lines.find(({ area }) => area === "messages") ?? {};
    // With more changes than ids any request that still moves may be meant.
    const moving = [...states].flatMap(([id, state]) => (state === "nothing_to_send" || isSettled(state) ? [] : [id]));
    try {
      for (const id of new Set([...ids.flatMap((each) => ofMessage.get(each) ?? []), ...(count > ids.length ? moving : [])])) note(id);
    } catch (error) {
      // The feed's other listeners and the process itself do not depend on whether this can be read.
      report(error);
    }
  });

  /** Users of one profile together, however far apart they were named. */
  function* slices(userIds: readonly string[]): Generator<string[]> {
    const left = new Set(userIds);
    let users = new Set<string>();
    for (const userId of userIds) {
      if (!left.has(userId)) continue;
      const profile = store.profileWithUser(userId);
      const together = profile === null ? [] : store.userIdsOf(profile).filter((each) => left.has(each));
      for (const each of [userId, ...together]) {
        left.delete(each);
        users.add(each);
      }
      if (users.size < slice) continue;
      yield [...users];
      users = new Set();
    }
    if (users.size > 0) yield [...users];
  }

  async function carryOut(id: DeletionId): Promise<void> {
    await options.caughtUp();
    const places = new Map(store.usersToDelete(id, Number.MAX_SAFE_INTEGER).map(({ userId, place }) => [userId, place]));
    for (const userIds of slices([...places.keys()])) {
      // A reset may have come meanwhile.
      if (stopped || store.usersToDelete(id, 1).length === 0) return;
      const deleted = store.atomically(() => {
        const users = deleteUsers(userIds);
        for (const user of users) store.putDeleted(id, places.get(user.userId) ?? 0, user);
        return users;
      });
      for (const message of deleted.flatMap((user) => user.messageIds)) ofMessage.set(messageIds.format(message), id);
      changes.noteGone("profiles", deleted.length);
      await nextTurn();
    }
  }

  async function run(id: DeletionId): Promise<void> {
    const work = options.activity.begin();
    running.add(id);
    try {
      await carryOut(id);
    } catch (error) {
      if (stopped) return;
      retry ??= startTimer(retryMs, resume);
      throw error;
    } finally {
      running.delete(id);
      if (!stopped) note(id);
      work.end();
    }
  }

  function resume(): void {
    retry = null;
    for (const id of store.unfinishedDeletions()) if (!running.has(id)) run(id).catch(report);
  }

  function keep(userIds: readonly string[], suppress: boolean): DeletionId {
    try {
      return store.atomically(() => {
        const id = store.insertDeletion({ suppress, requestedAt: options.clock.now(), userIds });
        if (suppress) suppressions.suppress(userIds, id);
        return id;
      });
    } catch (error) {
      suppressions.reload();
      throw error;
    }
  }

  const missing = (id: DeletionId) => notFound("deletion request", deletionIds.format(id));

  return {
    start() {
      remember();
      resume();
    },
    stop() {
      stopped = true;
      stopping.stop();
      retry?.cancel();
    },
    reload: remember,
    list(limit, before) {
      const { items, ...page } = store.deletions(limit, before);
      return { ...page, items: items.map(view) };
    },
    get(id) {
      const deletion = store.deletion(id);
      return deletion === null ? undefined : view(deletion);
    },
    create: stopping.guard(async (userIds, suppress) => {
      const id = keep([...new Set(userIds.map(nameOf))], suppress);
      note(id);
      await run(id);
      const deletion = store.deletion(id);
      return deletion === null ? missing(id) : view(deletion);
    }),
    delete(id) {
      const deletion = store.deletion(id);
      if (deletion === null) return missing(id);
      if (isUnderWay(deletion)) {
        const message = "The request is still being carried out. Wait for its end, and delete it then.";
        return conflict("deletion_under_way", message);
      }
      store.deleteDeletion(id);
      states.delete(id);
      for (const [message, of] of ofMessage) if (of === id) ofMessage.delete(message);
      changes.note("deletions", deletionIds.format(id));
      return null;
    },
  };
}
