import { describe, expect, test } from "vitest";
import type { MessageState } from "../../../domain/states.ts";
import type { Change } from "../../transport/transport.ts";
import { idOf, type MessageRow, numberOf } from "./cached-rows.ts";
import { createMessageRows, type MessageRows } from "./message-rows.ts";

/** A list of messages as the API answers it, changes at hand, and a timer that is moved by hand. */
function createList({ size, state }: { size: number; state?: MessageState }) {
  const states = new Map<number, MessageState>();
  for (let number = 1; number <= size; number += 1) states.set(number, "delivered");
  let readings: { limit: number; cursor?: string }[] = [];
  let newest = size;
  let now = 0;
  let timers: { at: number; run: () => void }[] = [];
  let down: Error | null = null;
  let late: Promise<void> | null = null;

  const rowOf = (number: number): MessageRow => ({
    id: idOf(number),
    messageId: `m-${number}`,
    sourceId: "src_000000001",
    type: "track",
    userId: `u_${number % 7}`,
    anonymousId: null,
    event: "Cart Updated",
    traits: null,
    receivedAt: "2026-11-21T16:47:31.204Z",
    timestamp: "2026-11-21T16:47:31.204Z",
    state: states.get(number) ?? "delivered",
    reason: null,
    attempts: 1,
    lastStatus: 200,
    pinned: false,
    replayOf: null,
    nextAttemptAt: null,
    plan: null,
    violations: [],
    marks: [],
  });

  const reading =
    (wanted: MessageState | undefined) => async (input: { limit: number; cursor?: string }) => {
      readings.push(input);
      if (down !== null) throw down;
      const before = input.cursor === undefined ? Number.MAX_SAFE_INTEGER : numberOf(input.cursor);
      const matches = (number: number): boolean =>
        states.has(number) && (wanted === undefined || states.get(number) === wanted);
      const older: number[] = [];
      for (
        let number = Math.min(newest, before - 1);
        number > 0 && older.length <= input.limit;
        number -= 1
      )
        if (matches(number)) older.push(number);
      const items = older.slice(0, input.limit).map(rowOf);
      const total =
        wanted === undefined
          ? states.size
          : [...states.values()].filter((is) => is === wanted).length;
      await late;
      return {
        items,
        nextCursor: older.length > input.limit ? (items.at(-1)?.id ?? null) : null,
        total: Math.min(10_000, total),
        totalCapped: total > 10_000,
      };
    };

  let rows: MessageRows | null = null;
  return {
    open(): MessageRows {
      rows = createMessageRows({
        read: reading(state),
        readUnfiltered: reading(undefined),
        isFiltered: state !== undefined,
        matchesLater: state !== undefined,
        monotonic: () => now,
        later(ms, run) {
          const timer = { at: now + ms, run };
          timers.push(timer);
          return () => {
            timers = timers.filter((each) => each !== timer);
          };
        },
        onChange: () => undefined,
      });
      return rows;
    },
    /** Until nothing is read, and nothing that is due within this time waits. */
    async settle(ms = 5000) {
      const end = now + ms;
      for (let quiet = 0; quiet < 20;) {
        await Promise.resolve();
        quiet += 1;
        const next = timers.sort((a, b) => a.at - b.at)[0];
        if (quiet < 10 || next === undefined || next.at > end) continue;
        timers.shift();
        now = next.at;
        next.run();
        quiet = 0;
      }
      now = end;
    },
    change(changes: Record<number, MessageState>, { said = true } = {}) {
      const numbers = Object.keys(changes).map(Number);
      const added = numbers.filter((number) => !states.has(number)).length;
      for (const number of numbers) states.set(number, changes[number] ?? "delivered");
      newest = Math.max(newest, ...numbers);
      const ids = said ? numbers.map(idOf) : [];
      rows?.applyChanges([
        { sequence: 1, area: "messages", ids, count: numbers.length, added } satisfies Change,
      ]);
    },
    remove(numbers: readonly number[]) {
      for (const number of numbers) states.delete(number);
      rows?.applyChanges([
        { sequence: 1, area: "messages", ids: [], count: numbers.length, added: 0 },
      ]);
    },
    fail(error: Error | null) {
      down = error;
    },
    /** What is read from now on arrives, as it is then, once the function is called. */
    answerLate(): () => void {
      const { promise, resolve } = Promise.withResolvers<void>();
      late = promise;
      return () => {
        late = null;
        resolve();
      };
    },
    taken() {
      const taken = readings;
      readings = [];
      return taken;
    },
  };
}

const shown = (rows: MessageRows, first: number, last: number): (number | undefined)[] =>
  Array.from({ length: last - first + 1 }, (_, at) => {
    const row = rows.rowAt(first + at);
    return row === undefined ? undefined : numberOf(row.id);
  });
const down = (from: number, to: number): number[] =>
  Array.from({ length: from - to + 1 }, (_, at) => from - at);

describe("a list that follows", () => {
  test("shows the newest on top, and new ones as they come", async () => {
    const list = createList({ size: 50 });
    const rows = list.open();
    rows.look(0, 9);
    await list.settle();
    expect(shown(rows, 0, 9)).toEqual(down(50, 41));
    list.change({ 51: "queued", 52: "queued" });
    await list.settle();
    expect(shown(rows, 0, 9)).toEqual(down(52, 43));
    expect(rows.count()).toBe(52);
    expect(rows.rowAt(0)?.state).toBe("queued");
  });

  test("reads at most once in 150 ms, however fast things change", async () => {
    const list = createList({ size: 50 });
    const rows = list.open();
    rows.look(0, 9);
    await list.settle();
    list.taken();
    for (let number = 51; number < 91; number += 1) list.change({ [number]: "queued" });
    await list.settle(140);
    expect(list.taken().length).toBeLessThanOrEqual(1);
    await list.settle(160);
    expect(list.taken().length).toBeLessThanOrEqual(1);
    expect(shown(rows, 0, 0)).toEqual([90]);
  });

  test("a row that changes while it is read is read again", async () => {
    const list = createList({ size: 3 });
    const rows = list.open();
    await list.settle();
    const arrive = list.answerLate();
    list.change({ 4: "sending" });
    await list.settle();
    list.change({ 4: "delivered" });
    arrive();
    await list.settle();
    expect(rows.rowAt(0)?.state).toBe("delivered");

    rows.pause();
    await list.settle();
    const arriveAgain = list.answerLate();
    list.change({ 2: "failed" });
    await list.settle();
    list.change({ 2: "delivered" });
    arriveAgain();
    await list.settle();
    expect(rows.rowAt(2)?.state).toBe("delivered");
  });

  test("a row that did not change stays the same object", async () => {
    const list = createList({ size: 50 });
    const rows = list.open();
    await list.settle();
    const before = rows.rowAt(3);
    list.change({ 50: "failed" });
    await list.settle();
    expect(rows.rowAt(0)?.state).toBe("failed");
    expect(rows.rowAt(3)).toBe(before);
  });
});

describe("a list that is held", () => {
  test("nothing moves, changed rows change in their places, and new ones are counted", async () => {
    const list = createList({ size: 5000 });
    const rows = list.open();
    await list.settle();
    rows.look(100, 129);
    rows.pause();
    await list.settle();
    const before = shown(rows, 100, 129);
    list.change({ 4890: "failed", 5001: "queued", 5002: "queued" });
    await list.settle();
    expect(shown(rows, 100, 129)).toEqual(before);
    expect(rows.rowAt(110)?.state).toBe("failed");
    expect(rows.fresh()).toEqual({ count: 2, more: false });
    rows.follow();
    await list.settle();
    expect(shown(rows, 0, 2)).toEqual([5002, 5001, 5000]);
    expect(rows.fresh().count).toBe(0);
  });

  test("a change of which nobody says the ids is seen too", async () => {
    const list = createList({ size: 500 });
    const rows = list.open();
    await list.settle();
    rows.pause();
    list.change({ 500: "expired" }, { said: false });
    await list.settle();
    expect(rows.rowAt(0)?.state).toBe("expired");
  });

  test("a changed row out of view is read when it comes into view", async () => {
    const list = createList({ size: 500 });
    const rows = list.open();
    rows.look(0, 99);
    await list.settle();
    rows.look(200, 210);
    rows.pause();
    await list.settle();
    list.change({ 490: "failed" });
    await list.settle();
    rows.look(0, 20);
    await list.settle();
    expect(rows.rowAt(10)?.state).toBe("failed");
  });

  test("what retention removes leaves its place", async () => {
    const list = createList({ size: 60 });
    const rows = list.open();
    await list.settle();
    rows.pause();
    list.remove([58, 1]);
    await list.settle();
    expect(shown(rows, 0, 3)).toEqual([60, 59, 57, 56]);
    expect(rows.count()).toBe(58);
  });

  test("when all messages were removed, it follows the new ones", async () => {
    const list = createList({ size: 60 });
    const rows = list.open();
    await list.settle();
    rows.pause();
    list.remove(down(60, 1));
    list.change({ 1: "queued" });
    await list.settle();
    expect(rows.following()).toBe(true);
    expect(shown(rows, 0, 0)).toEqual([1]);
    expect(rows.count()).toBe(1);
  });
});

describe("a list of 100,000 messages", () => {
  test("any place can be jumped to with one reading, and few rows are held", async () => {
    const list = createList({ size: 100_000 });
    const rows = list.open();
    rows.totalIs(100_000);
    await list.settle();
    expect(rows.count()).toBe(100_000);
    rows.pause();
    await list.settle();
    list.taken();
    rows.look(54_330, 54_360);
    await list.settle();
    expect(list.taken().length).toBe(1);
    expect(shown(rows, 54_330, 54_360)).toEqual(down(45_670, 45_640));
    for (let first = 60_000; first < 70_000; first += 250) {
      rows.look(first, first + 30);
      await list.settle();
    }
    expect(rows.cached()).toBeLessThanOrEqual(600);
    rows.look(99_970, 99_999);
    await list.settle();
    expect(shown(rows, 99_999, 99_999)).toEqual([1]);
  });
});

describe("a filtered list", () => {
  test("goes on as it is scrolled, to the last match", async () => {
    const list = createList({ size: 1000, state: "failed" });
    list.change(Object.fromEntries(down(900, 601).map((number) => [number, "failed"])));
    const rows = list.open();
    rows.look(0, 29);
    await list.settle();
    expect(shown(rows, 0, 2)).toEqual([900, 899, 898]);
    for (let first = 0; first + 30 < rows.count(); first += 20) {
      rows.look(first, first + 30);
      await list.settle();
    }
    expect(rows.count()).toBe(300);
    expect(shown(rows, 299, 299)).toEqual([601]);
  });

  test("a row that no longer matches stays in its place, as it is now, until the list follows again", async () => {
    const list = createList({ size: 30, state: "waiting" });
    const rows = list.open();
    await list.settle();
    expect(rows.count()).toBe(0);
    list.change({ 20: "waiting", 10: "waiting", 5: "waiting" });
    await list.settle();
    expect(shown(rows, 0, 2)).toEqual([20, 10, 5]);
    rows.pause();
    list.change({ 10: "delivered", 31: "waiting" });
    await list.settle();
    expect(shown(rows, 0, 2)).toEqual([20, 10, 5]);
    expect(rows.rowAt(1)?.state).toBe("delivered");
    expect(rows.fresh()).toEqual({ count: 1, more: false });
    rows.follow();
    await list.settle();
    expect(shown(rows, 0, 2)).toEqual([31, 20, 5]);
  });

  test.each([
    ["when the list has noticed it", true],
    ["before the list notices it", false],
  ])(
    "when all messages were removed, it follows those that match and come %s",
    async (_when, isNoticed) => {
      const list = createList({ size: 60, state: "delivered" });
      const rows = list.open();
      await list.settle();
      rows.pause();
      list.remove(down(60, 1));
      if (isNoticed) await list.settle();
      list.change({ 1: "delivered", 2: "delivered", 3: "failed" });
      await list.settle();
      expect(rows.following()).toBe(true);
      expect(shown(rows, 0, 2)).toEqual([2, 1, undefined]);
      list.change({ 4: "delivered" });
      await list.settle();
      expect(shown(rows, 0, 2)).toEqual([4, 2, 1]);
    },
  );

  test("stays where it is paused when its newest row no longer matches", async () => {
    const list = createList({ size: 60, state: "delivered" });
    const rows = list.open();
    await list.settle();
    rows.pause();
    list.change({ 60: "failed" });
    await list.settle();
    expect(rows.following()).toBe(false);
    expect(shown(rows, 0, 1)).toEqual([60, 59]);
  });

  test("a row that is removed while the list is held goes", async () => {
    const list = createList({ size: 3, state: "delivered" });
    const rows = list.open();
    await list.settle();
    rows.pause();
    list.remove([2]);
    await list.settle();
    expect(shown(rows, 0, 1)).toEqual([3, 1]);
    expect(rows.count()).toBe(2);
  });
});

describe("a list that cannot be read", () => {
  test("says so, keeps its rows, and goes on when it can", async () => {
    const list = createList({ size: 50 });
    const rows = list.open();
    await list.settle();
    list.fail(new Error("Hookyard does not respond."));
    list.change({ 51: "queued" });
    await list.settle(1000);
    expect(rows.error()?.message).toBe("Hookyard does not respond.");
    expect(shown(rows, 0, 0)).toEqual([50]);
    list.taken();
    await list.settle(1500);
    expect(list.taken().length).toBe(1);
    list.fail(null);
    await list.settle();
    expect(rows.error()).toBeNull();
    expect(shown(rows, 0, 0)).toEqual([51]);
  });

  test("nothing is read after it was stopped", async () => {
    const list = createList({ size: 50 });
    const rows = list.open();
    await list.settle();
    rows.stop();
    list.taken();
    list.change({ 51: "queued" });
    await list.settle();
    expect(list.taken()).toEqual([]);
  });
});
