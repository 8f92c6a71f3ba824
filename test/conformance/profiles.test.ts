import { test as base, describe, expect } from "vitest";
import type { AnswerOf } from "../../src/contract/contract.ts";
import { at, batch, profileOf, shop } from "../support/profiles.ts";
import { starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

const identify = (traits: object, second: number) => ({
  type: "identify",
  userId: "ada",
  traits,
  timestamp: at(second),
});

describe("a profile", () => {
  test("has what came in for a user: traits, groups, events and their last properties, sources, identities", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      {
        type: "identify",
        userId: "ada",
        anonymousId: "a1",
        traits: { plan: "pro", visits: 3 },
        timestamp: at(1),
      },
      {
        type: "track",
        userId: "ada",
        event: "Bought",
        properties: { total: 10 },
        timestamp: at(2),
      },
      {
        type: "track",
        userId: "ada",
        event: "Bought",
        properties: { total: 20 },
        timestamp: at(3),
      },
      { type: "group", userId: "ada", groupId: "acme", traits: { seats: 5 }, timestamp: at(4) },
      { type: "page", userId: "ada", name: "Home", timestamp: at(5) },
      { type: "screen", userId: "ada", name: "Home", timestamp: at(6) },
    ]);
    expect(await profileOf(app, "ada")).toMatchObject({
      userId: "ada",
      anonymousId: "a1",
      firstSeenAt: at(1),
      lastSeenAt: at(6),
      events: 2,
      traits: { plan: "pro", visits: 3 },
      traitList: [
        { name: "plan", value: "pro", at: at(1) },
        { name: "visits", value: 3, at: at(1) },
      ],
      identities: [
        { kind: "userId", value: "ada", since: at(1) },
        { kind: "anonymousId", value: "a1", since: at(1) },
      ],
      groups: [{ groupId: "acme", traits: { seats: 5 }, at: at(4) }],
      eventList: [
        { event: "Bought", count: 2, firstAt: at(2), lastAt: at(3), lastProperties: { total: 20 } },
      ],
      history: [{ kind: "created", at: at(1) }],
      audiences: [],
      memberships: [],
      computed: [],
      suppressed: false,
    });
    expect((await app.call("profiles.list", {})).items).toHaveLength(1);
    expect(await app.call("profiles.seen", {})).toEqual({
      traits: ["plan", "visits"],
      events: [{ event: "Bought", properties: ["total"] }],
    });
  });

  test("of nobody and of a user without a profile is not found", async ({ start }) => {
    const app = await shop(start);
    expect((await app.call("profiles.list", { userId: "nobody" })).items).toEqual([]);
    expect(await app.refused("profiles.get", { id: "prf_1" })).toEqual({
      status: 404,
      code: "not_found",
    });
  });
});

describe("a trait", () => {
  test("has the value of the newest message by its timestamp, also when older ones are imported later", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      identify({ plan: "pro" }, 10),
      identify({ plan: "free", city: "London" }, 5),
      identify({ plan: "team" }, 10),
    ]);
    expect((await profileOf(app, "ada")).traitList).toMatchObject([
      { name: "city", value: "London", at: at(5) },
      { name: "plan", value: "team", at: at(10) },
    ]);
  });

  test("that is null is there no more, and an older value does not bring it back", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      identify({ plan: "pro" }, 1),
      identify({ plan: null }, 3),
      identify({ plan: "free" }, 2),
    ]);
    const { traits, traitList } = await profileOf(app, "ada");
    expect(traits).toEqual({});
    expect(traitList).toMatchObject([{ name: "plan", value: null, at: at(3) }]);
  });

  test("of a group is the newest of each name", async ({ start }) => {
    const app = await shop(start);
    const group = (traits: object, second: number) => ({
      type: "group",
      userId: "ada",
      groupId: "acme",
      traits,
      timestamp: at(second),
    });
    await batch(app, [
      group({ seats: 5, city: "London" }, 3),
      group({ seats: 1, plan: "pro" }, 2),
      group({ city: null }, 4),
    ]);
    expect((await profileOf(app, "ada")).groups).toEqual([
      { groupId: "acme", traits: { seats: 5, plan: "pro" }, at: at(4) },
    ]);
  });
});

describe("what counts", () => {
  test("is what was accepted: not what was rejected, is a duplicate, a delete or a replay; what is filtered counts", async ({
    start,
  }) => {
    const app = await shop(start);
    const bought = { type: "track", userId: "ada", event: "Bought", messageId: "once" };
    await batch(app, [
      bought,
      bought,
      { type: "track", userId: "eve" },
      { type: "delete", userId: "dan" },
      { type: "track", userId: "ada" },
    ]);
    const { items } = await app.call("messages.list", { state: "filtered" });
    const replayed = items.find(({ messageId }) => messageId === "once");
    await app.call("messages.replay", { id: replayed?.id ?? "" });
    expect(await profileOf(app, "ada")).toMatchObject({
      events: 1,
      eventList: [{ event: "Bought", count: 1, lastMessageId: replayed?.id }],
    });
    expect((await app.call("profiles.list", {})).items.map(({ userId }) => userId)).toEqual([
      "ada",
    ]);
  });

  test("is a track alone: a page, a screen and a group are seen, and are no events", async ({
    start,
  }) => {
    const app = await shop(start);
    await batch(app, [
      { type: "page", userId: "ada", name: "Home" },
      { type: "screen", userId: "ada", name: "Home" },
      { type: "group", userId: "ada", groupId: "acme" },
    ]);
    expect(await profileOf(app, "ada")).toMatchObject({ events: 0, eventList: [] });
  });

  test("counts by its own time, whenever it came", async ({ start }) => {
    const app = await shop(start);
    const done = (second: number, total: number) => ({
      ...{ type: "track", userId: "ada", event: "Bought" },
      ...{ properties: { total }, timestamp: at(second) },
    });
    await batch(app, [done(5, 50), done(1, 10), done(3, 30)]);
    expect(await profileOf(app, "ada")).toMatchObject({
      firstSeenAt: at(1),
      lastSeenAt: at(5),
      eventList: [{ count: 3, firstAt: at(1), lastAt: at(5), lastProperties: { total: 50 } }],
    });
  });
});

describe("the list", () => {
  test("shows those seen last first, page by page, each once", async ({ start }) => {
    const app = await shop(start);
    await batch(
      app,
      Array.from({ length: 25 }, (_, n) => ({
        type: "page",
        userId: `u${n}`,
        name: "Home",
        timestamp: at(n % 5),
      })),
    );
    await app.settle();
    const seen: (string | null)[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page: AnswerOf<"profiles.list"> = await app.call("profiles.list", {
        limit: 4,
        ...(cursor === undefined ? {} : { cursor }),
      });
      expect(page).toMatchObject({ total: 25, totalCapped: false });
      seen.push(...page.items.map(({ userId }) => userId));
      cursor = page.nextCursor;
    }
    const inOrder = [4, 3, 2, 1, 0].flatMap((second) =>
      [20, 15, 10, 5, 0].map((n) => `u${n + second}`),
    );
    expect(seen).toEqual(inOrder);
    expect(await app.refused("profiles.list", { cursor: "nonsense" })).toMatchObject({
      status: 400,
    });
    expect(await app.refused("profiles.list", { audienceId: "aud_000000009" })).toMatchObject({
      status: 404,
    });
  });

  test("finds by how an identity begins, and by a whole userId", async ({ start }) => {
    const app = await shop(start);
    await batch(app, [
      { type: "page", userId: "ada@example.com", anonymousId: "dev-1" },
      { type: "page", userId: "adam" },
      { type: "page", anonymousId: "ada-device" },
      { type: "page", userId: "bob" },
    ]);
    await app.settle();
    const found = async (filter: object) =>
      (await app.call("profiles.list", filter)).items
        .map((one) => one.userId ?? one.anonymousId ?? "")
        .toSorted();
    expect(await found({ search: "ada" })).toEqual(["ada-device", "ada@example.com", "adam"]);
    expect(await found({ search: "dev" })).toEqual(["ada@example.com"]);
    expect(await found({ search: "da" })).toEqual([]);
    expect(await found({ userId: "ada" })).toEqual([]);
    expect(await found({ userId: "adam" })).toEqual(["adam"]);
    expect(await found({ userId: "adam", search: "bob" })).toEqual([]);
  });
});

describe("what comes from outside is data", () => {
  const hostile = [
    "__proto__",
    "constructor",
    "toString",
    "",
    " ",
    "<img src=x onerror=alert(1)>",
    "'; DROP TABLE profiles; --",
    "%_?*",
    "naïve 名前 😀",
    "nul\u0000in the middle",
    "half \ud800 a pair",
    "x".repeat(5000),
  ];

  test("whatever traits, events, properties, groups and ids are called", async ({ start }) => {
    const app = await shop(start);
    // Made as text, since an object written here would take __proto__ for something else.
    const members = `{${hostile.map((name, n) => `${JSON.stringify(name)}:${n}`).join(",")}}`;
    for (const name of hostile.filter((each) => each !== "")) {
      const [id, first] = [JSON.stringify(name), JSON.stringify(`a ${name}`)];
      await app.ingest(
        "/v1/identify",
        `{"userId":${id},"anonymousId":${first},"traits":${members}}`,
      );
      await app.ingest("/v1/track", `{"userId":${id},"event":${id},"properties":${members}}`);
      await app.ingest("/v1/group", `{"userId":${id},"groupId":${id},"traits":${members}}`);
      await app.ingest("/v1/alias", `{"userId":${id},"previousId":${JSON.stringify(`b ${name}`)}}`);
    }
    await app.settle();
    const { items } = await app.call("profiles.list", {});
    expect(items).toHaveLength(hostile.length - 1);
    for (const name of hostile.filter((each) => each !== "")) {
      const profile = await profileOf(app, name);
      const own = name.toWellFormed();
      expect(profile.userId).toBe(own);
      expect(new Map(Object.entries(profile.traits))).toEqual(
        new Map(hostile.map((each, n) => [each.toWellFormed(), n])),
      );
      expect(profile.eventList).toMatchObject([{ event: own, count: 1 }]);
      expect(Object.keys(profile.eventList[0]?.lastProperties as object)).toHaveLength(
        hostile.length,
      );
      expect(profile.groups.map(({ groupId }) => groupId)).toEqual([own]);
      expect(profile.identities).toHaveLength(4);
    }
    const seen = await app.call("profiles.seen", {});
    expect(seen.traits).toContain("__proto__");
    expect(seen.events.find(({ event }) => event === "__proto__")?.properties).toContain(
      "__proto__",
    );
  });

  test("of a user with 10,000 traits the first thousand are shown, and the list stays small", async ({
    start,
  }) => {
    const app = await shop(start);
    // As many as fit into a message, five times.
    for (const part of "abcde") {
      const traits = Object.fromEntries(Array.from({ length: 2000 }, (_, n) => [`${part}${n}`, n]));
      await app.ingest("/v1/identify", { userId: "ada", traits });
    }
    const profile = await profileOf(app, "ada");
    expect(profile.traitList).toHaveLength(1000);
    expect(Object.keys(profile.traits)).toHaveLength(1000);
    const listed = (await app.call("profiles.list", {})).items[0];
    expect(Object.keys(listed?.traits ?? {})).toHaveLength(100);
    expect((await app.call("profiles.seen", {})).traits.length).toBeLessThanOrEqual(1000);
  });
});

describe("when everything is reset", () => {
  test.for(["messages", "everything"] as const)(
    "or only what was recorded (%s), the profiles go, and new ones begin",
    async (what, { start }) => {
      const app = await shop(start);
      await batch(app, [
        { type: "identify", userId: "ada", anonymousId: "a1", traits: { plan: "pro" } },
        { type: "track", userId: "ada", event: "Bought" },
      ]);
      await profileOf(app, "ada");
      await app.call("pipeline.reset", { what });
      expect(await app.call("profiles.list", {})).toMatchObject({ items: [], total: 0 });
      expect(await app.call("profiles.seen", {})).toEqual({ traits: [], events: [] });
      if (what === "everything")
        await app.call("sources.create", { name: "Shop", writeKey: "key" });
      await batch(app, [{ type: "track", anonymousId: "a1", event: "Viewed" }]);
      await app.settle();
      expect((await app.call("profiles.list", {})).items).toMatchObject([
        { id: "prf_000000001", userId: null, events: 1 },
      ]);
    },
  );
});
