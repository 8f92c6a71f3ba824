/**
 * Deletion: who hears of it, what goes, what is rejected afterwards, and how the request follows
 * its deliveries.
 */

import { expect, test as base } from "vitest";
import type { AnswerOf, InputOf } from "../../src/contract/contract.ts";
import {
  starting,
  until,
  type Message,
  type RunningApp,
  type Start,
} from "../support/running-app.ts";
import type { Answer } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

/** Three sources, all connected to one webhook. */
async function openShop(start: Start, answer?: Answer, data = ":memory:") {
  const app = await start.app({ clock: "paused", data });
  const webhook = await start.receiver(answer);
  const sources: AnswerOf<"sources.create">[] = [];
  for (const name of ["Web", "Server", "App"])
    sources.push(await app.call("sources.create", { name, writeKey: name.toLowerCase() }));
  const connect = (more: Partial<InputOf<"destinations.create">> = {}) =>
    app.call("destinations.create", {
      name: "CRM",
      sourceIds: sources.map(({ id }) => id),
      webhooks: [{ url: webhook.url }],
      ...more,
    });
  return { ...app, webhook, sources, connect };
}

const track = (app: RunningApp, key: string, userId: string) =>
  app.ingest("/v1/track", { userId, event: "Bought" }, key);

const deletes = (bodies: { body: string }[]): Message[] =>
  bodies.map(({ body }) => JSON.parse(body) as Message).filter(({ type }) => type === "delete");

test("each source that knows the user sends one delete of exactly three members, and no other source does", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  for (const key of ["web", "server"]) await track(app, key, "ada");
  for (const key of ["web", "server", "app"]) await track(app, key, "bob");
  const deletion = await app.call("deletions.create", { userIds: ["ada"] });
  const [web, server] = app.sources;
  expect(deletion.users).toMatchObject([
    { userId: "ada", known: true, sourceIds: [web?.id, server?.id] },
  ]);
  expect(deletion.users[0]?.detail).toBe(
    "The profile was removed. A delete message was created for Web and Server.",
  );
  await app.settle();
  const { now } = await app.call("clock.get", {});
  expect(deletes(app.webhook.requests)).toEqual(
    [1, 2].map(() => ({ type: "delete", userId: "ada", timestamp: now })),
  );
  const messages = await Promise.all(
    (deletion.users[0]?.messageIds ?? []).map((id) => app.message(id)),
  );
  expect(messages).toMatchObject(
    [web, server].map((source) => ({ type: "delete", sourceId: source?.id, state: "delivered" })),
  );
  expect(await app.call("deletions.get", { id: deletion.id })).toMatchObject({
    state: "delivered",
  });
  const { items } = await app.call("profiles.list", {});
  expect(items.map(({ userId }) => userId)).toEqual(["bob"]);
});

test("later messages of the user are rejected and on record, until the suppression is lifted", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  const { id } = await app.call("deletions.create", { userIds: ["ada"] });
  expect(await track(app, "web", "ada")).toMatchObject({
    success: true,
    rejected: [{ reason: "suppressed" }],
  });
  const [rejected] = (await app.call("messages.list", { state: "rejected" })).items;
  expect(rejected).toMatchObject({ reason: "suppressed", userId: "ada" });
  expect((await app.call("suppressions.list", {})).items).toMatchObject([
    { userId: "ada", deletionId: id },
  ]);
  await app.call("suppressions.lift", { userId: "ada" });
  await track(app, "web", "ada");
  await app.settle();
  expect((await app.call("profiles.list", {})).items).toMatchObject([{ userId: "ada", events: 1 }]);
});

test("it is an option: without it later messages make a new profile", async ({ start }) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  await app.call("deletions.create", { userIds: ["ada"], suppress: false });
  expect(await track(app, "web", "ada")).toEqual({ success: true });
  await app.settle();
  expect((await app.call("profiles.list", {})).items).toMatchObject([{ userId: "ada", events: 1 }]);
});

test("a user whom nobody knows is said to be unknown, and is suppressed all the same", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  const deletion = await app.call("deletions.create", { userIds: ["nobody", "nobody"] });
  expect(deletion).toMatchObject({
    state: "nothing_to_send",
    users: [
      {
        userId: "nobody",
        known: false,
        detail: "No profile has this userId, so there was nothing to delete.",
        messageIds: [],
      },
    ],
  });
  expect(await track(app, "web", "nobody")).toMatchObject({ rejected: [{ reason: "suppressed" }] });
});

test("without a destination that is enabled nothing is sent, and the request says why", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect({ enabled: false });
  await track(app, "web", "ada");
  const deletion = await app.call("deletions.create", { userIds: ["ada"] });
  expect(deletion).toMatchObject({
    state: "nothing_to_send",
    users: [{ known: true, sourceIds: [], messageIds: [] }],
  });
  expect(deletion.users[0]?.detail).toContain(
    "No source that knows the user has an enabled destination",
  );
});

test("the request's state follows its deliveries, over retries to their end", async ({ start }) => {
  const app = await openShop(
    start,
    (response, _, count) => void response.writeHead(count < 3 ? 503 : 200).end(),
  );
  await track(app, "web", "ada");
  await app.settle();
  await app.connect();
  const { id, state } = await app.call("deletions.create", { userIds: ["ada"] });
  expect(["queued", "sending"]).toContain(state);
  await app.settle();
  expect(await app.call("deletions.get", { id })).toMatchObject({ state: "waiting" });
  await app.advance({ to: "idle" });
  expect((await app.call("deletions.list", {})).items).toMatchObject([{ id, state: "delivered" }]);
  expect(await app.call("deletions.delete", { id })).toEqual({ id });
  expect(await app.refused("deletions.get", { id })).toEqual({ status: 404, code: "not_found" });
});

test("leaving an audience by deletion sends no identify, and the user is no member any more", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  const rule = { event: "Bought", withinDays: 7 };
  const { id } = await app.call("audiences.create", { name: "Buyers", rule, sync: "each-event" });
  await app.call("deletions.create", { userIds: ["ada"] });
  await app.advance({ byMs: 8 * 24 * 60 * 60 * 1000 });
  expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 0 });
  expect(await app.call("audiences.get", { id })).toMatchObject({ size: 0 });
  await app.settle();
  const identifies = app.webhook.requests
    .map(({ body }) => JSON.parse(body) as Message)
    .filter(({ type }) => type === "identify");
  expect(identifies).toMatchObject([{ userId: "ada", traits: { buyers: true } }]);
});

test("two userIds of one profile, both named, are both deleted; one that is not named is mentioned", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  for (const userId of ["old", "new"]) await track(app, "web", userId);
  await app.ingest("/v1/alias", { userId: "new", previousId: "old" }, "web");
  const between = Array.from({ length: 120 }, (_, nth) => `nobody ${nth}`);
  const both = await app.call("deletions.create", { userIds: ["old", ...between, "new"] });
  expect(both.users.filter(({ known }) => known).map(({ userId }) => userId)).toEqual([
    "old",
    "new",
  ]);
  await app.settle();
  expect(new Set(deletes(app.webhook.requests).map(({ userId }) => userId))).toEqual(
    new Set(["new", "old"]),
  );

  for (const userId of ["first", "second"]) await track(app, "web", userId);
  await app.ingest("/v1/alias", { userId: "second", previousId: "first" }, "web");
  const one = await app.call("deletions.create", { userIds: ["second"] });
  expect(one.users[0]?.detail).toContain('The profile also had the userId "first"');
});

test("what is on its way in when a deletion is asked for does not come back behind it", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  const sent = Array.from({ length: 30 }, () => track(app, "web", "ada"));
  const deletion = app.call("deletions.create", { userIds: ["ada"] });
  await Promise.all([...sent, deletion]);
  await app.settle();
  expect((await app.call("profiles.list", {})).items).toEqual([]);
  expect(deletes(app.webhook.requests)).toHaveLength(1);
});

test("a delete can be sent again, though its user is suppressed", async ({ start }) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  const { users } = await app.call("deletions.create", { userIds: ["ada"] });
  await app.call("messages.replay", { id: users[0]?.messageIds[0] ?? "" });
  await app.settle();
  expect(deletes(app.webhook.requests)).toHaveLength(2);
});

test("whatever a userId is made of, it can be told, deleted and suppressed, over a restart too", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await openShop(start, 200, data);
  await app.connect();
  const users = ["half \ud83d", "nul \u0000 in it", "__proto__", "'; --", "名前", " "];
  const { id } = await app.call("audiences.create", { name: "All", members: users });
  // As long as a message has room for.
  users.push("x".repeat(32_700));
  for (const userId of users) await track(app, "web", userId);
  expect(await app.call("audiences.sync", { id })).toEqual({ entered: 0, left: 0 });
  const deletion = await app.call("deletions.create", { userIds: users });
  expect(deletion.users.map(({ known }) => known)).toEqual(users.map(() => true));
  await app.stop();
  const again = await start.app({ data });
  for (const userId of users)
    expect(await track(again, "web", userId), userId).toMatchObject({
      rejected: [{ reason: "suppressed" }],
    });
});

test("who watches the changes hears when a request has come to its end", async ({ start }) => {
  const app = await openShop(
    start,
    (response, _, count) => void response.writeHead(count < 2 ? 503 : 200).end(),
  );
  await track(app, "web", "ada");
  await app.settle();
  await app.connect();
  const seen: string[] = [];
  const look = async (id: string) =>
    void seen.push((await app.call("deletions.get", { id })).state);
  app.changes.subscribe((lines) => {
    for (const { area, ids } of lines)
      if (area === "deletions") for (const id of ids) void look(id);
  });
  await app.call("deletions.create", { userIds: ["ada"] });
  await until(() => seen.at(-1) === "waiting");
  await app.advance({ to: "idle" });
  await until(() => seen.at(-1) === "delivered");
});

test("with send false the profile goes, and no receiver hears of it", async ({ start }) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  await app.settle();
  const deletion = await app.call("deletions.create", { userIds: ["ada"], send: false });
  expect(deletion).toMatchObject({
    send: false,
    suppress: true,
    state: "nothing_to_send",
    users: [{ userId: "ada", known: true, sourceIds: [], messageIds: [] }],
  });
  expect((await app.call("profiles.list", {})).items).toEqual([]);
  expect((await app.call("messages.list", { type: "delete" })).total).toBe(0);
});

test("users are suppressed without being deleted", async ({ start }) => {
  const app = await openShop(start);
  await app.connect();
  await track(app, "web", "ada");
  await app.settle();
  const { items } = await app.call("suppressions.create", { userIds: ["ada", "bob", "ada"] });
  expect(items).toMatchObject([
    { userId: "ada", deletionId: null },
    { userId: "bob", deletionId: null },
  ]);
  await track(app, "web", "ada");
  await app.settle();
  expect((await app.call("messages.list", { state: "rejected" })).items).toMatchObject([
    { reason: "suppressed" },
  ]);
  expect((await app.call("profiles.list", {})).items).toMatchObject([{ userId: "ada", events: 1 }]);
  expect((await app.call("messages.list", { type: "delete" })).total).toBe(0);
});

test("a tracking plan that blocks what violates its common rule lets a delete through", async ({
  start,
}) => {
  const app = await openShop(start);
  await app.connect();
  const [web] = app.sources;
  const plan = { schemas: { common: { required: ["properties"] } }, onViolation: "block" as const };
  await app.call("sources.update", { id: web?.id ?? "", plan });
  await track(app, "web", "ada");
  await app.call("deletions.create", { userIds: ["ada"] });
  await app.settle();
  expect(deletes(app.webhook.requests)).toHaveLength(1);
  const { items } = await app.call("messages.list", { filter: "type:delete" });
  expect(items).toMatchObject([{ state: "delivered", plan: null }]);
});

test("a destination that was connected later and was sent nothing of the user gets no delete", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const [first, late] = [await start.receiver(), await start.receiver()];
  await app.destination([first.url]);
  const members = ["ada", "zoe"];
  const { sourceId } = await app.call("audiences.create", { name: "List", members });
  await app.call("suppressions.create", { userIds: ["zoe"] });
  const webhooks = [{ url: late.url }];
  await app.call("destinations.create", { name: "Late", sourceIds: [sourceId], webhooks });
  await app.settle();
  await app.call("deletions.create", { userIds: members });
  await app.settle();
  const userIds = (bodies: { body: string }[]) =>
    deletes(bodies)
      .map(({ userId }) => String(userId))
      .toSorted();
  expect(userIds(first.requests)).toEqual(["ada", "zoe"]);
  expect(userIds(late.requests)).toEqual(["ada"]);
});
