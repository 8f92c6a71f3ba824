/** Who gets the delete of a user, from which source, and what is left of the user here. */

import { expect, onTestFinished, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import {
  deletionIds,
  type DeletionId,
  type DestinationId,
  type SourceId,
} from "../../domain/ids.ts";
import type { MessageType } from "../../domain/states.ts";
import { openTestStore, request } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { openConfiguration } from "../configuration.fixture.ts";
import { createInternalMessages, type CausedMessage } from "../ingest/internal-messages.ts";
import { follow } from "../profiles/follow.ts";
import { createDeleteUsers } from "./delete-users.ts";

const id = 4 as DeletionId;

/** A shop and an app, each with a destination, and two audiences. */
function startUsers() {
  const { store } = openTestStore();
  const clock = createSteppedClock();
  const changes = createChangeFeed();
  onTestFinished(() => changes.stop());
  const configuration = openConfiguration({ store, clock, changes });
  const source = (name: string): SourceId => {
    const created = configuration.createSource({ name });
    if (!("id" in created)) throw new Error(created.message);
    return created.id;
  };
  const connect = (name: string, sourceIds: SourceId[], enabled = true) => {
    const created = configuration.createDestination({
      ...{ name, enabled, sourceIds },
      webhooks: [{ url: "http://127.0.0.1/", headers: {} }],
    });
    if (!("id" in created)) throw new Error(created.message);
    return created.id;
  };
  const own = createInternalMessages({ store, configuration, clock, onCommitted: () => {} });
  const commits: { source: string; messages: readonly CausedMessage[] }[][] = [];
  /** Destinations that the audiences have sent nothing yet. */
  const notSent = new Set<DestinationId>();
  const users = createDeleteUsers({
    ...{ store, configuration },
    hasSentTo: (_, userId, to) => userId === "ada" || !notSent.has(to),
    forget: () => {},
    internalMessages: {
      commit(batches) {
        commits.push(batches.map(({ source: { name }, messages }) => ({ source: name, messages })));
        return own.commit(batches);
      },
    },
  });
  const [shop, app] = [source("Shop"), source("App")];
  const [big, small] = ["Big", "Small"].map((name) => configuration.createOwnSource(name).id);
  return {
    ...{ store, configuration, users, connect, commits, shop, app, notSent },
    ...{ big: big as SourceId, small: small as SourceId },
    send(sourceId: SourceId, userId: string, more: object = {}, type: MessageType = "track"): void {
      const text = JSON.stringify({ type, userId, ...more });
      store.commit([request([{ type, userId, text }], { sourceId })]);
      follow({ store, limit: 100, isTimeUp: () => false });
    },
    /** What an audience has sent of the user. */
    value(sourceId: SourceId, userId: string, value: boolean | null, since: number): void {
      store.putLastSent({ sourceId, userId, value, since, recheckAt: null });
    },
    /** As one slice, of users who all have a profile of their own, or all the same. */
    delete(userIds: string[], sends = true) {
      const place = (userId: string) => {
        const all = users.userIdsWith(userId);
        const isLast = all.length === 1 || userId === userIds.at(-1);
        return { isLast, others: all.filter((other) => !userIds.includes(other)) };
      };
      const found = userIds.map((userId) => users.find(userId, place(userId)));
      return users.delete(found, id, sends);
    },
    /** `Shop: ada`, for each delete message. */
    sent: () =>
      commits.map((batches) =>
        batches.flatMap(({ source: name, messages }) =>
          messages.map(({ message }) => `${name}: ${message.type} ${message.userId}`),
        ),
      ),
  };
}

test("each source that knows the user sends the delete, and no source of a destination that is off or of another user", () => {
  const one = startUsers();
  one.connect("D1", [one.shop]);
  one.connect("D2", [one.app]);
  one.send(one.shop, "ada");
  one.send(one.app, "ada");
  one.send(one.shop, "bob");
  one.send(one.app, "cyd");
  const deleted = one.delete(["ada", "bob"]);
  expect(one.sent()).toEqual([["Shop: delete ada", "Shop: delete bob", "App: delete ada"]]);
  expect(deleted).toEqual([
    {
      ...{ userId: "ada", known: true, sourceIds: [one.shop, one.app], messageIds: [5, 7] },
      detail: "The profile was removed. A delete message was created for Shop and App.",
    },
    {
      ...{ userId: "bob", known: true, sourceIds: [one.shop], messageIds: [6] },
      detail: "The profile was removed. A delete message was created for Shop.",
    },
  ]);
  expect(one.commits[0]?.[0]?.messages[0]?.cause).toEqual({
    ...{ reason: "deletion", deletionId: id },
    sentence: `ada was deleted by the request ${deletionIds.format(id)}, and Shop knows the user.`,
  });
  expect(one.store.profiles({}, 10, null).items).toMatchObject([{ userId: "cyd" }]);
  const [destination] = one.configuration.destinationsOf(one.app);
  if (destination !== undefined)
    one.configuration.updateDestination(destination.id, { enabled: false });
  expect(one.delete(["cyd"])).toMatchObject([
    {
      ...{ known: true, sourceIds: [], messageIds: [] },
      detail:
        "The profile was removed. No source that knows the user has an enabled destination, so no delete message was created.",
    },
  ]);
  expect(one.commits).toHaveLength(1);
});

test("an audience sends the delete where nobody else does, once, of users whose value was sent", () => {
  const one = startUsers();
  const d1 = one.connect("D1", [one.shop, one.big]);
  const d2 = one.connect("D2", [one.big, one.small]);
  one.connect("Off", [one.big], false);
  one.send(one.shop, "ada");
  for (const audience of [one.big, one.small]) one.value(audience, "ada", true, 5);
  const [deleted] = one.delete(["ada"]);
  expect(one.sent()).toEqual([["Shop: delete ada", "Big: delete ada"]]);
  const [ofShop, ofBig] = one.commits[0] ?? [];
  expect(ofShop?.messages[0]?.leftOut).toEqual(new Map());
  expect(ofBig?.messages[0]).toMatchObject({
    cause: {
      sentence: `ada was deleted by the request ${deletionIds.format(id)}, and the receiver knows the user only from the audience Big.`,
    },
  });
  // Not the one that is off: nothing is sent to it anyway.
  expect([...(ofBig?.messages[0]?.leftOut ?? [])]).toEqual([
    [
      d1,
      {
        reason: "deleted_by_another_source",
        detail: "D1 gets the delete of this user from another source.",
      },
    ],
  ]);
  expect(deleted).toMatchObject({
    ...{ sourceIds: [one.shop, one.big], messageIds: [2, 3] },
    detail: "The profile was removed. A delete message was created for Shop and the audience Big.",
  });
  const routed = deleted?.messageIds.map((row) =>
    one.store
      .message(row)
      ?.decisions.map(({ destinationId, reason }) => [destinationId, reason])
      .toSorted(),
  );
  expect(routed).toMatchObject(
    [
      [[d1, "routed"]],
      [
        [d1, "deleted_by_another_source"],
        [d2, "routed"],
      ],
    ].map((each) => expect.arrayContaining(each) as unknown),
  );
});

test.for([
  ["a member", true, 1, ["Big: delete ada"]],
  ["one who left", null, 1, ["Big: delete ada"]],
  ["one without a message", null, 0, null],
  ["one without a time", true, 0, ["Big: delete ada"]],
] as const)("a user without a profile is deleted at receivers as %s", ([, value, since, sent]) => {
  const one = startUsers();
  one.connect("D", [one.big]);
  one.value(one.big, "ada", value, since);
  const [deleted] = one.delete(["ada"]);
  expect(one.sent()).toEqual(sent === null ? [] : [sent]);
  expect(deleted).toMatchObject({
    known: false,
    detail:
      sent === null
        ? "No profile has this userId, so there was nothing to delete."
        : "No profile has this userId. A delete message was created for the audience Big.",
  });
  expect(one.store.lastSentFor("ada")).toEqual([]);
});

test("a request that sends nothing removes the profile and the values, and names no source", () => {
  const one = startUsers();
  one.connect("D", [one.shop, one.big]);
  one.send(one.shop, "ada");
  one.value(one.big, "ada", true, 5);
  one.value(one.big, "bob", true, 5);
  expect(one.delete(["ada", "bob"], false)).toEqual([
    {
      ...{ userId: "ada", known: true, sourceIds: [], messageIds: [] },
      detail:
        "The profile was removed. No delete message was created, because the request says so.",
    },
    {
      ...{ userId: "bob", known: false, sourceIds: [], messageIds: [] },
      detail: "No profile has this userId, so there was nothing to delete.",
    },
  ]);
  expect([one.commits, one.store.lastSentFor("ada"), one.store.lastSentFor("bob")]).toEqual([
    ...[[], [], []],
  ]);
});

test.for([
  [["two", "four"], '"one" and "three"'],
  [["four"], '"one", "three" and "two"'],
  [["one", "two", "four"], '"three"'],
] as const)(
  "a user who had other userIds is removed with the values of all of them, and those not named are mentioned: %j",
  ([named, others]) => {
    const one = startUsers();
    one.connect("D", [one.shop]);
    for (const [userId, previousId] of [
      ["two", "one"],
      ["three", "two"],
      ["four", "three"],
    ] as const) {
      one.send(one.shop, previousId);
      one.send(one.shop, userId, { previousId }, "alias");
    }
    for (const userId of ["one", "two", "three", "four"]) one.value(one.big, userId, true, 5);
    expect(one.users.userIdsWith("one")).toEqual(["one", "three", "two", "four"]);
    const detail = `The profile was removed. A delete message was created for Shop. The profile also had the userId ${others}; to receivers that is another user, which the request did not name.`;
    expect(one.delete([...named]).map((user) => [user.userId, user.detail])).toEqual(
      named.map((userId) => [userId, detail]),
    );
    for (const userId of ["one", "two", "three", "four"])
      expect(one.store.lastSentFor(userId), userId).toEqual([]);
    expect(one.store.profiles({}, 10, null).items).toEqual([]);
  },
);

test("of many userIds that the request does not name, the detail lists the first, cut, and counts the others", () => {
  const one = startUsers();
  one.send(one.shop, "ada");
  for (let nth = 100; nth < 130; nth += 1)
    one.send(one.shop, "ada", { previousId: `${nth}${"x".repeat(1000)}` }, "alias");
  const [{ detail } = { detail: "" }] = one.delete(["ada"]);
  expect(detail).toContain(' also had the userId "100xxx');
  expect(detail).toContain(', "119xxx');
  expect(detail).toContain(" and 10 more; to receivers");
  expect(detail.length).toBeLessThan(2000);
});

test("a source that is gone sends nothing, and the others that know the user do", () => {
  const one = startUsers();
  one.connect("D", [one.shop, one.app, one.big]);
  one.send(one.shop, "ada");
  one.send(one.app, "ada");
  one.value(one.big, "ada", true, 5);
  one.configuration.deleteSource(one.shop);
  one.configuration.deleteOwnSource(one.big);
  expect(one.delete(["ada"])).toMatchObject([{ known: true, sourceIds: [one.app] }]);
  expect(one.sent()).toEqual([["App: delete ada"]]);
});

test("what a user takes is the sum of the sources that send the delete", () => {
  const one = startUsers();
  one.send(one.shop, "ada");
  one.send(one.app, "ada");
  const steps = () => one.users.find("ada", { isLast: true, others: [] }).steps;
  expect(steps()).toBe(0);
  one.connect("D1", [one.shop]);
  const single = steps();
  expect(single).toBeGreaterThan(0);
  one.connect("D2", [one.app]);
  expect(steps()).toBe(2 * single);
  one.connect("D3", [one.app]);
  expect(steps()).toBeGreaterThan(2 * single);
});

test("a destination that an audience has sent nothing of the user gets no delete from there", () => {
  const one = startUsers();
  const known = one.connect("Known", [one.big]);
  const late = one.connect("Late", [one.big, one.small]);
  one.notSent.add(late);
  for (const userId of ["ada", "zoe"]) one.value(one.big, userId, true, 1);
  one.value(one.small, "zoe", true, 1);
  one.delete(["ada", "zoe"]);
  expect(one.sent()).toEqual([["Big: delete ada", "Big: delete zoe"]]);
  const leftOut = one.commits[0]?.[0]?.messages.map((message) => [...(message.leftOut ?? [])]);
  expect(leftOut).toMatchObject([[], [[late, { reason: "first_sync_pending" }]]]);
  expect(one.configuration.destinationsOf(one.big).map(({ id }) => id)).toEqual([known, late]);
});
