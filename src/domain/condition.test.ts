import { parseFql, validate } from "@segment/destination-subscriptions";
import fc from "fast-check";
import { expect, test } from "vitest";
import { matchesCondition, parseCondition } from "./condition.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

type Event = Record<string, unknown>;

type Answer = boolean | null;

/** `null`: the open source cannot read the condition, and nothing matches it. */
function theirs(text: string, asked: readonly Event[]): Answer[] {
  const parsed = parseFql(text);
  if ("error" in parsed) return asked.map(() => null);
  return asked.map((event) => {
    try {
      return validate(parsed, event);
    } catch {
      return false;
    }
  });
}

function ours(text: string, asked: readonly Event[]): Answer[] {
  const { condition } = parseCondition(text);
  return asked.map((event) => (condition === null ? null : matchesCondition(condition, event)));
}

const track: Event = {
  type: "track",
  event: "Order Completed",
  userId: "u_1",
  name: "Home",
  properties: {
    total: 42.5,
    count: 0,
    paid: true,
    open: false,
    coupon: null,
    text: "42.5",
    empty: "",
    items: [{ sku: "a-1" }, { sku: "b-2" }],
    "two words": "x",
    nested: { a: { b: "deep" } },
  },
  context: { page: { path: "/cart" }, app: { build: 7 } },
};
const identify: Event = { type: "identify", userId: "5", traits: { plan: "pro", age: 30 } };
const bare: Event = { type: "page", anonymousId: "a", properties: {}, userId: null };
const events = [track, identify, bare, {}];

const conditions = [
  'type = "track"',
  'type != "track"',
  'type="track"',
  'type =  "track"  and event = "Order Completed"',
  'type = "track" and event = "Order Completed" or type = "page"',
  'type = "page" or event = "Order Completed" and userId = "u_1"',
  '(type = "track" or type = "page") and userId != null',
  'type = "track" and (event = "Order Completed" or event = "Other") and properties.paid = true',
  '(type = "track") and ((event = "a") or event = "b")',
  '(contains(event, "Order") or type = "page") and userId = "u_1"',
  "userId = null",
  "userId != null",
  "userId = true",
  "userId = 5",
  'userId = "5"',
  "name = null",
  'name != "Other"',
  "name = true",
  "event = null",
  "event != null",
  "properties.total = 42.5",
  "properties.total != 42.5",
  "properties.total > 42",
  "properties.total >= 42.5",
  'properties.total > "42"',
  "properties.total < -1",
  "properties.total < +100",
  "properties.total <= 42.5",
  "properties.total >=42",
  "properties.total !=42",
  "properties.total<42",
  'properties.total = "42.5"',
  "properties.text = 42.5",
  'properties.text = "42.5"',
  "properties.text > 1",
  "properties.paid = true",
  "properties.open = false",
  "properties.paid != true",
  "properties.open != false",
  "properties.coupon = null",
  "properties.coupon != null",
  "properties.missing = null",
  'properties.missing != "a"',
  "properties.missing != 1",
  "properties.count = 0",
  "properties.count.below = 0",
  "properties.empty.below != null",
  'properties.nested.a.b = "deep"',
  'properties.two\\ words = "x"',
  'properties.items.0.sku = "a-1"',
  "properties.text.length = 4",
  "properties.toString != null",
  "properties.constructor.caller != null",
  "properties != null",
  "properties\\. != null",
  "properties.\\[ = 1",
  'context.page.path = "/cart"',
  "context.app.build = 7",
  'traits.plan = "pro"',
  "traits.age >= 30",
  'contains(event, "Order")',
  '!contains(event, "Order")',
  'contains(type, "track")',
  'contains(properties.text, "2.5")',
  'contains(traits.plan, "p") and type = "identify"',
  'contains(context.page.path, "cart")',
  'match(event, "Order*")',
  'match(event, "*Completed")',
  'match(event, "Order")',
  '!match(properties.text, "4*")',
  '!match(userId, "*1")',
  "match(event, 5)",
  "contains(event)",
  "contains(",
  "contains",
  "event =",
  "event",
  "",
  "   ",
  "()",
  'type = "track" or ()',
  '() or type = "track"',
  '(type = "track"',
  'type = "track")',
  '!(type = "track")',
  'unknown = "x"',
  'type = "track" and unknown = "x"',
  'type = "track" and constructor = "x"',
  'type = "track" and constructor',
  'type = "track" and an',
  'type = "track" and nul',
  "type = 'track'",
  'event = "it\'s"',
  'event = "a"b"',
  'type = "track"and event = "x"',
  'type = "track" and(event = "x")',
  'event = "unterminated',
  "properties.total = 1.",
  "properties.total = 1.2.3",
  "properties.a & 1",
  'type = "track"\nand event = "Order Completed"',
  'type = "track"\r\nand event = "x"',
  'type . = "track"',
  'properties.and = "x"',
  "event = Order",
  "event = true",
  "properties.total = nullable",
  "[1, 2]",
  "type = \\",
];

test.each(conditions)("%j matches what the open source matches", (text) => {
  expect(ours(text, events)).toEqual(theirs(text, events));
});

const word = fc.constantFrom(
  ..."type event name userId properties.total properties.paid properties.text traits.plan".split(
    " ",
  ),
  ..."context.page.path properties.coupon properties.nested.a.b unknown constructor an nul".split(
    " ",
  ),
  ..."and or ( ) , . ! = != < <= > >= contains( match( !contains( !match( null true false".split(
    " ",
  ),
  ...'"track" "Order*" "*d" "" "u_1" 0 42.5 -1 +5 .5 5. \\ \\" \\. \\! \\= \\( \' " [ ] - _x a o n & \r \n'.split(
    " ",
  ),
);
const soup = fc
  .array(fc.tuple(word, fc.constantFrom(" ", " ", " ", "")), { maxLength: 14 })
  .map((parts) => parts.map(([text, space]) => text + space).join(""));

const memberName = fc.constantFrom(
  ..."type event name userId properties.total properties.paid properties.text".split(" "),
  ..."properties.coupon properties.missing traits.plan traits.age context.app.build".split(" "),
);
const value = fc.constantFrom(
  ...'"track" "identify" "Order Completed" "u_1" "42.5" 42.5 0 30 7 true false null "pro"'.split(
    " ",
  ),
);
const comparison = fc.oneof(
  fc
    .tuple(memberName, fc.constantFrom("=", "!=", "<", "<=", ">", ">="), value)
    .map((parts) => parts.join(" ")),
  fc
    .tuple(
      fc.constantFrom("contains", "match", "!contains", "!match"),
      memberName,
      fc.constantFrom('"Order*"', '"*ed"', '"r"', '"*"', '""'),
    )
    .map(([call, name, text]) => `${call}(${name}, ${text})`),
);
const joined = (part: fc.Arbitrary<string>) =>
  fc
    .tuple(part, fc.array(fc.tuple(fc.constantFrom(" and ", " or "), part), { maxLength: 4 }))
    .map(([first, rest]) => first + rest.map((pair) => pair.join("")).join(""));
const wellFormed = joined(
  fc.oneof(
    comparison,
    joined(comparison).map((text) => `(${text})`),
  ),
);
const anyText = fc.string({ unit: anyCharacter, maxLength: 30 });

test.each([
  ["well-formed", wellFormed, 2000],
  ["odd", soup, 4000],
  ["any", anyText, 1000],
] as const)("%s conditions match what the open source matches", (_, texts, numRuns) => {
  fc.assert(
    fc.property(texts, (text) => {
      expect(ours(text, events)).toEqual(theirs(text, events));
    }),
    { numRuns },
  );
});

test("an error has a sentence and a place", () => {
  const errorOf = (text: string) => {
    const parsed = parseCondition(text);
    return parsed.condition === null ? parsed.error : null;
  };
  expect(errorOf('type = "track')).toEqual({
    message: "The text in quotes has no closing quote.",
    at: 7,
  });
  expect(errorOf('type = "track" and event')).toEqual({
    message: "An operator and a value must follow event.",
    at: 19,
  });
  expect(errorOf("properties.a & 1")?.at).toBe(13);
  expect(errorOf('type = "a" or (event = "b"')?.at).toBe(14);
  expect(errorOf("")?.message).toMatch(/^The condition compares nothing/);
  expect(errorOf('type = "track"')).toBeNull();
});

test.each([
  ['type = "track" and propertis.total = 5', 19, "propertis.total cannot be compared"],
  ['type = "a" and event = "b" or name = "c"', 27, 'The last of several "and" and "or"'],
  ["type = 'track'", 7, "Single quotes are part of the value"],
  ["properties.total >=5", 18, "Put a space after >=."],
  ['match(event, "Order")', 13, 'match() needs a "*"'],
  ['contains(type, "tr") or type = "a"', 9, "type cannot be used in contains()"],
  ['type = "a" and ()', 15, "These parentheses compare nothing"],
  ['!(type = "a")', 0, '"!" works before contains and match only'],
  ["type = ", 7, "The value after type is missing"],
  ["event != null", 9, 'event is compared with the text "null"'],
])("%s is a surprise with its place", (text, at, message) => {
  const parsed = parseCondition(text);
  expect(parsed.condition).not.toBeNull();
  if (parsed.condition === null) return;
  expect(parsed.warnings).toHaveLength(1);
  expect(parsed.warnings[0]).toMatchObject({ at, message: expect.stringContaining(message) });
});

test("an ordinary condition has no warnings", () => {
  for (const text of [
    'type = "track" and event = "Order Completed"',
    '(type = "track" or type = "page") and (properties.total > 5 or !contains(event, "a"))',
    'match(properties.name, "Ada*") and traits.plan != null and userId = true',
  ])
    expect(parseCondition(text)).toMatchObject({ warnings: [] });
});
