import { expect, test } from "vitest";
import type { ProfileId, SourceId } from "../domain/ids.ts";
import type { ProfileCursor, ProfileFilter } from "../engine/profile-ports.ts";
import { openTestStore, type TestStore } from "./store.fixture.ts";

type Person = {
  id: number;
  userId: string | null;
  names: string[];
  lastSeenAt: number;
  isMember: boolean;
};

const source = 7 as SourceId;
let one: TestStore;
let people: Person[];

/**
 * Many of some names and few of others, several seen at the same time, some anonymous, every third
 * user a member.
 */
function fill(count: number): void {
  const { db, store } = one;
  people = [];
  store.atomically(() => {
    const profile = db.prepare("INSERT INTO profiles VALUES (?, ?, 0, ?, 0, '[]')");
    const identity = db.prepare("INSERT INTO identities VALUES (?, ?, ?, 0, 1)");
    for (let n = 1; n <= count; n += 1) {
      const userId = n % 10 === 0 ? null : n % 7 === 0 ? `few-${n}` : `many-${n}`;
      const anonymousId = n % 5 === 0 ? `many-device-${n}` : null;
      const lastSeenAt = (n * 7919) % 500;
      profile.run(n, userId, lastSeenAt);
      if (userId !== null) identity.run(0, userId, n);
      if (anonymousId !== null) identity.run(1, anonymousId, n);
      const isMember = userId !== null && n % 3 === 0;
      if (userId !== null && (isMember || n % 4 === 0)) {
        store.putLastSent({
          sourceId: source,
          userId,
          value: isMember ? true : null,
          since: 0,
          recheckAt: isMember ? null : 1,
        });
      }
      people.push({
        id: n,
        userId,
        names: [userId, anonymousId].filter((name) => name !== null),
        lastSeenAt,
        isMember,
      });
    }
  });
}

const matches = ({ search, userId, members }: ProfileFilter, person: Person): boolean =>
  (search === undefined || person.names.some((name) => name.startsWith(search))) &&
  (userId === undefined || person.userId === userId) &&
  (members === undefined || person.isMember);

const expected = (filter: ProfileFilter): number[] =>
  people
    .filter((person) => matches(filter, person))
    .toSorted((a, b) => b.lastSeenAt - a.lastSeenAt || b.id - a.id)
    .map(({ id }) => id);

function walk(filter: ProfileFilter, limit: number): { ids: ProfileId[]; totals: Set<number> } {
  const ids: ProfileId[] = [];
  const totals = new Set<number>();
  for (let before: ProfileCursor | null = null; ;) {
    const page: ReturnType<typeof one.store.profiles> = one.store.profiles(filter, limit, before);
    ids.push(...page.items.map(({ id }) => id));
    if (page.total !== undefined) totals.add(page.total);
    if (page.nextCursor === null) return { ids, totals };
    before = page.nextCursor;
  }
}

const filters: ProfileFilter[] = [
  {},
  { search: "many-" },
  { search: "few-" },
  { search: "many-device-1" },
  { search: "many-599" },
  { search: "nobody" },
  { userId: "few-7" },
  { userId: "few-7", search: "few" },
  { userId: "few-7", search: "many" },
  { members: source },
  { members: source, search: "many-" },
  { members: source, search: "few-" },
  { members: source, userId: "many-3" },
  { members: source, userId: "many-4" },
];

test("a list walked page by page shows by every filter each that matches once, the one seen last first, and says how many there are", () => {
  one = openTestStore();
  fill(700);
  for (const filter of filters) {
    const wanted = expected(filter);
    for (const limit of [37, 300])
      expect({ filter, ...walk(filter, limit) }).toEqual({
        filter,
        ids: wanted,
        totals: new Set([wanted.length]),
      });
  }
});

test("a total is exact up to ten thousand, and said to be more beyond", () => {
  one = openTestStore();
  fill(10_001);
  expect(one.store.profiles({}, 1, null)).toMatchObject({ total: 10_000, totalCapped: true });
  one.db.exec("DELETE FROM profiles WHERE id = 1");
  expect(one.store.profiles({}, 1, null)).toMatchObject({ total: 10_000, totalCapped: false });
  expect(one.store.profiles({ search: "many-" }, 1, null)).toMatchObject({ totalCapped: false });
});

test("a filter's total is exact up to ten thousand too, and pages of both kinds of search are the same", () => {
  one = openTestStore();
  fill(11_500);
  const totalOf = (filter: ProfileFilter) => {
    const { total, totalCapped, items } = one.store.profiles(filter, 3, null);
    return [total, totalCapped, items.map(({ id }) => Number(id))];
  };
  const many = expected({ search: "many-" });
  const members = expected({ members: source });
  expect(totalOf({ search: "many-" })).toEqual([
    Math.min(many.length, 10_000),
    many.length > 10_000,
    many.slice(0, 3),
  ]);
  one.db.exec("UPDATE computed_values SET value = 'true'");
  one.store.atomically(() => {
    for (const { userId } of people)
      if (userId !== null)
        one.store.putLastSent({ sourceId: source, userId, value: true, since: 0, recheckAt: null });
  });
  expect(members.length).toBeLessThan(10_000);
  const all = people.filter(({ userId }) => userId !== null);
  expect(totalOf({ members: source }).slice(0, 2)).toEqual([10_000, all.length > 10_000]);
  one.db.exec(
    `DELETE FROM computed_values WHERE user_id NOT IN (SELECT user_id FROM computed_values ORDER BY user_id LIMIT 10000)`,
  );
  expect(totalOf({ members: source }).slice(0, 2)).toEqual([10_000, false]);
});

test("members that a search finds behind ten thousand others are in the list", () => {
  one = openTestStore();
  fill(14_000);
  const { db, store } = one;
  db.exec("UPDATE computed_values SET value = 'null'");
  const members = ["many-1", "few-14", "many-999", "many-9999"];
  for (const userId of members)
    store.putLastSent({ sourceId: source, userId, value: true, since: 0, recheckAt: null });
  for (const person of people) person.isMember = members.includes(person.userId ?? "");
  const filter = { search: "many-", members: source };
  expect(store.profiles({ search: "many-" }, 1, null)).toMatchObject({ totalCapped: true });
  expect(walk(filter, 2)).toEqual({ ids: expected(filter), totals: new Set([3]) });
  expect(expected(filter)).toHaveLength(3);
  // Ten thousand devices of one user hide nobody.
  db.exec("UPDATE identities SET profile_id = 1 WHERE profile_id <> 9999 AND value <> 'many-999'");
  expect(walk(filter, 2).ids).toEqual(expect.arrayContaining([999, 9999]));
});

test("a search begins with its text and ends behind it, and another source's members are none", () => {
  one = openTestStore();
  const { store, db } = one;
  const add = (id: number, userId: string, sourceId: number): void => {
    db.prepare("INSERT INTO profiles VALUES (?, ?, 0, ?, 0, '[]')").run(id, userId, id % 2);
    db.prepare("INSERT INTO identities VALUES (0, ?, ?, 0, 1)").run(userId, id);
    store.putLastSent({
      sourceId: sourceId as SourceId,
      userId,
      value: true,
      since: 0,
      recheckAt: null,
    });
  };
  for (const [place, name] of ["a", "ab", "ab\u{10FFFE}", "ac", "b", "Ab"].entries())
    add(place + 1, name, 7 + (place % 2));
  const found = (filter: ProfileFilter) =>
    store
      .profiles(filter, 9, null)
      .items.map(({ userId }) => userId)
      .toSorted((a, b) => (String(a) < String(b) ? -1 : 1));
  expect(found({ search: "ab" })).toEqual(["ab", "ab\u{10FFFE}"]);
  expect(found({ search: "a" })).toEqual(["a", "ab", "ab\u{10FFFE}", "ac"]);
  expect(found({ members: source })).toEqual(["a", "ab\u{10FFFE}", "b"]);
  expect(found({ members: source, search: "a" })).toEqual(["a", "ab\u{10FFFE}"]);
  expect(found({ userId: "a", search: "a" })).toEqual(["a"]);
  expect(found({ userId: "a", search: "ab" })).toEqual([]);
  expect(found({ userId: "ab", members: source })).toEqual([]);
  db.exec("INSERT INTO identities VALUES (1, 'a', 5, 0, 1)");
  expect(found({ userId: "a" })).toEqual(["a"]);
  expect(found({ search: "a" })).toEqual(["a", "ab", "ab\u{10FFFE}", "ac", "b"]);
});
