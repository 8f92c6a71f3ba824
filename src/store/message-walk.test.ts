import { expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { MessageFilter } from "../engine/ports.ts";
import {
  attempt,
  moveTo,
  openTestStore,
  request,
  startOfTime,
  type MessageDraft,
} from "./store.fixture.ts";

test("a message is found by a status, alone or its hundred, and by how often it was tried", async () => {
  const { store } = openTestStore();
  const statuses = [199, 200, 299, 300, 500, 599, 600];
  store.commit([request(statuses.map(() => ({ to: [1] })))]);
  store.record(
    statuses.flatMap((status, place) =>
      Array.from({ length: place }, () => attempt((place + 1) as DeliveryId, { status })),
    ),
    [],
  );
  const found = async (filter: MessageFilter) =>
    (await store.messages(filter, 10, null)).items.map(({ id }) => Number(id)).toReversed();
  expect(await found({ status: "2xx" })).toEqual([2, 3]);
  expect(await found({ status: "5xx" })).toEqual([5, 6]);
  expect(await found({ status: "300" })).toEqual([4]);
  expect(await found({ status: ["200", "5xx"] })).toEqual([2, 5, 6]);
  expect(
    await Promise.all(["3", ">3", ">=3", "<3", "<=3"].map((attempts) => found({ attempts }))),
  ).toEqual([[4], [5, 6, 7], [4, 5, 6, 7], [1, 2, 3], [1, 2, 3, 4]]);
  expect(await found({ attempts: ["0", "6"] })).toEqual([1, 7]);
});

test("a status is that of any attempt, or of the newest answer", async () => {
  const { store } = openTestStore();
  store.commit([request([{ to: [1] }, { to: [1] }, { to: [1] }])]);
  const made = (delivery: number, status: number) => attempt(delivery as DeliveryId, { status });
  const timeout = { ...made(3, 200), outcome: "timeout" as const, response: null };
  // Read before, so that what changes has to be read again.
  expect((await store.messages({ status: "503" }, 10, null)).items).toEqual([]);
  store.record([made(1, 503), made(2, 503), made(3, 503)], []);
  store.record([made(2, 200), timeout], []);
  const found = async (filter: MessageFilter) =>
    (await store.messages(filter, 10, null)).items.map(({ id }) => Number(id)).toReversed();
  expect(await found({ status: "503" })).toEqual([1, 2, 3]);
  expect(await found({ status: "last=503" })).toEqual([1, 3]);
  expect(await found({ status: "503", not: { status: "last=503" } })).toEqual([2]);
  expect(await found({ outcome: "timeout" })).toEqual([3]);
  expect(await found({ outcome: ["timeout", "success"] })).toEqual([2, 3]);
  expect(await found({ not: { outcome: "timeout" } })).toEqual([1, 2]);
  expect(await found({ search: "nowhere" })).toEqual([]);
  expect(await found({ search: ["timeout", "503"] })).toEqual([3]);
});

test("messages of one request are a batch; those of a webhook were tried there", async () => {
  const { store } = openTestStore();
  store.commit([request([{}]), request([{ to: [1] }, {}, { to: [1] }]), request([{}, {}])]);
  store.record([attempt(2 as DeliveryId, { webhookId: 9 as WebhookId })], []);
  const found = async (filter: MessageFilter) =>
    (await store.messages(filter, 10, null)).items.map(({ id }) => Number(id)).toReversed();
  expect(await found({ batch: 3 as MessageRowId })).toEqual([2, 3, 4]);
  expect(await found({ batch: [1, 6] as MessageRowId[] })).toEqual([1, 5, 6]);
  expect(await found({ batch: 77 as MessageRowId })).toEqual([]);
  expect(await found({ not: { batch: 3 as MessageRowId } })).toEqual([1, 5, 6]);
  expect(await found({ webhookId: 9 as WebhookId })).toEqual([4]);
  expect(await found({ destinationId: 1 as DestinationId })).toEqual([2, 4]);
});

test("a batch has the messages that retention has left of it", async () => {
  const { store } = openTestStore();
  store.commit([request(Array.from({ length: 100 }, () => ({})))]);
  store.markFollowed(100 as MessageRowId);
  store.removeOld({ maxMessages: 40, olderThanWall: null }, 100);
  for (const limit of [20, 50]) {
    const { items, total } = await store.messages({ batch: 100 as MessageRowId }, limit, null);
    expect([items.length, total]).toEqual([Math.min(limit, 40), 40]);
  }
});

test("values are counted over all messages, and users by how their ids begin", async () => {
  const { store } = openTestStore();
  store.commit([
    request([
      { to: [1], event: "Order Completed", userId: "U_1" },
      { event: "Order Completed", userId: "u_2" },
      { event: "Cart Viewed", anonymousId: "u_2" },
    ]),
  ]);
  const users = ["U_1", "u_2", "Vera"].entries();
  for (const [place, value] of users) {
    const profile = store.createProfile(startOfTime, value);
    store.addIdentity(profile, { kind: "userId", value }, startOfTime, (place + 1) as MessageRowId);
  }
  store.record([attempt(1 as DeliveryId, { status: 503 })], []);
  store.record([attempt(1 as DeliveryId, { status: 503 }), attempt(1 as DeliveryId)], []);
  expect(await store.messageValues("event")).toEqual(
    new Map([
      ["Order Completed", 2],
      ["Cart Viewed", 1],
    ]),
  );
  expect(await store.messageValues("status")).toEqual(
    new Map([
      ["200", 1],
      ["503", 1],
    ]),
  );
  expect((await store.messageValues("attempts")).get("3")).toBe(1);
  expect((await store.messageValues("reason")).get("no_destination")).toBe(2);
  expect(await store.usersNamed("u", 10)).toEqual(
    new Map([
      ["U_1", 1],
      ["u_2", 2],
    ]),
  );
  expect(await store.usersNamed("ve", 10)).toEqual(new Map([["Vera", 0]]));
  expect([...store.messagesBySource()]).toEqual([[1, 3]]);
});

test("a destination's messages are found alone and in batches, newest first, whatever is removed", async () => {
  const { store } = openTestStore();
  const drafts = Array.from({ length: 3000 }, (_, n): MessageDraft => {
    const mappedTo = [2, 3].flatMap((to) => [
      ...((n * to) % 5 === 0 || n % 1000 > 990 ? [{ to, key: `k${n % 4}` }] : []),
      ...((n + to) % 7 === 0 ? [{ to, key: null }] : []),
    ]);
    return { to: n % 3 === 0 ? [1] : [], mappedTo };
  });
  for (let at = 0; at < drafts.length; at += 500)
    store.commit([request(drafts.slice(at, at + 500))]);
  const goesTo = (id: number): number[] =>
    drafts.flatMap(({ to = [], mappedTo = [] }, n) =>
      to.includes(id) || mappedTo.some((each) => each.to === id) ? [n + 1] : [],
    );
  const listed = async (filter: MessageFilter, limit: number): Promise<number[]> => {
    const found: number[] = [];
    let before: MessageRowId | null = null;
    do {
      const page: Awaited<ReturnType<typeof store.messages>> = await store.messages(
        filter,
        limit,
        before,
      );
      found.push(...page.items.map(({ id }) => Number(id)));
      before = page.nextCursor;
    } while (before !== null);
    return found;
  };
  const expectAll = async (first: number): Promise<void> => {
    for (const destinationId of [1, 2, 3, 4] as DestinationId[]) {
      const expected = goesTo(destinationId).filter((id) => id >= first);
      expect(await listed({ destinationId }, 400)).toEqual(expected.toReversed());
      const { total } = await store.messages({ destinationId }, 1, null);
      expect(total).toBe(expected.length);
    }
    const both = [1, 3] as DestinationId[];
    const any = [...new Set(both.flatMap(goesTo))].filter((id) => id >= first);
    expect(await listed({ destinationId: both }, 500)).toEqual(any.toSorted((a, b) => b - a));
  };
  await expectAll(1);
  // What was first in a batch is removed, and the batch belongs to a later message.
  for (const destination of [1, 2, 3] as DestinationId[]) {
    let claimed;
    while ((claimed = store.claim(destination, startOfTime + 5000, 1000)).length > 0)
      store.record(
        claimed.map(({ id }) => attempt(id)),
        claimed.map(({ id }) => moveTo(id, "delivered")),
      );
  }
  store.markFollowed(drafts.length as MessageRowId);
  const limits = { maxMessages: 1501, maxBytes: null, olderThanWall: null };
  while (store.removeOld(limits, 100).removed > 0);
  const left = (await store.messages({}, 1, null)).total;
  expect(left).toBeLessThan(1800);
  await expectAll(3001 - left);
});

test("words are looked for among two thousand event names almost as quickly as among one", async () => {
  const stored = (eventOf: (n: number) => string) => {
    const { store } = openTestStore();
    store.commit([
      request(
        Array.from({ length: 2000 }, (_, n) => ({
          event: eventOf(n),
          messageId: `id ${n}`,
          text: "{}",
        })),
      ),
    ]);
    return store;
  };
  const [many, one] = [stored((n) => `Event ${n}`), stored(() => "Event")];
  const cpuOf = async (store: typeof many, filter: MessageFilter): Promise<number> => {
    const before = process.cpuUsage();
    await store.messages(filter, 10, null);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  const words = ["zero", "one", "two", "three"];
  // What else the processor does makes single measurements larger, and never all of them.
  for (const filter of [{ search: words }, { not: { search: words } }])
    await expect
      .poll(async () => (await cpuOf(many, filter)) / (await cpuOf(one, filter)))
      .toBeLessThan(4);
  expect((await many.messages({ search: ["event", "1999"] }, 10, null)).items).toMatchObject([
    { event: "Event 1999" },
  ]);
});
