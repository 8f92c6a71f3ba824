import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { compute, evaluate } from "../domain/rules.fixture.ts";
import { spellingOf } from "../domain/evaluate.ts";
import { needsOf, type ProfileFacts } from "../domain/facts.ts";
import type { SourceId } from "../domain/ids.ts";
import type { Json } from "../domain/json.ts";
import {
  computations,
  drafts,
  factsOf,
  now,
  rules,
  type DraftFacts,
} from "../domain/rules.fixture.ts";
import { dayMs, type Rule } from "../domain/rules.ts";
import type { Evaluated, Walk, WalkOptions } from "../engine/profile-ports.ts";
import type { Db } from "./transactions.ts";
import { createRuleStore } from "./rule-store.ts";
import { openTestStore, storedFacts } from "./store.fixture.ts";

type Person = {
  userId: string | null;
  draft: DraftFacts;
  lastSent: Json;
  recheckAt: number | null;
};

const source = 7 as SourceId;
const which = ["present", "differing", "unsettled"] as const;

function insert(db: Db, people: readonly Person[]): void {
  insertingInto(db)(people);
}

/** Puts people in the place of those that are there. */
function insertingInto(db: Db): (people: readonly Person[]) => void {
  const clear = ["profiles", "profile_traits", "profile_events", "computed_values"].map((table) =>
    db.prepare(`DELETE FROM ${table}`),
  );
  const profile = db.prepare(
    "INSERT INTO profiles (id, user_id, first_seen_at, last_seen_at) VALUES (?, ?, 0, 0)",
  );
  const trait = db.prepare("INSERT OR REPLACE INTO profile_traits VALUES (?, ?, ?, ?, 1)");
  const event = db.prepare(
    "INSERT INTO profile_events (profile_id, event, at, properties) VALUES (?, ?, ?, ?)",
  );
  const insertLastSent = db.prepare("INSERT INTO computed_values VALUES (?, ?, ?, 0, ?)");
  return (people) => {
    for (const statement of clear) statement.run();
    for (const [index, { userId, draft, lastSent: value, recheckAt }] of people.entries()) {
      const id = index * 3 + 1;
      profile.run(id, userId);
      for (const [name, fact] of draft.traits)
        trait.run(id, name, JSON.stringify(fact.value), fact.at);
      for (const { event: name, at, properties } of draft.events)
        event.run(id, name, at, JSON.stringify(properties));
      // What another source last sent must not be confused with it.
      if (userId !== null) insertLastSent.run(source + 1, userId, "true", null);
      if (userId !== null && (value !== null || recheckAt !== null))
        insertLastSent.run(source, userId, JSON.stringify(value), recheckAt);
    }
  };
}

function all(walk: Walk, limit: number): { seen: number; evaluated: Evaluated[] } {
  const evaluated: Evaluated[] = [];
  for (let seen = 0; ;) {
    const slice = walk.next(limit);
    expect(slice.seen).toBeLessThanOrEqual(limit);
    if (slice.seen === 0) return { seen, evaluated };
    seen += slice.seen;
    evaluated.push(...slice.evaluated);
  }
}

/** What the walk should answer, from the same users asked one by one. */
function oneByOne(
  people: readonly Person[],
  ask: (facts: ProfileFacts) => { value: Json; until: number | null },
  { source, which, isRule }: WalkOptions & { isRule: boolean },
): Evaluated[] {
  return people.flatMap((person, index): Evaluated[] => {
    if (person.userId === null) return [];
    const { value, until } = ask(factsOf(person.draft));
    const lastSent = source === null ? null : person.lastSent;
    const recheckAt = source === null ? null : person.recheckAt;
    // The false of a rule is sent as no value, a computed false as it is.
    const isPresent = value !== null && !(value === false && isRule);
    const differs = spellingOf(isPresent ? value : null) !== spellingOf(lastSent);
    if (
      !{ present: isPresent, differing: differs, unsettled: differs || until !== recheckAt }[which]
    )
      return [];
    return [
      {
        profileId: (index * 3 + 1) as Evaluated["profileId"],
        userId: person.userId,
        value,
        until,
        lastSent,
      },
    ];
  });
}

const recheck = fc.constantFrom(null, now + 1, now + dayMs, now + 3 * dayMs);
const crowd = (lastSent: fc.Arbitrary<Json>): fc.Arbitrary<Person[]> =>
  fc
    .array(fc.record({ isKnown: fc.boolean(), draft: drafts, lastSent, recheckAt: recheck }), {
      maxLength: 6,
    })
    .map((people) =>
      people.map(({ isKnown, ...rest }, index) => ({
        ...rest,
        userId: isKnown ? `user ${index}` : null,
      })),
    );
const options = fc.record({
  source: fc.constantFrom(source, null),
  which: fc.constantFrom(...which),
});
const limit = fc.integer({ min: 1, max: 4 });

describe("a walk over all users says of each what the evaluator says of one", () => {
  test("for any rule", () => {
    const { db, store } = openTestStore();
    const put = insertingInto(db);
    fc.assert(
      fc.property(
        rules,
        crowd(fc.constantFrom(true, null)),
        options,
        limit,
        (rule, people, options, limit) => {
          put(people);
          const { seen, evaluated } = all(store.walkRule(rule, now, options), limit);
          expect(seen).toBe(people.filter(({ userId }) => userId !== null).length);
          expect(evaluated).toEqual(
            oneByOne(people, (facts) => evaluate(rule, facts, now), { ...options, isRule: true }),
          );
        },
      ),
      { numRuns: 750 },
    );
  });

  test("for any computation", () => {
    const { db, store } = openTestStore();
    const put = insertingInto(db);
    const lastSent = fc.constantFrom<Json>(null, 1, 2, "a", { b: 2, a: 1 });
    fc.assert(
      fc.property(
        computations,
        crowd(lastSent),
        options,
        limit,
        (computation, people, options, limit) => {
          put(people);
          const { seen, evaluated } = all(store.walkComputation(computation, now, options), limit);
          expect(seen).toBe(people.filter(({ userId }) => userId !== null).length);
          expect(evaluated).toEqual(
            oneByOne(people, (facts) => compute(computation, facts, now), {
              ...options,
              isRule: false,
            }),
          );
        },
      ),
      { numRuns: 750 },
    );
  });
});

describe("a slice", () => {
  const bought = (times: number): DraftFacts => ({
    traits: new Map(),
    events: Array.from({ length: times }, (_, place) => ({
      event: "Bought",
      at: now - place,
      properties: { total: place },
    })),
  });
  const crowdOf = (...times: number[]): Person[] =>
    times.map((times, index) => ({
      userId: `user ${index}`,
      draft: bought(times),
      lastSent: null,
      recheckAt: null,
    }));
  const rule: Rule = { event: "Bought", where: [{ property: "total", op: "greater", value: 1e9 }] };

  test("has as many users as it can ask in a few milliseconds, whatever they did before and do now", () => {
    const { db, store } = openTestStore();
    insert(db, crowdOf(...Array.from({ length: 120 }, () => 0), 6000, 6000, 20, 20, 6000));
    const walks = [
      store.walkRule(rule, now, { source: null, which: "present" }),
      store.walkComputation({ aggregate: "max", event: "Bought", property: "total" }, now, {
        source: null,
        which: "present",
      }),
    ];
    for (const walk of walks) {
      const slices: number[] = [];
      for (let seen = walk.next(1000).seen; seen > 0; seen = walk.next(1000).seen)
        slices.push(seen);
      expect(slices).toEqual([100, 21, 1, 1, 2]);
    }
  });

  test.each([
    ["long texts", (place: number) => ({ total: `${place}`.padEnd(20_000, "x") })],
    ["what is beside them", (place: number) => ({ total: place, note: "x".repeat(50_000) })],
  ])("counts %s for as many steps as they take", (_what, propertiesOf) => {
    const { db, store } = openTestStore();
    const people = crowdOf(...Array.from({ length: 12 }, () => 30));
    for (const { draft } of people)
      for (const [place, event] of draft.events.entries()) event.properties = propertiesOf(place);
    insert(db, people);
    const walk = store.walkComputation(
      { aggregate: "unique", event: "Bought", property: "total" },
      now,
      { source: null, which: "present" },
    );
    const slices: number[] = [];
    for (let seen = walk.next(1000).seen; seen > 0; seen = walk.next(1000).seen) slices.push(seen);
    expect(slices.length).toBeGreaterThan(5);
  });

  test("that was cut gives each user once, with the values of that user", () => {
    const { db, store } = openTestStore();
    insert(db, crowdOf(1, 4000, 4000, 3, 4000, 2));
    const { seen, evaluated } = all(
      store.walkComputation({ aggregate: "count", event: "Bought" }, now, {
        source,
        which: "present",
      }),
      1000,
    );
    expect(seen).toBe(6);
    expect(evaluated.map(({ userId, value }) => [userId, value])).toEqual(
      [1, 4000, 4000, 3, 4000, 2].map((n, i) => [`user ${i}`, n]),
    );
  });

  test("goes on behind a user who came while the walk was under way", () => {
    const { db, store } = openTestStore();
    insert(db, crowdOf(1, 1, 1));
    const walk = store.walkRule({ event: "Bought" }, now, { source: null, which: "present" });
    expect(walk.next(2).evaluated.map(({ userId }) => userId)).toEqual(["user 0", "user 1"]);
    db.exec("INSERT INTO profiles VALUES (100, 'late', 0, 0, 0, '[]')");
    db.exec(`INSERT INTO profile_events VALUES (1000000, 100, 'Bought', ${now}, '{}')`);
    db.exec("DELETE FROM profiles WHERE user_id = 'user 2'");
    expect(walk.next(2).evaluated.map(({ userId }) => userId)).toEqual(["late"]);
    expect(walk.next(2).seen).toBe(0);
  });
});

test("statements of the hundred rules that were asked last are kept", () => {
  const { db } = openTestStore();
  let prepared = 0;
  const counting = new Proxy(db, {
    get(_, name) {
      const member = Reflect.get(db, name) as (...args: unknown[]) => unknown;
      return (...args: unknown[]) => {
        if (name === "prepare") prepared += 1;
        return member.apply(db, args);
      };
    },
  });
  const store = createRuleStore(counting);
  /** Each number of conditions is another statement. */
  const preparedFor = (conditions: number): number => {
    prepared = 0;
    store.walkRule({ all: Array.from({ length: conditions }, () => ({ event: "Bought" })) }, now, {
      source,
      which: "present",
    });
    return prepared;
  };
  for (let n = 1; n <= 100; n += 1) expect(preparedFor(n)).toBe(1);
  expect([1, 101, 1, 3, 2].map(preparedFor)).toEqual([0, 1, 0, 0, 1]);
});

test("a walk that fails says so", () => {
  const { db, store } = openTestStore();
  insert(db, [
    { userId: "a", draft: { traits: new Map(), events: [] }, lastSent: null, recheckAt: null },
  ]);
  db.exec(`INSERT INTO profile_events VALUES (1, 1, 'Bought', ${now}, 'no JSON')`);
  const rule: Rule = { event: "Bought", where: [{ property: "total", op: "greater", value: 1 }] };
  expect(() => store.walkRule(rule, now, { source, which: "present" }).next(9)).toThrow(
    "malformed JSON",
  );
});

test("known users are counted without the anonymous profiles", () => {
  const { db, store } = openTestStore();
  insert(db, [
    { userId: "a", draft: { traits: new Map(), events: [] }, lastSent: null, recheckAt: null },
    { userId: null, draft: { traits: new Map(), events: [] }, lastSent: null, recheckAt: null },
  ]);
  expect(store.countKnownUsers()).toBe(1);
});

test("of a large event, only the properties that decide reach the evaluator, whole where their names are unusual", () => {
  const { db, store } = openTestStore();
  const draft: DraftFacts = {
    traits: new Map(),
    events: [
      { event: "Bought", at: now, properties: { total: 7, 'x"y': 8, text: "x".repeat(20_000) } },
    ],
  };
  insert(db, [{ userId: "ada", draft, lastSent: null, recheckAt: null }]);
  const texts: string[] = [];
  const parse = JSON.parse;
  onTestFinished(() => void (JSON.parse = parse));
  JSON.parse = (text: string, ...rest) => {
    texts.push(text);
    return parse(text, ...rest) as Json;
  };
  const options = { source: null, which: "present" } as const;
  const sum = (property: string) =>
    all(store.walkComputation({ aggregate: "sum", event: "Bought", property }, now, options), 9);
  expect(sum("total").evaluated).toMatchObject([{ value: 7 }]);
  const where = [{ property: "total", op: "greater" as const, value: 1 }];
  expect(all(store.walkRule({ event: "Bought", where }, now, options), 9).evaluated.length).toBe(1);
  storedFacts(
    store,
    1 as never,
    { traits: new Set(), events: needsOf({ event: "Bought", where }).events },
    now,
  );
  expect(texts).toEqual(['{"total":7}', '{"total":7}', '{"total":7}']);
  expect(sum('x"y').evaluated).toMatchObject([{ value: 8 }]);
});
