import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { defaultSettings, type Settings } from "../domain/configuration.ts";
import { openTestStore, passOver, request } from "../store/store.fixture.ts";
import { createChangeFeed } from "./changes.ts";
import type { Change } from "./pipeline.ts";
import { nextTurn } from "./real-time.ts";
import { createUpkeep } from "./whole-pipeline.ts";

const now = Date.UTC(2026, 10, 21);

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"], now }));
afterEach(() => void vi.useRealTimers());

function startUpkeep(settings: Partial<Settings> = {}) {
  const one = openTestStore();
  const feed = createChangeFeed();
  const gone: Change[] = [];
  feed.subscribe((changes) => void gone.push(...changes));
  const reported: unknown[] = [];
  const logged: string[] = [];
  const used = {
    ...defaultSettings,
    maxMessages: null,
    maxBytes: null,
    maxAgeMs: null,
    ...settings,
  };
  const upkeep = createUpkeep({
    store: one.store,
    settings: () => used,
    changes: feed,
    log: (sentence) => void logged.push(sentence),
    report: (error) => reported.push(error),
  });
  onTestFinished(() => {
    upkeep.stop();
    feed.stop();
  });
  const messages = (): unknown => one.db.prepare("SELECT count(*) FROM messages").pluck().get();
  return {
    ...one,
    upkeep,
    used,
    reported,
    logged,
    messages,
    commit(count: number, ageMs = 0): void {
      one.store.commit([
        request(
          Array.from({ length: count }, () => ({})),
          { at: now - ageMs },
        ),
      ]);
      passOver(one);
    },
    /** Rejected messages with bodies of that many bytes. */
    reject(count: number, bytes: number): void {
      const text = `"${"x".repeat(bytes)}"`;
      const rejection = { reason: "no", detail: "No." };
      for (let nth = 0; nth < count; nth += 1)
        one.store.commit([request([{ text, rejection, deduplicate: false }])]);
      passOver(one);
    },
    told(): [string, number][] {
      vi.advanceTimersByTime(60);
      return gone.splice(0).map(({ area, count }) => [area, count]);
    },
  };
}

test("old messages go in slices of 100 a millisecond apart, and it looks again every ten seconds", () => {
  const { upkeep, used, commit, messages, told } = startUpkeep({ maxMessages: 100 });
  commit(350);
  upkeep.start();
  expect(messages()).toBe(250);
  vi.advanceTimersByTime(1);
  expect(messages()).toBe(150);
  vi.advanceTimersByTime(1);
  expect(messages()).toBe(100);
  expect(told()).toEqual([
    ["messages", 250],
    ["profiles", 3],
  ]);
  used.maxMessages = 99;
  vi.advanceTimersByTime(9900);
  expect(messages()).toBe(100);
  vi.advanceTimersByTime(100);
  expect(messages()).toBe(99);
  expect(told().map(([area]) => area)).toEqual(["messages", "profiles"]);
  vi.advanceTimersByTime(30_000);
  expect(told()).toEqual([]);
});

test("a limit that was changed applies at once, and not after a stop", () => {
  const { upkeep, used, commit, messages } = startUpkeep();
  commit(3);
  upkeep.start();
  used.maxMessages = 1;
  upkeep.onConfigurationChanged();
  expect(messages()).toBe(3);
  vi.advanceTimersByTime(1);
  expect(messages()).toBe(1);
  used.maxMessages = 0;
  upkeep.stop();
  upkeep.onConfigurationChanged();
  vi.advanceTimersByTime(30_000);
  expect(messages()).toBe(1);
});

test("the newest messages stay when profiles fill the file, and the log says so once", () => {
  const { upkeep, used, db, commit, messages, logged } = startUpkeep();
  commit(3000);
  const putTrait = db.prepare("INSERT INTO profile_traits VALUES (?, 'bio', ?, 1, 1)");
  for (let profile = 1; profile <= 30; profile += 1) putTrait.run(profile, "x".repeat(1_000_000));
  used.maxBytes = 25_000_000;
  upkeep.start();
  vi.advanceTimersByTime(30_000);
  expect(messages()).toBe(1000);
  expect(logged).toEqual([expect.stringContaining("larger than maxBytes allows")]);
  db.exec("DELETE FROM profile_traits");
  vi.advanceTimersByTime(20_000);
  expect([messages(), logged.length]).toEqual([1000, 1]);
});

test("the pages of what went leave the file in slices, once nothing more goes", () => {
  const { upkeep, db, used, reject } = startUpkeep();
  const pages = (): number => db.pragma("page_count", { simple: true }) as number;
  reject(30, 300_000);
  const full = pages();
  used.maxAgeMs = 1;
  vi.setSystemTime(now + 86_400_000);
  upkeep.start();
  expect(pages()).toBeGreaterThanOrEqual(full);
  vi.advanceTimersByTime(1);
  expect(pages()).toBe(full - 100);
  vi.advanceTimersByTime(40);
  expect(pages()).toBeLessThan(1200);
});

test("messages that have to stay hold up those behind them for some milliseconds, and are looked at every ten seconds", () => {
  const { upkeep, store, used, commit, messages } = startUpkeep({ maxMessages: 12_000 });
  store.commit([request(Array.from({ length: 12_000 }, () => ({ to: [1] })))]);
  commit(250);
  const looks = vi.spyOn(store, "removeOld");
  const looksWithin = (ms: number): number => {
    looks.mockClear();
    vi.advanceTimersByTime(ms);
    return looks.mock.calls.length;
  };
  upkeep.start();
  vi.advanceTimersByTime(10);
  expect(messages()).toBe(12_000);
  used.maxMessages = 1;
  expect([looksWithin(9_900), looksWithin(200), looksWithin(9_700), looksWithin(200)]).toEqual([
    0, 3, 0, 3,
  ]);
});

test("the more messages have to stay, the longer it waits before it looks at all of them again", () => {
  const { upkeep, store } = startUpkeep();
  let looks = 0;
  store.removeOld = () => ({ removed: 0, more: ++looks % 300 !== 0 });
  upkeep.start();
  const looksAfter = [299, 29_800, 100, 300].map((ms) => {
    vi.advanceTimersByTime(ms);
    return looks;
  });
  expect(looksAfter).toEqual([300, 300, 301, 600]);
});

test("while lookups are prepared it does not look again at the messages that have to stay, before the rest is over or a limit is changed", () => {
  const { upkeep, store } = startUpkeep();
  const time = vi.spyOn(performance, "now").mockImplementation(() => Date.now());
  onTestFinished(() => time.mockRestore());
  let looks = 0;
  let slices = 0;
  store.removeOld = () => ({ removed: 0, more: ++looks % 20 !== 0 });
  store.giveBack = () => 0;
  store.prepareLookups = () => ++slices > 0;
  upkeep.start();
  const after = (ms: number): [looks: number, slices: number] => {
    vi.advanceTimersByTime(ms);
    return [looks, slices];
  };
  expect([after(19), after(9_999)]).toEqual([
    [20, 1],
    [20, 10_000],
  ]);
  expect(after(20)).toEqual([40, 10_001]);
  upkeep.onConfigurationChanged();
  expect(after(20)[0]).toBe(60);
});

test("those go that are older than their age in wall-clock time, and none when nothing is limited", () => {
  const { upkeep, used, commit, messages } = startUpkeep();
  commit(1, 5000);
  commit(1, 3000);
  upkeep.start();
  expect(messages()).toBe(2);
  used.maxAgeMs = 15_000;
  vi.advanceTimersByTime(10_000);
  expect(messages()).toBe(2);
  vi.advanceTimersByTime(10_000);
  expect(messages()).toBe(0);
});

test("what the store refuses is reported, and tried again after ten seconds", () => {
  const { upkeep, db, commit, messages, reported } = startUpkeep({ maxMessages: 1 });
  commit(3);
  db.exec(
    "CREATE TRIGGER locked BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'locked'); END",
  );
  upkeep.start();
  expect([reported, messages()]).toEqual([[expect.objectContaining({ message: "locked" })], 3]);
  db.exec("DROP TRIGGER locked");
  vi.advanceTimersByTime(9_999);
  expect(messages()).toBe(3);
  vi.advanceTimersByTime(1);
  expect(messages()).toBe(1);
});

test("rejected messages beyond their quota go as soon as there are any, and never below it", async () => {
  const { upkeep, store, used, reject, told } = startUpkeep({ maxRejectedBytes: 5_000_000 });
  reject(10, 100_000);
  const removing = vi.spyOn(store, "removeRejected");
  used.maxRejectedBytes = store.rejectedBytes();
  upkeep.kick();
  await nextTurn();
  expect([told(), removing.mock.calls]).toEqual([[], []]);
  used.maxRejectedBytes = 500_000;
  upkeep.kick();
  upkeep.kick();
  expect(store.rejectedBytes()).toBeGreaterThan(500_000);
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(store.rejectedBytes()).toBeLessThanOrEqual(500_000);
  expect(store.rejectedBytes()).toBeGreaterThan(300_000);
  const [first, ...rest] = told();
  expect([first?.[0], rest]).toEqual(["messages", [["profiles", 1]]]);
  reject(5, 100_000);
  upkeep.kick();
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(store.rejectedBytes()).toBeLessThanOrEqual(500_000);
});

test("the look every ten seconds finds rejected messages as well", async () => {
  const { upkeep, store, used, reject } = startUpkeep({ maxRejectedBytes: 5_000_000 });
  reject(10, 100_000);
  upkeep.start();
  used.maxRejectedBytes = 500_000;
  vi.advanceTimersByTime(10_000);
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(store.rejectedBytes()).toBeLessThanOrEqual(500_000);
});

test("a quota that cannot be kept because the store refuses is reported, and kept at the next look", async () => {
  const { upkeep, db, store, reported, reject } = startUpkeep({ maxRejectedBytes: 500_000 });
  reject(10, 100_000);
  db.exec(
    "CREATE TRIGGER locked BEFORE DELETE ON messages BEGIN SELECT RAISE(ABORT, 'locked'); END",
  );
  upkeep.kick();
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(reported).toMatchObject([{ message: "locked" }]);
  db.exec("DROP TRIGGER locked");
  upkeep.kick();
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(store.rejectedBytes()).toBeLessThanOrEqual(500_000);
});

test("after a stop nothing is removed any more", async () => {
  const { upkeep, commit, reject, messages } = startUpkeep({
    maxMessages: 250,
    maxRejectedBytes: 500_000,
  });
  commit(240);
  reject(10, 100_000);
  upkeep.kick();
  upkeep.stop();
  for (let turn = 0; turn < 4; turn += 1) await nextTurn();
  expect(messages()).toBe(250);
  upkeep.start();
  upkeep.stop();
  commit(300);
  vi.advanceTimersByTime(20_000);
  expect([messages(), vi.getTimerCount()]).toEqual([550, 0]);
});

test("retention goes on after the store could not say how much was rejected, and a commit that asks does not fail", () => {
  const { upkeep, store, commit, messages, reported } = startUpkeep({ maxMessages: 1 });
  commit(3);
  const broken = new Error("disk I/O error");
  const asked = vi.spyOn(store, "rejectedBytes").mockImplementation(() => {
    throw broken;
  });
  upkeep.kick();
  upkeep.start();
  expect([reported, messages()]).toEqual([[broken, broken], 1]);
  asked.mockRestore();
  commit(3);
  vi.advanceTimersByTime(10_000);
  expect([reported.length, messages()]).toEqual([2, 1]);
});

test("it goes on a millisecond later while messages go, then pages of the file, then lookups are prepared", () => {
  const { upkeep, store, told } = startUpkeep();
  const calls: string[] = [];
  const saying =
    <Value>(name: string, values: Value[], last: Value) =>
    (): Value => {
      calls.push(name);
      return values.shift() ?? last;
    };
  store.removeOld = saying("old", [{ removed: 1, more: false }], { removed: 0, more: false });
  store.giveBack = saying("pages", [1], 0);
  store.prepareLookups = saying("lookups", [true], false);
  const after = (ms: number): string[] => {
    vi.advanceTimersByTime(ms);
    return calls.splice(0);
  };
  upkeep.onConfigurationChanged();
  expect([after(20_000), vi.getTimerCount()]).toEqual([[], 0]);
  upkeep.start();
  expect([after(0), after(1), after(1), after(1)]).toEqual([
    ["old"],
    ["old", "pages"],
    ["pages", "lookups"],
    ["pages", "lookups"],
  ]);
  expect(told()).toEqual([
    ["messages", 1],
    ["profiles", 1],
  ]);
  expect([after(9_939), after(1)]).toEqual([[], ["old", "pages", "lookups"]]);
});

test("rejected messages of exactly their quota stay, and with a byte more they go until none is left to go", async () => {
  const { upkeep, store } = startUpkeep({ maxRejectedBytes: 500 });
  const asked: unknown[][] = [];
  let bytes = 500;
  store.rejectedBytes = () => bytes;
  store.removeRejected = (...args) => {
    asked.push(args);
    return asked.length === 1 ? 1 : 0;
  };
  const turns = async (): Promise<number> => {
    upkeep.kick();
    upkeep.kick();
    for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    return asked.length;
  };
  expect(await turns()).toBe(0);
  bytes = 501;
  expect(await turns()).toBe(2);
  expect(asked[0]).toEqual([500, 2500]);
});
