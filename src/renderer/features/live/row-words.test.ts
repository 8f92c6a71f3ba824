import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../domain/states.ts";
import type { MessageRow } from "./cached-rows.ts";
import {
  dayOf,
  lastFailure,
  rejectionWords,
  rowSentence,
  shortCount,
  shortened,
  untilWords,
} from "./row-words.ts";

/** Noon here, wherever here is. */
const noon = new Date(2026, 10, 21, 12, 0, 0).getTime();

const row: MessageRow = {
  id: "msg_000000001",
  messageId: "m-1",
  sourceId: "src_000000001",
  type: "track",
  userId: "u_1042",
  anonymousId: null,
  event: "Order Completed",
  traits: null,
  receivedAt: new Date(noon).toISOString(),
  timestamp: new Date(noon).toISOString(),
  state: "waiting",
  reason: null,
  attempts: 9,
  lastStatus: 503,
  pinned: false,
  replayOf: null,
  nextAttemptAt: null,
  plan: null,
  violations: [],
  marks: [],
};

describe("the words of a row", () => {
  test("a row is a sentence for who hears it", () => {
    expect(rowSentence({ row, source: "Shop server", day: null, until: "15 m 32 s" })).toBe(
      "track Order Completed of u_1042, from Shop server, received 12:00:00, waiting, 9 attempts, next round in 15 m 32 s",
    );
  });

  test("a row says how its newest failed attempt ended, until it is delivered", () => {
    const mark = (outcome: Outcome, status: number | null): MessageRow["marks"][number] => ({
      lane: 0,
      round: 1,
      outcome,
      status,
    });
    const marks = [mark("tls_error", null), mark("http_error", 503), mark("success", 200)];
    expect(lastFailure({ state: "waiting", marks })).toEqual({
      outcome: "http_error",
      words: "503",
    });
    expect(lastFailure({ state: "failed", marks: [mark("timeout", 200)] })?.words).toBe("timeout");
    expect(lastFailure({ state: "delivered", marks })).toBeNull();
    expect(lastFailure({ state: "queued", marks: [] })).toBeNull();
    expect(rowSentence({ row: { ...row, marks }, source: "Shop", day: null, until: "" })).toContain(
      "waiting, last 503, 9 attempts",
    );
  });

  test("a rejected row says why", () => {
    const rejected: MessageRow = {
      ...row,
      state: "rejected",
      reason: "missing_event",
      event: null,
      attempts: 0,
    };
    expect(rowSentence({ row: rejected, source: "Shop web", day: "20 Nov", until: "" })).toBe(
      "track of u_1042, from Shop web, received 20 Nov 12:00:00, rejected: event is missing",
    );
  });

  test("an identify says what it sets", () => {
    const identify: MessageRow = {
      ...row,
      type: "identify",
      event: null,
      traits: "big_spenders: true",
      state: "delivered",
      attempts: 1,
    };
    expect(rowSentence({ row: identify, source: "Big Spenders", day: null, until: "" })).toBe(
      "identify big_spenders: true of u_1042, from Big Spenders, received 12:00:00, delivered, 1 attempt",
    );
  });

  test("a reason that is not known here is shown in its own words", () => {
    expect(rejectionWords("some_new_reason")).toBe("some new reason");
  });

  test("a name of 30 KB is cut, and not in the middle of a character", () => {
    expect(shortened("x".repeat(30_000)).length).toBe(201);
    expect(shortened(`${"x".repeat(199)}😀😀`).isWellFormed()).toBe(true);
    expect(shortened("Login")).toBe("Login");
  });

  test("a count is exact as long as a stage has room for it, and then never too high", () => {
    expect([0, 5102, 99_999, 100_000, 999_999, 1_000_000, 12_349_999].map(shortCount)).toEqual([
      "0",
      "5,102",
      "99,999",
      "100 K",
      "999 K",
      "1.00 M",
      "12.34 M",
    ]);
  });

  test("the day is said when it is not the clock's", () => {
    expect(dayOf(noon, noon + 3_600_000)).toBeNull();
    expect(dayOf(noon, noon + 86_400_000)).toBe("21 Nov");
  });

  test("the next round counts down by the clock, and is due when its time has come", () => {
    const at = new Date(noon + 49_000).toISOString();
    expect(untilWords(at, noon)).toBe("49 s");
    expect(untilWords(at, noon + 49_000)).toBe("due");
    expect(untilWords(null, noon)).toBe("");
  });
});
