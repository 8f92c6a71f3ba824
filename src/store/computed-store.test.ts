import { describe, expect, test } from "vitest";
import type { MessageRowId, SourceId } from "../domain/ids.ts";
import type { Json } from "../domain/json.ts";
import type { Audience, ComputedTrait, LastSent } from "../engine/profile-ports.ts";
import { openTestStore, startOfTime } from "./store.fixture.ts";
import type { TestStore } from "./store.fixture.ts";

const source = 7 as SourceId;
const other = 8 as SourceId;

const unsaved = {
  name: "Big spenders",
  key: "big_spenders",
  sync: "each-event",
  sourceId: source,
  createdAt: startOfTime,
  openSync: { startedAt: startOfTime, entered: 2, left: 1 },
  lastSync: { at: startOfTime, entered: 3, left: 0 },
  nextSyncAt: null,
} as const;

const audience: Omit<Audience, "id"> = {
  ...unsaved,
  rule: { trait: "plan", op: "is", value: "pro" },
  members: null,
};
const trait: Omit<ComputedTrait, "id"> = {
  ...unsaved,
  computation: { aggregate: "count", event: "Bought" },
};

function putSent(
  { store }: TestStore,
  userId: string,
  value: Json,
  more: Partial<LastSent> = {},
): void {
  store.putLastSent({
    sourceId: source,
    userId,
    value,
    since: startOfTime,
    recheckAt: null,
    ...more,
  });
}

test("audiences and computed traits are there again after a restart, as they were changed last", () => {
  const one = openTestStore();
  const ruled = one.store.insertAudience(audience);
  const listed = one.store.insertAudience({ ...audience, rule: null, members: ["ada", "bob"] });
  const counted = one.store.insertComputedTrait(trait);
  expect(one.restarted().store.audiences()).toEqual([ruled, listed]);
  expect(one.restarted().store.computedTraits()).toEqual([counted]);

  one.store.updateAudience({ ...listed, name: "Chosen", openSync: null, members: ["nobody"] });
  one.store.updateComputedTrait({ ...counted, sync: { everyMs: 60_000 }, nextSyncAt: 5 });
  expect(one.store.audiences()[1]).toEqual({ ...listed, name: "Chosen", openSync: null });
  expect(one.store.computedTraits()).toEqual([
    { ...counted, sync: { everyMs: 60_000 }, nextSyncAt: 5 },
  ]);
  one.store.setMembers(listed.id, ["eve"]);
  expect(one.store.audiences()[1]?.members).toEqual(["eve"]);

  one.store.deleteAudience(listed.id);
  one.store.deleteComputedTrait(counted.id);
  expect(one.store.audiences()).toEqual([ruled]);
  expect(one.store.computedTraits()).toEqual([]);
  expect(one.store.insertAudience(audience).id).toBeGreaterThan(listed.id);
});

test("the space's id is made once", () => {
  const one = openTestStore();
  expect(one.store.space(() => "spa_1")).toBe("spa_1");
  expect(one.restarted().store.space(() => "spa_2")).toBe("spa_1");
});

describe("what was last sent to receivers", () => {
  test("is one value for each source and user, the last one", () => {
    const one = openTestStore();
    putSent(one, "ada", true);
    putSent(one, "ada", 12.5, { sourceId: other });
    putSent(one, "ada", ["a", { b: null }], {
      sourceId: other,
      since: startOfTime + 1,
      recheckAt: 9,
    });
    expect(one.store.lastSent(source, "ada")).toMatchObject({ value: true });
    expect(one.store.lastSent(other, "ada")).toEqual({
      sourceId: other,
      userId: "ada",
      value: ["a", { b: null }],
      since: startOfTime + 1,
      recheckAt: 9,
    });
    expect(one.store.lastSent(source, "bob")).toBeNull();
    expect(one.store.lastSentFor("ada")).toHaveLength(2);
    one.store.removeLastSentFor("ada");
    expect(one.store.lastSentFor("ada")).toEqual([]);
  });

  test("is counted without null, through every way in which it changes", () => {
    const one = openTestStore();
    const count = (): number => one.store.countLastSent(source);
    expect(count()).toBe(0);
    putSent(one, "ada", true);
    putSent(one, "bob", null, { recheckAt: 5 });
    putSent(one, "eve", false);
    expect(count()).toBe(2);
    putSent(one, "ada", true, { recheckAt: 6 });
    expect(count()).toBe(2);
    putSent(one, "ada", null);
    putSent(one, "bob", true);
    expect(count()).toBe(2);
    one.store.removeLastSentFor("ada");
    one.store.removeLastSentFor("bob");
    expect(count()).toBe(1);
    putSent(one, "bob", true, { sourceId: other });
    expect([count(), one.store.countLastSent(other)]).toEqual([1, 1]);
    expect(() =>
      one.store.atomically(() => {
        putSent(one, "zoe", true);
        throw new Error("taken back");
      }),
    ).toThrow("taken back");
    expect(count()).toBe(1);
  });

  test("is removed in slices, and the last of them forgets the source", () => {
    const one = openTestStore();
    for (let n = 0; n < 25; n += 1) putSent(one, `u-${n}`, true);
    putSent(one, "u-1", true, { sourceId: other });
    expect(one.store.lastSentSources()).toEqual([source, other]);
    const remove = (limit: number): number[] => [
      one.store.removeLastSentBy(source, limit),
      one.store.countLastSent(source),
    ];
    expect([remove(10), remove(10), remove(5)]).toEqual([
      [10, 15],
      [10, 5],
      [5, 0],
    ]);
    expect(one.store.lastSentSources()).toEqual([source, other]);
    expect(remove(5)).toEqual([0, 0]);
    expect(one.store.lastSentSources()).toEqual([other]);
    expect(one.store.lastSentFor("u-1")).toHaveLength(1);
  });

  test("is read by user, and by the time at which it may change", () => {
    const one = openTestStore();
    for (const [userId, recheckAt] of [
      ["c", 30],
      ["a", 10],
      ["b", null],
      ["d", 20],
    ] as const)
      putSent(one, userId, true, { recheckAt });
    putSent(one, "a", true, { sourceId: other, recheckAt: 1 });
    expect(one.store.lastSentAfter(source, "a", 2).map(({ userId }) => userId)).toEqual(["b", "c"]);
    expect(one.store.nextRecheckAt(source)).toBe(10);
    expect(one.store.dueForRecheck(source, 25, 10).map(({ userId }) => userId)).toEqual(["a", "d"]);
    expect(one.store.dueForRecheck(source, 25, 1).map(({ userId }) => userId)).toEqual(["a"]);
    expect(one.store.nextRecheckAt(9 as SourceId)).toBeNull();
  });

  test("shows who is no profile's user any more, a slice at a time", () => {
    const one = openTestStore();
    for (const userId of ["a", "b", "c", "d", "e"]) putSent(one, userId, true);
    for (const userId of ["a", "d"]) {
      const profile = one.store.createProfile(0, userId);
      one.store.addIdentity(profile, { kind: "userId", value: userId }, 0, 1 as MessageRowId);
      // One that it had before.
      one.store.addIdentity(profile, { kind: "userId", value: "b" }, 0, 1 as MessageRowId);
    }
    const found: string[] = [];
    for (let upTo: string | null = ""; upTo !== null;) {
      const slice: ReturnType<typeof one.store.strandedAfter> = one.store.strandedAfter(
        source,
        upTo,
        2,
      );
      found.push(...slice.stranded.map(({ userId }) => userId));
      upTo = slice.upTo;
    }
    expect(found).toEqual(["b", "c", "e"]);
  });
});

test("a reset of the messages removes what was last sent, a reset of everything the audiences too", () => {
  const one = openTestStore();
  one.store.insertAudience(audience);
  one.store.insertComputedTrait(trait);
  putSent(one, "ada", true);
  one.store.clearMessages();
  expect([
    one.store.countLastSent(source),
    one.store.lastSentFor("ada"),
    one.store.audiences().length,
  ]).toEqual([0, [], 1]);
  one.store.clearEverything();
  expect([...one.store.audiences(), ...one.store.computedTraits()]).toEqual([]);
});
