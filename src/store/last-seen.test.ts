import fc from "fast-check";
import { expect, test } from "vitest";
import type { ProfileId } from "../domain/ids.ts";
import { openTestStore } from "./store.fixture.ts";

/** On the profile that has this place among those that are left, at this time. */
const changes = fc.array(
  fc.record({
    what: fc.constantFrom("create", "touch", "merge", "remove", "read", "list", "clear"),
    place: fc.nat(1000),
    other: fc.nat(1000),
    at: fc.nat(50),
    isTakenBack: fc.boolean(),
  }),
  { minLength: 1, maxLength: 40 },
);

test("a list has the order of the rows, whatever changed, also in transactions that failed", () => {
  const { db, store } = openTestStore();
  const order = db.prepare("SELECT id FROM profiles ORDER BY last_seen_at DESC, id DESC").pluck();
  const listed = (): ProfileId[] =>
    store.profiles({}, Number.MAX_SAFE_INTEGER, null).items.map(({ id }) => id);
  fc.assert(
    fc.property(fc.nat(700), changes, (count, all) => {
      store.clearMessages();
      store.atomically(() => {
        for (let n = 0; n < count; n += 1) store.createProfile((n * 31) % 97, null);
      });
      for (const { what, place, other, at, isTakenBack } of all) {
        const change = (): void => {
          const ids = order.all() as ProfileId[];
          const [one, into] = [ids[place % ids.length], ids[other % ids.length]];
          if (what === "create") store.createProfile(at, null);
          if (what === "clear" && place < 50) store.clearMessages();
          if (one === undefined || into === undefined) return;
          if (what === "touch") store.touch(one, { firstAt: at, lastAt: at * 2, events: 0 });
          if (what === "remove") store.removeProfile(one);
          if (what === "merge" && one !== into) store.merge(one, into);
        };
        if (what === "read") store.readForLists();
        else if (what === "list") expect(listed()).toEqual(order.all());
        else if (!isTakenBack) change();
        else
          expect(() =>
            store.atomically(() => {
              change();
              throw new Error("taken back");
            }),
          ).toThrow("taken back");
      }
      expect(listed()).toEqual(order.all());
    }),
    { numRuns: 60 },
  );
});

test("profiles are read in parts before the first list, and those that come meanwhile are in it", () => {
  const { store } = openTestStore();
  store.atomically(() => {
    for (let n = 0; n < 10_500; n += 1) store.createProfile(n, null);
  });
  expect(store.readForLists()).toBe(false);
  store.touch(1 as ProfileId, { firstAt: 0, lastAt: 20_000, events: 0 });
  store.touch(10_400 as ProfileId, { firstAt: 0, lastAt: 30_000, events: 0 });
  expect(store.createProfile(25_000, null)).toBe(10_501);
  expect([store.readForLists(), store.readForLists()]).toEqual([true, true]);
  expect(store.profiles({}, 4, null).items.map(({ id }) => Number(id))).toEqual([
    10_400, 10_501, 1, 10_500,
  ]);
});
