import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { comparesAll, compares, evaluateInPieces, compareText, spellingOf } from "./evaluate.ts";
import { allOf, needsOf, windowMs, type EventFact, type ProfileFacts } from "./facts.ts";
import type { MessageRowId } from "./ids.ts";
import type { Json, JsonObject } from "./json.ts";
import { drafts, evaluate, factsOf, now, rules } from "./rules.fixture.ts";
import { dayMs, type Rule, type Operand, type Operator } from "./rules.ts";
import { utf8Bytes } from "./utf8.ts";

const day = (days: number): number => now - days * dayMs;

function user(
  traits: JsonObject,
  events: [name: string, daysAgo: number, properties?: JsonObject][] = [],
): ProfileFacts {
  return factsOf({
    traits: new Map(Object.entries(traits).map(([name, value]) => [name, { value, at: day(30) }])),
    events: events.map(([event, daysAgo, properties = {}]) => ({
      event,
      at: day(daysAgo),
      properties,
    })),
  });
}

const pro: Rule = { trait: "plan", op: "is", value: "pro" };
const never: Rule = { trait: "plan", op: "is", value: "none of these" };
const bought = (more: object = {}): Rule => ({ event: "Bought", ...more });
const shopper = user({ plan: "pro" }, [
  ["Bought", 9, { total: 90 }],
  ["Bought", 6, { total: 60, items: ["book"] }],
  ["Bought", 2, { total: 20 }],
  ["Seen", 1],
]);

describe("a rule", () => {
  test.each<[string, Rule, ProfileFacts, boolean, number | null]>([
    ["on a trait holds for ever", pro, shopper, true, null],
    ["on a trait that is not there does not", { trait: "age", op: "exists" }, shopper, false, null],
    ["on an event counts all of it", bought({ atLeast: 3 }), shopper, true, null],
    ["wants as many as it says", bought({ atLeast: 4 }), shopper, false, null],
    ["takes once for granted", bought(), shopper, true, null],
    ["does not count others' events", { event: "Returned" }, shopper, false, null],
    [
      "with a window counts what is in it, until the newest that is needed leaves",
      bought({ atLeast: 2, withinDays: 7 }),
      shopper,
      true,
      day(-1),
    ],
    ["with a window holds by the newest alone", bought({ withinDays: 7 }), shopper, true, day(-5)],
    [
      "with a window does not hold for ever without enough",
      bought({ atLeast: 3, withinDays: 7 }),
      shopper,
      false,
      null,
    ],
    [
      "with a window leaves out what is exactly as old as it",
      bought({ withinDays: 2 }),
      shopper,
      false,
      null,
    ],
    [
      "with properties counts what has them all",
      bought({ where: [{ property: "total", op: "greater", value: 50 }], atLeast: 2 }),
      shopper,
      true,
      null,
    ],
    [
      "with properties and a window",
      bought({ where: [{ property: "total", op: "greater", value: 50 }], withinDays: 7 }),
      shopper,
      true,
      day(-1),
    ],
    [
      "finds a value in a list",
      bought({ where: [{ property: "items", op: "contains", value: "book" }] }),
      shopper,
      true,
      null,
    ],
    [
      "counts an event of the future at once",
      bought({ withinDays: 1 }),
      user({}, [["Bought", -3]]),
      true,
      day(-4),
    ],
    [
      "not: holds until the window no longer does not",
      { not: bought({ withinDays: 7 }) },
      shopper,
      false,
      day(-5),
    ],
    [
      "not: for who never did it holds for ever",
      { not: bought({ withinDays: 7 }) },
      user({}),
      true,
      null,
    ],
    [
      "all: ends with the first that ends",
      { all: [bought({ withinDays: 7 }), { event: "Seen", withinDays: 3 }] },
      shopper,
      true,
      day(-2),
    ],
    [
      "all: stays false while one part does",
      { all: [never, { not: bought({ withinDays: 7 }) }] },
      shopper,
      false,
      null,
    ],
    [
      "any: ends with the last that ends",
      { any: [bought({ withinDays: 7 }), { event: "Seen", withinDays: 3 }] },
      shopper,
      true,
      day(-5),
    ],
    [
      "any: stays true while one part does",
      { any: [pro, bought({ withinDays: 7 })] },
      shopper,
      true,
      null,
    ],
    [
      "that would change and change back at one moment does not change",
      { any: [bought({ withinDays: 7 }), { not: bought({ withinDays: 7 }) }] },
      shopper,
      true,
      null,
    ],
    [
      "can begin to hold by time alone, and end",
      { all: [{ not: { event: "Seen", withinDays: 3 } }, bought({ withinDays: 7 })] },
      shopper,
      false,
      day(-2),
    ],
  ])("%s", (_what, rule, facts, value, until) => {
    expect(evaluate(rule, facts, now)).toEqual({ value, until });
  });

  test("'at least twice within 7 days' lets a user leave by time alone", () => {
    const rule = bought({ atLeast: 2, withinDays: 7 });
    const { until } = evaluate(rule, shopper, now);
    expect(evaluate(rule, shopper, (until ?? 0) - 1)).toEqual({ value: true, until });
    expect(evaluate(rule, shopper, until ?? 0)).toEqual({ value: false, until: null });
  });

  test("a window of a fraction of a day is rounded to whole milliseconds, one at least", () => {
    expect(windowMs({ withinDays: 0.5 })).toBe(dayMs / 2);
    expect(windowMs({ withinDays: 1e-9 })).toBe(1);
    expect(windowMs({})).toBeNull();
  });
});

/** What the rule says, read word by word. */
function plainly(rule: Rule, facts: ProfileFacts, time: number): boolean {
  if ("all" in rule) return rule.all.every((part) => plainly(part, facts, time));
  if ("any" in rule) return rule.any.some((part) => plainly(part, facts, time));
  if ("not" in rule) return !plainly(rule.not, facts, time);
  if ("trait" in rule) {
    const value = facts.traits.get(rule.trait.toWellFormed())?.value;
    const { trait: property, ...rest } = rule;
    return comparesAll(
      [{ property, ...rest }],
      value === undefined ? {} : Object.fromEntries([[property, value]]),
    );
  }
  const done = facts.events.get(rule.event) ?? [];
  const window = windowMs(rule);
  const counted = done.filter(
    ({ at, properties }) =>
      (window === null || at > time - window) && comparesAll(rule.where ?? [], properties),
  );
  return counted.length >= (rule.atLeast ?? 1);
}

function windowsOf(rule: Rule): number[] {
  if ("all" in rule || "any" in rule)
    return ("all" in rule ? rule.all : rule.any).flatMap(windowsOf);
  if ("not" in rule) return windowsOf(rule.not);
  return "event" in rule ? [windowMs(rule) ?? 0] : [];
}

describe("for any rule and any user", () => {
  test("the value is what the rule says, and until is the first time at which it says something else", () => {
    fc.assert(
      fc.property(rules, drafts, (rule, draft) => {
        const facts = factsOf(draft);
        const { value, until } = evaluate(rule, facts, now);
        expect(value).toBe(plainly(rule, facts, now));
        const turns = draft.events
          .flatMap(({ at }) => windowsOf(rule).map((window) => at + window))
          .filter((time) => time > now);
        const change = turns
          .sort((a, b) => a - b)
          .find((time) => plainly(rule, facts, time) !== value);
        expect(until).toBe(change ?? null);
      }),
      { numRuns: 3000 },
    );
  });

  test("no other facts are needed than it says", () => {
    fc.assert(
      fc.property(rules, rules, drafts, (rule, other, draft) => {
        const facts = factsOf(draft);
        const expected = evaluate(rule, facts, now);
        expect(evaluate(rule, only(facts, needsOf(rule)), now)).toEqual(expected);
        expect(evaluate(rule, only(facts, needsOf(rule, other)), now)).toEqual(expected);
        expect(evaluate(rule, only(facts, allOf(needsOf(rule))), now)).toEqual(expected);
      }),
      { numRuns: 1000 },
    );
  });
});

/** The facts that were asked for, and not one more. */
function only(facts: ProfileFacts, needs: ReturnType<typeof needsOf>): ProfileFacts {
  return {
    traits: new Map([...facts.traits].filter(([name]) => needs.traits.has(name))),
    events: new Map(
      [...needs.events].map(([name, need]) => {
        const within = (facts.events.get(name) ?? []).filter(
          ({ at }) => need.withinMs === null || at > now - need.withinMs,
        );
        const newest =
          need.newest === null ? within : within.slice(Math.max(0, within.length - need.newest));
        return [
          name,
          newest.map((fact): EventFact => (need.properties ? fact : { ...fact, properties: {} })),
        ];
      }),
    ),
  };
}

test("comparing many events with many conditions takes steps, and pauses when none are left", () => {
  const any = Array.from({ length: 10 }, (_, value) =>
    bought({ where: [{ property: "text", op: "contains", value: `${value}` }] }),
  );
  const rule: Rule = { any: [{ trait: "text", op: "contains", value: "0" }, ...any] };
  const pausesWith = (text: string): number => {
    const events = Array.from({ length: 500 }, (): [string, number, JsonObject] => [
      "Bought",
      1,
      { text },
    ]);
    const steps = { left: 100 };
    let pauses = 0;
    const pieces = evaluateInPieces(rule, user({ text }, events), now, steps);
    for (let piece = pieces.next(); piece.done !== true; piece = pieces.next()) {
      expect(steps.left).toBeLessThanOrEqual(0);
      steps.left = 100;
      pauses += 1;
    }
    return pauses;
  };
  expect(pausesWith("x")).toBeGreaterThan(5);
  expect(pausesWith("x")).toBeLessThan(20);
  // Each of these takes a piece or two.
  expect(pausesWith("x".repeat(20_000))).toBeGreaterThan(2500);
});

test("a rule for many is asked for at once", () => {
  const needs = needsOf(
    { all: [pro, bought({ atLeast: 2, withinDays: 7 })] },
    { not: bought({ withinDays: 30 }) },
    { aggregate: "count", event: "Seen" },
    { aggregate: "sum", event: "Returned", property: "total", withinDays: 1 },
  );
  expect([...needs.traits]).toEqual(["plan"]);
  expect(Object.fromEntries(needs.events)).toEqual({
    Bought: { withinMs: 30 * dayMs, newest: 2, properties: [] },
    Seen: { withinMs: null, newest: null, properties: [] },
    Returned: { withinMs: dayMs, newest: null, properties: ["total"] },
  });
});

test("names that are no whole text are asked for as they are kept", () => {
  expect([...needsOf({ trait: "\ud800", op: "exists" }).traits]).toEqual(["\ufffd"]);
  const facts: ProfileFacts = {
    traits: new Map([["\ufffd", { value: 1 as Json, at: now }]]),
    events: new Map([["\ufffd", [{ at: now, properties: {}, messageId: 1 as MessageRowId }]]]),
  };
  expect(
    evaluate({ all: [{ trait: "\ud800", op: "exists" }, { event: "\udc00" }] }, facts, now).value,
  ).toBe(true);
});

const none = undefined;

describe("an operator", () => {
  test.each<[Json | undefined, Operator, Operand | undefined, boolean]>([
    ["pro", "is", "pro", true],
    ["Pro", "is", "pro", false],
    ["", "is", "", true],
    ["1", "is", 1, false],
    [1, "is", true, false],
    [true, "is", true, true],
    [0, "is", -0, true],
    [2 ** 53, "is", 2 ** 53 + 2, false],
    [null, "is", "null", false],
    [none, "is", "", false],
    [["pro"], "is", "pro", false],
    [{}, "is", "[object Object]", false],
    ["é", "is", "e\u0301", false],
    ["a\u0000b", "is", "a", false],
    ["\ud800", "is", "\ufffd", false],

    ["pro", "isNot", "free", true],
    ["pro", "isNot", "pro", false],
    [none, "isNot", "pro", true],
    [null, "isNot", "pro", true],
    [1, "isNot", "1", true],
    [["pro"], "isNot", "pro", true],

    ["", "exists", none, true],
    [0, "exists", none, true],
    [false, "exists", true, true],
    [[], "exists", true, true],
    [null, "exists", none, false],
    [none, "exists", true, false],
    [null, "exists", false, true],
    [none, "exists", false, true],
    ["", "exists", false, false],

    ["a@example.com", "contains", "@example.", true],
    ["a@Example.com", "contains", "@example.", false],
    ["", "contains", "", true],
    ["a", "contains", "", true],
    ["12", "contains", 1, false],
    [12, "contains", "1", false],
    [["a", 1], "contains", "a", true],
    [["a", 1], "contains", 1, true],
    [["a", 1], "contains", "1", false],
    [["ab"], "contains", "a", false],
    [[["a"]], "contains", "a", false],
    [[true], "contains", true, true],
    [[-0], "contains", 0, true],
    [{ a: 1 }, "contains", "a", false],
    [none, "contains", "", false],
    ["😀", "contains", "\ud83d", false],
    ["😀", "contains", "\ude00", false],
    ["😀\ud83d", "contains", "\ud83d", true],
    ["\ude00", "contains", "\ude00", true],
    ["x😀y", "contains", "😀", true],

    [2, "greater", 1, true],
    [1, "greater", 1, false],
    [10, "greater", 9, true],
    [-1, "less", 0, true],
    [-0, "less", 0, false],
    [0, "greater", -0, false],
    [2 ** 53 + 2, "greater", 2 ** 53, true],
    ["10", "greater", "9", false],
    ["b", "greater", "a", true],
    ["a", "greater", "B", true],
    ["ab", "greater", "a", true],
    ["", "less", "a", true],
    ["2026-11-21T00:00:00.000Z", "greater", "2026-11-20", true],
    ["\u{10000}", "greater", "\uffff", true],
    ["a\u0000", "greater", "a", true],
    ["2", "greater", 1, false],
    [2, "greater", "1", false],
    [true, "greater", false, false],
    [null, "less", 1, false],
    [none, "less", 1, false],
    [[2], "greater", 1, false],
  ])("%j %s %j: %s", (value, op, operand, holds) => {
    expect(compares(operand === undefined ? { op } : { op, value: operand }, value)).toBe(holds);
  });
});

test("names that every object inherits are names like any other", () => {
  const inherited = JSON.parse('{"__proto__":1}') as Record<string, Json>;
  expect(comparesAll([{ property: "__proto__", op: "is", value: 1 }], inherited)).toBe(true);
  for (const property of ["__proto__", "constructor", "toString"])
    expect(comparesAll([{ property, op: "exists" }], {})).toBe(false);
});

const wide = fc.string({
  unit: fc.constantFrom(
    "a",
    "b",
    "\u0000",
    "é",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\u{10000}",
    "😀",
    "\u{10ffff}",
  ),
});

test("texts sort as their UTF-8 bytes", () => {
  fc.assert(
    fc.property(wide, wide, (a, b) => {
      expect(Math.sign(compareText(a, b))).toBe(
        Math.sign(Buffer.compare(utf8Bytes(a), utf8Bytes(b))),
      );
    }),
  );
});

test("texts sort by code point, halves of pairs among them", () => {
  const torn = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00", "\ud800", "\uffff") });
  const points = (text: string): number[] => Array.from(text, (point) => point.codePointAt(0) ?? 0);
  fc.assert(
    fc.property(torn, torn, (a, b) => {
      const [left, right] = [points(a), points(b)];
      const at = left.findIndex((point, place) => point !== right[place]);
      const expected = at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
      expect(Math.sign(compareText(a, b))).toBe(Math.sign(expected));
    }),
    { numRuns: 1000 },
  );
});

test("text is found exactly where its code points are", () => {
  const torn = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00"), maxLength: 6 });
  const part = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00"), maxLength: 2 });
  const spelled = (text: string): string =>
    `,${Array.from(text, (point) => `${point.codePointAt(0)},`).join("")}`;
  fc.assert(
    fc.property(torn, part, (text, part) => {
      expect(compares({ op: "contains", value: part }, text)).toBe(
        spelled(text).includes(spelled(part)),
      );
    }),
    { numRuns: 1000 },
  );
});

test("two values are spelled alike when only the order of their members differs", () => {
  expect(spellingOf({ a: 1, b: [{ c: 1, d: 2 }] })).toBe(spellingOf({ b: [{ d: 2, c: 1 }], a: 1 }));
  expect(spellingOf([1, 2])).not.toBe(spellingOf([2, 1]));
  expect(spellingOf("1")).not.toBe(spellingOf(1));
  expect(spellingOf(JSON.parse('{"__proto__":1}') as Json)).not.toBe(spellingOf({}));
});
