/**
 * Iterates over the users that a sync has to evaluate, or over all that have a value, in slices. A
 * slice is evaluated when it is requested, and its values have to be sent before the event loop
 * gets a turn. A user who did too much for one turn is evaluated in several, and each is a slice
 * without values.
 */

import { stepsOfPiece, type InPieces, type Steps } from "../../domain/facts.ts";
import type { ProfileId } from "../../domain/ids.ts";
import type { Clock } from "../clock/clock.ts";
import type {
  ComputedStore,
  ProfileStore,
  RuleStore,
  LastSent,
  ProfileChange,
  WalkOptions,
} from "../profile-ports.ts";
import {
  needsOfAll,
  valueOf,
  type Computed,
  type CurrentValue,
  type Definition,
} from "./registry.ts";

/**
 * Users evaluated between two turns of the event loop: a few milliseconds of work when each of them
 * gets a message for a few destinations.
 */
export const usersPerSlice = 50;

const wholeSlices = (): number => usersPerSlice;

type WalkStore = RuleStore &
  ComputedStore &
  Pick<ProfileStore, "facts" | "profileWithUser" | "user">;

export type Walker = ReturnType<typeof createWalker>;

const noValue: CurrentValue = { userId: "", profileId: null, value: null, until: null };

type Step = { seen: number; values: CurrentValue[] };

type WalkerOptions = {
  store: WalkStore;
  clock: Clock;
  isSuppressed: (userId: string) => boolean;
};

/** Evaluates users one by one, as of now. */
function createEvaluation({ store, clock }: Pick<WalkerOptions, "store" | "clock">) {
  /** Profiles whose evaluation takes several turns, and which of them changed meanwhile. */
  const evaluations = new Set<{ profileId: ProfileId; isChanged: boolean }>();

  /** The profile whose current userId this is; not a profile that only had it earlier. */
  function profileOf(userId: string) {
    const profile = store.profileWithUser(userId);
    return profile !== null && store.user(profile) === userId ? profile : null;
  }

  /**
   * The value after the last piece. When the profile changed between two pieces, it is valid until
   * now only, and has to be evaluated again.
   */
  function* currentValue(
    { definition }: Pick<Computed, "definition">,
    userId: string,
    steps: Steps,
  ): InPieces<CurrentValue> {
    const profileId = profileOf(userId);
    if ("members" in definition) {
      const isMember = definition.members.has(userId);
      return { userId, profileId, value: isMember ? true : null, until: null };
    }
    if (profileId === null) return { userId, profileId, value: null, until: null };
    const now = clock.now();
    const evaluation = { profileId, isChanged: false };
    evaluations.add(evaluation);
    try {
      const facts = yield* store.facts(profileId, needsOfAll([{ definition }]), now, steps);
      const found = yield* valueOf(definition, facts, now, steps);
      if (profileOf(userId) !== profileId)
        return { userId, profileId: null, value: null, until: null };
      const isStale = evaluation.isChanged || (found.until !== null && found.until <= clock.now());
      return { userId, profileId, ...found, ...(isStale ? { until: clock.now() } : {}) };
    } finally {
      evaluations.delete(evaluation);
    }
  }

  function* oneByOne(
    definition: Definition,
    userIds: readonly string[],
    isPresentOnly = false,
  ): Generator<Step> {
    const steps = { left: stepsOfPiece };
    let step: Step = { seen: 0, values: [] };
    for (const userId of userIds) {
      const pieces = currentValue({ definition }, userId, steps);
      try {
        let piece = pieces.next();
        for (; piece.done !== true; piece = pieces.next()) {
          yield step;
          step = { seen: 0, values: [] };
          steps.left = stepsOfPiece;
        }
        step.seen += 1;
        if (!isPresentOnly || piece.value.value !== null) step.values.push(piece.value);
      } finally {
        pieces.return(noValue);
      }
    }
    if (step.seen > 0) yield step;
  }

  return {
    profileOf,
    oneByOne,
    noteChanged(changes: readonly ProfileChange[]): void {
      if (evaluations.size === 0) return;
      const changed = new Set(changes.map(({ profileId }) => profileId));
      for (const evaluation of evaluations)
        if (changed.has(evaluation.profileId)) evaluation.isChanged = true;
    },
  };
}

export function createWalker(options: WalkerOptions) {
  const { store, clock, isSuppressed } = options;
  const { profileOf, oneByOne, noteChanged } = createEvaluation(options);

  function* ofProfiles(
    definition: Exclude<Definition, { members: unknown }>,
    walked: WalkOptions,
    users: () => number,
  ): Generator<Step> {
    const walk =
      "rule" in definition
        ? store.walkRule(definition.rule, clock.now(), walked)
        : store.walkComputation(definition.computation, clock.now(), walked);
    for (let step = walk.next(users()); step.seen > 0; step = walk.next(users())) {
      const again: string[] = [];
      const values = step.evaluated.flatMap(({ profileId, userId, value, until }) => {
        // A walk evaluates as of its start; a value that has become invalid since is evaluated
        // again.
        if (until === null || until > clock.now())
          return {
            userId,
            profileId,
            value: "rule" in definition && value === false ? null : value,
            until,
          };
        again.push(userId);
        return [];
      });
      const large = step.large === null ? null : store.user(step.large);
      if (large !== null) again.push(large);
      yield { seen: step.seen - again.length, values };
      yield* oneByOne(definition, again, walked.which === "present");
    }
  }

  function* ofMembers(members: ReadonlySet<string>, users: () => number): Generator<Step> {
    let values: CurrentValue[] = [];
    let seen = 0;
    for (const userId of members) {
      seen += 1;
      if (!isSuppressed(userId))
        values.push({ userId, profileId: profileOf(userId), value: true, until: null });
      if (seen < users()) continue;
      yield { seen, values };
      values = [];
      seen = 0;
    }
    if (seen > 0) yield { seen, values };
  }

  /**
   * Users who have a last sent value but no longer a value: they were merged into another, or were
   * removed from the list.
   */
  function* ofStranded(
    { definition, row: { sourceId } }: Computed,
    users: () => number,
  ): Generator<Step> {
    const next = (after: string): { upTo: string | null; stranded: LastSent[] } => {
      if (!("members" in definition)) return store.strandedAfter(sourceId, after, users());
      const sent = store.lastSentAfter(sourceId, after, users());
      const stranded = sent.filter(({ userId }) => !definition.members.has(userId));
      return { upTo: sent.at(-1)?.userId ?? null, stranded };
    };
    for (let step = next(""); step.upTo !== null; step = next(step.upTo)) {
      const values = step.stranded.map(({ userId }) => ({
        userId,
        profileId: null,
        value: null,
        until: null,
      }));
      yield { seen: 0, values };
    }
  }

  return {
    /** The values of these users, in as many slices as it takes. */
    oneByOne,
    noteChanged,
    /** Users who have a value, without those who are suppressed. */
    *present(definition: Definition): Generator<Step> {
      const steps =
        "members" in definition
          ? ofMembers(definition.members, wholeSlices)
          : ofProfiles(definition, { source: null, which: "present" }, wholeSlices);
      for (const { seen, values } of steps)
        yield { seen, values: values.filter(({ userId }) => !isSuppressed(userId)) };
    },
    /**
     * Users whose value may have to be sent; of a live one also those whose recheck has to move.
     */
    *toSync(computed: Computed, users = wholeSlices): Generator<Step> {
      const { definition, row, isLive } = computed;
      const which = isLive ? "unsettled" : "differing";
      if ("members" in definition) yield* ofMembers(definition.members, users);
      else yield* ofProfiles(definition, { source: row.sourceId, which }, users);
      yield* ofStranded(computed, users);
    },
    /** The number of users to evaluate: the sum of `seen`, unless it changes meanwhile. */
    total: (definition: Definition): number =>
      "members" in definition ? definition.members.size : store.countKnownUsers(),
  };
}
