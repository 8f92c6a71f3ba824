import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chipKeys,
  type Filter,
  isEmpty,
  noFilter,
  parseFilter,
  withValue,
} from "../../../domain/message-filter.ts";
import {
  extractChips,
  filterOf,
  listFilterOf,
  matchesLater,
  meantBy,
  queryOf,
  textOf,
  withoutLast,
} from "./filter-text.ts";

const formatWord = (word: string): string => `"${word.replaceAll(/["\\]/g, "\\$&")}"`;

const filters: fc.Arbitrary<Filter> = fc
  .record({
    values: fc.dictionary(
      fc.constantFrom(...chipKeys.filter((key) => !/last|since|until/.test(key))),
      // The beginning of a known value would be completed.
      fc.uniqueArray(
        fc.string().map((value) => `${value}~`),
        { minLength: 1, maxLength: 3 },
      ),
    ),
    words: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  })
  .map(({ values, words }) => ({
    values: { ...values },
    text: words.map(formatWord).join(" "),
  }));

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

const goesOn = (): boolean => false;
const writing = { all: false, goesOn };
const ended = { all: true, goesOn };

describe("writing in the field", () => {
  test("a key becomes a chip when something follows it, and not while it is being written", () => {
    expect(extractChips("state:fai", noFilter, writing)).toEqual({
      filter: noFilter,
      rest: "state:fai",
    });
    expect(extractChips("cart state:failed ", noFilter, writing)).toEqual({
      filter: { values: { state: ["failed"] }, text: "" },
      rest: "cart ",
    });
  });

  test("Enter takes the key at the end too", () => {
    expect(extractChips("cart -user:u_1", noFilter, ended)).toEqual({
      filter: { values: { "-user": ["u_1"] }, text: "" },
      rest: "cart ",
    });
  });

  test("a key without a value stays in the field", () => {
    expect(extractChips("state: ", noFilter, ended).rest).toBe("state: ");
  });

  test("a space inside quotes ends nothing", () => {
    expect(extractChips('event:"Order ', noFilter, writing).rest).toBe('event:"Order ');
  });

  test("the free text of a draft leaves out the keys, and keeps quotes and minuses", () => {
    expect(textOf('cart state:fail -"gift card" 503', goesOn)).toBe('cart -"gift card" 503');
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

test("the API is asked in the same language, and without a filter for everything", () => {
  expect(listFilterOf(parseFilter('event:"Order Completed" -state:delivered cart'))).toEqual({
    filter: 'event:"Order Completed" -state:delivered cart',
  });
  expect(listFilterOf(parseFilter(""))).toEqual({});
});

test("only filters on what happens later depend on it", () => {
  expect(matchesLater(parseFilter("type:track -user:u_1 batch:msg_00000000a"))).toBe(false);
  for (const text of ["state:failed", "-state:failed", "outcome:timeout", "last:5m", "cart"])
    expect(matchesLater(parseFilter(text))).toBe(true);
});

test.each([
  ["last minute", "last:1m"],
  ["cart Last Hour -refund", "last:1h cart -refund"],
  ["last 5 minutes", "last:5m"],
  ["last 90 s cart", "last:90s cart"],
  ["last 2h", "last:2h"],
  ["type:track last day", "type:track last:1d"],
])("a time in the free text is meant as one: %s", (text, meant) => {
  expect(meantBy(parseFilter(text))).toEqual(parseFilter(meant));
});

test("“not” in front of a state in the free text means to leave the state out", () => {
  expect(meantBy(parseFilter("type:track cart Not delivered"))).toEqual(
    parseFilter("type:track -state:delivered cart"),
  );
  for (const text of [
    "not",
    "knot delivered",
    "not shipped",
    "delivered not",
    "-state:delivered",
    "last",
    "at last",
    "last 5",
    "last order",
  ])
    expect(meantBy(parseFilter(text))).toBeNull();
});
