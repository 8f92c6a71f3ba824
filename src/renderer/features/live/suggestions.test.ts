import { describe, expect, test } from "vitest";
import { noFilter, parseFilter } from "./filter-text.ts";
import { choose, seenOf, suggest, type Suggestion } from "./suggestions.ts";

const row = {
  event: null,
  userId: null,
  anonymousId: null,
  reason: null,
  lastStatus: null,
  attempts: 0,
};

const seen = seenOf(
  [
    { ...row, event: "Order Completed", userId: "u_1042", lastStatus: 503, attempts: 9 },
    { ...row, event: "Order Completed", userId: "u_1877", lastStatus: 200, attempts: 1 },
    { ...row, event: "Reorder", anonymousId: "a_9f31", reason: "disabled" },
  ],
  {
    byType: { track: 3, identify: 0 },
    byState: { waiting: 41, failed: 37, delivered: 4790, queued: 0 },
    sources: [{ name: "Shop web" }, { name: "Shop server" }],
  },
);

const said = (suggestions: readonly Suggestion[]): string[] =>
  suggestions.map((suggestion) =>
    suggestion.kind === "key"
      ? `${suggestion.key}:`
      : `${suggestion.key}:${suggestion.value} ${suggestion.count ?? "?"}`,
  );

describe("suggestions", () => {
  test("an empty field offers the keys", () => {
    expect(said(suggest("", noFilter, seen))).toEqual([
      "type:",
      "state:",
      "user:",
      "event:",
      "source:",
      "status:",
      "attempts:",
      "reason:",
    ]);
  });

  test("a key offers the values that were seen, the most frequent first, with how many", () => {
    expect(said(suggest("state:", noFilter, seen))).toEqual([
      "state:delivered 4790",
      "state:waiting 41",
      "state:failed 37",
    ]);
  });

  test("values that begin with what is written come before those that contain it", () => {
    expect(said(suggest("event:order", noFilter, seen))).toEqual([
      "event:Order Completed 2",
      "event:Reorder 1",
    ]);
  });

  test("values that are chips already are not offered again", () => {
    expect(said(suggest("state:", parseFilter("state:delivered"), seen))).toEqual([
      "state:waiting 41",
      "state:failed 37",
    ]);
  });

  test("a word offers keys and values of any key", () => {
    expect(said(suggest("us", noFilter, seen))).toEqual(["user:"]);
    expect(said(suggest("cart order", noFilter, seen))).toEqual([
      "event:Order Completed 2",
      "event:Reorder 1",
    ]);
    expect(said(suggest("shop", noFilter, seen))).toEqual([
      "source:Shop web ?",
      "source:Shop server ?",
    ]);
  });

  test("after a comma the next value is offered", () => {
    expect(said(suggest("state:waiting,", noFilter, seen))).toContain("state:failed 37");
  });
});

describe("choosing a suggestion", () => {
  test("a key is written, its value still to come", () => {
    expect(choose({ kind: "key", key: "state", hint: "" }, "cart st", noFilter)).toEqual({
      draft: "cart state:",
      filter: noFilter,
    });
  });

  test("a value becomes a chip, with those written before it, and the free text stays", () => {
    const value: Suggestion = { kind: "value", key: "state", value: "failed", count: 37 };
    expect(choose(value, "cart state:waiting,fa", noFilter)).toEqual({
      draft: "cart ",
      filter: parseFilter("state:waiting,failed"),
    });
  });

  test("a value of another key replaces the word it was found by", () => {
    const value: Suggestion = { kind: "value", key: "event", value: "Order Completed", count: 2 };
    expect(choose(value, "orde", noFilter)).toEqual({
      draft: "",
      filter: parseFilter('event:"Order Completed"'),
    });
  });
});
