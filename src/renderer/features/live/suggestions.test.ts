import { describe, expect, test } from "vitest";
import type { SeenValue } from "../../../domain/known-values.ts";
import { filterKeys, noFilter, parseFilter } from "../../../domain/message-filter.ts";
import { askedFor, choose, firstOf, suggest, type Suggestion, wordAtEnd } from "./suggestions.ts";

const goesOn = (): boolean => false;
const seen: [SeenValue, ...SeenValue[]] = [
  { key: "event", value: "Order Completed", count: 20 },
  { key: "event", value: "Reorder", count: 90 },
  { key: "state", value: "failed", count: 37 },
  { key: "user", value: "u_1042", count: 3 },
];

const said = (suggestions: readonly Suggestion[]): string[] =>
  suggestions.map((suggestion) =>
    suggestion.kind === "key"
      ? `${suggestion.key}:`
      : `${suggestion.key}:${suggestion.value} ${suggestion.count ?? "?"}`,
  );
const offered = (draft: string, filter = noFilter): string[] =>
  said(suggest(wordAtEnd(draft, goesOn), filter, seen));

describe("suggestions", () => {
  test("an empty field offers all keys, a minus all to leave out", () => {
    expect(offered("")).toEqual(filterKeys.map((key) => `${key}:`));
    expect(offered("cart -")).toEqual(filterKeys.map((key) => `-${key}:`));
    expect(offered("-st")).toEqual(["-state:", "-status:"]);
  });

  test("a key offers what the store answered, in its order, with how many", () => {
    expect(offered("event:")).toEqual(["event:Order Completed 20", "event:Reorder 90"]);
    expect(offered("event:ORDER")).toEqual(["event:Order Completed 20", "event:Reorder 90"]);
    expect(offered("-event:re")).toEqual(["-event:Reorder 90"]);
  });

  test("a duration offers usual ones", () => {
    expect(offered("last:1")).toEqual(["last:1m ?", "last:15m ?", "last:1h ?", "last:1d ?"]);
  });

  test("values that are chips already are not offered again", () => {
    expect(offered("event:", parseFilter("event:Reorder"))).toEqual(["event:Order Completed 20"]);
  });

  test("a word offers keys and values of any key", () => {
    expect(offered("us")).toEqual(["user:"]);
    expect(offered("cart order")).toEqual(["event:Order Completed 20", "event:Reorder 90"]);
    expect(offered("cart -fail")).toEqual(["-state:failed 37"]);
  });

  test("a word behind “not” offers to leave out what has it, in place of both words", () => {
    expect(offered("cart not fail")).toEqual(["-state:failed 37"]);
    expect(wordAtEnd("cart not fail", goesOn).start).toBe(5);
    expect(offered("knot fail")).toEqual(["state:failed 37"]);
  });

  test("Enter takes the first value of a key, and of a number only the number itself", () => {
    const first = (draft: string, values: readonly SeenValue[]): number => {
      const word = wordAtEnd(draft, goesOn);
      return firstOf(word, suggest(word, noFilter, values));
    };
    expect(first("event:ord", seen)).toBe(0);
    expect(first("ord", seen)).toBe(-1);
    expect(first("event:none", seen)).toBe(-1);
    expect(first("attempts:2", [{ key: "attempts", value: "12", count: 1 }])).toBe(-1);
    expect(first("attempts:2", [{ key: "attempts", value: "2", count: 1 }])).toBe(0);
    expect(first("attempts:", [{ key: "attempts", value: "2", count: 1 }])).toBe(0);
    expect(first("event:ord*", seen)).toBe(-1);
  });
});

describe("choosing a suggestion", () => {
  test("a key is written, its value still to come", () => {
    expect(choose({ kind: "key", key: "-state", hint: "" }, "cart -st", noFilter, goesOn)).toEqual({
      draft: "cart -state:",
      filter: noFilter,
    });
  });

  test("a value becomes a chip, with those written before it, and the free text stays", () => {
    const value: Suggestion = { kind: "value", key: "state", value: "failed", count: 37 };
    expect(choose(value, "cart state:waiting,fa", noFilter, goesOn)).toEqual({
      draft: "cart ",
      filter: parseFilter("state:waiting,failed"),
    });
  });

  test("a value of another key replaces the word it was found by", () => {
    const value: Suggestion = { kind: "value", key: "event", value: "Order Completed", count: 2 };
    expect(choose(value, "orde", noFilter, goesOn)).toEqual({
      draft: "",
      filter: parseFilter('event:"Order Completed"'),
    });
  });
});

describe("what the store is asked", () => {
  test("nothing is asked for one letter without a key", () => {
    const asked = (draft: string) => askedFor(wordAtEnd(draft, goesOn));
    expect(asked("a")).toBeNull();
    expect(asked("cart -or")).toEqual({ text: "or" });
    expect(asked("-event:or")).toEqual({ key: "event", text: "or" });
  });
});
