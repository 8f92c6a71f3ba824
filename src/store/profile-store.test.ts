import { describe, expect, test } from "vitest";
import type { MessageRowId, ProfileId, SourceId } from "../domain/ids.ts";
import { storedFacts, expectConsistent, openTestStore, request, tables } from "./store.fixture.ts";

const row = (id: number): MessageRowId => id as MessageRowId;
const source = (id: number): SourceId => id as SourceId;

/** A profile with something in every table, and the rows of its messages. */
function filled() {
  const one = openTestStore();
  const { store } = one;
  store.commit([request(Array.from({ length: 9 }, () => ({})))]);
  const make = (name: string, at: number): ProfileId => {
    const profile = store.createProfile(at, name);
    store.addIdentity(profile, { kind: "userId", value: name }, at, row(at));
    store.addIdentity(profile, { kind: "anonymousId", value: `device of ${name}` }, at, row(at));
    store.putTraits(profile, [["plan", name]], { at, messageId: row(at) });
    store.addEvent(profile, "Bought", at, { by: name }, row(at));
    store.touch(profile, { firstAt: at, lastAt: at, events: 1 });
    store.putGroup(profile, "acme", { by: name }, at);
    store.putSources(profile, [source(at)]);
    store.addHistory(profile, at, "created", name, row(at));
    return profile;
  };
  return { one, store, make };
}

test("a profile keeps the newest thousand lines of its history and some more, also beside another", () => {
  const { one, store, make } = filled();
  const both = [make("ada", 5), make("bob", 6)];
  for (let nth = 0; nth < 3000; nth += 1)
    for (const profile of both) store.addHistory(profile, nth, "moved", String(nth), row(7));
  for (const profile of both) {
    const kept = one.db
      .prepare("SELECT at FROM profile_history WHERE profile_id = ? ORDER BY id")
      .pluck()
      .all(profile) as number[];
    expect([kept.length >= 1000, kept.length < 1300, kept.at(-1)]).toEqual([true, true, 2999]);
    expect(kept).toEqual(kept.map((_, nth) => 3000 - kept.length + nth));
  }
});

test("a profile shows everything that was put into it, in order", () => {
  const { one, store, make } = filled();
  const ada = make("ada", 5);
  const bob = make("bob", 6);
  store.addIdentity(ada, { kind: "userId", value: "ada-2" }, 4, row(3));
  store.addIdentity(ada, { kind: "userId", value: "ada-0" }, 4, row(2));
  store.putTraits(ada, [["city", null]], { at: 7, messageId: row(7) });
  for (const [id, event, at] of [
    [1, "Bought", 3],
    [2, "Bought", 5],
    [3, "Viewed", 5],
    [4, "Asked", 9],
  ] as const)
    store.addEvent(ada, event, at, { id }, row(id));
  store.touch(ada, { firstAt: 3, lastAt: 9, events: 4 });
  store.addHistory(ada, 6, "identified", "more", row(6));
  expect(store.profileDetails(ada)).toEqual({
    id: ada,
    userId: "ada",
    anonymousId: "device of ada",
    firstSeenAt: 3,
    lastSeenAt: 9,
    events: 5,
    traits: { plan: "ada" },
    identities: [
      { kind: "userId", value: "ada-0", since: 4, messageId: 2 },
      { kind: "userId", value: "ada-2", since: 4, messageId: 3 },
      { kind: "userId", value: "ada", since: 5, messageId: 5 },
      { kind: "anonymousId", value: "device of ada", since: 5, messageId: 5 },
    ],
    traitList: [
      { name: "city", value: null, at: 7, messageId: 7 },
      { name: "plan", value: "ada", at: 5, messageId: 5 },
    ],
    groups: [{ groupId: "acme", traits: { by: "bob" }, at: 5 }],
    eventList: [
      {
        event: "Asked",
        count: 1,
        firstAt: 9,
        lastAt: 9,
        lastProperties: { id: 4 },
        lastMessageId: 4,
      },
      {
        event: "Bought",
        count: 3,
        firstAt: 3,
        lastAt: 5,
        lastProperties: { by: "ada" },
        lastMessageId: 5,
      },
      {
        event: "Viewed",
        count: 1,
        firstAt: 5,
        lastAt: 5,
        lastProperties: { id: 3 },
        lastMessageId: 3,
      },
    ],
    sourceIds: [5],
    history: [
      { at: 5, kind: "created", detail: "ada", messageId: 5 },
      { at: 6, kind: "identified", detail: "more", messageId: 6 },
    ],
  });
  store.touch(ada, { firstAt: 8, lastAt: 8, events: 0 });
  expect(store.profileDetails(ada)).toMatchObject({ firstSeenAt: 3, lastSeenAt: 9, events: 5 });
  expect([store.user(ada), store.userIdsOf(ada).toSorted(), store.knownAs(bob)]).toEqual([
    "ada",
    ["ada", "ada-0", "ada-2"],
    { userId: "bob", sources: [6] },
  ]);
  expect(store.profileDetails(99 as ProfileId)).toBeNull();
  expectConsistent(one.db);
});

test("an identity is found by its kind, and belongs to the profile that had it last", () => {
  const { store, make } = filled();
  const [ada, bob] = [make("ada", 1), make("bob", 2)];
  expect(store.profileOf({ kind: "userId", value: "ada" })).toBe(ada);
  expect(store.profileOf({ kind: "anonymousId", value: "ada" })).toBeNull();
  expect([
    store.profileWithUser("ada"),
    store.profileWithUser("device of ada"),
    store.profileWithUser("eve"),
  ]).toEqual([ada, null, null]);
  store.addIdentity(bob, { kind: "anonymousId", value: "device of ada" }, 7, row(7));
  expect(store.profileOf({ kind: "anonymousId", value: "device of ada" })).toBe(bob);
  expect(store.profileDetails(bob)?.identities.at(-1)).toEqual({
    kind: "anonymousId",
    value: "device of ada",
    since: 7,
    messageId: 7,
  });
  store.setUser(bob, "robert");
  expect([store.user(bob), store.user(store.createProfile(1, null))]).toEqual(["robert", null]);
});

test("what was read last is as the rows are, also after a merge and after a transaction that failed", () => {
  const { store, make } = filled();
  const [ada, bob] = [make("ada", 1), make("bob", 2)];
  const eve = { kind: "userId", value: "eve" } as const;
  const look = () => [store.profileOf(eve), store.knownAs(ada)];
  const before = [null, { userId: "ada", sources: [1] }];
  expect(look()).toEqual(before);
  expect(() =>
    store.atomically(() => {
      store.addIdentity(ada, eve, 5, row(5));
      store.setUser(ada, "eve");
      store.putSources(ada, [source(1), source(3)]);
      expect(look()).toEqual([ada, { userId: "eve", sources: [1, 3] }]);
      throw new Error("taken back");
    }),
  ).toThrow("taken back");
  expect(look()).toEqual(before);
  expect(store.profileWithUser("bob")).toBe(bob);
  store.merge(bob, ada);
  expect(store.profileWithUser("bob")).toBe(ada);
  expect(store.knownAs(ada)).toEqual({ userId: "ada", sources: [1, 2] });
  store.removeProfile(ada);
  expect([store.profileWithUser("bob"), store.profileWithUser("ada")]).toEqual([null, null]);
  make("ada", 3);
  store.clearMessages();
  expect(store.profileWithUser("ada")).toBeNull();
});

test("of so many profiles that not all stay in memory, each is found", () => {
  const { store } = filled();
  const ids = store.atomically(() =>
    Array.from({ length: 20_010 }, (_, n) => {
      const profile = store.createProfile(n, `u${n}`);
      store.addIdentity(profile, { kind: "userId", value: `u${n}` }, n, row(1));
      return profile;
    }),
  );
  for (const n of [0, 9, 20_000, 20_009])
    expect([store.profileWithUser(`u${n}`), store.knownAs(ids[n] as ProfileId).userId]).toEqual([
      ids[n],
      `u${n}`,
    ]);
});

test("a trait is as the newest message says, and the newer row where two are as new; it says whether that is another value", () => {
  const { store } = filled();
  const ada = store.createProfile(1, null);
  const put = (value: string | null, at: number, id: number): unknown[] => [
    store.putTraits(ada, [["plan", value]], { at, messageId: row(id) }).length > 0,
    store
      .profileDetails(ada)
      ?.traitList.map((trait) => [trait.value, trait.at, trait.messageId])[0],
  ];
  expect(put(null, 1, 1)).toEqual([false, [null, 1, 1]]);
  expect(put("a", 2, 5)).toEqual([true, ["a", 2, 5]]);
  expect(put("b", 1, 9)).toEqual([false, ["a", 2, 5]]);
  expect(put("b", 2, 4)).toEqual([false, ["a", 2, 5]]);
  expect(put("b", 2, 5)).toEqual([true, ["b", 2, 5]]);
  expect(put("b", 2, 6)).toEqual([false, ["b", 2, 6]]);
  expect(put("c", 3, 2)).toEqual([true, ["c", 3, 2]]);
});

test("many traits at once are each as the newest message says", () => {
  const { store } = filled();
  const ada = store.createProfile(1, null);
  const names = Array.from({ length: 19 }, (_, n) => `trait ${n + 10}`);
  const put = (traits: [string, string][], at: number, isFirst?: boolean): string[] =>
    store.putTraits(ada, traits, { at, messageId: row(at), ...(isFirst ? { isFirst } : {}) });
  expect(
    put(
      names.map((name) => [name, "a"]),
      5,
      true,
    ),
  ).toEqual(names);
  expect(put([[names[3] as string, "b"]], 7)).toEqual([names[3]]);
  expect(
    put(
      names.map((name) => [name, "c"]),
      6,
    ),
  ).toEqual(names.toSpliced(3, 1));
  expect(
    put(
      names.map((name) => [name, "d"]),
      4,
    ),
  ).toEqual([]);
  const traits = store.profileDetails(ada)?.traitList;
  expect(traits?.map(({ name, value, at }) => [name, value, at])).toEqual(
    names.map((name, n) => (n === 3 ? [name, "b", 7] : [name, "c", 6])),
  );
});

test("each trait of a group is as its newest message says, and gone with null", () => {
  const { store } = filled();
  const [ada, bob] = [store.createProfile(1, null), store.createProfile(1, null)];
  const group = (profile: ProfileId) => store.profileDetails(profile)?.groups;
  store.putGroup(ada, "acme", { a: 1, b: 1 }, 5);
  store.putGroup(ada, "acme", { a: 2, c: 2 }, 4);
  expect(group(ada)).toEqual([{ groupId: "acme", traits: { a: 1, b: 1, c: 2 }, at: 5 }]);
  store.putGroup(bob, "acme", { a: 3, b: null }, 5);
  expect(group(ada)).toEqual([{ groupId: "acme", traits: { a: 3, c: 2 }, at: 5 }]);
  store.putGroup(ada, "acme", {}, 6);
  store.putGroup(ada, "none", {}, 6);
  expect([group(ada)?.map(({ at }) => at), group(bob)?.map(({ at }) => at)]).toEqual([[6, 6], [5]]);
});

test("of a group's traits, 131,072 characters are kept: those that were sent last", () => {
  const { store } = filled();
  const ada = store.createProfile(1, null);
  for (const [place, name] of ["a", "b", "c"].entries())
    store.putGroup(ada, "acme", { [name]: "x".repeat(60_000), [`${name}2`]: 1 }, 5 + place);
  const [group] = store.profileDetails(ada)?.groups ?? [];
  expect(Object.keys(group?.traits ?? {}).toSorted()).toEqual(["b", "b2", "c", "c2"]);
});

test("a profile is shown with its first thousand traits", () => {
  const { store } = filled();
  const ada = store.createProfile(1, null);
  const names = Array.from({ length: 1001 }, (_, n) => `trait${String(n).padStart(4, "0")}`);
  store.putTraits(
    ada,
    names.map((name) => [name, 1]),
    { at: 1, messageId: row(1) },
  );
  const { traits = {}, traitList = [] } = store.profileDetails(ada) ?? {};
  expect(traitList.map(({ name }) => name)).toEqual(names.slice(0, 1000));
  expect(Object.keys(traits)).toEqual(names.slice(0, 1000));
});

describe("two profiles merged", () => {
  test("are one with everything of both, and of each trait the newer value", () => {
    const { one, store, make } = filled();
    const [ada, bob, eve] = [make("ada", 2), make("bob", 4), make("eve", 9)];
    const before = store.profileDetails(eve);
    store.putTraits(ada, [["newer", "ada"]], { at: 5, messageId: row(1) });
    store.putTraits(bob, [["newer", "bob"]], { at: 4, messageId: row(9) });
    store.putTraits(ada, [["same", "ada"]], { at: 5, messageId: row(2) });
    store.putTraits(bob, [["same", "bob"]], { at: 5, messageId: row(1) });
    store.putTraits(ada, [["equal", "ada"]], { at: 5, messageId: row(1) });
    store.putTraits(bob, [["equal", "bob"]], { at: 5, messageId: row(1) });
    store.putTraits(ada, [["own", "ada"]], { at: 1, messageId: row(1) });
    store.putSources(ada, [source(2), source(4)]);
    expect(store.merge(ada, bob)).toEqual({ events: 1 });
    expect(store.profileDetails(ada)).toBeNull();
    expect(store.profileDetails(bob)).toMatchObject({
      firstSeenAt: 2,
      lastSeenAt: 4,
      events: 2,
      traits: { plan: "bob", newer: "ada", same: "ada", equal: "bob", own: "ada" },
      groups: [{ groupId: "acme", at: 4 }],
      eventList: [{ count: 2, lastMessageId: 4 }],
      sourceIds: [2, 4],
      history: [{ detail: "ada" }, { detail: "bob" }],
    });
    expect(store.userIdsOf(bob).toSorted()).toEqual(["ada", "bob"]);
    expect(store.profileDetails(eve)).toEqual(before);
    expectConsistent(one.db);
    const more = store.createProfile(1, null);
    store.putGroup(more, "acme", {}, 7);
    store.merge(more, bob);
    expect(store.profileDetails(bob)).toMatchObject({ firstSeenAt: 1, groups: [{ at: 7 }] });
  });

  test("keep the addresses of the one that stays, and of the other those that there is room for", () => {
    const { store, make } = filled();
    const [ada, bob, eve] = [make("ada", 2), make("bob", 4), make("eve", 9)];
    const add = (profile: ProfileId, ...emails: string[]): void =>
      emails.forEach((email) => store.addEmail(profile, email));
    add(ada, "1@a", "2@a", "3@a", "x@x");
    add(bob, "1@b", "2@b", "3@b", "x@x");
    add(eve, "1@e");
    store.merge(ada, bob);
    expect(store.emailsOf("bob")).toEqual(["1@a", "1@b", "2@b", "3@b", "x@x"]);
    store.merge(eve, bob);
    expect(store.emailsOf("bob")).not.toContain("1@e");
    expect([ada, eve].map(store.emailsOfProfile)).toEqual([[], []]);
  });

  test("are removed with everything, and nothing of another", () => {
    const { one, store, make } = filled();
    make("ada", 2);
    const before = tables(one);
    store.removeProfile(make("bob", 4));
    const after = tables(one);
    for (const name of ["groups", "sqlite_sequence", "sqlite_stat1"]) delete after[name];
    expect(before).toMatchObject(after);
  });
});

describe("facts", () => {
  test("are the traits and events that are asked for: of events those within the time, the newest so many", () => {
    const { store } = filled();
    const ada = store.createProfile(1, null);
    store.putTraits(ada, [["plan", "pro"]], { at: 3, messageId: row(1) });
    store.putTraits(ada, [["city", "Bonn"]], { at: 4, messageId: row(1) });
    for (const [id, at] of [10, 20, 20, 30].entries())
      store.addEvent(ada, "Bought", at, { id: id + 1 }, row(id + 1));
    const ask = (withinMs: number | null, newest: number | null, properties = ["id"]) =>
      storedFacts(
        store,
        ada,
        { traits: new Set(), events: new Map([["Bought", { withinMs, newest, properties }]]) },
        40,
      )
        .events.get("Bought")
        ?.map(({ at, properties, messageId }) => [at, properties, Number(messageId)]);
    const all = [10, 20, 20, 30].map((at, place) => [at, { id: place + 1 }, place + 1]);
    expect(ask(null, null)).toEqual(all);
    expect(ask(30, null)).toEqual(all.slice(1));
    expect(ask(31, null)).toEqual(all);
    expect(ask(null, 2)).toEqual(all.slice(2));
    expect(ask(null, 1, [])).toEqual([[30, {}, 4]]);
    expect(ask(10, null)).toBeUndefined();
    const { traits, events } = storedFacts(
      store,
      ada,
      { traits: new Set(["city", "none"]), events: new Map() },
      40,
    );
    expect([[...traits], [...events]]).toEqual([
      [["city", { value: "Bonn", at: 4, messageId: 1 }]],
      [],
    ]);
  });
});

describe("messages to follow", () => {
  test("are those that were accepted from clients, in slices, each with its own bytes", () => {
    const { store } = openTestStore();
    const rejection = { reason: "missing_event", detail: "No." };
    store.commit([
      request([
        { messageId: "a", userId: "ada", event: "Bought", text: '{"n":1}' },
        { rejection, text: '{"n":2}' },
        { messageId: "a", text: '{"n":3}' },
        { type: "delete", text: '{"n":4}' },
      ]),
      request([
        { replayOf: row(1), text: '{"n":5}' },
        { computed: true, text: '{"n":6}' },
        { warnings: ["Odd."], text: '{"n":7}', anonymousId: "device", type: "page" },
        { text: "[8]" },
      ]),
      request([{ text: "no JSON" }]),
    ]);
    expect(store.followed()).toEqual({ upTo: 0, newest: 9 });
    const slices: unknown[] = [];
    for (let rows = 1; rows > 0;) {
      const slice = store.nextToFollow(4);
      rows = slice.rows;
      slices.push([
        slice.rows,
        slice.upTo,
        [...slice.messages].map(({ id, members }) => [Number(id), members]),
      ]);
      store.markFollowed(slice.upTo);
    }
    expect(slices).toEqual([
      [4, 4, [[1, { n: 1 }]]],
      [
        4,
        8,
        [
          [7, {}],
          [8, null],
        ],
      ],
      [1, 9, [[9, null]]],
      [0, 9, []],
    ]);
    expect(store.followed()).toEqual({ upTo: 9, newest: 9 });
    store.markFollowed(row(0));
    const [first, second] = store.nextToFollow(9).messages;
    expect(first).toMatchObject({
      sourceId: 1,
      type: "track",
      userId: "ada",
      anonymousId: null,
      event: "Bought",
    });
    expect(second).toMatchObject({
      type: "page",
      userId: null,
      anonymousId: "device",
      event: null,
    });
  });

  test("are known by their number also when retention has taken the newest", () => {
    const { store } = openTestStore();
    store.markFollowed(row(12));
    expect(store.followed()).toEqual({ upTo: 12, newest: 12 });
  });
});

test("a profile is shown with a thousand of each, in a list with a hundred traits", () => {
  const { one, store } = filled();
  const ada = store.createProfile(1, "ada");
  store.atomically(() => {
    const event = one.db.prepare("INSERT INTO profile_events VALUES (?, ?, ?, ?, '{}')");
    for (let n = 1; n <= 1001; n += 1) {
      const name = String(n).padStart(4, "0");
      store.addIdentity(ada, { kind: "anonymousId", value: name }, n, row(n));
      if (n <= 101) store.putTraits(ada, [[name, n]], { at: 1, messageId: row(1) });
      event.run(n, ada, name, n);
      store.putGroup(ada, name, {}, n);
      store.addHistory(ada, n, "identified", name, row(n));
    }
  });
  const details = store.profileDetails(ada);
  expect([
    details?.identities.length,
    details?.groups.length,
    details?.eventList.length,
    details?.history.length,
  ]).toEqual(Array(4).fill(1000));
  expect([details?.eventList[0]?.event, details?.eventList.at(-1)?.event]).toEqual([
    "1001",
    "0002",
  ]);
  expect([details?.history[0]?.detail, details?.history.at(-1)?.detail]).toEqual(["0002", "1001"]);
  expect(Object.keys(details?.traits ?? {})).toHaveLength(101);
  expect(Object.keys(store.profiles({}, 1, null).items[0]?.traits ?? {})).toHaveLength(100);
});
