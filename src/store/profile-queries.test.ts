import { expect, test } from "vitest";
import type { ProfileId, SourceId } from "../domain/ids.ts";
import type { ProfileCursor, ProfileFilter } from "../engine/profile-ports.ts";
import { openTestStore, type TestStore } from "./store.fixture.ts";

type Person = { id: number; userId: string | null; names: string[]; lastSeenAt: number; isMember: boolean };

const source = 7 as SourceId;
let one: TestStore;
let people: Person[];

/** Many of some names and few of others, several seen at the same time, some anonymous, every third user a member. */
function fill(count: number): void {
  const { db, store } = one;
  people = [];
  store.atomically(() => {
    const identity = db.prepare("INSERT INTO identities VALUES (?, ?, ?, 0, 1)");
    for (let n = 1; n <= count; n += 1) {
      const userId = n % 10 === 0 ? null : n % 7 === 0 ? `few-${n}` : `many-${n}`;
      const anonymousId = n % 5 === 0 ? `many-device-${n}` : null;
      const lastSeenAt = (n * 7919) % 500;
      db.prepare("INSERT INTO profiles VALUES (?, ?, 0, ?, 0)").run(n, userId, lastSeenAt);
      if (userId !== null) identity.run(0, userId, n);
      if (anonymousId !== null) identity.run(1, anonymousId, n);
      const isMember = userId !== null && n % 3 === 0;
      if (userId !== null && (isMember || n % 4 === 0)) {
        store.putLastSent({ sourceId: source, userId, value: isMember ? true : null, since: 0, recheckAt: isMember ? null : 1 });
      }
      people.push({ id: n, userId, names: [userId, anonymousId].filter((name) => name !== null), lastSeenAt, isMember });
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
  { search: "many-1499" },
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
  fill(1500);
  for (const filter of filters) {
    const wanted = expected(filter);
    for (const limit of [37, 400])
      expect({ filter, ...walk(filter, limit) }).toEqual({ filter, ids: wanted, totals: new Set([wanted.length]) });
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
