/**
 * The users that a sync has to look at, or all that have a value, slice by slice: each slice is looked at when it is
 * asked for, and has to be told before the event loop gets a turn.
 */

import type { Clock } from "../clock/clock.ts";
import type { ComputedStore, ProfileStore, RuleStore, ToldValue, WalkOptions } from "../profile-ports.ts";
import { needsOfAll, valueOf, type Asks, type Computed, type Standing } from "./computed.ts";

/** Users looked at between two turns of the event loop: some milliseconds' work when each of them gets a message. */
const slice = 50;

type WalkStore = RuleStore & ComputedStore & Pick<ProfileStore, "facts" | "profileWithUser" | "user">;

export type Walker = ReturnType<typeof createWalker>;

type Step = { seen: number; standings: Standing[] };

export function createWalker({
  store,
  clock,
  isSuppressed,
}: {
  store: WalkStore;
  clock: Clock;
  isSuppressed: (userId: string) => boolean;
}) {
  /** The profile that goes by this userId now; not one that has gone by it before. */
  function profileOf(userId: string) {
    const profile = store.profileWithUser(userId);
    return profile !== null && store.user(profile) === userId ? profile : null;
  }

  function standingOf({ asks }: Pick<Computed, "asks">, userId: string): Standing {
    const profileId = profileOf(userId);
    if ("members" in asks)
      return { userId, profileId, value: asks.members.has(userId) && !isSuppressed(userId) ? true : null, until: null };
    if (profileId === null) return { userId, profileId, value: null, until: null };
    const now = clock.now();
    return { userId, profileId, ...valueOf(asks, store.facts(profileId, needsOfAll([{ asks }]), now), now) };
  }

  function* ofProfiles(asks: Exclude<Asks, { members: unknown }>, options: WalkOptions): Generator<Step> {
    const walk =
      "rule" in asks ? store.walkRule(asks.rule, clock.now(), options) : store.walkComputation(asks.computation, clock.now(), options);
    for (let step = walk.next(slice); step.seen > 0; step = walk.next(slice)) {
      const standings = step.evaluated.map(({ profileId, userId, value, until }): Standing => {
        // A walk goes by the time at which it began; what has ended since then is looked at by itself.
        if (until !== null && until <= clock.now()) return standingOf({ asks }, userId);
        return { userId, profileId, value: "rule" in asks && value === false ? null : value, until };
      });
      yield { seen: step.seen, standings };
    }
  }

  function* ofMembers(members: ReadonlySet<string>): Generator<Step> {
    let standings: Standing[] = [];
    let seen = 0;
    for (const userId of members) {
      seen += 1;
      if (!isSuppressed(userId)) standings.push({ userId, profileId: profileOf(userId), value: true, until: null });
      if (seen < slice) continue;
      yield { seen, standings };
      standings = [];
      seen = 0;
    }
    if (seen > 0) yield { seen, standings };
  }

  /** Users who were told a value that nobody stands behind any more: they were joined to another, or are off the list. */
  function* ofTold({ asks, row: { sourceId } }: Computed): Generator<Step> {
    const next = (after: string): { upTo: string | null; over: ToldValue[] } => {
      if (!("members" in asks)) return store.strandedAfter(sourceId, after, slice);
      const told = store.toldAfter(sourceId, after, slice);
      const over = told.filter(({ userId }) => !asks.members.has(userId) || isSuppressed(userId));
      return { upTo: told.at(-1)?.userId ?? null, over };
    };
    for (let step = next(""); step.upTo !== null; step = next(step.upTo)) {
      yield { seen: 0, standings: step.over.map(({ userId }) => ({ userId, profileId: null, value: null, until: null })) };
    }
  }

  return {
    standingOf,
    /** All that have a value. */
    *present(asks: Asks): Generator<Step> {
      if ("members" in asks) yield* ofMembers(asks.members);
      else yield* ofProfiles(asks, { source: null, which: "present" });
    },
    /** All that receivers may have to hear of; of a live one also those who are to be looked at again at another time. */
    *toSync(computed: Computed): Generator<Step> {
      const { asks, row, isLive } = computed;
      if ("members" in asks) yield* ofMembers(asks.members);
      else yield* ofProfiles(asks, { source: row.sourceId, which: isLive ? "unsettled" : "differing" });
      yield* ofTold(computed);
    },
    /** How many users it is about; `seen` of all steps adds up to it, unless it changes meanwhile. */
    total: (asks: Asks): number => ("members" in asks ? asks.members.size : store.countKnownUsers()),
  };
}
