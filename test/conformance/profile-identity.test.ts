/** Who is who: what identify and alias join, and what stays apart. */

import { test as base, describe, expect } from "vitest";
import { at, batch, profileOf, shop } from "../support/profiles.ts";
import { starting, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const viewed = (who: object, second = 1) => ({
  type: "track",
  event: "Viewed",
  ...who,
  timestamp: at(second),
});
const identify = (who: object, traits: object = {}, second = 10) => ({
  type: "identify",
  ...who,
  traits,
  timestamp: at(second),
});

const all = async (app: RunningApp) => (await app.call("profiles.list", {})).items;
const identities = ({ identities: of }: Awaited<ReturnType<typeof profileOf>>) =>
  of.map(({ kind, value }) => `${kind} ${value}`).toSorted();
const history = ({ history: of }: Awaited<ReturnType<typeof profileOf>>) =>
  of.map(({ kind }) => kind);

describe("an identify with both ids", () => {
  test("makes the anonymous profile the user's: what was done before it counts for the user", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [viewed({ anonymousId: "a1" }, 1), viewed({ anonymousId: "a1" }, 2)]);
    await app.settle();
    expect(await all(app)).toMatchObject([{ userId: null, anonymousId: "a1", events: 2 }]);
    await batch(app, [identify({ userId: "ada", anonymousId: "a1" }, { plan: "pro" })]);
    const ada = await profileOf(app, "ada");
    expect(ada).toMatchObject({
      userId: "ada",
      events: 2,
      firstSeenAt: at(1),
      eventList: [{ event: "Viewed", count: 2 }],
      history: [
        { kind: "created", detail: 'Created by a track with anonymousId "a1".' },
        {
          kind: "identified",
          at: at(10),
          detail:
            'An identify linked anonymousId "a1" to userId "ada". Earlier events count for the user.',
        },
      ],
    });
    expect(identities(ada)).toEqual(["anonymousId a1", "userId ada"]);
    expect(await all(app)).toHaveLength(1);
  });

  test("joins the anonymous profile to the one that the user has, with all that is newer in either", async ({
    start,
  }) => {
    const app = await shop(start);
    await app.call("sources.create", { name: "App", writeKey: "app" });
    await batch(app, [
      identify({ userId: "ada" }, { plan: "free", city: "London" }, 3),
      { type: "group", userId: "ada", groupId: "acme", timestamp: at(4) },
      identify({ anonymousId: "a1" }, { plan: "pro", city: "Paris" }, 2),
      identify({ anonymousId: "a1" }, { plan: "team" }, 5),
      { type: "group", anonymousId: "a1", groupId: "globex", timestamp: at(6) },
    ]);
    await app.ingest("/v1/track", viewed({ anonymousId: "a1" }, 7), "app");
    await batch(app, [
      viewed({ userId: "ada" }, 8),
      { type: "page", userId: "ada", anonymousId: "a1", name: "Home", timestamp: at(9) },
    ]);
    const ada = await profileOf(app, "ada");
    expect(ada).toMatchObject({
      traits: { plan: "team", city: "London" },
      events: 2,
      firstSeenAt: at(2),
      lastSeenAt: at(9),
    });
    expect(ada.groups.map(({ groupId }) => groupId).toSorted()).toEqual(["acme", "globex"]);
    expect(ada.sourceIds).toHaveLength(2);
    expect(identities(ada)).toEqual(["anonymousId a1", "userId ada"]);
    expect(ada.history.at(-1)).toMatchObject({
      kind: "merged",
      detail: 'A page merged the profile of anonymousId "a1" into this one, and one event with it.',
    });
    expect(await all(app)).toHaveLength(1);
  });

  test("takes a device that two users share on to the second, and what the first did stays the first's", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      viewed({ anonymousId: "tv" }, 1),
      identify({ userId: "ada", anonymousId: "tv" }, {}, 2),
      viewed({ anonymousId: "tv" }, 3),
      identify({ userId: "bob", anonymousId: "tv" }, {}, 4),
      viewed({ anonymousId: "tv" }, 5),
    ]);
    const [ada, bob] = [await profileOf(app, "ada"), await profileOf(app, "bob")];
    expect([ada.events, bob.events]).toEqual([2, 1]);
    expect(identities(ada)).toEqual(["userId ada"]);
    expect(identities(bob)).toEqual(["anonymousId tv", "userId bob"]);
    expect(history(ada)).toEqual(["created", "identified", "moved"]);
    expect(history(bob)).toEqual(["created", "moved"]);
    expect(bob.history.at(-1)?.detail).toContain(
      'moved anonymousId "tv" from userId "ada" to userId "bob"',
    );
    // And back again: a person signs in where somebody else just was.
    await batch(app, [
      viewed({ userId: "ada", anonymousId: "tv" }, 6),
      viewed({ anonymousId: "tv" }, 7),
    ]);
    expect((await profileOf(app, "ada")).events).toBe(4);
    expect((await profileOf(app, "bob")).events).toBe(1);
  });

  test("joins as many devices as a user has", async ({ start }) => {
    const app = await shop(start);
    await batch(
      app,
      ["phone", "laptop", "tv"].flatMap((anonymousId) => [
        viewed({ anonymousId }),
        identify({ userId: "ada", anonymousId }),
      ]),
    );
    const ada = await profileOf(app, "ada");
    expect(identities(ada)).toEqual([
      "anonymousId laptop",
      "anonymousId phone",
      "anonymousId tv",
      "userId ada",
    ]);
    expect(ada.events).toBe(3);
  });
});

describe("an alias", () => {
  test("joins two known users: all counts for the new id, and both ids lead to the one profile", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      identify({ userId: "old" }, { plan: "pro" }, 1),
      viewed({ userId: "old" }, 2),
      viewed({ userId: "new" }, 3),
      { type: "alias", userId: "new", previousId: "old", timestamp: at(4) },
      viewed({ userId: "old" }, 5),
    ]);
    const joined = await profileOf(app, "new");
    expect(joined).toMatchObject({ userId: "new", events: 3, traits: { plan: "pro" } });
    expect(identities(joined)).toEqual(["userId new", "userId old"]);
    expect(history(joined)).toEqual(["created", "created", "merged"]);
    expect((await profileOf(app, "old")).id).toBe(joined.id);
  });

  test("gives a user who is known by an old id alone the new one", async ({ start }) => {
    const app = await shop(start);
    await batch(app, [
      viewed({ userId: "old" }),
      { type: "alias", userId: "new", previousId: "old", timestamp: at(2) },
    ]);
    expect(await profileOf(app, "new")).toMatchObject({
      userId: "new",
      events: 1,
      history: [{ kind: "created" }, { kind: "identified" }],
    });
  });

  test("of an anonymousId makes what it did the user's", async ({ start }) => {
    const app = await shop(start);
    await batch(app, [
      viewed({ anonymousId: "a1" }),
      { type: "alias", userId: "ada", previousId: "a1", timestamp: at(2) },
    ]);
    expect(await profileOf(app, "ada")).toMatchObject({ userId: "ada", events: 1 });
    expect(await all(app)).toHaveLength(1);
  });

  test("of an id that nobody has used yet is remembered, whatever it turns out to be", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      { type: "alias", userId: "ada", previousId: "was-user", timestamp: at(1) },
      { type: "alias", userId: "ada", previousId: "was-anonymous", timestamp: at(2) },
      viewed({ userId: "was-user" }, 3),
      viewed({ anonymousId: "was-anonymous" }, 4),
    ]);
    expect(await profileOf(app, "ada")).toMatchObject({ userId: "ada", events: 2 });
    expect(await all(app)).toHaveLength(1);
  });

  test("of the anonymousId that it carries itself is about that device, not about a user", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      { type: "alias", userId: "bob", previousId: "phone", anonymousId: "phone", timestamp: at(1) },
      viewed({ userId: "bob" }, 2),
      { type: "alias", userId: "cyd", previousId: "phone", timestamp: at(3) },
      viewed({ anonymousId: "phone" }, 4),
    ]);
    expect(await profileOf(app, "bob")).toMatchObject({ userId: "bob", events: 1 });
    expect(await profileOf(app, "cyd")).toMatchObject({ userId: "cyd", events: 1 });
  });

  test("of a user to the same user changes nothing", async ({ start }) => {
    const app = await shop(start);
    await batch(app, [
      viewed({ userId: "ada" }),
      { type: "alias", userId: "ada", previousId: "ada", timestamp: at(2) },
    ]);
    expect(history(await profileOf(app, "ada"))).toEqual(["created"]);
  });
});

test("a userId and an anonymousId that are spelled alike are two", async ({ start }) => {
  const app = await shop(start);
  await batch(app, [viewed({ userId: "same" }), viewed({ anonymousId: "same" })]);
  await app.settle();
  expect((await all(app)).map(({ userId, events }) => ({ userId, events }))).toEqual([
    { userId: null, events: 1 },
    { userId: "same", events: 1 },
  ]);
});
