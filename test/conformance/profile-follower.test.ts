/** What the follower does when something is wrong, and how others wait for it. */

import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Activity } from "../../src/engine/clock/activity.ts";
import { Follower, type FollowerOptions } from "../../src/engine/profiles/follower.ts";
import { monotonic, nextTurn } from "../../src/engine/real-time.ts";
import {
  expectConsistent,
  openTestStore,
  request,
  type MessageDraft,
  type TestStore,
} from "../../src/store/store.fixture.ts";

let one: TestStore;
let activity: Activity;
let reported: unknown[];
let noted: string[];
let follower: Follower;

beforeEach(() => {
  one = openTestStore();
  activity = new Activity();
  reported = [];
  noted = [];
  return () => follower.stop();
});
afterEach(() => void vi.useRealTimers());

/** Follows; what it does to profiles is told to `onApplied` as well. */
function start(onApplied: FollowerOptions["onApplied"] = () => {}, now = monotonic): Follower {
  follower = new Follower({
    store: one.store,
    clock: { monotonic: now },
    activity,
    changes: {
      note() {},
      noteGone() {},
      noteMany: (area, items, idOf) =>
        void noted.push(...items.map((item) => `${area} ${idOf(item)}`)),
    },
    onApplied,
    report: (error) => void reported.push(error instanceof Error ? error.message : error),
  });
  follower.start();
  return follower;
}

const bought = (userId: string): MessageDraft => ({
  userId,
  event: "Bought",
  text: `{"type":"track","userId":"${userId}","event":"Bought"}`,
});
const commit = (...messages: MessageDraft[]): void => void one.store.commit([request(messages)]);
const eventsOf = (userId: string): number => {
  const profile = one.store.profileWithUser(userId);
  return profile === null ? 0 : (one.store.profileDetails(profile)?.events ?? 0);
};

describe("whoever waits for the profiles", () => {
  test("waits until they have followed all that was committed by then, and not at all when they have", async () => {
    commit(bought("ada"), bought("bob"));
    start();
    expect(activity.isQuiet(true)).toBe(false);
    await follower.caughtUp();
    expect([eventsOf("ada"), eventsOf("bob")]).toEqual([1, 1]);
    expect(noted).toEqual(["profiles prf_000000001", "profiles prf_000000002"]);
    await activity.whenQuiet();
    await follower.caughtUp();
    expect(activity.isQuiet(true)).toBe(true);
  });

  test("waits for what came while it waits for no longer than it takes to follow what came before", async () => {
    start();
    commit(bought("ada"));
    follower.kick();
    let more = 0;
    const waited = follower.caughtUp();
    const busy = setInterval(() => {
      commit(bought(`u${(more += 1)}`));
      follower.kick();
    }, 0);
    await waited;
    clearInterval(busy);
    expect(eventsOf("ada")).toBe(1);
    await follower.caughtUp();
    expect(eventsOf(`u${more}`)).toBe(more > 0 ? 1 : 0);
  });

  test("is told when Hookyard stops", async () => {
    commit(bought("ada"));
    start();
    const waited = follower.caughtUp();
    follower.stop();
    await expect(waited).rejects.toThrow("stopping");
    expect(activity.isQuiet(true)).toBe(true);
  });
});

describe("a message that cannot be followed", () => {
  test("because its bytes are damaged is passed over, said so, and those around it are followed", async () => {
    commit(bought("ada"));
    one.store.commit([request([{ ...bought("eve"), text: "{}" }])]);
    one.db.exec("UPDATE requests SET body = x'00' WHERE id = 2");
    commit(bought("bob"));
    // The newest bodies are in memory until then.
    one = one.restarted();
    start();
    await follower.caughtUp();
    expect(["ada", "eve", "bob"].map(eventsOf)).toEqual([1, 0, 1]);
    expect(reported).toEqual(["Profiles skipped the message in row 2: it cannot be parsed."]);
  });

  test("because those who follow it fail is passed over alone, and nothing of it is left", async () => {
    commit(...["u1", "u2", "bad", "u3", "u4"].map(bought));
    const told: (string | null)[] = [];
    start((changes) => {
      if (changes.some(({ userId }) => userId === "bad")) throw new Error("not this one");
      told.push(...changes.map(({ userId }) => userId));
    });
    await follower.caughtUp();
    expect(["u1", "u2", "u3", "u4"].map(eventsOf)).toEqual([1, 1, 1, 1]);
    expect(one.store.profileWithUser("bad")).toBeNull();
    expect(told).toEqual(["u1", "u2", "u3", "u4"]);
    expect(reported).toEqual(["not this one"]);
  });
});

test("a store that refuses is told to who waits, tried again, and nothing is lost or twice", async () => {
  const pages = one.db.pragma("page_count", { simple: true }) as number;
  one.db.pragma(`max_page_count = ${pages + 40}`);
  const all = Array.from({ length: 200 }, (_, n) => bought(`user ${n} ${"x".repeat(200)}`));
  commit(...all);
  one.db.pragma(`max_page_count = ${one.db.pragma("page_count", { simple: true }) as number}`);
  start();
  await expect(follower.caughtUp()).rejects.toThrow("full");
  expect(reported).toHaveLength(1);
  expect(activity.isQuiet(true)).toBe(false);
  one.db.pragma("max_page_count = 1073741823");
  await follower.caughtUp();
  expect(one.store.profiles({}, 1, null).total).toBe(200);
  expect(one.db.prepare("SELECT sum(events) FROM profiles").pluck().get()).toBe(200);
  expect(reported).toHaveLength(1);
});

test("a profile with very many events is merged in parts, also when the program ends between two of them", async () => {
  const viewed = { ...bought("ada"), userId: null, anonymousId: "visitor" };
  const text = JSON.stringify({ type: "track", anonymousId: "visitor", event: "Viewed" });
  commit(...Array<MessageDraft>(10_500).fill({ ...viewed, event: "Viewed", text }), bought("ada"));
  start();
  await follower.caughtUp();
  const join = { type: "identify", userId: "ada", anonymousId: "visitor" } as const;
  commit(bought("bob"), { ...join, text: JSON.stringify(join) }, bought("ada"));
  const visitor = one.store.profileOf({ kind: "anonymousId", value: "visitor" });
  const eventsOfVisitor = one.db.prepare("SELECT events FROM profiles WHERE id = ?").pluck();
  const seen: unknown[] = [];
  follower.kick();
  for (let left: unknown = 0; left !== undefined; await nextTurn()) {
    left = eventsOfVisitor.get(visitor);
    if (left === seen.at(-1)) continue;
    seen.push(left);
    expectConsistent(one.db);
    // The messages before are not kept waiting.
    expect(eventsOf("bob")).toBe(left === 10_500 ? 0 : 1);
    follower.stop();
    start();
  }
  await follower.caughtUp();
  expect(seen).toEqual([10_500, 5500, 500, undefined]);
  const ada = one.store.profileWithUser("ada");
  expect(one.store.profileOf({ kind: "anonymousId", value: "visitor" })).toBe(ada);
  expect(ada && one.store.profileDetails(ada)).toMatchObject({
    events: 10_502,
    eventList: [{ count: 2 }, { count: 10_500 }],
    history: [
      {},
      {},
      { kind: "merged", detail: expect.stringContaining("and 10500 events with it") },
    ],
  });
  expectConsistent(one.db);
  expect(reported).toEqual([]);
});

test("while others need the event loop, profiles take little of it; when they do not, they take what there is", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let nowMs = 0;
  let turns = 0;
  /** The turn of the event loop and the moment of each slice. */
  const slices: { turn: number; at: number }[] = [];
  const { atomically } = one.store;
  one.store.atomically = (write) => {
    slices.push({ turn: turns, at: nowMs });
    return atomically(write);
  };
  const nextTurn = async (): Promise<void> => {
    turns += 1;
    await new Promise((resolve) => setImmediate(resolve));
  };
  const commitMany = (): void => {
    for (let n = 0; n < 15; n += 1)
      commit(...Array.from({ length: 1000 }, (_, user) => bought(`user ${n} ${user}`)));
  };

  commitMany();
  start(
    () => {},
    () => nowMs,
  );
  for (let ms = 0; ms < 900; ms += 5) {
    follower.noteOthers();
    await nextTurn();
    nowMs += 5;
    vi.advanceTimersByTime(5);
  }
  expect(slices.length).toBeGreaterThan(5);
  const rests = slices.slice(1).map(({ at }, n) => at - (slices[n]?.at ?? 0));
  expect(Math.min(...rests)).toBeGreaterThanOrEqual(100);

  commitMany();
  follower.kick();
  nowMs += 100;
  vi.advanceTimersByTime(100);
  const alone = slices.length;
  while (one.store.followed().upTo < 30_000) await nextTurn();
  const taken = slices.slice(alone).map(({ turn }) => turn);
  expect(taken.length).toBeGreaterThan(2);
  expect(taken).toEqual(taken.map((_, n) => (taken[0] ?? 0) + n));
});
