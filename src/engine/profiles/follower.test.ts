/**
 * How the follower paces itself, on a clock that moves only when a test or a message's cost says
 * so.
 */

import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { openTestStore, request } from "../../store/store.fixture.ts";
import { Activity, type Origin } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { Follower, type FollowerOptions } from "./follower.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/**
 * `busy` is how busy the event loop is; `cost` is what a message and what the listeners of a slice
 * take.
 */
function startFollower({
  busy = 0,
  messageMs = 0,
  stepsOf,
}: { busy?: number; messageMs?: number; stepsOf?: FollowerOptions["stepsOf"] } = {}) {
  const { db, store: opened } = openTestStore();
  let ms = 1000;
  const cost = { messageMs, appliedMs: 0 };
  const loop = { busy };
  vi.spyOn(performance, "eventLoopUtilization").mockImplementation(() => ({
    idle: 0,
    active: 0,
    utilization: loop.busy,
  }));
  const limits: number[] = [];
  const noted: string[] = [];
  const announcing = { failure: null as Error | null };
  const refusals: Error[] = [];
  const store: typeof opened = {
    ...opened,
    nextToFollow(limit) {
      limits.push(limit);
      return opened.nextToFollow(limit);
    },
    addEvent(...event) {
      ms += cost.messageMs;
      opened.addEvent(...event);
    },
    atomically(write) {
      const refusal = refusals.shift();
      if (refusal !== undefined) throw refusal;
      return opened.atomically(write);
    },
  };
  const activity = new Activity();
  const slices: number[] = [];
  const origins: Origin[] = [];
  const reported: unknown[] = [];
  const follower = new Follower({
    store,
    clock: { monotonic: () => ms },
    activity,
    changes: {
      ...{ note: () => {}, noteGone: () => {} },
      noteMany: (area, ids) => {
        noted.push(`${area} ${ids.length}`);
        if (announcing.failure !== null) throw announcing.failure;
      },
    },
    onApplied(changes) {
      ms += cost.appliedMs;
      slices.push(changes.length);
      origins.push(activity.origin);
    },
    ...(stepsOf === undefined ? {} : { stepsOf }),
    report: (error) => reported.push(error),
  });
  onTestFinished(() => follower.stop());
  let sent = 0;
  return {
    db,
    follower,
    activity,
    cost,
    loop,
    limits,
    slices,
    origins,
    reported,
    refusals,
    noted,
    announcing,
    /** As it is received. */
    commitText(text: string, userId: string | null): void {
      opened.commit([request([{ userId, event: "Bought", text }])]);
    },
    /** One event of each of so many new users. */
    commit(count: number): void {
      const text = JSON.stringify({ type: "track", event: "Bought" });
      opened.commit([
        request(
          Array.from({ length: count }, () => ({
            userId: `u${(sent += 1)}`,
            event: "Bought",
            text,
          })),
        ),
      ]);
    },
    followed: () => opened.followed().upTo,
    async turns(count = 1): Promise<void> {
      for (let turn = 0; turn < count; turn += 1) await nextTurn();
    },
    /** Lets time pass, and what is due then happen. */
    async pass(passedMs: number): Promise<void> {
      ms += passedMs;
      vi.advanceTimersByTime(passedMs);
      await nextTurn();
    },
  };
}

const full = (): Error => Object.assign(new Error("full"), { code: "SQLITE_FULL" });

test("a slice reads at most 2,048 rows", async () => {
  const { follower, commit, turns, limits, slices, activity } = startFollower();
  commit(5000);
  follower.start();
  await turns(4);
  expect([limits, slices]).toEqual([
    [2048, 2048, 2048],
    [2048, 2048, 904],
  ]);
  expect(activity.isQuiet(true)).toBe(true);
});

test("a slice takes ten milliseconds together with what follows from it, and at least half of one to read", async () => {
  const { follower, commit, turns, slices, cost } = startFollower({ messageMs: 1 });
  commit(100);
  cost.appliedMs = 20;
  follower.start();
  await turns(4);
  expect(slices).toEqual([6, 2, 1, 1]);
  cost.appliedMs = 0;
  await turns(6);
  expect(slices.slice(4)).toEqual([1, 2, 3, 5, 9, 9]);
  cost.messageMs = 0;
  cost.appliedMs = 1000;
  await turns(1);
  cost.appliedMs = 0;
  cost.messageMs = 0.4;
  commit(10);
  // A second start is a kick without others.
  follower.start();
  await turns(1);
  expect(slices.at(-1)).toBe(2);
});

test("while others are busy the next slice comes 100 ms later, and right away once they have been quiet for 50", async () => {
  const { follower, commit, turns, pass, followed } = startFollower({ messageMs: 1 });
  follower.start();
  await turns(2);
  commit(50);
  follower.kick();
  await turns(2);
  expect(followed()).toBe(6);
  await pass(99);
  expect(followed()).toBe(6);
  await pass(1);
  await turns(6);
  expect(followed()).toBe(50);
});

test("others count as busy for 50 ms after their work, and no longer", async () => {
  for (const [since, upTo] of [
    [49, 36],
    [50, 60],
  ] as const) {
    const { follower, commit, turns, pass, followed } = startFollower({ messageMs: 1 });
    commit(30);
    follower.start();
    await turns(6);
    expect(followed()).toBe(30);
    commit(30);
    follower.noteOthers();
    await pass(since);
    // A second start is a kick without others.
    follower.start();
    await turns(6);
    expect([followed(), upTo]).toEqual([upTo, upTo]);
  }
});

test.for([
  [0, 100],
  [0.5, 100],
  [0.9, 200],
  [0.99, 400],
  [1, 400],
] as const)(
  "it rests longer the busier the event loop is, up to 400 ms: %d",
  async ([busy, rested]) => {
    const { follower, commit, turns, pass, followed, cost } = startFollower({ busy, messageMs: 1 });
    follower.start();
    await turns(2);
    commit(100);
    cost.appliedMs = 4;
    follower.kick();
    await turns(2);
    const before = followed();
    for (let passed = 100; passed < rested; passed += 100) {
      await pass(100);
      expect(followed()).toBe(before);
    }
    await pass(99);
    expect(followed()).toBe(before);
    await pass(1);
    await turns(1);
    expect(followed()).toBeGreaterThan(before);
  },
);

test("whoever waits, for the profiles or for all work, ends the rest", async () => {
  for (const wait of [
    ({ follower }: ReturnType<typeof startFollower>) => follower.caughtUp(),
    ({ activity }: ReturnType<typeof startFollower>) => activity.whenQuiet(),
  ]) {
    const one = startFollower({ messageMs: 1 });
    one.follower.start();
    await one.turns(2);
    one.commit(500);
    one.follower.kick();
    await one.turns(3);
    expect(one.followed()).toBe(6);
    await wait(one);
    expect([one.followed(), one.activity.isQuiet(true)]).toEqual([500, true]);
  }
});

test("who waits for the messages of now is not kept waiting by later ones", async () => {
  const one = startFollower({ messageMs: 6 });
  one.commit(3);
  one.follower.start();
  const resolvedAt: number[] = [];
  const early = one.follower.caughtUp().then(() => resolvedAt.push(one.followed()));
  one.commit(3);
  const late = one.follower.caughtUp().then(() => resolvedAt.push(one.followed()));
  await Promise.all([early, late]);
  expect(resolvedAt).toEqual([3, 6]);
});

test("a store that refuses is reported once, told to whoever waits, and asked again after half a second", async () => {
  const one = startFollower();
  one.commit(2);
  one.refusals.push(full(), full(), full());
  one.follower.start();
  await expect(one.follower.caughtUp()).rejects.toThrow("full");
  expect([one.follower.trouble?.code, one.activity.isQuiet(true)]).toEqual([
    "store_unavailable",
    false,
  ]);
  await one.pass(499);
  expect(one.refusals).toHaveLength(2);
  await one.pass(1);
  expect([one.refusals.length, one.reported.length]).toEqual([1, 1]);
  one.follower.kick();
  await one.turns(2);
  expect(one.refusals).toHaveLength(1);
  await expect(one.follower.caughtUp()).rejects.toThrow("full");
  expect(one.refusals).toHaveLength(0);
  await one.pass(500);
  expect([one.followed(), one.follower.trouble, one.activity.isQuiet(true)]).toEqual([
    2,
    null,
    true,
  ]);
  one.refusals.push(full());
  one.commit(1);
  one.follower.kick();
  await one.turns(2);
  expect(one.reported).toHaveLength(2);
});

test("a slice that fails, though the store does not refuse, is applied row by row, and then in slices again", async () => {
  const one = startFollower();
  one.commit(300);
  one.refusals.push(new Error("odd"));
  one.follower.start();
  await one.turns(260);
  expect(one.limits).toHaveLength(257);
  expect(one.limits.findIndex((limit) => limit > 1)).toBe(256);
  expect([one.followed(), one.reported, one.follower.trouble]).toEqual([300, [], null]);
});

test("a message that fails alone is skipped; when the store refuses that too, it is asked again later", async () => {
  const one = startFollower();
  one.commit(2);
  one.refusals.push(new Error("odd"), new Error("odd again"));
  one.db.exec(
    "CREATE TEMP TRIGGER mark BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'no mark'); END",
  );
  one.follower.start();
  await one.turns(3);
  expect(one.reported.map((error) => (error as Error).message)).toEqual(["odd again", "no mark"]);
  expect(one.followed()).toBe(0);
  one.db.exec("DROP TRIGGER mark");
  one.refusals.push(new Error("odd again"));
  await one.pass(500);
  await one.turns(3);
  expect([one.followed(), one.slices]).toEqual([2, [1]]);
});

test("an advance waits for the messages it began with, and not for those that arrive meanwhile", async () => {
  const one = startFollower({ messageMs: 6 });
  const { signal } = new AbortController();
  one.commit(3);
  one.follower.start();
  one.activity.beginAdvance();
  one.commit(3);
  one.follower.kick("arrival");
  await one.activity.whenOwnQuiet({ waits: () => false, signal });
  expect(one.followed()).toBe(3);
  expect(one.activity.isQuiet(true)).toBe(false);
  await one.turns(8);
  await one.pass(400);
  await one.turns(8);
  await one.pass(400);
  await one.pass(400);
  expect(one.origins.slice(0, 5)).toEqual(["own", "own", "own", "arrival", "arrival"]);
  one.commit(2);
  one.follower.kick();
  expect(one.activity.isQuiet(true)).toBe(false);
  await one.activity.whenOwnQuiet({ waits: () => false, signal });
  expect(one.followed()).toBe(8);
  expect(one.origins.slice(-2)).toEqual(["own", "own"]);
  one.activity.endAdvance();
});

test("an advance over profiles that are up to date waits for nothing, and arrivals are followed as such", async () => {
  const one = startFollower();
  one.follower.start();
  await one.turns(2);
  one.activity.beginAdvance();
  await one.activity.whenOwnQuiet({ waits: () => false, signal: new AbortController().signal });
  one.commit(1);
  one.follower.kick("arrival");
  await one.turns(2);
  await one.pass(400);
  expect([one.followed(), one.origins]).toEqual([1, ["arrival"]]);
});

test("nothing is followed before the start, and nothing after the stop", async () => {
  const one = startFollower();
  one.commit(1);
  one.follower.kick();
  await one.turns(2);
  expect([one.followed(), one.activity.isQuiet(true)]).toEqual([0, true]);
  one.follower.start();
  one.follower.stop();
  await one.turns(2);
  one.follower.kick();
  await one.turns(2);
  expect([one.followed(), one.activity.isQuiet(true), vi.getTimerCount()]).toEqual([0, true, 0]);
});

test("a stop in the middle of a rest, or of a wait for the store, leaves no timer and no work", async () => {
  const resting = startFollower({ messageMs: 1 });
  resting.follower.start();
  await resting.turns(2);
  resting.commit(100);
  resting.follower.kick();
  await resting.turns(3);
  const refused = startFollower();
  refused.commit(1);
  refused.refusals.push(full());
  refused.follower.start();
  await refused.turns(2);
  expect(vi.getTimerCount()).toBe(2);
  resting.follower.stop();
  refused.follower.stop();
  expect([
    vi.getTimerCount(),
    resting.activity.isQuiet(true),
    refused.activity.isQuiet(true),
  ]).toEqual([0, true, true]);
});

test("a slice ends with the message whose effects make 5,000 steps, and effects on one user count once", async () => {
  const steps = { each: 2500 };
  const one = startFollower({ stepsOf: () => steps.each });
  one.commit(5);
  one.follower.start();
  await one.turns(4);
  expect(one.slices).toEqual([2, 2, 1]);
  steps.each = 2499;
  one.commit(4);
  one.follower.start();
  await one.turns(3);
  expect(one.slices.slice(3)).toEqual([3, 1]);
  const text = JSON.stringify({ type: "track", event: "Bought" });
  for (let sent = 0; sent < 10; sent += 1) one.commitText(text, "ada");
  const before = one.limits.length;
  one.follower.start();
  await one.turns(3);
  expect([one.limits.length - before, one.followed()]).toEqual([1, 19]);
});

test("a message that cannot be parsed is reported with its row, and the others are applied", async () => {
  const one = startFollower();
  one.commit(1);
  one.commitText("{", "ada");
  one.commit(1);
  one.follower.start();
  await one.turns(2);
  expect([one.followed(), one.slices]).toEqual([3, [2]]);
  expect(one.reported.map((error) => (error as Error).message)).toEqual([
    "Profiles skipped the message in row 2: it cannot be parsed.",
  ]);
});

test("who waits when it stops hears so, and who waited before keeps it from no later rest", async () => {
  const stopped = startFollower();
  stopped.commit(1);
  const wait = stopped.follower.caughtUp();
  stopped.follower.stop();
  await expect(wait).rejects.toThrow("Hookyard is stopping.");
  const one = startFollower({ messageMs: 1 });
  one.follower.start();
  one.commit(1);
  await one.follower.caughtUp();
  await one.turns(2);
  one.commit(50);
  one.follower.kick();
  await one.turns(4);
  expect(one.followed()).toBe(7);
});

test("each slice announces its profiles, also a single one, and goes on when nobody can be told", async () => {
  const one = startFollower({ stepsOf: ({ events }) => events.size });
  one.commit(1);
  one.follower.start();
  await one.turns(2);
  one.commitText("{}", null);
  one.follower.start();
  await one.turns(2);
  expect([one.noted, one.followed()]).toEqual([["profiles 1"], 2]);
  one.announcing.failure = new Error("no line");
  one.commit(2);
  await one.follower.caughtUp();
  expect([one.reported, one.followed()]).toEqual([[one.announcing.failure], 4]);
});

test("an advance that begins ends the rest", async () => {
  const one = startFollower({ messageMs: 1 });
  one.follower.start();
  await one.turns(2);
  one.commit(20);
  one.follower.kick();
  await one.turns(3);
  expect(one.followed()).toBe(6);
  one.activity.beginAdvance();
  await one.turns(6);
  expect(one.followed()).toBe(20);
  one.activity.endAdvance();
});
