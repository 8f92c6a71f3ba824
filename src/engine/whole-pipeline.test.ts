import { afterEach, describe, expect, onTestFinished, test as base, vi } from "vitest";
import { starting, until } from "../../test/support/running-app.ts";
import { createChangeFeed } from "./changes.ts";
import { Activity } from "./clock/activity.ts";
import { createSteppedClock } from "../../test/support/stepped-clock.ts";
import { nextTurn } from "./real-time.ts";
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

test.for([
  [
    ...["messages", false],
    ["stop", "clients messages", "deliveries", "clear messages"],
    ["received 3", "received 5"],
  ],
  [
    ...["messages", true],
    ["stop", "clients messages", "deliveries", "clock", "clear messages", "clients messages"],
    ["received 3", "received 5"],
  ],
  [
    ...["everything", false],
    ["forget", "clients everything", "deliveries", "clear everything"],
    ["received 3", "received 5", "reload endpoints"],
  ],
  [
    ...["everything", true],
    [
      "forget",
      "clients everything",
      "deliveries",
      "clock",
      "clear everything",
      "clients everything",
    ],
    ["received 3", "received 5", "reload endpoints"],
  ],
] as ["messages" | "everything", boolean, string[], string[]][])(
  "a reset of %s, with the clock: %s, ends what sends before it empties the store, and reads the rest again",
  async ([what, withClock, first, endpoints]) => {
    const done: string[] = [];
    const note = (name: string) => (): void => void done.push(name);
    const reloading = (name: string) => ({ reload: note(`reload ${name}`) });
    const parts = ["configuration", "suppressions", "computations", "deletions", "flow"] as const;
    const [configuration, suppressions, computations, deletions, flow] = parts.map(reloading);
    const areas: string[] = [];
    const reset = createReset({
      store: { clearMessages: note("clear messages"), clearEverything: note("clear everything") },
      clock: {
        toRealTime(empty) {
          done.push("clock");
          empty();
        },
      },
      workspaces: { forget: note("forget"), stop: note("stop"), start: note("start") },
      clients: { reset: (of) => void done.push(`clients ${of}`) },
      scheduler: {
        async clear(empty) {
          await nextTurn();
          done.push("deliveries");
          empty();
        },
      },
      ...({ configuration, suppressions, computations, deletions, flow } as Record<
        (typeof parts)[number],
        { reload(): void }
      >),
      endpoints: {
        list: () => [{ id: 3 }, { id: 5 }] as never,
        clearReceived: (id) => (done.push(`received ${id}`), null),
        ...reloading("endpoints"),
      },
      profiles: { kick: note("kick") },
      refused: { clear: note("refused") },
      changes: { note: (area) => void areas.push(area), noteGone: () => {}, noteMany: () => {} },
    });
    await reset(what, withClock);
    const reloads = parts.map((name) => `reload ${name}`);
    expect(done).toEqual([...first, ...reloads, ...endpoints, "kick", "refused", "start"]);
    expect(areas).toHaveLength(what === "everything" ? 12 : 8);
  },
);

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
