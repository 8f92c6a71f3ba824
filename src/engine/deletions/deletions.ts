/**
 * Deletion requests: stored with the users that are still to be deleted, processed in slices of one
 * transaction each, and continued after a crash. When a request is stored, its users are
 * suppressed, so that no later message of theirs is accepted. Messages that were accepted before
 * are first applied to the profiles.
 */

import { isSettled, type DeletionState } from "../../domain/states.ts";
import { nameOf } from "../../domain/facts.ts";
import { deletionIds, messageIds, type DeletionId, type MessageRowId } from "../../domain/ids.ts";
import { conflict, notFound, problem } from "../../domain/problem.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Change, ChangeFeed, Changes } from "../pipeline.ts";
import type { Deletions, DeletionView, Suppressions } from "../profile-pipeline.ts";
import type { Atomically, Deletion, DeletionStore } from "../profile-ports.ts";
import { createStopping } from "../stopping.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import { stepsPerTurn } from "../route/route.ts";
import { createDeleteUsers, type DeleteUsersOptions, type FoundUser } from "./delete-users.ts";

/** Users deleted between two turns of the event loop, at most. */
const slice = 50;

/** When the store refused a slice (a full disk), the request continues after this real time. */
const retryMs = 500;

type DeletionsOptions = DeleteUsersOptions & {
  store: DeletionStore & Atomically;
  suppressions: Pick<SuppressionControl, "suppress" | "reload">;
  clock: Pick<Clock, "now">;
  activity: Activity;
  changes: Changes & Pick<ChangeFeed, "subscribe">;
  /** Resolves when every message accepted so far is in the profiles. */
  caughtUp: () => Promise<void>;
  /** The transaction of a slice failed. */
  onFailed: () => void;
  report: (error: unknown) => void;
};

type DeletionControl = Deletions & {
  start(): void;
  stop(): void;
  /** Called after the store was emptied. */
  reload(): void;
};

export function createDeletions(options: DeletionsOptions): DeletionControl {
  const { store, suppressions, changes, clock } = options;
  const states = createStates(options);
  const runs = createRuns(options, states);
  const stopping = createStopping();

  const view = (deletion: Deletion): DeletionView => ({
    ...deletion,
    state: states.of(deletion.id, isRunning(deletion)),
  });
  const missing = (id: DeletionId) => notFound("deletion request", deletionIds.format(id));

  function insert(userIds: readonly string[], suppress: boolean, send: boolean): DeletionId {
    try {
      return store.atomically(() => {
        const id = store.insertDeletion({ suppress, send, requestedAt: clock.now(), userIds });
        if (suppress) suppressions.suppress(userIds, id);
        return id;
      });
    } catch (error) {
      suppressions.reload();
      throw error;
    }
  }

  return {
    start() {
      states.reload();
      runs.resume();
    },
    stop() {
      stopping.stop();
      states.stop();
      runs.stop();
    },
    reload: states.reload,
    list(limit, before) {
      const { items, ...page } = store.deletions(limit, before);
      return { ...page, items: items.map(view) };
    },
    get(id) {
      const deletion = store.deletion(id);
      return deletion === null ? undefined : view(deletion);
    },
    create: stopping.guard(async (userIds, suppress, send = true) => {
      const id = insert([...new Set(userIds.map(nameOf))], suppress, send);
      states.note(id);
      await runs.run(id);
      const deletion = store.deletion(id);
      return deletion === null ? missing(id) : view(deletion);
    }),
    delete(id) {
      const deletion = store.deletion(id);
      if (deletion === null) return missing(id);
      if (isRunning(deletion)) {
        return conflict(
          "deletion_under_way",
          "The request is still running. Delete it after it has ended.",
        );
      }
      store.deleteDeletion(id);
      states.remove(id);
      changes.note("deletions", deletionIds.format(id));
      return null;
    },
  };
}

function isRunning({ users }: Deletion): boolean {
  return users.some(({ deleted }) => deleted === null);
}

/**
 * The states of the requests, which follow from those of their delete messages. Notes each that
 * changes.
 */
function createStates({
  store,
  changes,
  report,
}: Pick<DeletionsOptions, "store" | "changes" | "report">) {
  /** The last known state of each request. */
  const known = new Map<DeletionId, DeletionState>();
  const requestOf = new Map<string, DeletionId>();
  /** Requests whose state may have changed. */
  const affected = new Set<DeletionId>();
  let isReading = false;
  let stopped = false;

  function stateOf(id: DeletionId, running: boolean): DeletionState {
    if (running) return "queued";
    const state = store.stateOfMessages(id);
    const isNotSent =
      state === null || state === "filtered" || state === "duplicate" || state === "rejected";
    return isNotSent ? "nothing_to_send" : state;
  }

  function note(id: DeletionId): void {
    const state = stateOf(id, store.usersToDelete(id, 1).length > 0);
    if (known.get(id) === state) return;
    known.set(id, state);
    changes.note("deletions", deletionIds.format(id));
  }

  changes.subscribe((lines: Change[]) => {
    if (stopped) return;
    const { ids = [], count = 0 } = lines.find(({ area }) => area === "messages") ?? {};
    for (const id of ids) {
      const request = requestOf.get(id);
      if (request !== undefined) affected.add(request);
    }
    // With more changes than ids, any request whose messages are not settled may be affected.
    if (count > ids.length) {
      for (const [id, state] of known)
        if (state !== "nothing_to_send" && !isSettled(state)) affected.add(id);
    }
    if (!isReading) void readAffected();
  });

  /** One in a turn, because the state of a request is that of thousands of messages. */
  async function readAffected(): Promise<void> {
    isReading = true;
    for (const id of affected) {
      affected.delete(id);
      try {
        note(id);
      } catch (error) {
        // Other listeners of the feed must not depend on whether the store can be read.
        affected.clear();
        report(error);
      }
      if (affected.size > 0) await nextTurn();
      if (stopped) return;
    }
    isReading = false;
  }

  return {
    of: stateOf,
    note,
    addMessages(id: DeletionId, messages: readonly MessageRowId[]): void {
      for (const message of messages) requestOf.set(messageIds.format(message), id);
    },
    remove(id: DeletionId): void {
      known.delete(id);
      affected.delete(id);
      for (const [message, request] of requestOf) if (request === id) requestOf.delete(message);
    },
    reload(): void {
      known.clear();
      affected.clear();
      requestOf.clear();
      for (const { messageId, deletionId } of store.deleteMessages()) {
        requestOf.set(messageIds.format(messageId), deletionId);
        if (!known.has(deletionId)) note(deletionId);
      }
    },
    stop(): void {
      stopped = true;
    },
  };
}

/** Deletes the users of the requests. */
function createRuns(options: DeletionsOptions, states: ReturnType<typeof createStates>) {
  const { store, changes, report } = options;
  const users = createDeleteUsers(options);
  const running = new Set<DeletionId>();
  let retry: RealTimer | null = null;
  let stopped = false;

  /**
   * The users of one profile follow each other, however far apart they were named, so that its
   * userIds are read once.
   */
  function* slices(userIds: readonly string[], named: ReadonlySet<string>): Generator<FoundUser[]> {
    const left = new Set(userIds);
    let found: FoundUser[] = [];
    let steps = 0;
    for (const first of userIds) {
      if (!left.has(first)) continue;
      const all = users.userIdsWith(first);
      const together = all.filter((userId) => left.delete(userId));
      const others = all.filter((userId) => !named.has(userId));
      for (const userId of together) {
        const user = users.find(userId, { isLast: userId === together.at(-1), others });
        found.push(user);
        steps += user.steps;
        if (found.length < slice && steps < stepsPerTurn) continue;
        yield found;
        found = [];
        steps = 0;
      }
    }
    if (found.length > 0) yield found;
  }

  async function deleteAll(id: DeletionId): Promise<void> {
    await options.caughtUp();
    const rows = store.usersToDelete(id, Number.MAX_SAFE_INTEGER);
    const deletion = store.deletion(id);
    const sends = deletion?.send ?? true;
    const named = new Set(deletion?.users.map(({ userId }) => userId));
    const places = new Map(rows.map(({ userId, place }) => [userId, place]));
    for (const found of slices([...places.keys()], named)) {
      // A reset may have removed the request meanwhile.
      if (stopped || store.usersToDelete(id, 1).length === 0) return;
      const deleted = store.atomically(() => {
        const outcomes = users.delete(found, id, sends);
        for (const user of outcomes) store.putDeleted(id, places.get(user.userId) ?? 0, user);
        return outcomes;
      });
      for (const user of deleted) states.addMessages(id, user.messageIds);
      changes.noteGone("profiles", deleted.length);
      await nextTurn();
      await removeRests();
      // Of a profile that is being merged, events of the other one would be removed too.
      await options.caughtUp();
    }
  }

  /** The profile of one user may have a million events. */
  async function removeRests(): Promise<void> {
    while (!stopped && store.removeRest()) await nextTurn();
  }

  /** What a request left that was interrupted after its last user. */
  async function resumeRests(): Promise<void> {
    const work = options.activity.begin();
    try {
      await removeRests();
    } catch (error) {
      if (stopped) return;
      retry ??= startTimer(retryMs, resume);
      report(error);
    } finally {
      work.end();
    }
  }

  async function run(id: DeletionId): Promise<void> {
    const work = options.activity.begin();
    running.add(id);
    try {
      await deleteAll(id);
    } catch (error) {
      if (stopped) return;
      retry ??= startTimer(retryMs, resume);
      options.onFailed();
      throw error;
    } finally {
      running.delete(id);
      try {
        if (!stopped) states.note(id);
      } finally {
        work.end();
      }
    }
  }

  function resume(): void {
    retry = null;
    try {
      for (const id of store.unfinishedDeletions()) if (!running.has(id)) run(id).catch(report);
      if (store.removeRest()) void resumeRests();
    } catch (error) {
      report(error);
      retry = startTimer(retryMs, resume);
    }
  }

  return {
    run,
    resume,
    stop(): void {
      stopped = true;
      retry?.cancel();
    },
  };
}

type SuppressionsOptions = {
  store: Pick<
    DeletionStore,
    "suppressedUsers" | "suppress" | "suppression" | "lift" | "suppressions"
  > &
    Atomically;
  now: () => number;
  changes: Changes;
  onLifted: () => void;
};

type SuppressionControl = Suppressions & {
  isSuppressed(userId: string): boolean;
  /** Within a transaction of the caller, who calls `reload` when it fails. */
  suppress(userIds: readonly string[], deletion: DeletionId | null): void;
  reload(): void;
};

/**
 * Users whose messages are no longer accepted: in the store, and in memory because every message is
 * checked.
 */
export function createSuppressions({
  store,
  now,
  changes,
  onLifted,
}: SuppressionsOptions): SuppressionControl {
  let users = new Set(store.suppressedUsers());
  const suppress: SuppressionControl["suppress"] = (userIds, deletion) => {
    for (const userId of userIds) {
      store.suppress(userId, now(), deletion);
      users.add(userId);
    }
    changes.noteMany("suppressions", userIds, (userId) => userId, true);
  };
  return {
    isSuppressed: (userId) => users.has(nameOf(userId)),
    suppress,
    create(userIds) {
      const named = [...new Set(userIds.map(nameOf))];
      try {
        store.atomically(() => suppress(named, null));
      } catch (error) {
        users = new Set(store.suppressedUsers());
        throw error;
      }
      return named.flatMap((userId) => store.suppression(userId) ?? []);
    },
    reload() {
      users = new Set(store.suppressedUsers());
    },
    list: (search, limit, after) => store.suppressions(search, limit, after),
    lift(userId) {
      if (!store.lift(userId))
        return problem(404, "not_found", `The user ${JSON.stringify(userId)} is not suppressed.`);
      users.delete(userId);
      changes.note("suppressions", userId);
      onLifted();
      return null;
    },
  };
}
