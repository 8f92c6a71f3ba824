import { expect, test } from "vitest";
import type { MessageRowId, ProfileId } from "../domain/ids.ts";
import { expectConsistent, openTestStore, type TestStore } from "./store.fixture.ts";

const row = (id: number): MessageRowId => id as MessageRowId;

function make({ store }: TestStore, name: string): ProfileId {
  const profile = store.createProfile(1, name);
  store.addIdentity(profile, { kind: "userId", value: name }, 1, row(1));
  store.addEmail(profile, `${name}@x`);
  return profile;
}

const countOf = ({ db }: TestStore, table: string): unknown =>
  db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();

test("a profile with very many events is removed at once, and its events in parts", () => {
  const one = openTestStore();
  const { store } = one;
  const [ada, bob] = [make(one, "ada"), make(one, "bob")];
  const insert = one.db.prepare("INSERT INTO profile_events VALUES (?, ?, 'Viewed', 1, '{}')");
  one.db.transaction(() => {
    for (let id = 1000; id < 13_000; id += 1) insert.run(id, ada);
  })();
  store.touch(ada, { firstAt: 2, lastAt: 2, events: 12_000 });
  const events = one.db.prepare("SELECT events FROM profiles WHERE id = ?").pluck();
  store.removeProfile(ada);
  expect([store.profileWithUser("ada"), store.emailsOfProfile(ada)]).toEqual([null, []]);
  // With its one identity.
  expect([store.countKnownUsers(), events.get(ada)]).toEqual([1, 7001]);
  expect([store.removeRest(), events.get(ada)]).toEqual([true, 2001]);
  expect([store.removeRest(), events.get(ada)]).toEqual([false, undefined]);
  expect([store.removeRest(), events.get(bob)]).toEqual([false, 0]);
  expect(countOf(one, "profile_events")).toBe(0);
  expectConsistent(one.db);
});

test("identities beyond five thousand are removed in parts, lead nowhere meanwhile, and may be another profile's", () => {
  const one = openTestStore();
  const { store } = one;
  const [ada, bob] = [make(one, "ada"), make(one, "bob")];
  const device = (nth: number) => ({ kind: "anonymousId" as const, value: `device-${nth}` });
  store.atomically(() => {
    for (let nth = 0; nth < 12_000; nth += 1) store.addIdentity(ada, device(nth), 1, row(1));
  });
  expect(store.profileOf(device(11_999))).toBe(ada);
  expect(() =>
    store.atomically(() => {
      store.removeProfile(ada);
      throw new Error("taken back");
    }),
  ).toThrow("taken back");
  expect(store.profileOf(device(11_999))).toBe(ada);
  store.removeProfile(ada);
  expect(countOf(one, "identities")).toBe(7002);
  for (const nth of [0, 6000, 11_998, 11_999]) expect(store.profileOf(device(nth))).toBeNull();
  store.addIdentity(bob, device(11_999), 2, row(2));
  expect([store.removeRest(), store.removeRest()]).toEqual([true, false]);
  expect([store.profileOf(device(11_999)), store.profileOf(device(11_998))]).toEqual([bob, null]);
  expect(countOf(one, "identities")).toBe(2);
  expectConsistent(one.db);
});
