import { expect, onTestFinished, test, vi } from "vitest";
import type {
  DeliveryId,
  DestinationId,
  MessageRowId,
  SourceId,
  WebhookId,
} from "../domain/ids.ts";
import { drawUnit } from "../domain/random.ts";
import type { MessageFilter, MessageSummary } from "../engine/ports.ts";
import type { Store } from "../engine/store-ports.ts";
import type { MessageDraft } from "./store.fixture.ts";
import { attempt, moveTo, openTestStore, request, startOfTime } from "./store.fixture.ts";

const events = ["Bought", "bought", "Seen", null, ...Array.from({ length: 64 }, (_, n) => `E${n}`)];

type Test = (message: MessageSummary) => boolean;

/** Each with the same question to a message as the list shows it. */
const filters: [MessageFilter, Test][] = [
  [{ event: "BOUGHT" }, ({ event }) => event?.toLowerCase() === "bought"],
  [{ event: ["E7", "E8"] }, ({ event }) => event === "E7" || event === "E8"],
  [{ since: startOfTime + 5460 }, ({ receivedAt }) => receivedAt >= startOfTime + 5460],
  [
    { event: ["Seen", "E1", "E2"], state: "delivered" },
    ({ event, state }) => ["Seen", "E1", "E2"].includes(event ?? "") && state === "delivered",
  ],
  [
    { sourceId: 2 as SourceId, not: { state: ["queued", "filtered"] } },
    ({ sourceId, state }) => sourceId === 2 && state !== "queued" && state !== "filtered",
  ],
  [{ type: "page", state: "queued" }, ({ type, state }) => type === "page" && state === "queued"],
  [{ status: "last=503" }, ({ lastStatus }) => lastStatus === 503],
  [
    { attempts: ">=2", event: "seen" },
    ({ attempts, event }) => attempts >= 2 && event?.toLowerCase() === "seen",
  ],
  [
    { since: startOfTime + 1800, until: startOfTime + 5400, type: "track" },
    ({ receivedAt, type }) =>
      receivedAt >= startOfTime + 1800 && receivedAt < startOfTime + 5400 && type === "track",
  ],
  [
    { until: startOfTime + 3000, attempts: ">0" },
    ({ receivedAt, attempts }) => receivedAt < startOfTime + 3000 && attempts > 0,
  ],
];

async function listed(store: Store, filter: MessageFilter): Promise<MessageSummary[]> {
  const found: MessageSummary[] = [];
  let before: MessageRowId | null = null;
  do {
    const page: Awaited<ReturnType<Store["messages"]>> = await store.messages(filter, 900, before);
    found.push(...page.items);
    before = page.nextCursor;
  } while (before !== null);
  return found;
}

test("a filter finds what a look at every message finds, whatever is committed, sent, removed or rolled back between two pages", async () => {
  const { store } = openTestStore();
  let drawn = 0;
  const draw = (below: number): number => Math.floor(drawUnit(11, drawn++, 1) * below);
  const oneOf = <T>(values: readonly T[]): T => values[draw(values.length)] as T;
  let last = 0;
  const commit = (count: number): void => {
    const drafts = Array.from({ length: count }, (): MessageDraft => {
      const type = oneOf(["track", "track", "page"] as const);
      return { type, event: oneOf(events), to: oneOf([[1], [1], []]), notTo: oneOf([[3], []]) };
    });
    last += count;
    store.commit([request(drafts, { sourceId: 1 + draw(3), at: startOfTime + last })]);
  };
  const send = (limit: number): void => {
    const claimed = store.claim(1 as DestinationId, startOfTime + last, limit);
    const made = claimed.flatMap(({ id }) =>
      Array.from({ length: 1 + draw(3) }, () => attempt(id, { status: oneOf([200, 404, 503]) })),
    );
    store.record(
      made,
      claimed.map(({ id }) => moveTo(id, oneOf(["delivered", "failed", "expired"] as const))),
    );
  };
  const expectAll = async (): Promise<void> => {
    const all = await listed(store, {});
    for (const [filter, matches] of filters) {
      const expected = all.filter(matches);
      const found = await listed(store, filter);
      expect({ filter, ids: found.map(({ id }) => id) }).toEqual({
        filter,
        ids: expected.map(({ id }) => id),
      });
      const { total } = await store.messages(filter, 1, null);
      expect({ filter, total }).toEqual({ filter, total: expected.length });
    }
  };
  for (let left = 5400; left > 0; left -= 300) commit(300);
  await expectAll();
  send(1200);
  await expectAll();
  commit(300);
  send(400);
  await expectAll();
  expect(() =>
    store.atomically(() => {
      commit(200);
      send(100);
      throw new Error("no");
    }),
  ).toThrow("no");
  last -= 200;
  await expectAll();
  store.markFollowed(last as MessageRowId);
  while (
    store.removeOld({ maxMessages: 2700, maxBytes: null, olderThanWall: null }, 500).removed > 0
  );
  send(10_000);
  await expectAll();
  expect((await listed(store, {})).length).toBeLessThan(4800);
});

test("a walk goes on with the right values after a transaction has failed", async () => {
  const { store } = openTestStore();
  const fill = (event: string, count: number): void =>
    void store.commit([request(Array.from({ length: count }, () => ({ event })))]);
  fill("Other", 2000);
  fill("Bought", 2000);
  for (let n = 0; n < 5; n += 1) fill("Other", 2000);
  const page = store.messages({ event: "bought" }, 3000, null);
  // The first blocks have been asked; what they were asked with is forgotten here.
  expect(() =>
    store.atomically(() => {
      fill("New", 1);
      throw new Error("no");
    }),
  ).toThrow("no");
  await store.messages({ event: "new" }, 10, null);
  expect((await page).items).toHaveLength(2000);
});

test("more different events than have a number are told apart by their rows, a block at a time", async () => {
  const { db, store } = openTestStore();
  // The messages that have deliveries, of the numbers 1 and 2.
  const sent = [4001, 65_999];
  for (let n = 0; n < 66_000; n += 2000)
    store.commit([
      request(
        Array.from({ length: 2000 }, (_, place) => ({
          event: `Event ${n + place}`,
          to: sent.includes(n + place + 1) ? [1] : [],
        })),
      ),
    ]);
  // The newest blocks are read first: the last values of the oldest have no number.
  expect((await store.messages({ event: "nothing" }, 10, null)).items).toEqual([]);
  store.record(
    [1, 2].map((id) => attempt(id as DeliveryId, { webhookId: 9 as WebhookId })),
    [],
  );
  for (const n of [2, 4000, 65_998]) {
    const { items, total } = await store.messages({ event: `event ${n}` }, 10, null);
    expect([items.map(({ event }) => event), total]).toEqual([[`Event ${n}`], 1]);
  }
  const tried = await store.messages(
    { event: ["event 4000", "event 4002"], attempts: "1" },
    10,
    null,
  );
  expect(tried.items.map(({ id }) => Number(id))).toEqual([4001]);
  const counts = await store.messageValues("event");
  expect([counts.get("Event 65998"), counts.get("Event 4000")]).toEqual([1, undefined]);
  const statements = Object.getPrototypeOf(db.prepare("SELECT 1")) as Record<
    "get" | "all",
    () => unknown
  >;
  const asked = [vi.spyOn(statements, "get"), vi.spyOn(statements, "all")];
  onTestFinished(() => void vi.restoreAllMocks());
  await store.messages({ event: "nothing" }, 10, null);
  expect(asked.reduce((sum, { mock }) => sum + mock.calls.length, 0)).toBeLessThan(100);
});
