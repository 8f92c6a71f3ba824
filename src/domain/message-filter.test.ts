import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  chipKeys,
  durationOf,
  type Filter,
  formatFilter,
  isEmpty,
  nameTest,
  parseFilter,
  problemOf,
  timeOf,
  tokensOf,
  wordsOf,
} from "./message-filter.ts";

const single = /^-?(?:last|since|until)$/;
/** Beginnings of these are completed. */
const known = /^-?(?:type|state|outcome|plan)$/;

const formatWord = (word: string): string => `"${word.replaceAll(/["\\]/g, "\\$&")}"`;

const filters: fc.Arbitrary<Filter> = fc
  .record({
    values: fc.dictionary(
      fc.constantFrom(...chipKeys),
      fc.uniqueArray(fc.string({ minLength: 1 }), { minLength: 1, maxLength: 3 }),
    ),
    words: fc.array(fc.string({ minLength: 1 }), { maxLength: 3 }),
  })
  .map(({ values, words }) => ({
    values: Object.fromEntries(
      Object.entries(values).map(([key, all]) => [
        key,
        known.test(key)
          ? all.map((value) => `${value}~`)
          : single.test(key)
            ? all.slice(0, 1)
            : all,
      ]),
    ),
    text: words.map(formatWord).join(" "),
  }));

describe("a filter as text", () => {
  test("keys, lists of values, quoted values and free text are told apart", () => {
    expect(
      parseFilter('state:failed,expired  cart user:u_1 event:"Order Completed",Login 503'),
    ).toEqual({
      values: { state: ["failed", "expired"], user: ["u_1"], event: ["Order Completed", "Login"] },
      text: "cart 503",
    });
  });

  test("what stands behind a minus is left out", () => {
    expect(parseFilter('-state:delivered state:failed -type:track,page -"gift card" cart')).toEqual(
      {
        values: { "-state": ["delivered"], state: ["failed"], "-type": ["track", "page"] },
        text: '-"gift card" cart',
      },
    );
  });

  test.each([
    ["one key written twice means any of its values", "type:track type:identify,track", "type", 2],
    ["of a time, the last one counts", "last:5m last:1h", "last", 1],
    ["keys are read in any case", "State:failed STATE:expired", "state", 2],
  ] as const)("%s", (_what, text, key, values) => {
    expect(parseFilter(text).values[key]).toHaveLength(values);
  });

  test("other words for a key, and an exclamation mark for the minus, are understood", () => {
    expect(parseFilter("userId:ada from:web !to:crm url:hooks").values).toEqual({
      user: ["ada"],
      source: ["web"],
      "-destination": ["crm"],
      webhook: ["hooks"],
    });
  });

  test("the beginning of a known value is enough, when no other one begins like it", () => {
    expect(parseFilter("outcome:tls,conn state:Exp,f").values).toEqual({
      outcome: ["tls_error", "connection_error"],
      state: ["expired", "f"],
    });
  });

  test("an address is free text, and so is what is quoted", () => {
    const text = 'http://shop.example:8080 12:30 "state:failed"';
    expect(parseFilter(text)).toEqual({ values: {}, text });
    expect(problemOf(parseFilter(text))).toBeNull();
  });

  test("quotes and backslashes in a value survive", () => {
    expect(parseFilter('event:"say \\"hi\\" \\\\ bye"').values.event).toEqual(['say "hi" \\ bye']);
  });

  test("a quote that is not closed ends with the text, also behind a backslash", () => {
    expect(parseFilter('event:"Order Comp').values.event).toEqual(["Order Comp"]);
    expect(parseFilter('event:"Order \\').values.event).toEqual(["Order \\"]);
    expect(parseFilter('"\\')).toEqual({ values: {}, text: '"\\' });
  });

  test("what is written can be read again, whatever it contains", () => {
    fc.assert(
      fc.property(filters, (filter) => {
        expect(parseFilter(formatFilter(filter))).toEqual(filter);
      }),
    );
  });

  test("a word of free text is found as it was meant, whatever it contains", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 1 }), (words) => {
        expect(wordsOf(words.map(formatWord).join(" "))).toEqual({ all: words, none: [] });
      }),
    );
  });

  test("any text can be read, and says the same when it is written again", () => {
    const unit = fc.constantFrom('"', "\\", " ", "-", ":", ",", "a", "state:");
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit })), (text) => {
        const filter = parseFilter(text);
        expect(parseFilter(formatFilter(filter))).toEqual(filter);
        expect(isEmpty(filter) || formatFilter(filter) !== "").toBe(true);
      }),
    );
  });
});

test("free words have to be found, all of them, but for those behind a minus", () => {
  expect(wordsOf('cart "Order Completed" -refund -"gift card" - a-b')).toEqual({
    all: ["cart", "Order Completed", "-", "a-b"],
    none: ["refund", "gift card"],
  });
});

describe("a name with spaces", () => {
  const names = ["order completed", "order completed again", "login"];
  const goesOn = (_key: string, value: string): boolean =>
    names.some((name) => name.startsWith(value.toLowerCase()));
  const tokens = (text: string) =>
    tokensOf(text, goesOn).map(({ values, text: word, ended }) => [values[0] ?? word, ended]);

  test.each([
    ["event:Order", [["Order", false]]],
    ["event:Order ", [["Order ", false]]],
    ["event:Order Comp", [["Order Comp", false]]],
    [
      "event:Order cart",
      [
        ["Order", true],
        ["cart", false],
      ],
    ],
    [
      "event:Login cart",
      [
        ["Login", true],
        ["cart", false],
      ],
    ],
    ["event:Login ", [["Login", true]]],
    ["event:Order Completed Again", [["Order Completed Again", false]]],
  ])("goes on behind a space as long as a known one does: %s", (text, expected) => {
    expect(tokens(text)).toEqual(expected);
  });
});

describe("what cannot be asked", () => {
  test.each([
    ["type:trak", "Unknown type “trak”."],
    ["state:lost", "Unknown state “lost”."],
    ["-state:lost", "Unknown state “lost”."],
    ["outcome:fine", "Unknown outcome “fine”."],
    ["status:abc", "“abc” is not a status."],
    ["status:timeout", "“timeout” is an outcome. Use outcome:timeout."],
    ["status:099", "“099” is not a status."],
    ["status:>=50", "“>=50” is not a status."],
    ["status:1000", "“1000” is not a status."],
    ["status:first=503", "“first=503” is not a status."],
    ["attempts:many", "“many” is not a number of attempts."],
    ["last:5", "“5” is not a duration."],
    ["since:tomorrow", "“tomorrow” is not a time."],
    ["until:25:00", "“25:00” is not a time."],
    ["batch:7", "“7” is not the id of a message."],
    ["-last:5m", "“last” cannot be left out."],
    ["colour:red", "Unknown key “colour”. The keys are event, user,"],
    ["a ".repeat(51), "A filter has at most 50 words of free text."],
    ["cart -colour:red", 'To search for the text, write "-colour:red" in quotes.'],
  ])("%s is said in a sentence", (text, sentence) => {
    expect(problemOf(parseFilter(text))).toContain(sentence);
  });

  test("what can be asked is no problem", () => {
    expect(
      problemOf(
        parseFilter(
          "type:alias state:cancelled status:100,200,5xx,700,9XX,last=503,>=500,last=<4xx outcome:timeout attempts:<=2 user:x last:1h30m since:10:30 until:2026-11-21 batch:msg_00000000a -event:x anything".concat(
            " more".repeat(49),
          ),
        ),
      ),
    ).toBeNull();
  });
});

test("a number of attempts may have its sign behind it", () => {
  expect(parseFilter("attempts:2+")).toEqual(parseFilter("attempts:>=2"));
});

test.each<[string, string[]]>([
  ["order completed", ["Order Completed"]],
  ["order*", ["Order Completed", "order*", "Orders"]],
  ["*ed", ["Order Completed", "Repeated"]],
  ["o*r*d", ["Order Completed"]],
  ["r*peat*peated", []],
  ["*", ["Order Completed", "order*", "Orders", "Reorder", "Repeated"]],
])("a name is meant in any case, and a star stands for anything: %s", (wanted, expected) => {
  const names = ["Order Completed", "order*", "Orders", "Reorder", "Repeated"];
  expect(names.filter(nameTest(wanted))).toEqual(expected);
});

test("durations have units, several of them too", () => {
  expect(
    ["30s", "5m", "2h", "1d", "1h30m", "5min", "2hours", "5", "m", ""].map(durationOf),
  ).toEqual([
    30_000,
    300_000,
    7_200_000,
    86_400_000,
    5_400_000,
    300_000,
    7_200_000,
    null,
    null,
    null,
  ]);
});

test("a time is one of today, a day, or both, in the machine's zone unless it names one", () => {
  const now = new Date(2026, 10, 21, 16, 47).getTime();
  expect(
    ["10:30", "2026-11-20", "2026-11-20T10:30", "2026-11-20T10:30:00Z", "10", "24:00"].map((text) =>
      timeOf(text, now),
    ),
  ).toEqual([
    new Date(2026, 10, 21, 10, 30).getTime(),
    new Date(2026, 10, 20).getTime(),
    new Date(2026, 10, 20, 10, 30).getTime(),
    Date.UTC(2026, 10, 20, 10, 30),
    null,
    null,
  ]);
  const days = [timeOf("today", now), timeOf("Yesterday", now)];
  expect(days).toEqual([21, 20].map((day) => new Date(2026, 10, day).getTime()));
});
