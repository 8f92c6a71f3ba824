/** Audiences: what receivers are told of their members, and when. */

import { describe, expect, test as base } from "vitest";
import { starting, type Message } from "../support/running-app.ts";
import { batch, bought, openShop, told } from "../support/shop.ts";

const test = base.extend("start", starting);

const dayMs = 24 * 60 * 60 * 1000;

const rule = { event: "Bought", atLeast: 2, withinDays: 7 };

describe("an audience", () => {
  test("is told when it is made: an identify with `true` for each member, with where it comes from", async ({
    start,
  }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada"), bought("bob")]);
    const audience = await app.call("audiences.create", { name: "Big Spenders", rule });
    expect(audience).toMatchObject({
      key: "big_spenders",
      size: 1,
      sync: "manual",
      lastSync: { entered: 1, left: 0 },
      syncing: null,
    });
    expect(await told(app, "big_spenders")).toEqual({ ada: [true] });
    const identify = app.webhook.requests
      .map(({ body }) => JSON.parse(body) as Message)
      .find(({ type }) => type === "identify");
    expect(identify).toMatchObject({
      userId: "ada",
      traits: { big_spenders: true },
      context: {
        personas: {
          computation_class: "audience",
          computation_key: "big_spenders",
          computation_id: audience.id,
          namespace: expect.stringMatching(/^spa_\w{27}$/) as string,
          space_id: expect.stringMatching(/^spa_\w{27}$/) as string,
        },
      },
    });
  });

  test("tells at a later sync only what has changed", async ({ start }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada"), bought("bob")]);
    const { id } = await app.call("audiences.create", { name: "Big", rule });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 0 });
    await batch(app, [bought("bob")]);
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 1, left: 0 });
    await app.advance({ byMs: 8 * dayMs });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 2 });
    expect(await told(app, "big")).toEqual({ ada: [true, false], bob: [true, false] });
    expect(await app.call("audiences.get", { id })).toMatchObject({ size: 0 });
  });

  test("that follows each event tells at once, and of a user who leaves by time alone", async ({
    start,
  }) => {
    const app = await openShop(start);
    await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    await batch(app, [bought("ada")]);
    expect(await told(app, "big")).toEqual({});
    await batch(app, [bought("ada")]);
    expect(await told(app, "big")).toEqual({ ada: [true] });
    await app.advance({ byMs: 6 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true] });
    await app.advance({ byMs: 2 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true, false] });
  });

  test("that syncs on a period does so by the clock, and does not keep an advance to idle going", async ({
    start,
  }) => {
    const app = await openShop(start);
    const { id, nextSyncAt } = await app.call("audiences.create", {
      name: "Big",
      rule,
      sync: { everyMs: 60_000 },
    });
    await batch(app, [bought("ada"), bought("ada")]);
    await app.advance({ to: "idle" });
    expect(await told(app, "big")).toEqual({});
    await app.advance({ byMs: 60_000 });
    expect(await told(app, "big")).toEqual({ ada: [true] });
    const later = await app.call("audiences.get", { id });
    expect(Date.parse(later.nextSyncAt ?? "")).toBe(Date.parse(nextSyncAt ?? "") + 60_000);
  });
});

describe("who is a member", () => {
  test("events that were done before the identify count for the known user", async ({ start }) => {
    const app = await openShop(start);
    await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    const anonymous: Message = { type: "track", anonymousId: "a1", event: "Bought" };
    await batch(app, [anonymous, anonymous]);
    expect(await told(app, "big")).toEqual({});
    await batch(app, [{ type: "identify", userId: "ada", anonymousId: "a1" }]);
    expect(await told(app, "big")).toEqual({ ada: [true] });
  });

  test("a user who is joined to another leaves under the old userId, live and at a sync", async ({
    start,
  }) => {
    const app = await openShop(start);
    for (const [name, sync] of [
      ["Live", "each-event"],
      ["By hand", "manual"],
    ] as const) {
      await app.call("audiences.create", { name, rule: { event: "Bought" }, sync });
    }
    await batch(app, [bought("old"), bought("new")]);
    const [, byHand] = (await app.call("audiences.list", {})).items;
    await app.call("audiences.sync", { id: byHand?.id ?? "" });
    await batch(app, [{ type: "alias", userId: "new", previousId: "old" }]);
    expect(await told(app, "live")).toEqual({ old: [true, false], new: [true] });
    expect(await app.call("audiences.sync", { id: byHand?.id ?? "" })).toEqual({
      entered: 0,
      left: 1,
    });
    expect(await told(app, "by_hand")).toEqual({ old: [true, false], new: [true] });
  });

  test("a fixed list is told as it is, whether there are profiles or not, and differences of the list later", async ({
    start,
  }) => {
    const app = await openShop(start);
    const { id } = await app.call("audiences.create", {
      name: "Friends",
      members: ["ada", "bob", "ada"],
    });
    expect(await told(app, "friends")).toEqual({ ada: [true], bob: [true] });
    await app.call("audiences.update", { id, members: ["bob", "eve"] });
    expect(await told(app, "friends")).toEqual({ ada: [true], bob: [true] });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 1, left: 1 });
    expect(await told(app, "friends")).toEqual({ ada: [true, false], bob: [true], eve: [true] });
    await app.call("deletions.create", { userIds: ["eve"] });
    expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 0 });
  });

  test("its own messages feed neither profiles nor other audiences", async ({ start }) => {
    const app = await openShop(start);
    await app.call("audiences.create", {
      name: "Big",
      rule: { event: "Bought" },
      sync: "each-event",
    });
    await app.call("audiences.create", {
      name: "Echo",
      rule: { trait: "big", op: "exists" },
      sync: "each-event",
    });
    await batch(app, [bought("ada")]);
    expect(await told(app, "big")).toEqual({ ada: [true] });
    expect(await told(app, "echo")).toEqual({});
    expect((await app.call("profiles.list", {})).items).toMatchObject([
      { userId: "ada", traits: {}, audiences: ["big"] },
    ]);
    // Nor when one of them is replayed.
    const own = (await app.call("messages.list", { type: "identify" })).items[0];
    await app.call("messages.replay", { id: own?.id ?? "" });
    expect(await told(app, "echo")).toEqual({});
  });
});

describe("before anything is sent", () => {
  test("a preview has the count and a sample, changes what the next sync would send, explain the reason", async ({
    start,
  }) => {
    const app = await openShop(start);
    await batch(app, [
      bought("ada"),
      bought("ada"),
      bought("bob"),
      { type: "identify", userId: "ada", traits: { plan: "pro" } },
    ]);
    const preview = await app.call("audiences.preview", { rule });
    expect(preview).toMatchObject({
      count: 1,
      profiles: 2,
      sample: [{ userId: "ada", traits: { plan: "pro" } }],
    });
    const { id } = await app.call("audiences.create", { name: "Big", rule });
    await batch(app, [bought("bob")]);
    await app.advance({ byMs: 8 * dayMs });
    await batch(app, [bought("eve"), bought("eve")]);
    const changes = await app.call("audiences.changes", { id, sample: 10 });
    expect(changes).toMatchObject({ entering: 1, leaving: 1 });
    expect(changes.sample.map(({ userId, change }) => [userId, change])).toEqual([
      ["ada", "leaving"],
      ["eve", "entering"],
    ]);
    expect(JSON.parse(changes.sample[0]?.payload as string)).toMatchObject({
      type: "identify",
      userId: "ada",
      traits: { big: false },
    });
    expect((await app.call("audiences.get", { id })).size).toBe(1);
    const explained = await app.call("audiences.explain", { rule, userId: "eve" });
    expect(explained).toMatchObject({ matches: true, explained: { holds: true } });
    expect(Date.parse(explained.until ?? "")).toBe(
      Date.parse((await app.call("clock.get", {})).now) + 7 * dayMs,
    );
    expect(await app.refused("audiences.explain", { rule, userId: "nobody" })).toEqual({
      status: 404,
      code: "not_found",
    });
  });
});

describe("keys", () => {
  test("are the names in snake case, whatever the script", async ({ start }) => {
    const app = await openShop(start);
    const keys = {
      "VIP, since 2019!": "vip_since_2019",
      GroßeKäufer: "große_käufer",
      "Μεγάλοι αγοραστές": "μεγάλοι_αγοραστές",
      大客户: "大客户",
    };
    for (const [name, key] of Object.entries(keys)) {
      expect(await app.call("audiences.create", { name, members: ["ada"] })).toMatchObject({
        name,
        key,
      });
      expect(await told(app, key)).toEqual({ ada: [true] });
    }
  });

  test("that collide are refused, also between an audience and a computed trait, and none that is empty is taken", async ({
    start,
  }) => {
    const app = await openShop(start);
    await app.call("audiences.create", { name: "Big Spenders", rule });
    const taken = { status: 409, code: "key_taken" };
    expect(await app.refused("audiences.create", { name: "big_spenders!", rule })).toEqual(taken);
    const computation = { aggregate: "count", event: "Bought" } as const;
    expect(
      await app.refused("computedTraits.create", { name: "bigSpenders", computation }),
    ).toEqual(taken);
    await app.call("computedTraits.create", { name: "Orders", computation });
    expect(await app.refused("audiences.create", { name: "orders", rule })).toEqual(taken);
    expect(await app.refused("audiences.create", { name: "?!", rule })).toEqual({
      status: 400,
      code: "empty_key",
    });
    expect((await app.call("audiences.list", {})).items).toHaveLength(1);
    expect((await app.call("sources.list", {})).items).toHaveLength(3);
  });

  test("stay when the name changes, as receivers know them", async ({ start }) => {
    const app = await openShop(start);
    const { id, sourceId } = await app.call("audiences.create", { name: "Big", rule });
    expect(await app.call("audiences.update", { id, name: "Huge" })).toMatchObject({
      name: "Huge",
      key: "big",
    });
    expect(await app.call("sources.get", { id: sourceId })).toMatchObject({
      name: "Huge",
      kind: "audience",
    });
  });
});

describe("its source", () => {
  test("is nobody else's: not to be changed, deleted or sent from, and not reachable at ingest", async ({
    start,
  }) => {
    const app = await openShop(start);
    const { sourceId: id } = await app.call("audiences.create", { name: "Big", rule });
    const { writeKey } = await app.call("sources.get", { id });
    const refused = { status: 409, code: "audience_source" };
    expect(await app.refused("sources.update", { id, name: "x" })).toEqual(refused);
    expect(await app.refused("sources.delete", { id })).toEqual(refused);
    expect(await app.refused("sources.send", { id, type: "track", body: "{}" })).toEqual(refused);
    await expect(app.ingest("/v1/track", { userId: "u", event: "e" }, writeKey)).rejects.toThrow(
      "unknown_write_key",
    );
  });

  test("goes with the audience, and nothing is sent", async ({ start }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada")]);
    const { id, sourceId } = await app.call("audiences.create", {
      name: "Big",
      rule,
      sync: "each-event",
    });
    expect(await app.call("audiences.delete", { id })).toEqual({ id });
    expect(await app.refused("sources.get", { id: sourceId })).toEqual({
      status: 404,
      code: "not_found",
    });
    await app.advance({ byMs: 8 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true] });
    expect(await app.call("audiences.create", { name: "Big", rule })).toMatchObject({
      key: "big",
      size: 0,
    });
    expect((await app.call("destinations.list", {})).items[0]?.sourceIds).not.toContain(sourceId);
  });

  test("is connected to every enabled destination, or to those that are chosen, also later", async ({
    start,
  }) => {
    const app = await openShop(start);
    const [enabled] = (await app.call("destinations.list", {})).items;
    const disabled = await app.destination([app.webhook.url], { name: "Off", enabled: false });
    const all = await app.call("audiences.create", { name: "All", rule });
    expect(all.destinationIds).toEqual([enabled?.id]);
    const chosen = await app.call("audiences.create", {
      name: "Chosen",
      rule,
      destinationIds: [disabled.id],
    });
    expect(chosen.destinationIds).toEqual([disabled.id]);
    const changed = await app.call("audiences.update", { id: chosen.id, destinationIds: [] });
    expect(changed.destinationIds).toEqual([]);
    const missing = { name: "Lost", rule, destinationIds: ["dst_00000000z"] };
    expect(await app.refused("audiences.create", missing)).toEqual({
      status: 400,
      code: "invalid",
    });
  });
});

describe("over time", () => {
  test("a changed rule of one that follows each event is told at once", async ({ start }) => {
    const app = await openShop(start);
    await batch(app, [bought("ada"), bought("ada"), bought("bob")]);
    const { id } = await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    await app.call("audiences.update", { id, rule: { ...rule, atLeast: 1 } });
    expect(await told(app, "big")).toEqual({ ada: [true], bob: [true] });
    await app.call("audiences.update", { id, sync: "manual" });
    await app.advance({ byMs: 8 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true], bob: [true] });
    await app.call("audiences.update", { id, sync: "each-event" });
    expect(await told(app, "big")).toEqual({ ada: [true, false], bob: [true, false] });
  });

  test("a user leaves by time after a restart too", async ({ start }) => {
    const data = await start.directory();
    const first = await openShop(start, { data });
    await first.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    await batch(first, [bought("ada"), bought("ada")]);
    expect(await told(first, "big")).toEqual({ ada: [true] });
    await first.stop();
    const app = { ...(await start.app({ data })), webhook: first.webhook };
    await app.advance({ byMs: 8 * dayMs });
    expect(await told(app, "big")).toEqual({ ada: [true, false] });
  });

  test("a stop in the middle of a first sync is no failure, and the next start goes on with it", async ({
    start,
  }) => {
    const data = await start.directory();
    const first = await openShop(start, { data });
    const users = Array.from({ length: 1500 }, (_, nth) => `u${nth}`);
    for (let at = 0; at < users.length; at += 500)
      await batch(
        first,
        users.slice(at, at + 500).map((userId) => bought(userId)),
      );
    await first.settle();
    const [destination] = (await first.call("destinations.list", {})).items;
    await first.call("destinations.update", { id: destination?.id ?? "", enabled: false });
    const draft = {
      name: "Buyers",
      rule: { event: "Bought" },
      destinationIds: [destination?.id ?? ""],
    };
    const made = first.call("audiences.create", draft).catch((error: unknown) => error);
    const size = async () => (await first.call("audiences.list", {})).items[0]?.size ?? 0;
    while ((await size()) === 0) await new Promise((resolve) => setImmediate(resolve));
    const reached = await size();
    expect(reached).toBeLessThan(users.length);
    await first.stop();
    expect(await made).toMatchObject({ message: expect.stringContaining("stopping") as string });

    const app = await start.app({ data });
    await app.settle();
    expect((await app.call("audiences.list", {})).items).toMatchObject([
      { size: users.length, syncing: null, lastSync: { entered: users.length } },
    ]);
  });

  test("a reset of the messages leaves it without members, and it fills again", async ({
    start,
  }) => {
    const app = await openShop(start);
    const { id } = await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
    await batch(app, [bought("ada"), bought("ada")]);
    await app.settle();
    await app.call("pipeline.reset", { what: "messages" });
    expect(await app.call("audiences.get", { id })).toMatchObject({ size: 0 });
    await batch(app, [bought("bob"), bought("bob")]);
    await app.settle();
    expect(await app.call("audiences.get", { id })).toMatchObject({ size: 1 });
    await app.call("pipeline.reset", { what: "everything" });
    expect((await app.call("audiences.list", {})).items).toEqual([]);
  });
});

test("the configuration carries audiences and computed traits by their keys", async ({ start }) => {
  const app = await openShop(start);
  await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
  await app.call("audiences.create", {
    name: "Friends",
    members: ["ada"],
    sync: { everyMs: 60_000 },
    destinationIds: [],
  });
  await app.call("computedTraits.create", {
    name: "Total",
    computation: { aggregate: "sum", event: "Bought", property: "total" },
  });
  const document = await app.call("configuration.export", {});
  expect(document.audiences).toEqual([
    { name: "Big", key: "big", rule, sync: "each-event", destinations: ["Receivers"] },
    {
      name: "Friends",
      key: "friends",
      members: ["ada"],
      sync: { everyMs: 60_000 },
      destinations: [],
    },
  ]);
  expect(document.sources?.map(({ name }) => name)).toEqual(["Shop"]);
  const other = await start.app();
  await other.call("configuration.import", document);
  expect(await other.call("configuration.import", document)).toMatchObject({ created: 0 });
  const { audiences, computedTraits } = await other.call("configuration.export", {});
  expect({ audiences, computedTraits }).toEqual({
    audiences: document.audiences,
    computedTraits: document.computedTraits,
  });
});
