/**
 * Messages of users who are suppressed are rejected, whatever names them, until the suppression is
 * lifted.
 */

import { expect, test as base } from "vitest";
import { openStore } from "../../src/store/sqlite-store.ts";
import { starting, type Message, type Start } from "../support/running-app.ts";
import { batch, bought, openShop, told } from "../support/shop.ts";

const test = base.extend("start", starting);

/** An app whose store knows that `gone` is suppressed. */
async function startSuppressing(start: Start, mode: "explain" | "production" = "explain") {
  const data = await start.directory();
  const store = openStore(data);
  store.suppress("gone", Date.UTC(2026, 10, 21), null);
  store.close();
  const app = await start.app({ data, clock: "paused" });
  await app.call("sources.create", { name: "Shop", writeKey: "key", mode });
  return app;
}

const reason = { reason: "suppressed" };

test("a single call stays 200 and says why it was not accepted; the record says it too", async ({
  start,
}) => {
  const app = await startSuppressing(start);
  const answer = await app.ingest("/v1/track", { userId: "gone", event: "Bought" });
  expect(answer).toMatchObject({ success: true, rejected: [{ index: 0, ...reason }] });
  const [message] = (await app.call("messages.list", {})).items;
  expect(message).toMatchObject({ state: "rejected", ...reason, userId: "gone", event: "Bought" });
  expect(await app.message(message?.id ?? "")).toMatchObject({
    // Nobody has deleted the user.
    detail: expect.stringContaining('The user "gone" is suppressed, so') as string,
    decisions: [],
  });
});

test("in production mode the answer says nothing", async ({ start }) => {
  const app = await startSuppressing(start, "production");
  expect(await app.ingest("/v1/track", { userId: "gone", event: "Bought" })).toEqual({
    success: true,
  });
  expect((await app.call("messages.list", { state: "rejected" })).items).toMatchObject([reason]);
});

test("a batch loses the user's messages and no others; an alias is one when it names the user at either end", async ({
  start,
}) => {
  const app = await startSuppressing(start);
  const batch: Message[] = [
    { type: "track", userId: "stays", event: "Bought" },
    { type: "identify", userId: "gone", traits: { plan: "pro" } },
    { type: "page", anonymousId: "gone" },
    { type: "group", userId: "gone", anonymousId: "a", groupId: "g" },
    { type: "alias", userId: "stays", previousId: "gone" },
    { type: "alias", userId: "gone", previousId: "stays" },
    { type: "delete", userId: "gone" },
  ];
  const { rejected } = await app.ingest("/v1/batch", { batch });
  expect(rejected).toMatchObject([1, 3, 4, 5, 6].map((index) => ({ index, ...reason })));
});

test("a rejected message keeps its messageId for later, and is accepted once the suppression is lifted", async ({
  start,
}) => {
  const app = await startSuppressing(start);
  const message = { userId: "gone", event: "Bought", messageId: "m1" };
  await app.ingest("/v1/track", message);
  expect((await app.call("suppressions.list", {})).items).toEqual([
    { userId: "gone", since: "2026-11-21T00:00:00.000Z", deletionId: null },
  ]);
  expect(await app.call("suppressions.lift", { userId: "gone" })).toEqual({ userId: "gone" });
  expect(await app.ingest("/v1/track", message)).toEqual({ success: true });
  expect((await app.call("suppressions.list", {})).items).toEqual([]);
  expect(await app.refused("suppressions.lift", { userId: "gone" })).toEqual({
    status: 404,
    code: "not_found",
  });
});

test("audiences send nothing of a suppressed user, and what differs once the suppression is lifted", async ({
  start,
}) => {
  const app = await openShop(start);
  const rule = { event: "Bought", withinDays: 7 };
  const users = ["ada", "bob"];
  await batch(app, users.map(bought));
  await app.call("audiences.create", { name: "Live", rule, sync: "each-event" });
  const byHand = await app.call("audiences.create", { name: "By hand", rule });
  const list = await app.call("audiences.create", { name: "List", members: users });
  await app.call("suppressions.create", { userIds: ["ada"] });
  const bob = { count: 1, sample: [{ userId: "bob" }] };
  const computation = { aggregate: "count", event: "Bought" } as const;
  expect(await app.call("audiences.preview", { rule })).toMatchObject(bob);
  expect(await app.call("audiences.preview", { members: users })).toMatchObject(bob);
  expect(await app.call("computedTraits.preview", { computation })).toMatchObject(bob);
  const sync = async () => {
    for (const { id } of [byHand, list]) await app.call("audiences.sync", { id });
  };
  await sync();
  await app.advance({ byMs: 8 * 24 * 3_600_000 });
  await sync();
  expect(await told(app, "live")).toEqual({ ada: [true], bob: [true, false] });
  expect(await told(app, "by_hand")).toEqual({ ada: [true], bob: [true, false] });
  expect(await told(app, "list")).toEqual({ ada: [true], bob: [true] });
  expect(await app.call("audiences.changes", { id: byHand.id })).toMatchObject({ leaving: 0 });
  const late = await start.receiver();
  await app.call("destinations.create", {
    ...{ name: "Late", sourceIds: [list.sourceId], webhooks: [{ url: late.url }] },
  });
  await app.settle();
  expect(late.requests.map(({ body }) => (JSON.parse(body) as Message).userId)).toEqual(["bob"]);
  await app.call("suppressions.lift", { userId: "ada" });
  await sync();
  expect(await told(app, "by_hand")).toEqual({ ada: [true, false], bob: [true, false] });
  expect(await told(app, "list")).toEqual({ ada: [true], bob: [true] });
  expect(late.requests.map(({ body }) => (JSON.parse(body) as Message).userId)).toEqual([
    ...["bob", "ada"],
  ]);
});

test("the first replay after the suppression counts for profiles and audiences, and later ones do not", async ({
  start,
}) => {
  const app = await startSuppressing(start);
  await app.ingest("/v1/track", { userId: "gone", event: "Bought", messageId: "m1" });
  const [{ id } = { id: "" }] = (await app.call("messages.list", {})).items;
  const rule = { event: "Bought" };
  await app.call("audiences.create", { name: "Buyers", rule, sync: "each-event" });
  const events = async () => {
    await app.settle();
    return (await app.call("profiles.list", {})).items.map(({ userId, events: n }) => [userId, n]);
  };
  const again = await app.call("messages.replay", { id });
  expect([again.state, await events()]).toEqual(["rejected", []]);
  await app.call("suppressions.lift", { userId: "gone" });
  const counted = await app.call("messages.replay", { id });
  expect(await events()).toEqual([["gone", 1]]);
  expect((await app.call("audiences.list", {})).items).toMatchObject([{ size: 1 }]);
  for (const replayed of [id, again.id, counted.id])
    await app.call("messages.replay", { id: replayed });
  expect(await events()).toEqual([["gone", 1]]);
});
