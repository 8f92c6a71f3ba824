/** What each kind of message makes of profiles, and what listeners hear of a slice. */

import { expect, test } from "vitest";
import type { SourceId } from "../../domain/ids.ts";
import type { MessageType } from "../../domain/states.ts";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { follow, type ChangedProfile } from "./follow.ts";

type Said = {
  type: MessageType;
  userId?: string;
  anonymousId?: string;
  event?: string;
  /** Milliseconds from the start; the place of the message when left out. */
  at?: number;
  source?: number;
  [member: string]: unknown;
};

const identify = (ids: object, traits: object = {}): Said => ({ type: "identify", ...ids, traits });
const bought = (ids: object, properties: object = {}): Said => ({
  ...{ type: "track", event: "Bought", properties },
  ...ids,
});
const alias = (userId: string, previousId: unknown, more: object = {}): Said => ({
  ...{ type: "alias", userId, previousId },
  ...more,
});
const page = (ids: object, more: object = {}): Said => ({ type: "page", ...ids, ...more });

const [ada, bob, eve] = [{ userId: "ada" }, { userId: "bob" }, { userId: "eve" }];
const [a1, a2] = [{ anonymousId: "a1" }, { anonymousId: "a2" }];

function startFollow() {
  const one = openTestStore();
  let sent = 0;
  const run = (isTimeUp: (changed: ChangedProfile | null) => boolean = () => false, limit = 1000) =>
    follow({ store: one.store, limit, isTimeUp });
  return {
    ...one,
    run,
    /** Each in a request of its own; returns what listeners hear of all of them. */
    say(...messages: (Said | string)[]) {
      for (const message of messages) {
        sent += 1;
        const {
          source = 1,
          at = sent,
          ...members
        } = typeof message === "string" ? { type: "track" as const } : message;
        const { type, userId = null, anonymousId = null, event = null } = members as Said;
        const text = typeof message === "string" ? message : JSON.stringify(members);
        one.store.commit([
          request([{ type, userId, anonymousId, event, timestamp: startOfTime + at, text }], {
            sourceId: source,
          }),
        ]);
      }
      const { changes, ...followed } = run();
      return {
        ...followed,
        changes: changes.map(({ traits, events, profileId: _, ...change }) => ({
          ...change,
          traits: [...traits],
          events: [...events],
        })),
      };
    },
    /** Who is who: the identities of each profile, with its events and the kinds of its history. */
    who(): unknown[] {
      return one.store
        .profiles({}, 100, null)
        .items.toSorted((a, b) => a.id - b.id)
        .map(({ id, userId }) => {
          const { identities, events, history } = one.store.profileDetails(id) ?? {};
          return [
            userId,
            identities
              ?.map(({ kind, value }) => `${kind === "userId" ? "u" : "a"} ${value}`)
              .toSorted(),
            events,
            history?.map(({ kind }) => kind),
          ];
        });
    },
    details: (userId: string) => {
      const [found] = one.store.profiles({ userId }, 1, null).items;
      const details = found === undefined ? null : one.store.profileDetails(found.id);
      if (details === null) throw new Error(`${userId} has no profile`);
      return details;
    },
  };
}

test.for<[string, Said[], unknown[]]>([
  ["a message without ids", [bought({})], []],
  [
    "a first message",
    [bought(ada), page(a1)],
    [
      ["ada", ["u ada"], 1, ["created"]],
      [null, ["a a1"], 0, ["created"]],
    ],
  ],
  ["a track without an event", [{ type: "track", ...ada }], [["ada", ["u ada"], 0, ["created"]]]],
  ["both ids at once", [bought({ ...ada, ...a1 })], [["ada", ["a a1", "u ada"], 1, ["created"]]]],
  [
    "both ids again",
    [bought({ ...ada, ...a1 }), bought({ ...ada, ...a1 }), bought(a1)],
    [["ada", ["a a1", "u ada"], 3, ["created"]]],
  ],
  [
    "a new anonymousId of a user",
    [bought(ada), bought({ ...ada, ...a1 })],
    [["ada", ["a a1", "u ada"], 2, ["created", "identified"]]],
  ],
  [
    "a new userId of an anonymous one",
    [bought(a1), bought({ ...ada, ...a1 })],
    [["ada", ["a a1", "u ada"], 2, ["created", "identified"]]],
  ],
  [
    "two profiles that become one",
    [bought(ada), bought(a1), bought(a1), page({ ...ada, ...a1 })],
    [["ada", ["a a1", "u ada"], 3, ["created", "created", "merged"]]],
  ],
  [
    "a device that a known user takes over",
    [bought({ ...ada, ...a1 }), bought(bob), bought({ ...bob, ...a1 }), bought(a1)],
    [
      ["ada", ["u ada"], 1, ["created", "moved"]],
      ["bob", ["a a1", "u bob"], 3, ["created", "moved"]],
    ],
  ],
  [
    "a device that a new user takes over",
    [bought({ ...ada, ...a1 }), bought({ ...bob, ...a1 })],
    [
      ["ada", ["u ada"], 1, ["created", "moved"]],
      ["bob", ["a a1", "u bob"], 1, ["created", "moved"]],
    ],
  ],
  [
    "an alias of a user to itself",
    [bought(ada), alias("ada", "ada")],
    [["ada", ["u ada"], 1, ["created"]]],
  ],
  [
    "an alias of a user to a new one",
    [bought(ada), alias("bob", "ada")],
    [["bob", ["u ada", "u bob"], 1, ["created", "identified"]]],
  ],
  [
    "the same alias again",
    [bought(ada), alias("bob", "ada"), alias("bob", "ada")],
    [["bob", ["u ada", "u bob"], 1, ["created", "identified"]]],
  ],
  [
    "an alias of a user and back",
    [bought(ada), alias("bob", "ada"), alias("ada", "bob")],
    [["ada", ["u ada", "u bob"], 1, ["created", "identified"]]],
  ],
  [
    "an alias of two users",
    [bought(ada), bought(bob), alias("bob", "ada")],
    [["bob", ["u ada", "u bob"], 2, ["created", "created", "merged"]]],
  ],
  [
    "an alias of an anonymous one to a new user",
    [bought(a1), alias("ada", "a1")],
    [["ada", ["a a1", "u ada"], 1, ["created", "identified"]]],
  ],
  [
    "an alias of an anonymous one to a user",
    [bought(a1), bought(ada), alias("ada", "a1")],
    [["ada", ["a a1", "u ada"], 2, ["created", "created", "merged"]]],
  ],
  [
    "an alias of somebody's anonymousId",
    [bought({ ...ada, ...a1 }), alias("bob", "a1")],
    [
      ["ada", ["u ada"], 1, ["created", "moved"]],
      ["bob", ["a a1", "u bob"], 0, ["created", "moved"]],
    ],
  ],
  [
    "an alias of an id that nobody had",
    [alias("ada", "old"), bought({ userId: "old" })],
    [["ada", ["a old", "u ada", "u old"], 1, ["created", "identified"]]],
  ],
  [
    "an alias of a new id to a user who was renamed",
    [bought(ada), alias("bob", "ada"), alias("ada", "new")],
    [["ada", ["a new", "u ada", "u bob", "u new"], 1, ["created", "identified", "identified"]]],
  ],
  [
    "an alias that says that the id is anonymous",
    [alias("ada", "a1", a1), bought({ userId: "a1" })],
    [
      ["ada", ["a a1", "u ada"], 0, ["created", "identified"]],
      ["a1", ["u a1"], 1, ["created"]],
    ],
  ],
  [
    "an alias with another anonymousId",
    [alias("ada", "old", a1)],
    [["ada", ["a a1", "a old", "u ada", "u old"], 0, ["created", "identified", "identified"]]],
  ],
  [
    "an alias whose previousId is no text",
    [alias("ada", 5), alias("bob", null), alias("eve", undefined)],
    [
      ["ada", ["u ada"], 0, ["created"]],
      ["bob", ["u bob"], 0, ["created"]],
      ["eve", ["u eve"], 0, ["created"]],
    ],
  ],
  [
    "an alias without a userId",
    [bought(ada), { type: "alias", ...a1, previousId: "ada" }],
    [
      ["ada", ["u ada"], 1, ["created"]],
      [null, ["a a1"], 0, ["created"]],
    ],
  ],
  [
    "a previousId in a message of another type",
    [bought(ada), page(bob, { previousId: "ada" })],
    [
      ["ada", ["u ada"], 1, ["created"]],
      ["bob", ["u bob"], 0, ["created"]],
    ],
  ],
  [
    "an alias of half a character",
    [alias("ada", "\ud800"), bought({ userId: "\ufffd" })],
    [["ada", ["a \ufffd", "u ada", "u \ufffd"], 1, ["created", "identified"]]],
  ],
])("%s, also when each message is a slice of its own", ([, messages, profiles]) => {
  const whole = startFollow();
  whole.say(...messages);
  expect(whole.who()).toEqual(profiles);
  const one = startFollow();
  for (const message of messages) one.say(message);
  expect(one.who()).toEqual(profiles);
});

test("the history says what happened, by which message, with ids of at most a hundred characters", () => {
  const { say, details } = startFollow();
  const [long, longer] = ["x".repeat(100), "y".repeat(101)];
  say(
    identify({ userId: long, anonymousId: longer }),
    bought({ userId: long, anonymousId: "a2" }),
    bought({ anonymousId: "a3" }),
    bought({ anonymousId: "a4" }),
    bought({ anonymousId: "a4" }),
    page({ anonymousId: "a5" }),
    alias(long, "a3"),
    alias(long, "a4"),
    alias(long, "a5"),
    alias(long, "a6"),
    bought({ userId: "thief", anonymousId: "a2" }),
    bought({ anonymousId: "a7" }),
    identify({ userId: "late", anonymousId: "a7" }),
  );
  const lines = (userId: string): unknown[] =>
    details(userId).history.map(({ detail, messageId, at }) => [
      detail,
      messageId,
      at - startOfTime,
    ]);
  const moved = `A track moved anonymousId "a2" from userId "${long}" to userId "thief": two users on one device. Earlier events stay with the first.`;
  expect(lines(long)).toEqual([
    [
      `Created by an identify with userId "${long}" and anonymousId "${longer.slice(0, 100)}…".`,
      1,
      1,
    ],
    [`A track added anonymousId "a2" to userId "${long}".`, 2, 2],
    ['Created by a track with anonymousId "a3".', 3, 3],
    ['Created by a track with anonymousId "a4".', 4, 4],
    ['Created by a page with anonymousId "a5".', 6, 6],
    ['An alias merged the profile of anonymousId "a3" into this one, and one event with it.', 7, 7],
    ['An alias merged the profile of anonymousId "a4" into this one, and 2 events with it.', 8, 8],
    ['An alias merged the profile of anonymousId "a5" into this one.', 9, 9],
    [`An alias added userId "a6" to userId "${long}".`, 10, 10],
    [moved, 11, 11],
  ]);
  expect(lines("thief")).toEqual([
    ['Created by a track with userId "thief".', 11, 11],
    [moved, 11, 11],
  ]);
  expect(lines("late").at(-1)).toEqual([
    'An identify linked anonymousId "a7" to userId "late". Earlier events count for the user.',
    13,
    13,
  ]);
});

test("listeners get the changed traits, events, users and addresses, with their user", () => {
  const { say } = startFollow();
  const nothing = {
    ...{ traits: [], events: [], rejoined: false, isNew: false, formerUserIds: [], emails: [] },
  };
  expect(say(identify(ada, { plan: "pro", email: "a@x" }), bought(ada), page(bob)).changes).toEqual(
    [
      {
        ...{ ...nothing, userId: "ada", rejoined: true, isNew: true, events: ["Bought"] },
        traits: ["plan", "email"],
        emails: [{ email: "a@x", from: null }],
      },
      { ...nothing, userId: "bob", rejoined: true, isNew: true },
    ],
  );
  expect(say(identify(ada, { plan: "pro", email: "a@x" }), page(ada)).changes).toEqual([]);
  expect(say(identify(ada, { plan: "free" })).changes).toEqual([
    { ...nothing, userId: "ada", traits: ["plan"] },
  ]);
  expect(say(bought(a1)).changes).toEqual([
    { ...nothing, userId: null, isNew: true, events: ["Bought"] },
  ]);
  expect(say(page({ ...eve, ...a1 })).changes).toEqual([
    { ...nothing, userId: "eve", rejoined: true },
  ]);
  expect(say(identify(a2, { city: "Graz" }), page({ ...eve, ...a2 })).changes).toEqual([
    { ...nothing, userId: "eve", rejoined: true, traits: ["city"] },
  ]);
  expect(say(alias("bob", "ada")).changes).toEqual([
    {
      ...{ ...nothing, userId: "bob", rejoined: true, formerUserIds: ["ada"] },
      emails: [{ email: "a@x", from: "ada" }],
    },
  ]);
  expect(say(alias("new", "bob")).changes).toEqual([
    { ...nothing, userId: "new", rejoined: true, formerUserIds: ["bob"] },
  ]);
  // Away and back again within a slice: it is no former one.
  expect(say(alias("newer", "new"), alias("new", "newer")).changes).toEqual([
    { ...nothing, userId: "new", rejoined: true, formerUserIds: ["newer"] },
  ]);
});

test("listeners get the addresses of an anonymous profile that becomes a user's, each once", () => {
  const { say } = startFollow();
  const emails = (...of: string[]) => of.map((email) => ({ email, from: null }));
  say(identify(a1, { email: "a@x" }), identify(a2, { email: "b@x" }));
  // With one that comes later in the slice.
  expect(say(identify({ ...ada, ...a1 }, { email: "c@x" })).changes[0]).toMatchObject({
    emails: emails("a@x", "c@x"),
  });
  expect(say(page({ ...ada, ...a2 })).changes[0]).toMatchObject({ emails: emails("b@x") });
  const a3 = { anonymousId: "a3" };
  const within = [identify(a3, { email: "d@x" }), page({ ...ada, ...a3 })];
  expect(say(...within).changes).toMatchObject([{ emails: emails("d@x") }]);
  const a4 = { anonymousId: "a4" };
  expect(say(identify(a4, { email: "d@x" }), page({ ...ada, ...a4 })).changes).toMatchObject([
    { emails: [] },
  ]);
});

test("a profile that is merged within a slice hands on what was heard of it, and its sources", () => {
  const both = startFollow();
  const { changes, profiles } = both.say(
    identify({ ...ada, source: 3 }, { plan: "pro" }),
    bought({ ...bob, source: 2 }),
    alias("bob", "ada", { source: 1 }),
    alias("eve", "bob", { source: 2 }),
  );
  expect(changes).toMatchObject([
    {
      ...{ userId: "eve", isNew: true, rejoined: true },
      ...{ events: ["Bought"], traits: ["plan"], formerUserIds: ["ada", "bob"] },
    },
  ]);
  expect(profiles).toHaveLength(1);
  expect(both.details("eve")).toMatchObject({
    ...{ sourceIds: [1, 2, 3], events: 1 },
    firstSeenAt: startOfTime + 1,
    lastSeenAt: startOfTime + 4,
  });

  const old = startFollow();
  old.say(identify({ ...ada, source: 3 }, { plan: "pro" }));
  // The one that is new here has also what the old one had.
  expect(old.say(bought(bob), alias("bob", "ada")).changes).toMatchObject([
    { userId: "bob", isNew: false, formerUserIds: ["ada"] },
  ]);
  expect(old.details("bob")).toMatchObject({ sourceIds: [1, 3], traits: { plan: "pro" } });
});

test("a profile knows when it was seen, how many events it has, and its sources in order", () => {
  const { say, details } = startFollow();
  say(
    bought({ ...ada, at: 50, source: 2 }),
    page({ ...ada, at: 90 }),
    bought({ ...ada, at: 20, source: 2 }),
    { type: "track", ...ada, at: 60 },
  );
  const expected = { firstSeenAt: startOfTime + 20, lastSeenAt: startOfTime + 90, events: 2 };
  expect(details("ada")).toMatchObject({ ...expected, sourceIds: [1, 2] as SourceId[] });
  say(bought({ ...ada, at: 40, source: 7 }));
  expect(details("ada")).toMatchObject({ ...expected, events: 3, sourceIds: [1, 2, 7] });
  expect(details("ada").eventList).toMatchObject([
    { event: "Bought", count: 3, firstAt: startOfTime + 20, lastAt: startOfTime + 50 },
  ]);
});

test("traits, groups and properties are objects, an email address is a text with something in it, and half characters are mended", () => {
  const { say, details, store } = startFollow();
  say(
    identify(ada, { email: " " }),
    identify(ada, { email: 5, "\ud800": 1 }),
    identify(ada, { email: "\udfff@x", Email: "other@x" }),
    identify(ada, { mail: "third@x" }),
    { type: "identify", ...ada, traits: ["list"] },
    { type: "identify", ...ada },
    { ...bought(ada), properties: "text" },
    { type: "group", ...ada, groupId: "acme", traits: { size: 3 } },
    { type: "group", ...ada, groupId: "acme", traits: null },
    { type: "group", ...ada, groupId: 5 },
    { type: "screen", ...ada, traits: { plan: "no" } },
  );
  expect(details("ada")).toMatchObject({
    traits: { email: "\udfff@x", Email: "other@x", mail: "third@x", "\ufffd": 1 },
    groups: [{ groupId: "acme", traits: { size: 3 } }],
    eventList: [{ event: "Bought", count: 1, lastProperties: {} }],
    events: 1,
  });
  expect(store.emailsOf("ada")).toEqual(["\ufffd@x"]);
});

test("names are suggested by how often they were seen, and of one message at most a hundred", () => {
  const { say, store } = startFollow();
  const many = (count: number, name: string): object =>
    Object.fromEntries(Array.from({ length: count }, (_, nth) => [`${name}${nth}`, nth]));
  say(
    identify(ada, many(101, "t")),
    identify(ada, { rare: 1, t7: 1 }),
    identify(ada, { t7: 2, t8: 1 }),
    bought(ada, many(101, "p")),
    bought(ada, { p9: 1, p8: 1 }),
    bought(bob, { p9: 2 }),
    { ...bought(ada), event: "Left" },
  );
  const { traits, events } = store.seenNames();
  expect([
    traits.length,
    traits.slice(0, 2),
    traits.includes("t99"),
    traits.includes("t100"),
  ]).toEqual([101, ["t7", "t8"], true, false]);
  const [first, second] = events;
  expect([first?.event, first?.properties.length, first?.properties.slice(0, 2)]).toEqual([
    "Bought",
    100,
    ["p9", "p8"],
  ]);
  expect(second).toEqual({ event: "Left", properties: [] });
});

test("what cannot be parsed is skipped and named, and the rest is applied", () => {
  const { say, who, store } = startFollow();
  const { unreadable, upTo } = say(bought(ada), "{", bought(ada));
  expect([unreadable, upTo, store.followed()]).toEqual([[2], 3, { upTo: 3, newest: 3 }]);
  expect(who()).toEqual([["ada", ["u ada"], 2, ["created"]]]);
});

test("a slice ends where its time is up, which is asked after each message, and the next goes on there", () => {
  const { store, run, who } = startFollow();
  const texts = [bought(ada), page({}), bought(ada), bought(bob)];
  store.commit([
    request(
      texts.map(({ type, userId = null, event = null, ...rest }) => ({
        ...{ type, userId, event },
        text: JSON.stringify(rest),
      })),
    ),
  ]);
  const asked: unknown[] = [];
  const slice = run((changed) => {
    asked.push(changed && [...changed.events]);
    return asked.length === 3;
  });
  expect([asked, slice.upTo, store.followed()]).toEqual([
    [["Bought"], null, ["Bought"]],
    3,
    { upTo: 3, newest: 4 },
  ]);
  expect(who()).toEqual([["ada", ["u ada"], 2, ["created"]]]);
  expect(run(() => true).upTo).toBe(4);
  expect(run()).toMatchObject({ upTo: 4, changes: [], profiles: [], unreadable: [] });
});

test("the profiles of a slice are those of its messages, in the order of the first of each", () => {
  const { say, store } = startFollow();
  const idOf = (userId: string): number | undefined =>
    store.profiles({ userId }, 1, null).items[0]?.id;
  expect(say(page(bob), page(ada), page(bob)).profiles).toEqual([idOf("bob"), idOf("ada")]);
  expect(say(page(ada), page(bob)).profiles).toEqual([idOf("ada"), idOf("bob")]);
});
