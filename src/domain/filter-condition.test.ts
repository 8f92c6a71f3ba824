import fc from "fast-check";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { parseFilterCondition } from "./filter-condition.ts";
import type { JsonObject } from "./json.ts";

/** The matcher of the hosted service's browser library, for filters of device-mode destinations. */
const require = createRequire(import.meta.url);
// A page has it.
Object.assign(globalThis, { self: globalThis });
const library = dirname(require.resolve("@segment/analytics-next"));
const { matches } = require(join(library, "../cjs/vendor/tsub/tsub.js")) as {
  matches(event: object, matcher: { type: "fql"; ir: string }): boolean;
};

const clicked: JsonObject = {
  event: "Button Clicked",
  type: "track",
  userId: "u",
  anonymousId: "a-1",
  context: { library: { name: "analytics.js", version: "1.0" } },
  properties: {
    features: ["discounts", "dark-mode"],
    "product 1": { price: "19.99" },
    "a.b": "dotted",
    an: 5,
    enabled: true,
    off: false,
    total: 42.5,
    text: "42.5",
    kana: "ア",
    nothing: null,
    items: [{ sku: "a" }],
  },
};

function holds(condition: string, message = clicked): boolean | string {
  const parsed = parseFilterCondition(condition);
  return parsed.condition === null ? parsed.error.message : parsed.condition(message);
}

const documented: [string, boolean][] = [
  ["event = 'Button Clicked'", true],
  ["event = 'Screen Tapped'", false],
  ["context.path.path = '/login'", false],
  ["type = 'identify' or type = 'track'", true],
  ["event = 'Button Clicked' and type = 'track'", true],
  ["match( context.library.version, '1.*' )", true],
  ["match( context.library.version, '2.*' )", false],
  ["type = 'track' and ( event = 'Click' or match( event, 'Button *' ) )", true],
  ["!contains( context.library.name, 'js' )", false],
  ["'dark-mode' in properties.features", true],
  ["'blink' in properties.features", false],
  ["properties.product\\ 1.price = '19.99'", true],
  [
    "( type = 'track' or type = 'identify' ) and ( properties.enabled or match( traits.email, '*@company.com' ) )",
    true,
  ],
  ["!( type in ['track', 'identify'] )", false],
  ["length( userId ) > 0", true],
  ["contains( traits.email, 'a' )", false],
  ["length( traits.email ) = 0", true],
  ["lowercase( traits.email ) = null", true],
  ["typeof( traits.email ) = 'null'", true],
  ["match( traits.email, '*' )", false],
  ["length( properties.kana ) = 3", true],
  ["snakecase( 'test string' ) = 'test_string'", true],
  ["kebabcase( 'test string' ) = 'test-string'", true],
  ["titlecase( 'test string' ) = 'Test String'", true],
  ["match( 'abcd', 'a*d' )", true],
  ["match( '', '*' )", true],
  ["match( 'abc', 'ab' )", false],
  ["match( 'abcd', 'a??d' )", true],
  ["match( 'abcd', '*d' )", true],
  ["match( 'ab*d', 'ab\\*d' )", true],
  ["match( 'abCd', 'ab[cC]d' )", true],
  ["match( 'abcd', 'ab[a-z]d' )", true],
  ["match( 'abcd', 'ab[A-Z]d' )", false],
];

test.each(documented)("the documented condition %s is %s", (condition, expected) => {
  expect(holds(condition)).toBe(expected);
});

test.each<[string, boolean]>([
  ['type = "track" and anonymousId = "a-1"', true],
  ["type = 'page' and type = 'track' or event = 'Button Clicked'", true],
  ["event = 'Button Clicked' or type = 'page' and type = 'track'", true],
  ["((type = 'track') and (((event != 'x'))))", true],
  ["properties.a\\.b = 'dotted'", true],
  ["properties.an", false],
  ["properties.an = 5", true],
  ["5 = properties.an", true],
  ["properties.off", false],
  ["!properties.off", true],
  ["!properties.missing", true],
  ["properties.missing != 1", true],
  ["properties.missing = null and properties.nothing = null", true],
  ["properties.total = '42.5'", false],
  ["properties.total = properties.text", false],
  ["string(properties.total) = properties.text", true],
  ["string(properties.features) = null and string(properties.enabled) = 'true'", true],
  ["number(properties.text) >= 42.5", true],
  ["number('x') = null", true],
  ["bool('false')", false],
  ["bool(properties.features)", true],
  ["properties.text > 1", false],
  ["properties.features = ['discounts', 'dark-mode']", true],
  ["properties.features = ['dark-mode', 'discounts']", false],
  ["42.5 in [1, properties.total]", true],
  ["1 in []", false],
  ["'d' in 'dark'", false],
  ["length(properties.features) = 2 and length(properties.total) = null", true],
  ["typeof(properties.features) = 'list' and typeof(properties.enabled) = 'bool'", true],
  ["typeof(properties) = 'object'", true],
  ["uppercase(lowercase(type)) = 'TRACK'", true],
  ["constructor = null and properties.toString = null", true],
  ["true and not = null", true],
  ["match('Button *', event)", false],
  ["match('😀', '?')", true],
  ["match('ab', 'a[^b]') or match('ac', 'a[^b]')", true],
])("%s is %s", (condition, expected) => {
  expect(holds(condition)).toBe(expected);
});

test.each<[string, string, number]>([
  ["", "compares nothing", 0],
  ["'track'", "alone it is neither true nor false", 0],
  ["type = 'track' and length(userId)", "alone it is neither true nor false", 19],
  ["(type = 'track'", "is not closed", 0],
  ["type = 'track')", "closes none", 14],
  ["type = 'track' event = 'x'", 'Put "and" or "or" before "event"', 15],
  ["type =", "not the end", 6],
  ["type >=5", "Put a space after >=", 5],
  ["a = b = c", "cannot follow another one", 6],
  ["!type = 'track'", "Put parentheses", 0],
  ["lenght(userId) > 0", '"lenght" is no function. Functions are contains, match', 0],
  ["contains(event)", "contains() needs two values, not 1", 0],
  ["properties.1st = 5", "backslash before the digit", 11],
  ["properties. = 5", "A name must follow the dot", 12],
  ["type in ['track'", "not closed by ]", 8],
  ["match(event, 'a[b')", 'a character or "]" is missing', 13],
  ["match(event, 'a[]')", 'a character or "]" is missing', 13],
  ["match(event, 'a\\')", "must follow the backslash", 13],
  [`match(event, '${"a".repeat(201)}')`, "at most 200 characters", 13],
  [`${"(".repeat(5000)}type`, "in at most 100 others", 100],
  ["type = - ", "is no number", 7],
  ["properties.$total = 5", "in a name a backslash stands before it", 11],
  ["type = 'track", "no closing quote", 7],
])("%s is refused: %s", (condition, sentence, at) => {
  const parsed = parseFilterCondition(condition);
  if (parsed.condition !== null) throw new Error("it was accepted");
  expect(parsed.error.message).toContain(sentence);
  expect(parsed.error.at).toBe(at);
});

test("a name that is probably a mistake has a warning", () => {
  expect(parseFilterCondition("type = track and propertis.total > 5")).toMatchObject({
    warnings: [
      { message: expect.stringContaining('no member "track"') as string, at: 7 },
      { message: expect.stringContaining('no member "propertis"') as string, at: 17 },
    ],
  });
  expect(parseFilterCondition("anonymousId != null")).toMatchObject({ warnings: [] });
});

test("patterns match what the hosted service's library matches", () => {
  const piece = fc.constantFrom(..."* * ? a b c [ab] [a-c] [^a] \\* \\? .".split(" "));
  const pattern = fc.array(piece, { maxLength: 7 }).map((pieces) => pieces.join(""));
  const text = fc.string({ unit: fc.constantFrom(..."abc*?.".split("")), maxLength: 8 });
  fc.assert(
    fc.property(pattern, text, (glob, userId) => {
      const ir = JSON.stringify(["match", "userId", { value: glob }]);
      expect(holds(`match(userId, "${glob}")`, { userId })).toBe(
        matches({ userId }, { type: "fql", ir }),
      );
    }),
    { numRuns: 3000, seed: 20261128 },
  );
});
