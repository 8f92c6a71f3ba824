import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { calls } from "../../../contract/contract.ts";
import {
  type Filter,
  filterKeys,
  filterOf,
  formatFilter,
  isEmpty,
  listFilterOf,
  matchesLater,
  noFilter,
  parseFilter,
  problemOf,
  queryOf,
  extractChips,
  textOf,
  withoutLast,
  withValue,
} from "./filter-text.ts";

const filters: fc.Arbitrary<Filter> = fc
  .record({
    values: fc.dictionary(
      fc.constantFrom(...filterKeys),
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }),
    ),
    text: fc
      .array(fc.string({ minLength: 1 }), { maxLength: 3 })
      .map((words) => words.join(" ").trim()),
  })
  .map(({ values, text }) => ({ values: { ...values }, text }));

describe("a filter as text", () => {
  test("keys, lists of values, quoted values and free text are told apart", () => {
    expect(
      parseFilter('state:failed,expired  cart user:u_1 event:"Order Completed",Login 503'),
    ).toEqual({
      values: { state: ["failed", "expired"], user: ["u_1"], event: ["Order Completed", "Login"] },
      text: "cart 503",
    });
  });

  test("one key written twice means any of its values", () => {
    expect(parseFilter("type:track type:identify,track").values).toEqual({
      type: ["track", "identify"],
    });
  });

  test("a word with a colon that is no key is free text", () => {
    expect(parseFilter("http://shop.example:8080 toString:1")).toEqual({
      values: {},
      text: "http://shop.example:8080 toString:1",
    });
  });

  test("quotes and backslashes in a value survive", () => {
    expect(parseFilter('event:"say \\"hi\\" \\\\ bye"').values.event).toEqual(['say "hi" \\ bye']);
  });

  test("a quote that is not closed ends with the text", () => {
    expect(parseFilter('event:"Order Comp').values.event).toEqual(["Order Comp"]);
  });

  test("what is written can be read again, whatever it contains", () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(parseFilter(formatFilter(filter))).toEqual(filter);
      }),
    );
  });

  test("free text that looks like a key is written in quotes", () => {
    expect(formatFilter({ values: {}, text: "state:failed" })).toBe('"state:failed"');
  });
});

describe("a filter in the address", () => {
  test("it survives a reload, whatever it contains", () => {
    fc.assert(
      fc.property(filters, (filter) => {
        const members = Object.entries(queryOf(filter)).filter(
          (entry): entry is [string, string] => entry[1] !== null,
        );
        const search = new URLSearchParams(members).toString();
        expect(filterOf(Object.fromEntries(new URLSearchParams(search)))).toEqual(filter);
      }),
    );
  });

  test("an address without a filter has none", () => {
    expect(isEmpty(filterOf({ other: "x" }))).toBe(true);
    expect(Object.values(queryOf(noFilter)).every((value) => value === null)).toBe(true);
  });
});

describe("writing in the field", () => {
  test("a key becomes a chip when something follows it, and not while it is being written", () => {
    expect(extractChips("state:fai", noFilter, false)).toEqual({
      filter: noFilter,
      rest: "state:fai",
    });
    expect(extractChips("cart state:failed ", noFilter, false)).toEqual({
      filter: { values: { state: ["failed"] }, text: "" },
      rest: "cart ",
    });
  });

  test("Enter takes the key at the end too", () => {
    expect(extractChips("cart user:u_1", noFilter, true)).toEqual({
      filter: { values: { user: ["u_1"] }, text: "" },
      rest: "cart ",
    });
  });

  test("a key without a value stays in the field", () => {
    expect(extractChips("state: ", noFilter, true).rest).toBe("state: ");
  });

  test("a space inside quotes ends nothing", () => {
    expect(extractChips('event:"Order ', noFilter, false).rest).toBe('event:"Order ');
  });

  test("the free text of a draft leaves out the keys", () => {
    expect(textOf("cart state:fail 503")).toBe("cart 503");
  });

  test("the last value of the last chip goes first", () => {
    const filter = withValue(
      withValue(withValue(noFilter, "type", "track"), "state", "failed"),
      "state",
      "expired",
    );
    expect(withoutLast(filter).values).toEqual({ type: ["track"], state: ["failed"] });
    expect(withoutLast(withoutLast(filter)).values).toEqual({ type: ["track"] });
  });
});

const sources = [
  { id: "src_000000001", name: "Shop web" },
  { id: "src_000000002", name: "Shop server" },
  { id: "src_000000003", name: "shop WEB" },
];

describe("a filter as a question to the API", () => {
  test("every key has its member, and the rest is searched for", () => {
    const filter = parseFilter(
      "type:track state:failed,expired user:u_1 event:Login status:5XX attempts:>=3 reason:disabled cart",
    );
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
    expect(calls["messages.list"].query.safeParse(listFilterOf(filter, sources)).success).toBe(
      true,
    );
  });

  test("no filter asks for everything", () => {
    expect(listFilterOf(parseFilter(""), sources)).toEqual({});
  });

  test("a source goes by its name, in any case, or by its id; two of one name are both meant", () => {
    expect(listFilterOf(parseFilter('source:"shop web"'), sources).sourceId).toEqual([
      "src_000000001",
      "src_000000003",
    ]);
    expect(listFilterOf(parseFilter("source:src_000000002"), sources).sourceId).toEqual([
      "src_000000002",
    ]);
  });

  test("a source that is not there finds nothing, and not everything", () => {
    expect(listFilterOf(parseFilter("source:Gone"), sources).sourceId).toEqual(["src_000000000"]);
  });
});

describe("what cannot be asked", () => {
  test.each([
    ["type:trak", "Unknown type “trak”."],
    ["state:lost", "Unknown state “lost”."],
    ["status:abc", "“abc” is not a status."],
    ["status:099", "“099” is not a status."],
    ["status:1000", "“1000” is not a status."],
    ["attempts:many", "“many” is not a number of attempts."],
  ])("%s is said in a sentence", (text, sentence) => {
    expect(problemOf(parseFilter(text))).toContain(sentence);
  });

  test("what can be asked is no problem", () => {
    expect(
      problemOf(
        parseFilter(
          "type:alias state:cancelled status:100,200,5xx,700,9XX,999 attempts:<=2 user:x anything",
        ),
      ),
    ).toBeNull();
  });
});

test("only filters on what happens later depend on it", () => {
  expect(matchesLater(parseFilter("type:track user:u_1 cart"))).toBe(false);
  expect(matchesLater(parseFilter("state:failed"))).toBe(true);
});
