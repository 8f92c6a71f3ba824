import { expect, test as base } from "vitest";
import { starting } from "../../../test/support/running-app.ts";

const test = base.extend("start", starting);
const rule = { event: "Bought" };

test("an audience and a computed trait are changed by their id, and gone when the answer to their deletion is there", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const audience = await app.call("audiences.create", { name: "Buyers", rule });
  expect(await app.call("audiences.update", { id: audience.id, name: "Customers" })).toMatchObject({
    id: audience.id,
    name: "Customers",
  });
  const trait = await app.call("computedTraits.create", {
    name: "Orders",
    computation: { aggregate: "count", event: "Bought" },
  });
  expect(
    await app.call("computedTraits.update", { id: trait.id, name: "Purchases" }),
  ).toMatchObject({ id: trait.id, name: "Purchases" });
  expect(await app.call("audiences.delete", { id: audience.id })).toEqual({ id: audience.id });
  expect(await app.call("computedTraits.delete", { id: trait.id })).toEqual({ id: trait.id });
  expect([
    (await app.call("audiences.list", {})).items,
    (await app.call("computedTraits.list", {})).items,
  ]).toEqual([[], []]);
  expect(await app.refused("computedTraits.delete", { id: trait.id })).toMatchObject({
    status: 404,
  });
  expect(await app.refused("audiences.delete", { id: audience.id })).toMatchObject({ status: 404 });
});

test("a preview is of a rule or of a list", async ({ start }) => {
  const app = await start.app();
  await app.source();
  for (const userId of ["ada", "bob"]) await app.send({ userId });
  await app.settle();
  expect(await app.call("audiences.preview", { rule, sample: 5 })).toMatchObject({ count: 2 });
  expect(await app.call("audiences.preview", { members: ["ada"], sample: 5 })).toMatchObject({
    count: 1,
  });
});

test("a deletion that is still carried out says so of each user", async ({ start }) => {
  const app = await start.app();
  const made = await app.call("deletions.create", { userIds: ["nobody"] });
  for (const { known } of made.users) expect(known).toBe(false);
  await app.settle();
  expect(await app.call("deletions.get", { id: made.id })).toMatchObject({
    users: [{ userId: "nobody", known: false, sourceIds: [], messageIds: [] }],
  });
  expect(await app.call("deletions.delete", { id: made.id })).toEqual({ id: made.id });
});

test.for([
  [2000, 1000],
  [5000, 120],
] as const)(
  "answers about %i users with names of %i characters stay below 1 MB, and say how many there are",
  async ([users, length], { start }) => {
    const app = await start.app();
    const userIds = Array.from({ length: users }, (_, n) => `${n}`.padEnd(length, "é"));
    const bytesOf = (answer: unknown): number => Buffer.byteLength(JSON.stringify(answer));
    const made = await app.call("deletions.create", { userIds, suppress: false });
    const listed = await app.call("deletions.list", {});
    const suppressed = await app.call("suppressions.create", { userIds });
    const page = await app.call("suppressions.list", { limit: 1000 });
    const answers = [made, listed, suppressed, ...(length === 1000 ? [page] : [])];
    for (const answer of answers) {
      expect(bytesOf(answer)).toBeLessThan(1_000_000);
      expect(bytesOf(answer)).toBeGreaterThan(800_000);
    }
    expect([made.userCount, made.users[0]?.userId, listed.items[0]?.userCount]).toEqual([
      users,
      userIds[0],
      users,
    ]);
    expect(suppressed.items.map(({ userId }) => userId)).toEqual(
      userIds.slice(0, suppressed.items.length),
    );
    const rest = await app.call("suppressions.list", { limit: 1, cursor: page.nextCursor ?? "" });
    expect([rest.items.length, rest.total]).toEqual([1, users]);
  },
);

test("a retry profile that is not there can be neither changed nor deleted", async ({ start }) => {
  const app = await start.app();
  expect(await app.refused("retryProfiles.update", { id: "gone", jitter: 0 })).toEqual({
    status: 404,
    code: "not_found",
  });
  expect(await app.refused("retryProfiles.delete", { id: "gone" })).toEqual({
    status: 404,
    code: "not_found",
  });
  expect(await app.refused("retryProfiles.delete", { id: "documented" })).toEqual({
    status: 409,
    code: "built_in",
  });
});

test("the suppressed users are listed, a part of the name finds them, and each is lifted once", async ({
  start,
}) => {
  const app = await start.app();
  await app.call("deletions.create", { userIds: ["ada", "bob"], suppress: true });
  const listed = async (search?: string) =>
    (await app.call("suppressions.list", search === undefined ? {} : { search })).items.map(
      ({ userId }) => userId,
    );
  expect([(await listed()).toSorted(), await listed("bo")]).toEqual([["ada", "bob"], ["bob"]]);
  const first = await app.call("suppressions.list", { limit: 1 });
  const second = await app.call("suppressions.list", { limit: 1, cursor: first.nextCursor ?? "" });
  expect([...first.items, ...second.items].map(({ userId }) => userId).toSorted()).toEqual([
    "ada",
    "bob",
  ]);
  expect(await app.call("suppressions.lift", { userId: "bob" })).toEqual({ userId: "bob" });
  expect(await listed()).toEqual(["ada"]);
  expect(await app.refused("suppressions.lift", { userId: "bob" })).toMatchObject({ status: 404 });
});

test("a user with any amount of traits, events and groups is answered below 1 MB, and so is a list of such users", async ({
  start,
}) => {
  const app = await start.app();
  await app.source();
  const large = "x".repeat(30_000);
  const batch = ["u0", "u1", "u2"].flatMap((userId) => [
    ...Array.from({ length: 12 }, (_, n) => ({
      type: "identify",
      userId,
      traits: { [`a${n}`]: large },
    })),
    { type: "track", userId, event: `Bought by ${userId}`, properties: { large } },
  ]);
  for (let from = 0; from < batch.length; from += 13)
    await app.ingest("/v1/batch", { batch: batch.slice(from, from + 13) });
  const more = Array.from({ length: 12 }, (_, n) => ({
    ...{ type: "group", userId: "u0", groupId: `g${n}`, traits: { large } },
  }));
  await app.ingest("/v1/batch", { batch: more });
  await app.settle();
  const first = await app.call("profiles.list", { limit: 1000 });
  expect(first.items.map(({ userId }) => userId)).toEqual(["u0", "u2"]);
  const { items } = await app.call("profiles.list", { cursor: first.nextCursor ?? "" });
  expect(items.map(({ userId }) => userId)).toEqual(["u1"]);
  const one = await app.call("profiles.get", { id: first.items[0]?.id ?? "" });
  expect(JSON.stringify(one).length).toBeLessThan(1_000_000);
  expect([one.traitList.length, Object.keys(one.traits).length, one.groups.length]).toEqual([
    3, 3, 3,
  ]);
  expect(one.eventList.map(({ event }) => event)).toEqual(["Bought by u0"]);
});

test("answers about audiences stay below 1 MB, however long their lists and their users' traits are", async ({
  start,
}) => {
  const app = await start.app();
  await app.source();
  const sizeOf = (answer: unknown): number => Buffer.byteLength(JSON.stringify(answer));
  const listOf = (length: number) =>
    Array.from({ length }, (_, n) => `user-${n}-${"x".repeat(500)}`);
  const draft = { destinationIds: [] };
  for (const name of ["A", "B"])
    await app.call("audiences.create", { ...draft, name, members: listOf(1000) });
  const { items } = await app.call("audiences.list", {});
  expect(items.map(({ members, membersLeftOut }) => [members?.length, membersLeftOut])).toEqual([
    [1000, undefined],
    [undefined, 1000],
  ]);
  const { id = "" } = items[1] ?? {};
  expect((await app.call("audiences.get", { id })).members).toHaveLength(1000);
  const changed = await app.call("audiences.update", { id, members: listOf(2000) });
  expect(changed).toMatchObject({ members: null, membersLeftOut: 2000 });
  // A list that no answer has stays when another member is changed.
  await app.call("audiences.update", { id, name: "C" });
  expect(await app.call("audiences.get", { id })).toMatchObject({ membersLeftOut: 2000 });

  const users = Array.from({ length: 100 }, (_, n) => `big-${n}`);
  for (const userId of users) {
    const text = "t".repeat(15_000);
    await app.ingest("/v1/track", { userId, event: "Bought", properties: { text } });
    await app.ingest("/v1/identify", { userId, traits: { plan: "pro", text } });
  }
  await app.settle();
  const preview = await app.call("audiences.preview", { members: users, sample: 100 });
  expect(sizeOf(preview)).toBeLessThan(1_000_000);
  expect(preview.sample[99]).toMatchObject({ userId: "big-99", traits: { plan: "pro" } });
  const computation = { aggregate: "last", event: "Bought", property: "text" } as const;
  const values = await app.call("computedTraits.preview", { computation, sample: 100 });
  expect(sizeOf(values)).toBeLessThan(1_000_000);
  expect(values).toMatchObject({ count: 100 });
  expect(values.sample.length).toBeGreaterThan(50);
});

test("an audience finds no room at destinations whose list is full of connections", async ({
  start,
}) => {
  const app = await start.app();
  const source = await app.source();
  const webhooks = [{ url: `http://127.0.0.1:9/${"x".repeat(3000)}` }];
  const made: string[] = [];
  for (let number = 0; number < 265; number += 1) {
    const draft = { name: `D${number}`, sourceIds: [source.id], webhooks };
    made.push((await app.call("destinations.create", draft)).id);
  }
  const sizeOf = async () => JSON.stringify(await app.call("destinations.list", {})).length;
  let refused = 0;
  for (let number = 0; number < 10; number += 1) {
    const draft = { name: `A${number}`, members: ["u"], destinationIds: made };
    const answer = await app.call("audiences.create", draft).catch((error: Error) => error.message);
    if (typeof answer === "string" && answer.includes("all destinations together")) refused += 1;
  }
  expect(refused).toBeGreaterThan(0);
  const { items } = await app.call("audiences.list", {});
  const free = await app.call("audiences.create", {
    name: "Free",
    members: [],
    destinationIds: [],
  });
  expect(items.length).toBeGreaterThan(0);
  expect(
    await app.refused("audiences.update", { id: free.id, destinationIds: made }),
  ).toMatchObject({ status: 409 });
  expect(await sizeOf()).toBeLessThan(910_000);
});
