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

/** Returns what counts the events of a profile. */
function view({ db, store }: TestStore, profile: ProfileId, times: number) {
  const insert = db.prepare("INSERT INTO profile_events VALUES (?, ?, 'Viewed', 1, '{}')");
  db.transaction(() => {
    for (let id = 0; id < times; id += 1) insert.run(profile * 100_000 + id, profile);
  })();
  store.touch(profile, { firstAt: 2, lastAt: 2, events: times });
  return db.prepare("SELECT events FROM profiles WHERE id = ?").pluck();
}

const countOf = ({ db }: TestStore, table: string): unknown =>
  db.prepare(`SELECT count(*) FROM ${table}`).pluck().get();

test("a profile with very many events is removed at once, and its events in parts", () => {
  const one = openTestStore();
  const { store } = one;
  const [ada, bob] = [make(one, "ada"), make(one, "bob")];
  const events = view(one, ada, 12_000);
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

test("very many events move in parts before a merge, which counts all of them", () => {
  const one = openTestStore();
  const { store } = one;
  const [ada, bob, eve] = [make(one, "ada"), make(one, "bob"), make(one, "eve")];
  const events = view(one, ada, 12_000);
  expect([store.hasManyEvents(ada), store.hasManyEvents(bob)]).toEqual([true, false]);
  // A merge whose users are deleted before it ends does not count for another.
  store.mergeEvents(ada, eve);
  expect([events.get(ada), events.get(eve)]).toEqual([7000, 5000]);
  store.removeProfile(eve);
  store.mergeEvents(ada, bob);
  expect([events.get(ada), events.get(bob), store.hasManyEvents(ada)]).toEqual([2000, 5000, false]);
  expect(store.merge(ada, bob)).toEqual({ events: 7000 });
  expect([events.get(ada), events.get(bob)]).toEqual([undefined, 7000]);
  expect(one.db.prepare("SELECT 1 FROM meta WHERE key = 'moving'").get()).toBeUndefined();

  // Two that one message merges.
  const [cyd, dan] = [make(one, "cyd"), make(one, "dan")];
  store.mergeEvents(bob, dan);
  view(one, cyd, 6000);
  store.mergeEvents(cyd, dan);
  expect([store.merge(bob, dan), store.merge(cyd, dan)]).toEqual([
    { events: 7000 },
    { events: 6000 },
  ]);
  expect(events.get(dan)).toBe(13_000);
});
