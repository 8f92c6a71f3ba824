import { afterEach, describe, expect, onTestFinished, test as base, vi } from "vitest";
import { starting, until } from "../../test/support/running-app.ts";
import { createChangeFeed } from "./changes.ts";
import { Activity } from "./clock/activity.ts";
import { createSteppedClock } from "../../test/support/stepped-clock.ts";
import { nextTurn, wallClockNow } from "./real-time.ts";
import type { Changes } from "./pipeline.ts";
import { createReset, createSettle } from "./whole-pipeline.ts";

const test = base.extend("start", starting);

const ofMessages = [
  "audiences",
  "clients",
  "computed-traits",
  "deletions",
  "deliveries",
  "messages",
  "profiles",
  "received",
  "refused",
  "suppressions",
  "unknown-keys",
];
const ofConfiguration = ["destinations", "endpoints", "retry-profiles", "sources"];

test.for([
  ["messages", ofMessages, [1, 1, 1, 1, 1]],
  ["everything", [...ofMessages, ...ofConfiguration], [0, 0, 0, 0, 0]],
] as const)(
  "a reset of %s tells whoever watches of all that went, and leaves the rest",
  async ([what, areas, left], { start }) => {
    const app = await start.app({ clock: "paused" });
    const endpoint = await app.call("endpoints.create", { name: "R", steps: [{ do: "answer" }] });
    await app.destination([endpoint.url]);
    await app.call("clients.create", { name: "C", writeKey: "other" });
    await app.call("retryProfiles.create", { name: "quick" });
    await app.send();
    await app.settle();
    const noted = new Set<string>();
    app.changes.subscribe((changes) => changes.forEach(({ area }) => noted.add(area)));
    const settings = await app.call("settings.update", { vendor: "Acme" });
    await until(() => noted.has("settings"));
    noted.clear();

    await app.call("pipeline.reset", { what });
    await until(() => areas.every((area) => noted.has(area)));
    expect(noted).toEqual(new Set(areas));
    expect((await app.call("messages.list", {})).items).toEqual([]);
    const lists = [
      await app.call("sources.list", {}),
      await app.call("destinations.list", {}),
      await app.call("endpoints.list", {}),
      await app.call("clients.list", {}),
      { items: (await app.call("retryProfiles.list", {})).items.filter(({ builtIn }) => !builtIn) },
    ];
    expect(lists.map(({ items }) => items.length)).toEqual(left);
    expect(await app.call("settings.get", {})).toEqual(settings);
  },
);

test("a reset of messages with the clock leaves no sync for the time that is gone", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const sync = { everyMs: 3_600_000 };
  const rule = { event: "Bought" };
  const audience = await app.call("audiences.create", { name: "A", rule, sync });
  const computation = { aggregate: "count", event: "Bought" } as const;
  const trait = await app.call("computedTraits.create", { name: "T", computation, sync });
  const day = 86_400_000;
  await app.advance({ byMs: 10 * day });
  await app.call("audiences.update", { id: audience.id, sync: { everyMs: 20 * day } });
  const before = wallClockNow();
  await app.call("pipeline.reset", { what: "messages", clock: true });
  const after = wallClockNow();
  for (const [got, everyMs] of [
    [await app.call("audiences.get", { id: audience.id }), 20 * day],
    [await app.call("computedTraits.get", { id: trait.id }), sync.everyMs],
  ] as const) {
    expect(got.lastSync).toBeNull();
    const next = Date.parse(got.nextSyncAt ?? "") - everyMs;
    expect(next).toBeGreaterThanOrEqual(before);
    expect(next).toBeLessThanOrEqual(after);
  }
  const due = Date.parse((await app.call("clock.get", {})).nextDueAt ?? "");
  expect(due).toBeLessThanOrEqual(after + sync.everyMs);
});

/** Says what it calls, in order. The store throws what it is to refuse with. */
function startReset(refusal?: Error) {
  const calls: string[] = [];
  const say = (name: string) => (): void => void calls.push(name);
  const empty = (name: string) => (): void => {
    if (refusal !== undefined) throw refusal;
    calls.push(name);
  };
  const reloading = (name: string) => ({ reload: say(`${name} read`) });
  const noted: string[] = [];
  const reset = createReset({
    store: { clearMessages: empty("messages go"), clearEverything: empty("everything goes") },
    clock: {
      toRealTime(empty) {
        calls.push("clock");
        empty();
      },
    },
    workspaces: { stop: say("workspaces stop"), start: say("workspaces start") },
    clients: { reset: (of) => void calls.push(`clients ${of}`) },
    scheduler: {
      async clear(empty) {
        await nextTurn();
        empty();
      },
    },
    ...{ configuration: reloading("configuration"), suppressions: reloading("suppressions") },
    ...{ computations: reloading("computations"), deletions: reloading("deletions") },
    flow: reloading("flow"),
    endpoints: {
      list: () => [{ id: 1 }, { id: 2 }] as never,
      clearReceived(id) {
        calls.push(`received ${id}`);
        return null;
      },
      ...reloading("endpoints"),
    },
    profiles: { kick: say("profiles") },
    refused: { clear: say("refused") },
    changes: { note: (area, ids) => void noted.push(`${area} ${ids}`) } as Changes,
  });
  return { reset, calls, noted };
}

test.each([
  ["messages", false],
  ["messages", true],
  ["everything", false],
  ["everything", true],
] as const)(
  "a reset of %s, with the clock: %s, empties the store, stops who writes, and has all read it again",
  async (what, withClock) => {
    const { reset, calls, noted } = startReset();
    await reset(what, withClock);
    const isAll = what === "everything";
    expect(calls).toEqual([
      ...(withClock ? ["clock"] : []),
      isAll ? "everything goes" : "messages go",
      ...["workspaces stop", `clients ${what}`],
      ...["configuration", "suppressions", "computations", "deletions", "flow"].map(
        (each) => `${each} read`,
      ),
      ...["received 1", "received 2"],
      ...(isAll ? ["endpoints read"] : []),
      ...["profiles", "refused", "workspaces start"],
    ]);
    // The other areas are told by those who empty them.
    const told = new Set(["clients", "received", "refused"]);
    const areas = isAll ? [...ofMessages, ...ofConfiguration] : ofMessages;
    expect(noted.toSorted()).toEqual(
      areas
        .filter((area) => !told.has(area))
        .map((area) => `${area} null`)
        .toSorted(),
    );
  },
);

test("a reset that the store refuses leaves everything as it is", async () => {
  const full = Object.assign(new Error("full"), { code: "SQLITE_FULL" });
  for (const what of ["messages", "everything"] as const) {
    const { reset, calls, noted } = startReset(full);
    await expect(reset(what)).rejects.toThrow(full);
    expect([calls, noted]).toEqual([[], []]);
  }
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("whoever waits until all is settled", () => {
  function startSettle(isRunning = false) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const activity = new Activity();
    const feed = createChangeFeed();
    onTestFinished(() => feed.stop());
    const state = { hasQueued: false };
    const listeners = new Set<unknown>();
    const ending = new AbortController();
    const settle = createSettle({
      ending: ending.signal,
      activity,
      clock: { ...createSteppedClock(), isRunning: () => isRunning },
      store: { countByState: () => ({ queued: state.hasQueued ? 2 : 0, sending: 1 }) as never },
      scheduler: { hasQueued: () => state.hasQueued },
      changes: {
        ...feed,
        subscribe(listener) {
          listeners.add(listener);
          const leave = feed.subscribe(listener);
          return () => {
            listeners.delete(listener);
            leave();
          };
        },
      },
    });
    return { activity, feed, state, listeners, settle, ending };
  }

  /** Whether it is over, a few turns later. */
  async function isOver(wait: Promise<unknown>): Promise<boolean> {
    let over = false;
    void wait.then(() => (over = true));
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    return over;
  }

  test("waits for work and for what is queued, looks again at each change, and leaves no timer and no listener", async () => {
    const { activity, feed, state, listeners, settle } = startSettle();
    const work = activity.begin();
    state.hasQueued = true;
    const settled = settle(5000);
    expect([await isOver(settled), listeners.size]).toEqual([false, 0]);
    work.end();
    expect([await isOver(settled), listeners.size]).toEqual([false, 1]);
    feed.note("deliveries", null);
    vi.advanceTimersByTime(50);
    expect([await isOver(settled), listeners.size]).toEqual([false, 1]);
    state.hasQueued = false;
    feed.note("deliveries", null);
    vi.advanceTimersByTime(50);
    expect(await settled).toEqual({ settled: true, queued: 0, sending: 1 });
    expect([listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test("hears after its time what is left, whether it waits for work or for a change", async () => {
    for (const isBusy of [true, false]) {
      const { activity, state, listeners, settle } = startSettle();
      if (isBusy) activity.begin();
      state.hasQueued = true;
      const settled = settle(5000);
      await nextTurn();
      vi.advanceTimersByTime(4999);
      expect(await isOver(settled)).toBe(false);
      vi.advanceTimersByTime(1);
      expect(await settled).toEqual({ settled: false, queued: 2, sending: 1 });
      expect([listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
    }
  });

  test("hears at once that Hookyard stops, whatever it waits for, and also when it asks later", async () => {
    for (const isBusy of [true, false]) {
      const { activity, state, listeners, settle, ending } = startSettle();
      if (isBusy) activity.begin();
      state.hasQueued = true;
      const settled = settle(5000);
      expect(await isOver(settled)).toBe(false);
      ending.abort();
      const left = { settled: false, queued: 2, sending: 1 };
      expect([await settled, await settle(5000)]).toEqual([left, left]);
      expect([listeners.size, vi.getTimerCount()]).toEqual([0, 0]);
    }
  });

  test("of many that ask at once, twenty hear in a turn", async () => {
    const { settle } = startSettle();
    let heard = 0;
    const all = Promise.all(Array.from({ length: 70 }, () => settle(5000).then(() => heard++)));
    const perTurn: number[] = [];
    for (let before = 0; heard < 70; before = heard) {
      await nextTurn();
      perTurn.push(heard - before);
    }
    await all;
    expect(Math.max(...perTurn)).toBe(20);
  });

  test("looks again without a change when something began while it waited for its turn", async () => {
    const { activity, settle } = startSettle();
    const first = Array.from({ length: 20 }, () => settle(5000));
    const last = settle(5000);
    await Promise.all(first);
    const work = activity.begin();
    expect(await isOver(last)).toBe(false);
    work.end();
    expect(await isOver(last)).toBe(true);
    expect(await last).toMatchObject({ settled: true });
  });

  test("waits for held work on a clock that runs, and not on one that stands", async () => {
    for (const isRunning of [true, false]) {
      const { activity, settle } = startSettle(isRunning);
      const work = activity.begin();
      work.hold();
      const settled = settle(5000);
      expect(await isOver(settled)).toBe(!isRunning);
      work.end();
      expect(await settled).toMatchObject({ settled: true });
    }
  });
});
