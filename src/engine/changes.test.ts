import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createChangeFeed } from "./changes.ts";
import type { Change } from "./pipeline.ts";

/** Longer than what is gathered into one line. */
const aLineLater = 60;

function startFeed() {
  const feed = createChangeFeed();
  const heard: Change[][] = [];
  feed.subscribe((changes) => heard.push(changes));
  return { feed, heard };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("changes close together are one line per area, with what they add up to", () => {
  const { feed, heard } = startFeed();
  const before = feed.sequence();
  feed.note("messages", "msg_1", true);
  feed.note("clock", null);
  feed.noteMany("messages", [2, 3], (n) => `msg_${n}`, true);
  feed.noteGone("messages", 3);
  feed.note("messages", "msg_1");
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toEqual([
    [
      {
        sequence: before + 1,
        area: "messages",
        ids: ["msg_2", "msg_3", "msg_1"],
        count: 7,
        added: 3,
      },
      { sequence: before + 2, area: "clock", ids: [], count: 1, added: 0 },
    ],
  ]);
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toHaveLength(1);
  feed.note("messages", "msg_4", true);
  vi.advanceTimersByTime(aLineLater);
  expect(heard[1]).toEqual([
    { sequence: before + 3, area: "messages", ids: ["msg_4"], count: 1, added: 1 },
  ]);
});

test("a line names the hundred that changed last, and counts them all", () => {
  const { feed, heard } = startFeed();
  for (let n = 0; n < 250; n += 1) feed.note("deliveries", `dlv_${n}`);
  feed.note("deliveries", "dlv_200");
  vi.advanceTimersByTime(aLineLater);
  const [line] = heard[0] ?? [];
  expect(line?.ids).toHaveLength(100);
  expect([line?.count, line?.ids[0], line?.ids.at(-1)]).toEqual([251, "dlv_150", "dlv_200"]);
});

test("of many that are noted at once only those that can be named are asked for their ids", () => {
  const { feed, heard } = startFeed();
  const idOf = vi.fn<(n: number) => string>((n) => `msg_${n}`);
  feed.noteMany("messages", [...Array.from({ length: 250 }).keys()], idOf, true);
  vi.advanceTimersByTime(aLineLater);
  const [line] = heard[0] ?? [];
  expect([line?.count, line?.added, line?.ids[0], line?.ids.at(-1)]).toEqual([
    250,
    250,
    "msg_150",
    "msg_249",
  ]);
  expect(idOf).toHaveBeenCalledTimes(100);
});

test("a line comes fifty milliseconds after its first change", () => {
  const { feed, heard } = startFeed();
  feed.note("sources", "src_1");
  vi.advanceTimersByTime(49);
  feed.note("sources", "src_2");
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(heard).toMatchObject([[{ ids: ["src_1", "src_2"], count: 2 }]]);
});

test("of two hundred lists of ids none is read before the line is made, and of more the last hundred ids", () => {
  const { feed, heard } = startFeed();
  const idOf = vi.fn<(n: number) => string>((n) => `msg_${n}`);
  const note = (n: number): void => feed.noteMany("messages", [n], idOf, false);
  for (let n = 1; n <= 200; n += 1) note(n);
  expect(idOf).not.toHaveBeenCalled();
  note(201);
  expect(idOf).toHaveBeenCalledTimes(100);
  note(202);
  expect(idOf).toHaveBeenCalledTimes(100);
  vi.advanceTimersByTime(aLineLater);
  const [line] = heard[0] ?? [];
  expect([line?.count, line?.added, line?.ids.length]).toEqual([202, 0, 100]);
  expect([line?.ids[0], line?.ids.at(-1)]).toEqual(["msg_103", "msg_202"]);
});

test("a line of the clock has the last advance that was noted, with its times as texts", () => {
  const { feed, heard } = startFeed();
  const advance = { from: 0, to: 1000, now: 500, attempts: 3 };
  const texts = { from: "1970-01-01T00:00:00.000Z", now: "1970-01-01T00:00:00.500Z", attempts: 3 };
  for (const [noted, line] of [
    [advance, { ...texts, to: "1970-01-01T00:00:01.000Z" }],
    [
      { ...advance, to: "idle" },
      { ...texts, to: "idle" },
    ],
    [null, null],
  ] as const) {
    feed.noteClock(advance);
    feed.noteClock(noted);
    vi.advanceTimersByTime(aLineLater);
    expect(heard.pop()).toMatchObject([{ area: "clock", count: 2, added: 0, advance: line }]);
  }
});

test("nothing is no change", () => {
  const { feed, heard } = startFeed();
  feed.noteMany("messages", [], String, true);
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toEqual([]);
});

describe("a listener who was away", () => {
  test("goes on where it stopped", () => {
    const { feed, heard } = startFeed();
    const start = feed.sequence();
    for (const id of ["src_1", "src_2", "src_3"]) {
      feed.note("sources", id);
      vi.advanceTimersByTime(aLineLater);
    }
    expect(feed.since(start)).toEqual(heard.flat());
    expect(feed.since(start + 2)).toEqual(heard[2]);
    expect(feed.since(start + 3)).toEqual([]);
  });

  test("must read everything again when it was away too long, or comes from another run", () => {
    const { feed } = startFeed();
    const start = feed.sequence();
    expect(feed.since(start - 1)).toBeNull();
    expect(feed.since(start + 1)).toBeNull();
    const noteLines = (count: number): void => {
      for (let n = 0; n < count; n += 1) {
        feed.note("sources", "src_1");
        vi.advanceTimersByTime(aLineLater);
      }
    };
    noteLines(8192);
    expect(feed.since(start)).toHaveLength(8192);
    noteLines(1);
    expect(feed.since(start + 1)).toBeNull();
    expect(feed.since(feed.sequence() - 4096)).toHaveLength(4096);
    expect(feed.since(feed.sequence() - 4097)).toBeNull();
  });

  test("of an earlier run never sees its numbers again", () => {
    const earlier = createChangeFeed();
    earlier.note("sources", null);
    vi.advanceTimersByTime(aLineLater);
    expect(createChangeFeed().sequence()).toBeGreaterThan(earlier.sequence());
  });
});

test("nobody is told any more after leaving, and after the stop", () => {
  const { feed, heard } = startFeed();
  const others: Change[][] = [];
  const leave = feed.subscribe((changes) => others.push(changes));
  leave();
  feed.note("sources", null);
  vi.advanceTimersByTime(aLineLater);
  expect([heard.length, others.length]).toEqual([1, 0]);
  feed.note("sources", null);
  feed.stop();
  expect(vi.getTimerCount()).toBe(0);
  feed.note("sources", null);
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toHaveLength(1);
});
