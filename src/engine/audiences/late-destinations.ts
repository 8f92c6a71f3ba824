/**
 * First syncs of destinations that are connected to an audience or computed trait later: each is
 * sent all values that receivers have, in the order of userIds, in slices of one commit. One that is
 * connected again is also sent who has left since. The place that a slice reached is stored with it,
 * so a start after a kill continues there. Changes meanwhile reach the destination for users before
 * that place; for the others, this sends the value that they have then. A disabled destination waits
 * until it is enabled, a cancelled first sync until the next manual sync. Users who are suppressed
 * are skipped, and follow after their suppression.
 *
 * A destination that is disabled misses values; once it is enabled, it is sent those that differ from
 * what it has. If it misses too many to list, it gets a first sync again.
 */

import type { Destination } from "../../domain/configuration.ts";
import { spellingOf } from "../../domain/evaluate.ts";
import type { DestinationId } from "../../domain/ids.ts";
import type { Activity } from "../clock/activity.ts";
import type { Clock } from "../clock/clock.ts";
import type { Configuration } from "../pipeline.ts";
import type { Atomically, ComputedStore, FirstSync, Missed, Skipped } from "../profile-ports.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import type { Causes } from "./causes.ts";
import type { Notifier } from "./notifier.ts";
import type { Computed, Registry } from "./registry.ts";
import { usersPerSlice } from "./walk.ts";

/** After the store failed. */
const retryMs = 500;

/** Of one audience or computed trait: they are written with its row each time. */
const maxMissed = 1000;

type ToDestinations = Pick<
  Computed["row"],
  "reached" | "formerly" | "goneAt" | "firstSyncs" | "skipped"
>;

type LateDestinationsOptions = {
  store: Pick<ComputedStore, "lastSent" | "lastSentAfter"> & Atomically;
  registry: Registry;
  notifier: Notifier;
  causes: Causes;
  configuration: Pick<Configuration, "destination" | "destinationsOf">;
  clock: Pick<Clock, "now">;
  activity: Activity;
  /** Resolves when every message committed so far is in the profiles. */
  caughtUp: () => Promise<void>;
  isSuppressed: (userId: string) => boolean;
  report: (error: unknown) => void;
};

export class LateDestinations {
  readonly #options: LateDestinationsOptions;
  #state: "new" | "running" | "stopped" = "new";
  #run: Promise<void> | null = null;
  #retry: RealTimer | null = null;

  constructor(options: LateDestinationsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#state = "running";
    this.note();
  }

  stop(): void {
    this.#state = "stopped";
    this.#retry?.cancel();
  }

  /**
   * Called after each change of the configuration, before another message can be committed: which
   * destinations are new, and which have gone. Also when a suppression was lifted.
   */
  note(): void {
    const { registry } = this.#options;
    try {
      for (const computed of registry.all()) {
        const changed = this.#reconciled(computed);
        if (changed !== null) registry.change(computed, changed);
      }
    } catch (error) {
      this.#tryLater();
      throw error;
    }
    if (this.#state === "running") void this.run().catch(this.#options.report);
  }

  /** Resolves when the first syncs of enabled destinations are committed. */
  run(): Promise<void> {
    const isNothingLeft = this.#nextSkipped() === null && this.#next() === null;
    if (this.#state !== "running" || isNothingLeft) return this.#run ?? Promise.resolve();
    this.#run ??= this.#runAll().finally(() => {
      this.#run = null;
    });
    return this.#run;
  }

  /** What is running; a disabled destination still gets its first sync when it is enabled. */
  cancel(computed: Computed): void {
    this.#change(computed, (firstSync) =>
      this.#enabled(firstSync) === undefined ? firstSync : { ...firstSync, cancelled: true },
    );
  }

  /** Continues what was cancelled. */
  continue(computed: Computed): void {
    this.#change(computed, ({ destinationId, after, sent }) => ({ destinationId, after, sent }));
    this.note();
  }

  #change({ id }: Computed, change: (firstSync: FirstSync) => FirstSync): void {
    const { registry } = this.#options;
    const computed = registry.get(id);
    const firstSyncs = computed?.row.firstSyncs ?? [];
    if (computed !== undefined && firstSyncs.length > 0)
      registry.change(computed, { firstSyncs: firstSyncs.map(change) });
  }

  /** Within the transaction that deletes the users. */
  forget(userIds: ReadonlySet<string>): void {
    const { registry } = this.#options;
    for (const computed of registry.all()) {
      const { skipped = [] } = computed.row;
      const left = skipped.filter(({ userId }) => !userIds.has(userId));
      if (left.length < skipped.length) registry.change(computed, { skipped: left });
    }
  }

  /** Within the transaction that records the values as sent. */
  miss({ id }: Computed, missed: readonly Missed[]): void {
    const { registry } = this.#options;
    const computed = registry.get(id);
    if (computed === undefined) return;
    const skipped = [...(computed.row.skipped ?? []), ...missed];
    const all = skipped.filter((each) => "had" in each);
    const to = new Set(all.map(({ destinationId }) => destinationId));
    registry.change(
      computed,
      all.length > maxMissed ? startingAgain({ ...computed.row, skipped }, to) : { skipped },
    );
  }

  #reconciled({ row }: Computed): ToDestinations | null {
    const { configuration, clock } = this.#options;
    const connected = configuration.destinationsOf(row.sourceId).map(({ id }) => id);
    const { reached, firstSyncs = [], skipped = [] } = row;
    if (reached === undefined) return { reached: connected, firstSyncs: [] };
    const isConnected = (id: DestinationId): boolean => connected.includes(id);
    const waiting = firstSyncs.filter(({ destinationId }) => isConnected(destinationId));
    const known = [...reached, ...waiting.map(({ destinationId }) => destinationId)];
    const added = connected.filter((id) => !known.includes(id));
    const kept = reached.filter(isConnected);
    if (
      added.length === 0 &&
      kept.length === reached.length &&
      waiting.length === firstSyncs.length
    )
      return null;
    const begun = firstSyncs.flatMap(({ after, destinationId: id }) => (after === "" ? [] : [id]));
    const gone = [...reached, ...begun].filter((id) => !isConnected(id));
    const formerly = [...new Set([...(row.formerly ?? []), ...gone])].filter(
      (id) => configuration.destination(id) !== undefined,
    );
    const missed = (id: DestinationId) =>
      skipped.some((each) => "destinationId" in each && each.destinationId === id);
    const goneAt = formerly.flatMap((id) => {
      const now = missed(id) ? 0 : clock.now();
      const at = row.goneAt?.[id] ?? (gone.includes(id) ? now : null);
      return at === null ? [] : [[id, at] as const];
    });
    return {
      reached: kept,
      formerly,
      goneAt: Object.fromEntries(goneAt),
      firstSyncs: [...waiting, ...added.map((id) => ({ destinationId: id, after: "", sent: 0 }))],
      skipped: skipped.filter((each) => "email" in each || isConnected(each.destinationId)),
    };
  }

  /** What was skipped of users who are no longer suppressed. New addresses come first. */
  #nextSkipped(): { computed: Computed; due: Skipped[] } | null {
    for (const computed of this.#options.registry.all()) {
      const { skipped = [] } = computed.row;
      const due = skipped.filter((each) => !this.#options.isSuppressed(each.userId));
      const emails = due.filter((each) => "email" in each);
      if (emails.length > 0) return { computed, due: emails };
      const toDestinations = due.filter(
        (each) => "destinationId" in each && this.#enabled(each) !== undefined,
      );
      if (toDestinations.length > 0) return { computed, due: toDestinations };
    }
    return null;
  }

  /** With the other first syncs of the same audience or computed trait. */
  #next(): {
    computed: Computed;
    firstSync: FirstSync;
    others: FirstSync[];
    destination: Destination;
  } | null {
    for (const computed of this.#options.registry.all()) {
      const all = computed.row.firstSyncs ?? [];
      for (const firstSync of all) {
        const destination = this.#enabled(firstSync);
        if (destination === undefined || firstSync.cancelled !== undefined) continue;
        const others = all.filter((each) => each !== firstSync);
        return { computed, firstSync, others, destination };
      }
    }
    return null;
  }

  #enabled({ destinationId }: Pick<FirstSync, "destinationId">): Destination | undefined {
    const destination = this.#options.configuration.destination(destinationId);
    return destination?.enabled === true ? destination : undefined;
  }

  async #runAll(): Promise<void> {
    const { activity, caughtUp } = this.#options;
    const work = activity.begin();
    try {
      await caughtUp();
      while (this.#state === "running" && this.#slice()) await nextTurn();
    } catch (error) {
      if (this.#state !== "running") return;
      this.#tryLater();
      throw error;
    } finally {
      work.end();
    }
  }

  #tryLater(): void {
    if (this.#state !== "running") return;
    const { registry, report } = this.#options;
    this.#retry?.cancel();
    this.#retry = startTimer(retryMs, () => {
      try {
        // Memory may be ahead of the store.
        registry.reload();
        this.note();
      } catch (error) {
        report(error);
        this.#tryLater();
      }
    });
  }

  /** Returns false when nothing is left to do. */
  #slice(): boolean {
    const { store, registry, notifier, causes, isSuppressed } = this.#options;
    const skipped = this.#nextSkipped();
    if (skipped !== null) {
      store.atomically(() => this.#sendSkipped(skipped.computed, skipped.due));
      return true;
    }
    const next = this.#next();
    if (next === null) return false;
    const { computed, firstSync, others, destination } = next;
    store.atomically(() => {
      const users = notifier.usersPerTurn(computed, usersPerSlice);
      const rows = store.lastSentAfter(computed.row.sourceId, firstSync.after, users);
      const { reached = [], formerly = [], goneAt = {} } = computed.row;
      const wasConnected = formerly.includes(destination.id);
      const leftAt = Math.max(1, goneAt[destination.id] ?? 1);
      const values = rows.filter(
        ({ value, since }) => value !== null || (wasConnected && since >= leftAt),
      );
      const causeOf = causes.ofConnection(destination.name, destination.id);
      notifier.sendTo(computed, destination.id, values, causeOf);
      const last = rows.at(-1);
      if (last === undefined) {
        const { [destination.id]: _, ...stillGone } = goneAt;
        registry.change(computed, {
          reached: [...reached, destination.id],
          goneAt: stillGone,
          firstSyncs: others,
        });
      } else {
        const suppressed = values.filter(({ userId }) => isSuppressed(userId));
        const sent = values.filter(({ userId, value }) => value !== null && !isSuppressed(userId));
        const further = {
          ...firstSync,
          after: last.userId,
          sent: firstSync.sent + sent.length,
        };
        const added = suppressed.map(({ userId }) => ({ userId, destinationId: destination.id }));
        registry.change(computed, {
          firstSyncs: [further, ...others],
          skipped: [...(computed.row.skipped ?? []), ...added],
        });
      }
    });
    return true;
  }

  /** The values that the users have now. */
  #sendSkipped(computed: Computed, due: readonly Skipped[]): void {
    const { store, registry, notifier, causes, configuration } = this.#options;
    const sent = due.slice(0, notifier.usersPerTurn(computed, usersPerSlice));
    for (const each of sent) {
      const last = store.lastSent(computed.row.sourceId, each.userId);
      if (last === null) continue;
      if ("email" in each) {
        if (last.value === null) continue;
        const added = { userId: each.userId, email: each.email, value: last.value };
        notifier.sendToEmails(computed, [added], causes.ofEmail(each.email, null));
        continue;
      }
      const destination = configuration.destination(each.destinationId);
      if (destination === undefined) continue;
      const { id, name } = destination;
      const isMissed = "had" in each;
      const isDue = isMissed
        ? spellingOf(last.value) !== spellingOf(each.had)
        : last.value !== null || computed.row.formerly?.includes(id) === true;
      const causeOf = isMissed ? causes.ofEnabling(name, id) : causes.ofConnection(name, id);
      if (isDue) notifier.sendTo(computed, id, [last], causeOf);
    }
    const skipped = (computed.row.skipped ?? []).filter((each) => !sent.includes(each));
    registry.change(computed, { skipped });
  }
}

/** With a first sync of these destinations, as if they were connected again. */
function startingAgain(
  { reached = [], formerly = [], goneAt = {}, firstSyncs = [], skipped = [] }: ToDestinations,
  destinations: ReadonlySet<DestinationId>,
): ToDestinations {
  const again = [...destinations];
  const isOther = (id: DestinationId): boolean => !destinations.has(id);
  return {
    reached: reached.filter(isOther),
    formerly: [...new Set([...formerly, ...again])],
    goneAt: { ...goneAt, ...Object.fromEntries(again.map((id) => [id, 0])) },
    firstSyncs: [
      ...firstSyncs.filter(({ destinationId }) => isOther(destinationId)),
      ...again.map((id) => {
        const cancelled = firstSyncs.find((each) => each.destinationId === id)?.cancelled;
        return { destinationId: id, after: "", sent: 0, ...(cancelled && { cancelled }) };
      }),
    ],
    skipped: skipped.filter((each) => "email" in each || isOther(each.destinationId)),
  };
}
