import { describe, expect, test } from "vitest";
import { causeNeeds, dateWords, decidingEvent, decidingFacts, type Focus } from "./cause.ts";
import { atOnce, type EventFact, type ProfileFacts, type TraitFact } from "./facts.ts";
import type { MessageRowId } from "./ids.ts";
import { dayMs, type Computation, type Rule } from "./rules.ts";

const now = Date.UTC(2026, 11, 7, 10);
const at = (daysAgo: number, total = 10, id = Math.round(daysAgo * 10)): EventFact => ({
  at: now - daysAgo * dayMs,
  properties: { total },
  messageId: id as MessageRowId,
});
const factsOf = (events: EventFact[], traits: Record<string, TraitFact> = {}): ProfileFacts => ({
  traits: new Map(Object.entries(traits)),
  events: new Map([["Order", events]]),
});
const given = (facts: ProfileFacts) => ({ facts, now, steps: { left: Infinity } });
const trait = (value: TraitFact["value"]): TraitFact => ({
  value,
  at: now,
  messageId: 77 as MessageRowId,
});

const week: Rule = { event: "Order", withinDays: 7 };
const large: Rule = {
  event: "Order",
  withinDays: 7,
  where: [{ property: "total", op: "greater", value: 100 }],
};
const pro: Rule = { trait: "plan", op: "is", value: "pro" };
const ofPlan: Focus = { traits: new Set(["plan"]), events: new Set() };
const ofOrder: Focus = { traits: new Set(), events: new Set(["Order"]) };

describe("what made the difference", () => {
  test.each<[string, Rule, ProfileFacts, Focus, string, number | null]>([
    ["done", week, factsOf([at(1)]), ofOrder, "Order was done on 6 Dec 10:00 UTC", 10],
    [
      "too old",
      week,
      factsOf([at(9), at(7)]),
      "time",
      "the Order of 30 Nov 10:00 UTC is older than 7 days",
      70,
    ],
    [
      "done with a property",
      large,
      factsOf([at(2, 150), at(1, 5)]),
      ofOrder,
      "Order with total 150 was done on 5 Dec 10:00 UTC",
      20,
    ],
    [
      "one of two too old",
      { event: "Order", atLeast: 2, withinDays: 7 },
      factsOf([at(7.5), at(1)]),
      "time",
      "the Order of 29 Nov 22:00 UTC is older than 7 days, which leaves 1 of 2",
      75,
    ],
    [
      "often enough",
      { event: "Order", atLeast: 2, withinDays: 7 },
      factsOf([at(3), at(2)]),
      ofOrder,
      "Order was done 2 times within 7 days, the last time on 5 Dec 10:00 UTC",
      30,
    ],
    [
      "not often enough",
      { event: "Order", atLeast: 3, withinDays: 1 },
      factsOf([at(0.5)]),
      null,
      "Order was done only once within 1 day, and 3 are needed",
      5,
    ],
    ["never done", { event: "Order" }, factsOf([]), null, "Order was not done", null],
    ["a trait", pro, factsOf([], { plan: trait("pro") }), ofPlan, 'plan is "pro"', 77],
    ["a trait that went", pro, factsOf([], { plan: trait(null) }), ofPlan, "plan was removed", 77],
    ["a trait that never was", pro, factsOf([]), null, "plan was never set", null],
    [
      "what changed, of two conditions that hold",
      { all: [week, pro] },
      factsOf([at(1)], { plan: trait("pro") }),
      ofPlan,
      'plan is "pro"',
      77,
    ],
    [
      "the condition that fails, of two",
      { all: [week, pro] },
      factsOf([at(8)], { plan: trait("pro") }),
      null,
      "the Order of 29 Nov 10:00 UTC is older than 7 days",
      80,
    ],
    [
      "both, when both decide",
      { any: [week, pro] },
      factsOf([], { plan: trait("free") }),
      null,
      'Order was not done within 7 days and plan is "free"',
      null,
    ],
    [
      "turned round",
      { not: week },
      factsOf([at(1)]),
      ofOrder,
      "Order was done on 6 Dec 10:00 UTC",
      10,
    ],
    [
      "turned round by time",
      { not: week },
      factsOf([at(7)]),
      "time",
      "the Order of 30 Nov 10:00 UTC is older than 7 days",
      70,
    ],
  ])("%s", (_, rule, facts, focus, words, messageId) => {
    expect(atOnce(decidingFacts(rule, focus, given(facts)))).toEqual({ words, messageId });
  });

  test("more than three conditions are counted", () => {
    const rule = { any: ["a", "b", "c", "d", "e"].map((name): Rule => ({ event: name })) };
    expect(atOnce(decidingFacts(rule, null, given(factsOf([]))))?.words).toBe(
      "a was not done, b was not done, c was not done and 2 more",
    );
  });

  test("of a computed value", () => {
    const count: Computation = { aggregate: "count", event: "Order", withinDays: 7 };
    const facts = factsOf([at(7), at(1)]);
    expect(atOnce(decidingEvent(count, ofOrder, given(facts)))?.words).toBe(
      "Order was done on 6 Dec 10:00 UTC",
    );
    expect(atOnce(decidingEvent(count, "time", given(facts)))).toEqual({
      words: "the Order of 30 Nov 10:00 UTC is older than 7 days",
      messageId: 70,
    });
    expect(atOnce(decidingEvent(count, ofOrder, given(factsOf([]))))).toBeNull();
  });
});

test("another year is written", () => {
  expect(dateWords(Date.UTC(2025, 0, 2, 3, 4), now)).toBe("2 Jan 2025 03:04 UTC");
});

test("events that have just left the window are needed", () => {
  const rule: Rule = { all: [{ not: week }, { any: [large, pro] }] };
  expect(causeNeeds(rule).events.get("Order")).toMatchObject({ withinMs: 14 * dayMs });
  expect([...causeNeeds(rule).traits]).toEqual(["plan"]);
});
