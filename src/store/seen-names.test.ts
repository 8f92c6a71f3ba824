import { expect, test } from "vitest";
import { openTestStore, type TestStore } from "./store.fixture.ts";

const once = (...names: string[]): Map<string, number> => new Map(names.map((name) => [name, 1]));
const events = (all: Record<string, string[]>, times = 1) =>
  new Map(
    Object.entries(all).map(([event, properties]) => [
      event,
      { times, properties: once(...properties) },
    ]),
  );
const rows = ({ db }: TestStore): number =>
  db
    .prepare("SELECT coalesce(sum(json_array_length(names)), 0) FROM seen_names")
    .pluck()
    .get() as number;

test("names are suggested with the most frequent first, also after a start", () => {
  const one = openTestStore();
  one.store.noteSeen({
    traits: once("plan", "city"),
    events: events({ Viewed: ["page"], Bought: ["total", "sku"] }),
  });
  one.store.noteSeen({ traits: once("city"), events: events({ Bought: ["sku"] }) });
  const seen = {
    traits: ["city", "plan"],
    events: [
      { event: "Bought", properties: ["sku", "total"] },
      { event: "Viewed", properties: ["page"] },
    ],
  };
  expect(one.store.seenNames()).toEqual(seen);
  expect(one.restarted().store.seenNames()).toEqual(seen);
});

test("where every name is new, those seen often stay and the others make room", () => {
  const one = openTestStore();
  for (let n = 0; n < 5; n += 1)
    one.store.noteSeen({ traits: once("plan"), events: events({ Bought: ["total"] }) });
  for (let n = 0; n < 60; n += 1) {
    const names = Array.from({ length: 100 }, (_, place) => `${n}-${place}`);
    one.store.noteSeen({
      traits: once(...names),
      events: events({ ...Object.fromEntries(names.map((name) => [name, ["p"]])), Bought: names }),
    });
    expect(rows(one)).toBeLessThan(5000);
  }
  const seen = one.store.seenNames();
  expect(seen.traits[0]).toBe("plan");
  expect(seen.traits.length).toBeLessThanOrEqual(1000);
  expect(seen.events.length).toBeLessThanOrEqual(1000);
  expect(seen.events[0]?.event).toBe("Bought");
  expect(seen.events[0]?.properties[0]).toBe("total");
  expect(seen.events[0]?.properties.length).toBeLessThanOrEqual(1000);
});

test("a name that nobody would choose from a list is not kept", () => {
  const one = openTestStore();
  const long = "x".repeat(201);
  const kept = "x".repeat(200);
  one.store.noteSeen({
    traits: once(long, "plan"),
    events: events({ [long]: ["p"], Bought: [long] }),
  });
  expect(one.store.seenNames()).toEqual({
    traits: ["plan"],
    events: [{ event: "Bought", properties: [] }],
  });
  one.store.noteSeen({ traits: once(kept), events: events({ [kept]: [kept] }) });
  expect(one.store.seenNames()).toEqual({
    traits: ["plan", kept],
    events: [
      { event: "Bought", properties: [] },
      { event: kept, properties: [kept] },
    ],
  });
});

test("of a thousand and one names five hundred stay, and properties go with their events", () => {
  const one = openTestStore();
  const names = Array.from({ length: 1000 }, (_, n) => `n${String(n).padStart(4, "0")}`);
  one.store.noteSeen({
    traits: once(...names),
    events: events(Object.fromEntries(names.map((name) => [name, ["p"]]))),
  });
  expect(one.store.seenNames()).toMatchObject({
    traits: { length: 1000 },
    events: { length: 1000 },
  });
  one.store.noteSeen({ traits: once("n0999"), events: events({ n0999: ["p"] }) });
  expect(one.store.seenNames().traits).toHaveLength(1000);
  one.store.noteSeen({ traits: once("often"), events: events({ often: ["p"] }) });
  const { traits, events: left } = one.store.seenNames();
  expect(traits).toEqual(["n0999", ...names.slice(0, 499)]);
  expect(left.map(({ event }) => event)).toEqual(traits);
  expect(rows(one)).toBe(1500);
});

test("names that a failed transaction took back make too many again", () => {
  const one = openTestStore();
  const names = {
    traits: once(...Array.from({ length: 1001 }, (_, n) => `trait-${n}`)),
    events: new Map(),
  };
  const failure = new Error("after them");
  expect(() =>
    one.store.atomically(() => {
      one.store.noteSeen(names);
      throw failure;
    }),
  ).toThrow(failure);
  expect(rows(one)).toBe(0);
  one.store.noteSeen(names);
  expect(rows(one)).toBe(500);
});

test("the names that are removed are the rarest, and of those as rare the last", () => {
  const one = openTestStore();
  const names = Array.from({ length: 1000 }, (_, n) => `n${String(n).padStart(4, "0")}`);
  one.store.noteSeen({
    traits: new Map(names.map((name, n) => [name, n < 500 ? 1 : 2])),
    events: new Map(),
  });
  one.store.noteSeen({ traits: once("new"), events: new Map() });
  expect(one.store.seenNames().traits).toEqual(names.slice(500));
});

test("where events and their properties are many, those of one event are counted for themselves", () => {
  const one = openTestStore();
  const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `p${n}`);
  one.store.noteSeen({
    traits: once(...names(600)),
    events: events({ Bought: names(600), Viewed: names(600) }),
  });
  expect(one.store.seenNames()).toMatchObject({
    traits: { length: 600 },
    events: [{ properties: { length: 600 } }, { properties: { length: 600 } }],
  });
  one.store.noteSeen({ traits: new Map(), events: events({ Bought: names(1001) }) });
  expect(one.store.seenNames()).toMatchObject({
    traits: { length: 600 },
    events: [
      { event: "Bought", properties: { length: 500 } },
      { event: "Viewed", properties: { length: 600 } },
    ],
  });
});
