import { describe, expect, test } from "vitest";
import { calls } from "../../../contract/contract.ts";
import { parseFilter } from "./filter-text.ts";
import { listFilterOf, matchesLater, problemOf } from "./list-filter.ts";

const sources = [
  { id: "src_000000001", name: "Shop web" },
  { id: "src_000000002", name: "Shop server" },
  { id: "src_000000003", name: "shop WEB" },
];

describe("a filter as a question to the API", () => {
  test("every key has its member, and the rest is searched for", () => {
    const filter = parseFilter("type:track state:failed,expired user:u_1 event:Login status:5XX attempts:>=3 reason:disabled cart");
    expect(listFilterOf(filter, sources)).toEqual({
      type: ["track"],
      state: ["failed", "expired"],
      userId: ["u_1"],
      event: ["Login"],
      status: ["5xx"],
      attempts: [">=3"],
      reason: ["disabled"],
      search: "cart",
    });
  });

  test("the API takes it", () => {
    const filter = parseFilter(
      'type:track,page state:failed source:"Shop web" user:u_1 event:Login status:503,4xx,7xx,999 attempts:3,>10 reason:disabled cart',
    );
    expect(calls["messages.list"].query.safeParse(listFilterOf(filter, sources)).success).toBe(true);
  });

  test("no filter asks for everything", () => {
    expect(listFilterOf(parseFilter(""), sources)).toEqual({});
  });

  test("a source goes by its name, in any case, or by its id; two of one name are both meant", () => {
    expect(listFilterOf(parseFilter('source:"shop web"'), sources).sourceId).toEqual(["src_000000001", "src_000000003"]);
    expect(listFilterOf(parseFilter("source:src_000000002"), sources).sourceId).toEqual(["src_000000002"]);
  });

  test("a source that is not there finds nothing, and not everything", () => {
    expect(listFilterOf(parseFilter("source:Gone"), sources).sourceId).toEqual(["src_000000000"]);
  });
});

describe("what cannot be asked", () => {
  test.each([
    ["type:trak", "There is no type “trak”."],
    ["state:lost", "There is no state “lost”."],
    ["status:abc", "“abc” is not a status."],
    ["status:099", "“099” is not a status."],
    ["status:1000", "“1000” is not a status."],
    ["attempts:many", "“many” is not a number of attempts."],
  ])("%s is said in a sentence", (text, sentence) => {
    expect(problemOf(parseFilter(text))).toContain(sentence);
  });

  test("what can be asked is no problem", () => {
    expect(problemOf(parseFilter("type:alias state:cancelled status:100,200,5xx,700,9XX,999 attempts:<=2 user:x anything"))).toBeNull();
  });
});

test("only filters on what happens later depend on it", () => {
  expect(matchesLater(parseFilter("type:track user:u_1 cart"))).toBe(false);
  expect(matchesLater(parseFilter("state:failed"))).toBe(true);
});
