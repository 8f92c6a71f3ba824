import { expect, test } from "vitest";
import { allOf, needsOf, windowMs } from "./facts.ts";
import { dayMs, type Computation, type Rule } from "./rules.ts";

const event = "Bought";
const twice: Rule = { event, atLeast: 2, withinDays: 3 };
const once: Rule = { event, withinDays: 7 };
const everOnce: Rule = { event };
const large: Rule = {
  event,
  withinDays: 1,
  where: [{ property: "total", op: "greater", value: 9 }],
};
const count: Computation = { aggregate: "count", event, withinDays: 2 };
const sum: Computation = { aggregate: "sum", event, property: "total", withinDays: 2 };

test.each<
  [
    string,
    (Rule | Computation)[],
    { withinMs: number | null; newest: number | null; properties: string[] },
  ]
>([
  [
    "one of each name is enough where nothing is said",
    [everOnce],
    { withinMs: null, newest: 1, properties: [] },
  ],
  [
    "as many as a condition counts, in its window",
    [twice],
    { withinMs: 3 * dayMs, newest: 2, properties: [] },
  ],
  [
    "the longer window and the larger count of two",
    [once, twice],
    { withinMs: 7 * dayMs, newest: 2, properties: [] },
  ],
  [
    "all times, where one condition has no window",
    [twice, everOnce],
    { withinMs: null, newest: 2, properties: [] },
  ],
  [
    "all times, whichever comes first",
    [everOnce, twice],
    { withinMs: null, newest: 2, properties: [] },
  ],
  [
    "all events with their properties, where properties decide",
    [large],
    { withinMs: dayMs, newest: null, properties: ["total"] },
  ],
  [
    "all events for both, whichever comes first",
    [large, twice],
    { withinMs: 3 * dayMs, newest: null, properties: ["total"] },
  ],
  [
    "all events for both, the other way round",
    [twice, large],
    { withinMs: 3 * dayMs, newest: null, properties: ["total"] },
  ],
  [
    "all events in the window of a count, without properties",
    [count],
    { withinMs: 2 * dayMs, newest: null, properties: [] },
  ],
  ["a sum's properties", [sum], { withinMs: 2 * dayMs, newest: null, properties: ["total"] }],
  [
    "a rule inside of others",
    [{ not: { any: [{ all: [twice] }, once] } }],
    { withinMs: 7 * dayMs, newest: 2, properties: [] },
  ],
])("asked for is %s", (_name, asking, need) => {
  expect(needsOf(...asking).events).toEqual(new Map([[event, need]]));
});

test("traits and events are asked for by names as a store keeps them", () => {
  const { traits, events } = needsOf({
    all: [{ trait: "a\ud800", op: "exists" }, { event: "b\ud800" }],
  });
  expect([...traits, ...events.keys()]).toEqual(["a\ufffd", "b\ufffd"]);
});

test("who explains is given all events of each name", () => {
  expect(allOf(needsOf(twice, large)).events).toEqual(
    new Map([[event, { withinMs: null, newest: null, properties: ["total"] }]]),
  );
});

test("a window is at least a millisecond long", () => {
  expect(windowMs({})).toBeNull();
  expect(windowMs({ withinDays: 1e-12 })).toBe(1);
  expect(windowMs({ withinDays: 0.5 })).toBe(12 * 3_600_000);
});
