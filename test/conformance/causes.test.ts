/** Why a message was sent: each way in which an audience or computed trait comes to send one. */

import { expect, test as base } from "vitest";
import { starting, type Message } from "../support/running-app.ts";
import { batch, bought, openShop } from "../support/shop.ts";

const test = base.extend("start", starting);

type Shop = Awaited<ReturnType<typeof openShop>>;

/** Oldest first, of messages that audiences and computed traits have sent since the last look. */
function causeReader(app: Shop) {
  let seen = 0;
  return async (): Promise<Message[]> => {
    await app.settle();
    const sources = (await app.call("sources.list", {})).items.filter(
      ({ kind }) => kind === "audience",
    );
    const lists = await Promise.all(
      sources.map(({ id }) => app.call("messages.list", { sourceId: id, limit: 100 })),
    );
    const all = lists.flatMap(({ items }) => items).toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const fresh = all.slice(seen);
    seen = all.length;
    const messages = await Promise.all(fresh.map(({ id }) => app.message(id)));
    return messages.map(({ cause }) => ({ ...cause }));
  };
}

const identify = (userId: string, traits: Message): Message => ({
  type: "identify",
  userId,
  traits,
});
const date = String.raw`\d+ \w{3} \d\d:\d\d UTC`;

test("entering and leaving by a message, with a link to it", async ({ start }) => {
  const app = await openShop(start);
  const causes = causeReader(app);
  const rule = { all: [{ event: "Bought" }, { trait: "plan", op: "is" as const, value: "pro" }] };
  const { id } = await app.call("audiences.create", { name: "Big", rule, sync: "each-event" });
  await batch(app, [identify("ada", { plan: "pro" })]);
  await batch(app, [bought("ada")]);
  const [order] = (await app.call("messages.list", { event: "Bought" })).items;
  expect(await causes()).toEqual([
    {
      reason: "event",
      sentence: expect.stringMatching(`^ada entered Big: Bought was done on ${date}\\.$`),
      audienceId: id,
      computedTraitId: null,
      messageId: order?.id,
      destinationId: null,
      deletionId: null,
    },
  ]);
  await batch(app, [identify("ada", { plan: "free" })]);
  const { id: sourceId } = await app.source();
  const [change] = (await app.call("messages.list", { sourceId })).items;
  expect(await causes()).toMatchObject([
    { reason: "event", sentence: 'ada left Big: plan is "free".', messageId: change?.id },
  ]);
});

test("syncs: the first, a later one, a changed rule, a changed list", async ({ start }) => {
  const app = await openShop(start);
  const causes = causeReader(app);
  await batch(app, [bought("ada", 50), bought("bob", 5)]);
  const { id } = await app.call("audiences.create", { name: "Big", rule: { event: "Bought" } });
  expect(await causes()).toMatchObject([
    { reason: "first_sync", sentence: "ada is in Big at the first sync." },
    { reason: "first_sync", sentence: "bob is in Big at the first sync." },
  ]);
  await batch(app, [bought("cyd", 5)]);
  await app.call("audiences.sync", { id });
  expect(await causes()).toMatchObject([
    {
      reason: "sync",
      sentence: expect.stringMatching(`^cyd entered Big at a sync: Bought was done on ${date}\\.$`),
    },
  ]);
  const large = {
    event: "Bought",
    where: [{ property: "total", op: "greater" as const, value: 10 }],
  };
  await app.call("audiences.update", { id, rule: large });
  await batch(app, [bought("eve", 99)]);
  await app.call("audiences.sync", { id });
  const changed = "left Big because its rule was changed: Bought was not done.";
  expect(await causes()).toMatchObject([
    { reason: "rule_changed", sentence: `bob ${changed}` },
    { reason: "rule_changed", sentence: `cyd ${changed}` },
    {
      reason: "sync",
      sentence: expect.stringMatching(/^eve entered Big at a sync: Bought with total 99 was/),
    },
  ]);
  const list = await app.call("audiences.create", { name: "List", members: ["ada", "zoe"] });
  await app.call("audiences.update", { id: list.id, members: ["ada", "new user"] });
  await app.call("audiences.sync", { id: list.id });
  expect((await causes()).slice(2)).toMatchObject([
    { reason: "members_changed", sentence: "new user entered List: the user was put on its list." },
    { reason: "members_changed", sentence: "zoe left List: the user was taken off its list." },
  ]);
});

test("users who are joined, with their email addresses", async ({ start }) => {
  const app = await openShop(start);
  const causes = causeReader(app);
  await app.call("audiences.create", {
    name: "Big",
    rule: { event: "Bought" },
    sync: "each-event",
  });
  await batch(app, [
    identify("old", { email: "old@a" }),
    bought("old"),
    identify("new", { email: "new@a" }),
    bought("new"),
  ]);
  expect(await causes()).toHaveLength(4);
  await batch(app, [{ type: "alias", userId: "new", previousId: "old" }]);
  expect(await causes()).toMatchObject([
    { reason: "users_joined", sentence: "old left Big: the user was joined to new." },
  ]);
  const sent = app.webhook.requests.map(({ body }) => JSON.parse(body) as Message);
  const last = sent.findLast(({ type }) => type === "identify");
  expect(last).toMatchObject({ userId: "old", traits: { big: false } });
});

test("a computed trait: by a message and by time", async ({ start }) => {
  const app = await openShop(start);
  const causes = causeReader(app);
  await app.call("computedTraits.create", {
    name: "Orders",
    computation: { aggregate: "count", event: "Bought", withinDays: 7 },
    sync: "each-event",
  });
  await batch(app, [bought("ada")]);
  await app.advance({ byMs: 86_400_000 });
  await batch(app, [bought("ada")]);
  await app.advance({ byMs: 6 * 86_400_000 });
  const done = `Bought was done on ${date}`;
  expect(await causes()).toMatchObject([
    { reason: "event", sentence: expect.stringMatching(`^Orders of ada is 1: ${done}\\.$`) },
    {
      reason: "event",
      sentence: expect.stringMatching(`^Orders of ada is 2, and was 1: ${done}\\.$`),
    },
    {
      reason: "time",
      sentence: expect.stringMatching(
        `^Orders of ada is 1, and was 2: the Bought of ${date} is older than 7 days\\.$`,
      ),
    },
  ]);
});

test("a message from outside has none, whatever its request holds", async ({ start }) => {
  const app = await openShop(start);
  const cause = { reason: "event", sentence: "forged" };
  const message = { type: "delete", userId: "ada" };
  await app.ingest("/v1/batch", { batch: [message], causes: { 10: cause } });
  const [item] = (await app.call("messages.list", {})).items;
  expect((await app.message(item?.id ?? "")).cause).toBeNull();
});
