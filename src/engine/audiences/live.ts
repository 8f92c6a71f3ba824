/**
 * Audiences and computed traits that follow each event. They are evaluated in the transaction in
 * which a profile changes, only those that depend on what changed; and they are rechecked when time
 * alone may change a value: an event leaves a window, and the user leaves with it. Each last sent
 * value that may change so has a `recheckAt`; one timer on the clock is set to the earliest. A user
 * who did too much to be evaluated in the transaction is rechecked at once, in several turns. A user with new events meanwhile is rechecked after the others.
 */

import { spellingOf } from "../../domain/evaluate.ts";
import { atOnce, stepsOfPiece, type InPieces, type Steps } from "../../domain/facts.ts";
import type { ProfileId } from "../../domain/ids.ts";
import type { Json } from "../../domain/json.ts";
import type { Activity, Origin, Work } from "../clock/activity.ts";
import type { Clock, ClockTimer } from "../clock/clock.ts";
import type {
  Atomically,
  ComputedStore,
  ProfileChange,
  ProfileEffects,
  ProfileStore,
} from "../profile-ports.ts";
import { nextTurn, startTimer, type RealTimer } from "../real-time.ts";
import {
  needsOfAll,
  valueOf,
  type CauseOf,
  type Computed,
  type Registry,
  type UserValue,
} from "./registry.ts";
import type { Causes } from "./causes.ts";
import type { AddedEmail, Notifier } from "./notifier.ts";
import type { Walker } from "./walk.ts";

/** The users of a transaction share a piece; each of them has at least so many steps. */
const minStepsOfUser = 2500;

/** Users rechecked between two turns of the event loop, at most. */
const slice = 100;

/** After the store failed. */
const retryMs = 500;

type LiveOptions = {
  store: Pick<ProfileStore, "facts" | "emailsOf"> & Pick<ComputedStore, "lastSentFor">;
  registry: Registry;
  walker: Walker;
  notifier: Notifier;
  causes: Causes;
  clock: Clock;
  isSuppressed: (userId: string) => boolean;
};

export function createLive({
  store,
  registry,
  walker,
  notifier,
  causes,
  clock,
  isSuppressed,
}: LiveOptions): {
  onApplied(changes: readonly ProfileChange[]): void;
  stepsOf(effects: ProfileEffects): number;
} {
  return {
    stepsOf(effects) {
      // A new address gets the values of all, also of those that did not change.
      const sent = effects.emails.length > 0 ? registry.all() : registry.affectedBy(effects);
      return sent.reduce((sum, computed) => sum + notifier.stepsOfUser(computed), 0);
    },
    onApplied(changes) {
      walker.noteChanged(changes);
      const now = clock.now();
      const isAny = registry.all().length > 0;
      const joined = isAny ? changes.filter(({ emails }) => emails.length > 0) : [];
      const before = valuesBefore(joined);
      const values = new Map<Computed, UserValue[]>();
      const add = (computed: Computed, value: UserValue): void => {
        const users = values.get(computed);
        if (users === undefined) values.set(computed, [value]);
        else users.push(value);
      };
      let left = stepsOfPiece;
      for (const change of changes) {
        // To receivers a former userId is a user of its own, who leaves.
        for (const userId of change.formerUserIds) {
          for (const computed of liveOnesThatSent(userId))
            add(computed, { userId, value: null, until: null });
        }
        const { profileId, userId } = change;
        if (userId === null) continue;
        const affected = registry.affectedBy(change);
        if (affected.length === 0) continue;
        const room = Math.max(minStepsOfUser, left);
        const steps = { left: room };
        const found = atOnce(valuesOf(affected, profileId, now, steps));
        left -= room - steps.left;
        for (const [place, computed] of affected.entries()) {
          const value = found?.[place];
          if (value === undefined) notifier.postpone(computed, userId);
          else add(computed, { userId, ...value });
        }
      }
      if (values.size > 0) notifier.notify(values, causes.ofEvents(changes));
      for (const change of joined) sendToNewEmails(change, before);
    },
  };

  function* valuesOf(
    affected: readonly Computed[],
    profileId: ProfileId,
    now: number,
    steps: Steps,
  ): InPieces<Pick<UserValue, "value" | "until">[]> {
    const facts = yield* store.facts(profileId, needsOfAll(affected), now, steps);
    const values: Pick<UserValue, "value" | "until">[] = [];
    for (const { definition } of affected)
      if (!("members" in definition)) values.push(yield* valueOf(definition, facts, now, steps));
    return values;
  }

  /** Of the users and of those who were joined to them: `userId` and source, with the value. */
  function valuesBefore(changes: readonly ProfileChange[]): Map<string, Json> {
    const users = new Set(
      changes.flatMap(({ userId, emails }) => [userId, ...emails.map(({ from }) => from)]),
    );
    return new Map(
      [...users].flatMap((userId) =>
        userId === null
          ? []
          : store
              .lastSentFor(userId)
              .map(({ sourceId, value }) => [`${sourceId} ${userId}`, value] as const),
      ),
    );
  }

  /**
   * A value that did not change now is sent to the new address alone. One of another user who was
   * joined has that user's value, and gets this one's.
   */
  function sendToNewEmails(
    { userId, emails }: ProfileChange,
    before: ReadonlyMap<string, Json>,
  ): void {
    if (userId === null) return;
    const known = new Set(store.emailsOf(userId));
    const current = new Map(
      store.lastSentFor(userId).map(({ sourceId, value }) => [sourceId, value]),
    );
    for (const computed of registry.all()) {
      const { sourceId } = computed.row;
      const value = current.get(sourceId) ?? null;
      const isUnchanged =
        spellingOf(before.get(`${sourceId} ${userId}`) ?? null) === spellingOf(value);
      if (!isUnchanged) continue;
      for (const { email, from } of emails) {
        const had = from === null ? null : (before.get(`${sourceId} ${from}`) ?? null);
        if (!known.has(email) || spellingOf(had) === spellingOf(value)) continue;
        if (!isSuppressed(userId)) {
          const added: AddedEmail = { userId, email, value };
          notifier.sendToEmails(computed, [added], causes.ofEmail(email, from));
        } else if (value !== null) {
          const current = registry.get(computed.id) ?? computed;
          const { skipped = [] } = current.row;
          registry.change(current, { skipped: [...skipped, { userId, email }] });
        }
      }
    }
  }

  function liveOnesThatSent(userId: string): Computed[] {
    return store.lastSentFor(userId).flatMap(({ sourceId }) => {
      const computed = registry.ofSource(sourceId);
      return computed !== undefined && computed.isLive && !("members" in computed.definition)
        ? [computed]
        : [];
    });
  }
}

type RechecksOptions = {
  store: ComputedStore & Atomically;
  registry: Registry;
  walker: Walker;
  notifier: Notifier;
  causes: Causes;
  clock: Clock;
  activity: Activity;
  caughtUp: () => Promise<void>;
  report: (error: unknown) => void;
};

export class Rechecks {
  readonly #options: RechecksOptions;
  #timer: { at: number; timer: ClockTimer } | null = null;
  #retry: RealTimer | null = null;
  #running: Work | null = null;
  #before: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(options: RechecksOptions) {
    this.#options = options;
  }

  /** Sets the timer from the store: at a start, and after a reset. */
  start(): void {
    this.#timer?.timer.cancel();
    this.#timer = null;
    const { registry, store } = this.#options;
    for (const { row } of registry.live()) {
      const at =
        this.#running === null
          ? store.nextRecheckAt(row.sourceId)
          : store.nextRecheckAt(row.sourceId, this.#options.clock.now());
      if (at !== null) this.note(at);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.timer.cancel();
    this.#retry?.cancel();
  }

  /** A value may change at `at`. A recheck that finds no change does no harm. */
  note(at: number): void {
    if (this.#stopped || (this.#timer !== null && this.#timer.at <= at)) return;
    const { clock } = this.#options;
    if (this.#running !== null && (this.#running.origin === "own" || at <= clock.now())) return;
    this.#timer?.timer.cancel();
    const timer = clock.schedule(at, () => {
      this.#timer = null;
      this.#fire();
    });
    this.#timer = { at, timer };
  }

  #fire(): void {
    const work = this.#options.activity.begin(this.#origin());
    this.#running = work;
    const ended = this.#before.then(() => this.#run(work.origin));
    this.#before = ended
      .then(
        () => {
          if (this.#isLast(work)) this.#resume();
        },
        (error: unknown) => {
          this.#isLast(work);
          this.#retryAfter(error);
        },
      )
      .finally(() => work.end());
    // An advance does not wait for what arrives: its own times come meanwhile.
    if (work.origin === "arrival") this.#resume();
  }

  /** Otherwise the next one has waited for this one. */
  #isLast(work: Work): boolean {
    if (this.#running !== work) return false;
    this.#running = null;
    return true;
  }

  /** Arrivals during an advance, when nothing else is due. */
  #origin(): Origin {
    const { registry, notifier, clock, activity } = this.#options;
    if (!activity.isAdvancing) return "own";
    try {
      const isOfArrivals = (computed: Computed) => notifier.isDueByArrivals(computed, clock.now());
      return registry.live().every(isOfArrivals) ? "arrival" : "own";
    } catch {
      // The run will fail as well, and say so.
      return "own";
    }
  }

  /** The store may refuse to say when the next one is due. */
  #resume(isRetry = false): void {
    try {
      // Memory may be ahead of the store.
      if (isRetry) this.#options.registry.reload();
      this.start();
    } catch (error) {
      this.#retryAfter(error);
    }
  }

  #retryAfter(error: unknown): void {
    if (this.#stopped) return;
    this.#options.report(error);
    // A recheck may fail, and so may the look for the next one: they share one timer.
    this.#retry?.cancel();
    this.#retry = startTimer(retryMs, () => this.#resume(true));
  }

  async #run(origin: Origin): Promise<void> {
    const { registry, store, walker, notifier, causes, clock, activity, caughtUp } = this.#options;
    const ofEvent = causes.ofEvents([]);
    const causeOf: CauseOf = (computed, user, before) =>
      (notifier.isPostponed(computed, user.userId) ? ofEvent : causes.ofTime)(
        computed,
        user,
        before,
      );
    await caughtUp();
    for (const { id } of registry.live()) {
      /** Each once in a run: those that are due again come after all others. */
      const seen = new Set<string>();
      for (let again = 0; ;) {
        const computed = registry.get(id);
        if (this.#stopped || computed === undefined || !computed.isLive) break;
        const users = notifier.usersPerTurn(computed, slice);
        const limit = users + again;
        const found = store.dueForRecheck(computed.row.sourceId, clock.now(), limit);
        const due = found.filter(({ userId }) => !seen.has(userId)).slice(0, users);
        if (due.length === 0 && found.length < limit) break;
        again = found.length - due.length;
        for (const { userId } of due) seen.add(userId);
        for (const { values } of walker.oneByOne(
          computed.definition,
          due.map(({ userId }) => userId),
        )) {
          const current = registry.get(id);
          if (this.#stopped || current?.definition !== computed.definition || !current.isLive)
            break;
          activity.as(origin, () =>
            store.atomically(() => notifier.notify([[current, values]], causeOf)),
          );
          await nextTurn();
        }
      }
    }
  }
}
