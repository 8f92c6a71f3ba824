/**
 * Random messages of few users and devices, followed in random slices, against profiles that are
 * reckoned plainly.
 */

import { randomUUID } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { follow } from "../../src/engine/profiles/follow.ts";
import type { ProfileChange } from "../../src/engine/profile-ports.ts";
import type { MessageType } from "../../src/domain/states.ts";
import {
  expectConsistent,
  openTestStore,
  request,
  startOfTime,
  tables,
  type MessageDraft,
  type TestStore,
} from "../../src/store/store.fixture.ts";

type Draft = {
  type: "identify" | "track" | "group" | "alias" | "page";
  userId: string | null;
  anonymousId: string | null;
  previousId: string;
  name: string;
  value: number | null;
  at: number;
};

const users = ["u1", "u2", "u3"];
const devices = ["a1", "a2"];
const names = ["n1", "n2"];

const drafts: fc.Arbitrary<Draft[]> = fc.array(
  fc.record({
    type: fc.constantFrom("identify", "track", "group", "alias", "page"),
    userId: fc.constantFrom(null, ...users),
    anonymousId: fc.constantFrom(null, ...devices),
    previousId: fc.constantFrom(...users, ...devices, "x"),
    name: fc.constantFrom(...names),
    value: fc.constantFrom(null, 1, 2),
    at: fc.integer({ min: 0, max: 5 }),
  }),
  { minLength: 1, maxLength: 25 },
);
const slices = fc.array(
  fc.record({ limit: fc.integer({ min: 1, max: 8 }), stopAfter: fc.integer({ min: 1, max: 8 }) }),
  {
    minLength: 1,
    maxLength: 5,
  },
);

function messageOf({
  type,
  userId,
  anonymousId,
  previousId,
  name,
  value,
  at,
}: Draft): MessageDraft & { type: MessageType } {
  const own = {
    identify: { traits: { [name]: value } },
    track: { event: name, properties: { value } },
    group: { groupId: name, traits: { size: value } },
    alias: { previousId },
    page: { name },
  }[type];
  const who = type === "alias" ? (userId ?? "u1") : userId;
  return {
    messageId: randomUUID(),
    type,
    userId: who,
    anonymousId,
    event: type === "track" || type === "page" || type === "group" ? name : null,
    timestamp: startOfTime + at,
    deduplicate: false,
    text: JSON.stringify({ type, userId: who, anonymousId, ...own }),
  };
}

/** One user as the documents tell it, with nothing but lists. */
type Person = {
  userId: string | null;
  ids: Set<string>;
  traits: Map<string, { value: number | null; at: number; row: number }>;
  events: { name: string; at: number; row: number }[];
  groups: Set<string>;
};

function reckon(all: readonly Draft[]): Person[] {
  let people: Person[] = [];
  const withId = (id: string) => people.find(({ ids }) => ids.has(id));
  const made = (id: string): Person => {
    const person: Person = {
      userId: null,
      ids: new Set([id]),
      traits: new Map(),
      events: [],
      groups: new Set(),
    };
    people.push(person);
    return person;
  };
  const one = (id: string): Person => withId(id) ?? made(id);
  const put = (
    person: Person,
    name: string,
    given: { value: number | null; at: number; row: number },
  ): void => {
    const known = person.traits.get(name);
    if (
      known === undefined ||
      given.at > known.at ||
      (given.at === known.at && given.row >= known.row)
    )
      person.traits.set(name, given);
  };
  const join = (from: Person, into: Person): Person => {
    people = people.filter((person) => person !== from);
    for (const id of from.ids) into.ids.add(id);
    for (const [name, trait] of from.traits) put(into, name, trait);
    for (const group of from.groups) into.groups.add(group);
    into.events.push(...from.events);
    return into;
  };
  const known = (userId: string): Person => {
    const person = one(`user ${userId}`);
    person.userId ??= userId;
    return person;
  };
  const device = (userId: string, anonymousId: string): Person => {
    const other = withId(`anonymous ${anonymousId}`);
    const user = withId(`user ${userId}`);
    if (other === undefined || other === user) {
      const person = known(userId);
      person.ids.add(`anonymous ${anonymousId}`);
      return person;
    }
    if (other.userId === null && user !== undefined) return join(other, user);
    if (other.userId === null) {
      other.ids.add(`user ${userId}`);
      other.userId = userId;
      return other;
    }
    other.ids.delete(`anonymous ${anonymousId}`);
    const person = known(userId);
    person.ids.add(`anonymous ${anonymousId}`);
    return person;
  };

  for (const [index, draft] of all.entries()) {
    const { type, anonymousId, previousId, name, value, at } = draft;
    const userId = type === "alias" ? (draft.userId ?? "u1") : draft.userId;
    if (type === "alias" && userId !== null && previousId !== userId) {
      const before = withId(`user ${previousId}`);
      let person: Person;
      if (before !== undefined) {
        const now = withId(`user ${userId}`);
        person = now === undefined || now === before ? before : join(before, now);
        person.ids.add(`user ${userId}`);
      } else if (withId(`anonymous ${previousId}`) !== undefined)
        person = device(userId, previousId);
      else {
        person = known(userId);
        person.ids.add(`anonymous ${previousId}`);
        if (anonymousId !== previousId) person.ids.add(`user ${previousId}`);
      }
      person.userId = userId;
    }
    const person =
      userId !== null && anonymousId !== null
        ? device(userId, anonymousId)
        : userId !== null
          ? known(userId)
          : anonymousId !== null
            ? one(`anonymous ${anonymousId}`)
            : null;
    if (person === null) continue;
    const row = index + 1;
    if (type === "identify") put(person, name, { value, at: startOfTime + at, row });
    if (type === "track") person.events.push({ name, at: startOfTime + at, row });
    if (type === "group") person.groups.add(name);
  }
  return people;
}

type Told = {
  people: unknown[];
  users: Map<string, number>;
  byProfile: Map<
    number,
    { userId: string | null; traits: Map<string, string>; events: Map<string, number> }
  >;
};

function look({ db }: TestStore): Told {
  const column = (sql: string, id: number): string[] => db.prepare(sql).pluck().all(id) as string[];
  const rows = db.prepare("SELECT id, user_id FROM profiles ORDER BY id").all() as {
    id: number;
    user_id: string | null;
  }[];
  const byProfile: Told["byProfile"] = new Map();
  const people = rows.map(({ id, user_id }) => {
    const traits = db
      .prepare(
        "SELECT name, value, at, message_id AS row FROM profile_traits WHERE profile_id = ? ORDER BY name",
      )
      .all(id);
    const events = db
      .prepare(
        "SELECT event AS name, at, id AS row FROM profile_events WHERE profile_id = ? ORDER BY id",
      )
      .all(id) as {
      name: string;
    }[];
    const counts = new Map<string, number>();
    for (const { name } of events) counts.set(name, (counts.get(name) ?? 0) + 1);
    const values = new Map(
      (traits as { name: string; value: string }[]).flatMap(({ name, value }) =>
        value === "null" ? [] : [[name, value] as const],
      ),
    );
    byProfile.set(id, { userId: user_id, traits: values, events: counts });
    return {
      userId: user_id,
      ids: column(
        "SELECT iif(kind = 0, 'user ', 'anonymous ') || value FROM identities WHERE profile_id = ? ORDER BY 1",
        id,
      ),
      traits,
      events,
      groups: column("SELECT group_id FROM profile_groups WHERE profile_id = ? ORDER BY 1", id),
    };
  });
  return {
    people,
    users: new Map(rows.flatMap(({ id, user_id }) => (user_id === null ? [] : [[user_id, id]]))),
    byProfile,
  };
}

const plain = (people: readonly Person[]): unknown[] =>
  people.map(({ userId, ids, traits, events, groups }) => ({
    userId,
    ids: [...ids].toSorted(),
    traits: [...traits]
      .map(([name, { value, ...rest }]) => ({ name, value: JSON.stringify(value), ...rest }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    events: events.toSorted((a, b) => a.row - b.row),
    groups: [...groups].toSorted(),
  }));

/** Whoever evaluates rules for what a slice changed has missed nothing. */
function expectTold(before: Told, after: Told, changes: readonly ProfileChange[]): void {
  const changeOf = new Map(changes.map((change) => [change.profileId as number, change]));
  expect(changeOf.size).toBe(changes.length);
  for (const [id, { userId, traits, events }] of after.byProfile) {
    const was = before.byProfile.get(id);
    const change = changeOf.get(id);
    if (change !== undefined) expect(change.userId).toBe(userId);
    const isNew = change?.isNew === true;
    if (isNew) expect(was).toBeUndefined();
    if (change?.rejoined === true && !isNew) continue;
    if (userId !== null && !isNew) expect(was?.userId).toBe(userId);
    for (const name of names) {
      if (was?.traits.get(name) !== traits.get(name))
        expect([...(change?.traits ?? [])]).toContain(name);
      if (was?.events.get(name) !== events.get(name))
        expect([...(change?.events ?? [])]).toContain(name);
    }
  }
  const former = changes.flatMap(({ formerUserIds }) => formerUserIds);
  for (const userId of before.users.keys())
    if (!after.users.has(userId)) expect(former).toContain(userId);
  for (const userId of former) expect(after.users.has(userId)).toBe(false);
}

test("profiles are as reckoned plainly, however the messages are cut into slices, and each slice tells what it changed", () => {
  const one = openTestStore();
  const whole = openTestStore();
  fc.assert(
    fc.property(drafts, slices, (all, cuts) => {
      const messages = all.map(messageOf);
      for (const { store } of [one, whole]) {
        store.clearMessages();
        store.commit([request(messages)]);
      }

      follow({ store: whole.store, limit: 1000, isTimeUp: () => false });
      for (
        let slice = 0, before = look(one);
        one.store.followed().upTo < one.store.followed().newest;
        slice += 1
      ) {
        const { limit, stopAfter } = cuts[slice % cuts.length] ?? { limit: 1, stopAfter: 1 };
        let messages = 0;
        const { changes } = one.store.atomically(() =>
          follow({ store: one.store, limit, isTimeUp: () => (messages += 1) >= stopAfter }),
        );
        const after = look(one);
        expectTold(before, after, changes);
        before = after;
      }

      const byText = (a: unknown, b: unknown): number =>
        JSON.stringify(a) < JSON.stringify(b) ? -1 : 1;
      expect(look(one).people.toSorted(byText)).toEqual(plain(reckon(all)).toSorted(byText));
      expect(tables(one)).toEqual(tables(whole));
      expectConsistent(one.db);
    }),
    { numRuns: 300 },
  );
});

const followAll = ({ store }: TestStore): void =>
  void follow({ store, limit: 1000, isTimeUp: () => false });

test("what retention removes is gone from the profiles as an event; traits, groups, identities and history stay", () => {
  const one = openTestStore();
  const draft = { userId: "u1", anonymousId: "a1", previousId: "", value: 1, at: 0 };
  const track = (event: string, at: number): Draft => ({
    ...draft,
    type: "track",
    name: event,
    at,
  });
  one.store.commit([
    request([
      messageOf({ ...draft, type: "identify", name: "plan" }),
      messageOf({ ...draft, type: "group", name: "acme" }),
    ]),
  ]);
  one.store.commit([
    request([track("Viewed", 1), track("Bought", 2), track("Bought", 3)].map(messageOf)),
  ]);
  followAll(one);
  const profile = one.store.profileWithUser("u1");
  if (profile === null) throw new Error("u1 has no profile");
  expect(one.store.profileDetails(profile)).toMatchObject({
    events: 3,
    eventList: [{ event: "Bought", count: 2 }, { event: "Viewed" }],
  });
  one.store.removeOld({ maxMessages: 1, olderThanWall: null }, 100);
  expectConsistent(one.db);
  expect(one.store.profileDetails(profile)).toMatchObject({
    events: 1,
    eventList: [{ event: "Bought", count: 1, lastMessageId: 5 }],
    traits: { plan: 1 },
    groups: [{ groupId: "acme" }],
    identities: [{ value: "u1" }, { value: "a1" }],
    history: [{ kind: "created", messageId: 1 }],
  });
  one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 100);
  expectConsistent(one.db);
  // The rows that are named are not given to others, also after a start.
  const again = one.restarted();
  again.store.commit([request([messageOf(track("Bought", 4))])]);
  followAll(again);
  expect(again.store.profileDetails(profile)).toMatchObject({
    events: 1,
    eventList: [{ lastMessageId: 6 }],
  });
});

test("retention leaves what the profiles have not looked at yet", () => {
  const one = openTestStore();
  one.store.commit([request([{}, {}, {}])]);
  expect(one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 100).removed).toBe(0);
  follow({ store: one.store, limit: 2, isTimeUp: () => false });
  expect(one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 100).removed).toBe(2);
  followAll(one);
  expect(one.store.removeOld({ maxMessages: 0, olderThanWall: null }, 100).removed).toBe(1);
});
