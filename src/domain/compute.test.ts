import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decimalOf, dividedBy, numberOf, plus, startComputation, zero } from "./compute.ts";
import { needsOf, type ProfileFacts } from "./facts.ts";
import type { Json, JsonObject } from "./json.ts";
import { compute, computations, drafts, factsOf, now } from "./rules.fixture.ts";
import { aggregates, dayMs, type Aggregate } from "./rules.ts";

const day = (days: number): number => now - days * dayMs;

/** A user who bought for these totals, one day after the other, the last one today. */
function buyer(...totals: (Json | undefined)[]): ProfileFacts {
  const events = totals.map((total, index) => ({
    event: "Bought",
    at: day(totals.length - 1 - index),
    properties: (total === undefined ? {} : { total }) as JsonObject,
  }));
  return factsOf({ traits: new Map(), events });
}

const of = (aggregate: Aggregate, facts: ProfileFacts, more: object = {}): Json =>
  compute(
    {
      aggregate,
      event: "Bought",
      ...(aggregate === "count" ? {} : { property: "total" }),
      ...more,
    },
    facts,
    now,
  ).value;

describe("an aggregate", () => {
  test.each<[Aggregate, (Json | undefined)[], Json]>([
    ["count", [1, undefined, null], 3],
    ["unique", [1, 1, "1", null, undefined], 2],
    ["unique", [{ a: 1, b: 2 }, { b: 2, a: 1 }, [1], [1]], 2],
    ["first", [null, "a", "b"], "a"],
    ["first", [[1], 2], [1]],
    ["last", ["a", "b", undefined, null], "b"],
    ["last", [1, false], false],
    ["mostFrequent", ["a", "b", "b", "a", "c"], "a"],
    ["mostFrequent", ["a", "b", "a", "b"], "b"],
    ["mostFrequent", ["b", "a", "a", "b"], "b"],
    ["mostFrequent", [1, "1", "1"], "1"],
    ["sum", [19.99, 19.99, 19.99, "20", null, true], 59.97],
    ["average", [1, 2, "3"], 1.5],
    ["min", [3, -1, "-5"], -1],
    ["max", [3, -1, "5"], 3],
    ["max", [-0, -0], 0],
    ["sum", [1.7e308, 1.7e308], null],
    ["average", [1.7e308, 1.7e308], 1.7e308],
  ])("%s of %j is %j", (aggregate, totals, value) => {
    expect(of(aggregate, buyer(...totals))).toEqual(value);
  });

  test.each(aggregates)("%s of a user who never did it is no value", (aggregate) => {
    expect(compute({ aggregate, event: "Bought", property: "total" }, buyer(), now)).toEqual({
      value: null,
      until: null,
    });
  });

  test.each(["sum", "average", "min", "max"] as const)(
    "%s of no numbers is no value",
    (aggregate) => {
      expect(of(aggregate, buyer("1", null, undefined, [1]))).toBeNull();
    },
  );

  test.each(["unique", "first", "last", "mostFrequent"] as const)(
    "%s of no values is no value",
    (aggregate) => {
      expect(of(aggregate, buyer(null, undefined))).toBeNull();
    },
  );
});

test("only events in the window and with the properties count", () => {
  const facts = buyer(10, 200, 30, 400);
  expect(of("sum", facts, { withinDays: 2 })).toBe(430);
  expect(of("sum", facts, { where: [{ property: "total", op: "greater", value: 100 }] })).toBe(600);
  expect(
    of("count", facts, { withinDays: 3, where: [{ property: "total", op: "less", value: 100 }] }),
  ).toBe(1);
});

describe("until", () => {
  const until = (aggregate: Aggregate, facts: ProfileFacts): number | null =>
    compute({ aggregate, event: "Bought", property: "total", withinDays: 7 }, facts, now).until;

  test("is when the oldest that counts leaves the window", () => {
    expect(until("sum", buyer(1, 2, 3))).toBe(day(2 - 7));
    expect(until("sum", buyer("not a number", 2, 3))).toBe(day(1 - 7));
  });

  test("is for the last value when that leaves", () => {
    expect(until("last", buyer(1, 2, null))).toBe(day(1 - 7));
  });

  test("is never without a window, and where there is no value", () => {
    expect(compute({ aggregate: "count", event: "Bought" }, buyer(1), now).until).toBeNull();
    expect(until("sum", buyer("a"))).toBeNull();
  });
});

test("for any computation and any user, the value stays until then, and no other facts are needed", () => {
  fc.assert(
    fc.property(computations, drafts, fc.nat(), (computation, draft, later) => {
      const facts = factsOf(draft);
      const { value, until } = compute(computation, facts, now);
      expect(until ?? Infinity).toBeGreaterThan(now);
      const end = until ?? now + 100 * dayMs;
      for (const time of [end - 1, now + (later % (end - now))])
        expect(compute(computation, facts, time)).toEqual({ value, until });
      const need = needsOf(computation).events.get(computation.event);
      const events = (facts.events.get(computation.event) ?? []).filter(
        ({ at }) => at > now - (need?.withinMs ?? Infinity),
      );
      const given = events.map(({ properties, ...event }) => ({
        ...event,
        properties: Object.fromEntries(
          Object.entries(properties).filter(([name]) => need?.properties.includes(name)),
        ),
      }));
      expect(
        compute(
          computation,
          { traits: new Map(), events: new Map([[computation.event, given]]) },
          now,
        ),
      ).toEqual({ value, until });
    }),
    { numRuns: 2000 },
  );
});

const sum = (values: readonly number[]): number =>
  numberOf(values.map(decimalOf).reduce(plus, zero));
const average = (values: readonly number[]): number =>
  dividedBy(values.map(decimalOf).reduce(plus, zero), values.length);
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

test.each<[number[], number, number]>([
  [[0.1, 0.2], 0.3, 0.15],
  [[19.99, 19.99, 19.99], 59.97, 19.99],
  [[0.1, 0.2, 0.3], 0.6, 0.2],
  [[1, 2], 3, 1.5],
  [[1, 1, 0], 2, 2 / 3],
  [[-1, -1, 0], -2, -2 / 3],
  [[1e21, 1, -1e21], 1, 1 / 3],
  [[5e-324, 5e-324], 1e-323, 5e-324],
  [[1.7e308, 1.7e308], Infinity, 1.7e308],
  [[0], 0, 0],
])("of %j the sum is %d and the average %d", (values, expectedSum, expectedAverage) => {
  expect(sum(values)).toBe(expectedSum);
  expect(average(values)).toBe(expectedAverage);
});

test("a number is its own sum and average", () => {
  fc.assert(
    fc.property(finite, fc.integer({ min: 1, max: 9 }), (value, count) => {
      expect(sum([value])).toBe(value + 0);
      expect(average(Array.from({ length: count }, () => value))).toBe(value + 0);
    }),
  );
});

test("the order of the numbers says nothing", () => {
  fc.assert(
    fc.property(fc.array(finite, { minLength: 1, maxLength: 6 }), (values) => {
      expect(sum(values)).toBe(sum(values.toReversed()));
    }),
  );
});

test("cents add up as whole numbers do", () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 1, maxLength: 30 }),
      (cents) => {
        const total = cents.reduce((all, one) => all + one, 0);
        expect(sum(cents.map((one) => one / 100))).toBe(total / 100 + 0);
      },
    ),
  );
});

test("a quotient is the number nearest to it", () => {
  fc.assert(
    fc.property(
      fc.maxSafeInteger(),
      fc.integer({ min: 1, max: 1_000_000 }),
      (dividend, divisor) => {
        expect(dividedBy(decimalOf(dividend), divisor)).toBe(dividend / divisor + 0);
      },
    ),
    { numRuns: 1000 },
  );
});

test("a value of any size costs an aggregate about what its characters cost", () => {
  const cost = (aggregate: Aggregate, length: number): number => {
    const running = startComputation({ aggregate, event: "Bought", property: "text" }, now);
    const texts = Array.from({ length: 1500 }, (_, n) => `${"x".repeat(length)}${n + 10_000}`);
    const before = process.cpuUsage().user;
    for (const text of texts) running.add({ at: now, properties: { text } });
    const { value } = running.result();
    expect(value).toBe(aggregate === "unique" ? texts.length : texts.at(-1));
    return process.cpuUsage().user - before;
  };
  for (const aggregate of ["unique", "mostFrequent"] as const) {
    cost(aggregate, 15_000);
    const short = cost(aggregate, 15_000);
    expect(cost(aggregate, 20_000)).toBeLessThan(10 * short);
  }
});

test("long values are told apart by every part of them", () => {
  const long = (...parts: string[]) => parts.map((part) => part.repeat(10_000)).join("");
  const texts = [long("a", "b"), long("b", "a"), long("a", "b", "a"), "0,1", long("a", "b")];
  const running = (aggregate: Aggregate) => {
    const one = startComputation({ aggregate, event: "Bought", property: "text" }, now);
    for (const text of texts) one.add({ at: now, properties: { text } });
    return one.result().value;
  };
  expect(running("unique")).toBe(4);
  expect(running("mostFrequent") === texts[0]).toBe(true);
});
