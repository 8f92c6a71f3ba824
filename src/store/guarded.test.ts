import { describe, expect, test } from "vitest";
import { guarded, StoreHealth } from "./health.ts";
import type { DestinationId } from "../domain/ids.ts";
import { openTestStore, request, startOfTime } from "./store.fixture.ts";

const failing = (code: string): Error =>
  Object.assign(new Error("as the driver throws it"), { code });

/** The methods of the store that only read. */
const readers = `
  sources destinations endpoints retryProfiles clients settings defaultMaxBytes refusedRequests
  endpointStates
  demo loadClock latestRecordedAt unknownKeys oldestUnknownKeyRequest countRunnable delivery
  hasRunnableUpTo hasUnsettledUpTo unsettledOf newestRows destinationsWithWork nextDueAt
  pausedPastWindow nextWindowEnd audiences computedTraits lastSent lastSentFor countLastSent
  lastSentSources lastSentAfter strandedAfter nextRecheckAt dueForRecheck followed nextToFollow
  profileOf profileWithUser hasManyEvents knownAs user userIdsOf emailsOf emailsOfProfile readForLists facts
  profiles profileDetails seenNames walkRule walkComputation countKnownUsers deletion deletions
  unfinishedDeletions usersToDelete suppressedUsers suppression suppressions rejectedBytes
  unlikeHosted messages message decisionAt messageSource messageValues messagesBySource
  usersNamed deliveries deliveriesByDue dueTimes deliveriesOf deliveryDetails attempt lastOutcome
  newestAttempts listed stats countByState deliveriesByDestination stateOfMessages tracedMessage
  messageIdOf trouble bytes
`;

describe("a guarded store", () => {
  const health = () => new StoreHealth(openTestStore().db, null);
  const fail = (): never => {
    throw failing("SQLITE_IOERR");
  };

  test("notes what fails at once, later, and in a walk, and throws it", async () => {
    const [now, later, walked] = [health(), health(), health()];
    expect(() => guarded({ read: fail }, now).read()).toThrow("as the driver");
    await expect(guarded({ read: async () => fail() }, later).read()).rejects.toThrow(
      "as the driver",
    );
    const walk = guarded({ walkRule: () => ({ next: fail }) }, walked).walkRule();
    expect(walked.trouble).toBeNull();
    expect(() => walk.next()).toThrow("as the driver");
    expect([now, later, walked].map(({ trouble }) => trouble?.data)).toEqual(
      Array(3).fill({ sqlite: "SQLITE_IOERR" }),
    );
  });

  test("passes on what it is called with and what it answers", async () => {
    const made = {
      list: [1],
      sum: (a: number, b: number) => a + b,
      later: async (a: number) => a,
      walkway: { a: 1 },
    };
    const store = guarded(made, health());
    expect([store.list, store.sum(1, 2), await store.later(3), store.walkway]).toEqual([
      [1],
      3,
      3,
      { a: 1 },
    ]);
    const answer = { next: 1 };
    expect(guarded({ sidewalk: () => answer }, health()).sidewalk()).toBe(answer);
  });

  test.each(["commit", "record"])(
    "is well again after a %s, and not after another write",
    (name) => {
      const one = health();
      one.note(failing("SQLITE_FULL"));
      guarded({ putTrait: () => 1 }, one).putTrait();
      expect(one.trouble).not.toBeNull();
      guarded({ [name]: () => 1 }, one)[name]?.();
      expect(one.trouble).toBeNull();
    },
  );

  test("writes nothing into a damaged file, and reads it", () => {
    const one = health();
    one.note(failing("SQLITE_CORRUPT"));
    let written = 0;
    const store = guarded(
      { putTrait: () => (written += 1), settings: () => 1, additional: () => 2 },
      one,
    );
    expect(() => store.putTrait()).toThrow("as the driver");
    expect([written, store.settings(), store.additional()]).toEqual([0, 1, 2]);
  });

  test("refuses all that writes while the file is damaged, except the clock", async () => {
    const { store, health: one } = openTestStore();
    one.note(failing("SQLITE_CORRUPT"));
    const isRefused = async (name: string): Promise<boolean> => {
      try {
        await (store as unknown as Record<string, () => unknown>)[name]?.();
      } catch (error) {
        return (error as Error).message === "as the driver throws it";
      }
      return false;
    };
    const allowed: string[] = [];
    for (const name of Object.keys(store))
      if (!/^(close|watch)$/.test(name) && !(await isRefused(name))) allowed.push(name);
    expect(allowed.toSorted()).toEqual(
      ["saveClock", "inWritingTurn", "noteFailure", ...readers.trim().split(/\s+/)].toSorted(),
    );
  });

  test("writes no claims into a damaged file, and reads", async () => {
    const { db, store, health: one } = openTestStore();
    store.commit([request([{ to: [1] }])]);
    expect(store.claim(1 as DestinationId, startOfTime, 1)).toHaveLength(1);
    one.note(failing("SQLITE_CORRUPT"));
    const changes = (): unknown => db.prepare("SELECT total_changes()").pluck().get();
    const before = changes();
    expect((await store.messages({}, 1, null)).items).toHaveLength(1);
    expect(changes()).toBe(before);
  });
});
