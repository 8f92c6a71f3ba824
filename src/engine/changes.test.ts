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

test("a list of one is noted, an empty one is not, and ids that are not named do not become texts", () => {
  const { feed, heard } = startFeed();
  const idOf = vi.fn<(n: number) => string>((n) => `msg_${n}`);
  feed.noteMany("messages", [], idOf, true);
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toEqual([]);
  feed.noteMany("messages", [5], idOf, false);
  vi.advanceTimersByTime(aLineLater);
  expect(heard[0]).toMatchObject([{ ids: ["msg_5"], count: 1, added: 0 }]);
  idOf.mockClear();
  const hundred = (from: number): number[] => Array.from({ length: 100 }, (_, n) => from + n);
  for (const from of [0, 100, 200]) feed.noteMany("messages", hundred(from), idOf, false);
  vi.advanceTimersByTime(aLineLater);
  expect([heard[1]?.[0]?.ids[0], idOf.mock.calls.length]).toEqual(["msg_200", 100]);
});

test("of more than two hundred notes only the last ids are kept, whatever the line gathers then", () => {
  const { feed, heard } = startFeed();
  const idOf = vi.fn<(n: number) => string>((n) => `msg_${n}`);
  for (let n = 0; n < 200; n += 1) feed.noteMany("messages", [n], idOf, false);
  expect(idOf).not.toHaveBeenCalled();
  feed.noteMany("messages", [200], idOf, false);
  expect(idOf).toHaveBeenCalledTimes(100);
  for (let n = 201; n < 400; n += 1) feed.noteMany("messages", [n], idOf, false);
  // The list of the last hundred counts as one.
  expect(idOf).toHaveBeenCalledTimes(100);
  vi.advanceTimersByTime(aLineLater);
  const [line] = heard[0] ?? [];
  expect([line?.count, line?.ids.length, line?.ids[0]]).toEqual([400, 100, "msg_300"]);
});

test("an advance is told as it was last, with its times as texts", () => {
  const { feed, heard } = startFeed();
  const advance = { from: 0, to: 5000, now: 1000, attempts: 3 };
  feed.noteClock(advance);
  feed.noteClock({ ...advance, now: 2000 });
  vi.advanceTimersByTime(49);
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(heard[0]).toMatchObject([
    {
      ...{ area: "clock", ids: [], count: 2, added: 0 },
      advance: {
        from: "1970-01-01T00:00:00.000Z",
        to: "1970-01-01T00:00:05.000Z",
        now: "1970-01-01T00:00:02.000Z",
        attempts: 3,
      },
    },
  ]);
  feed.noteClock({ ...advance, to: "idle" });
  vi.advanceTimersByTime(aLineLater);
  expect(heard[1]?.[0]?.advance).toMatchObject({ to: "idle" });
  feed.noteClock(null);
  vi.advanceTimersByTime(aLineLater);
  expect(heard[2]?.[0]?.advance).toBeNull();
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
  vi.advanceTimersByTime(aLineLater);
  expect(heard).toHaveLength(1);
});
