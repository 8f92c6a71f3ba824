import { describe, expect, onTestFinished, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId, WebhookId } from "../domain/ids.ts";
import type { DuePlace } from "../engine/ports.ts";
import { openDatabase } from "./open.ts";
import { createStore } from "./sqlite-store.ts";
import type { TestStore } from "./store.fixture.ts";
import { attempt, moveTo, openTestStore, request, startOfTime } from "./store.fixture.ts";

const delivery = (id: number): DeliveryId => id as DeliveryId;
const claim = ({ store }: TestStore, destinationId: number): void =>
  void store.claim(destinationId as DestinationId, startOfTime, Number.MAX_SAFE_INTEGER);

test("pages of deliveries are complete and in order for every filter, while others change", () => {
  const one = openTestStore();
  for (let n = 0; n < 30; n += 1) {
    const to = [[1], [2], [1, 2]][n % 3] ?? [];
    one.store.commit([request([{ to }, { to }, { to }])]);
  }
  one.store.claim(1 as DestinationId, startOfTime, 40);
  one.store.recordClaims();
  one.store.record(
    [],
    Array.from({ length: 20 }, (_, n) => moveTo(delivery(n * 2 + 1), "failed")),
  );
  const all = one.db
    .prepare("SELECT id, destination_id AS d, state FROM deliveries ORDER BY id DESC")
    .all() as {
    id: number;
    d: number;
    state: number;
  }[];
  const codes = { sending: 0, queued: 1, failed: 3, delivered: 6 } as const;
  for (const destinationId of [undefined, 1, 2, 3] as (DestinationId | undefined)[]) {
    for (const state of [undefined, "sending", "queued", "failed", "delivered"] as const) {
      const expected = all.filter(
        (row) =>
          (destinationId === undefined || row.d === destinationId) &&
          (state === undefined || row.state === codes[state]),
      );
      const filter = {
        ...(destinationId === undefined ? {} : { destinationId }),
        ...(state === undefined ? {} : { state }),
      };
      const seen: number[] = [];
      for (let before: DeliveryId | null = null; ;) {
        const page = one.store.deliveries(filter, 7, before);
        expect(page).toMatchObject({ total: expected.length, totalCapped: false });
        seen.push(...page.items.map(({ id }) => id));
        before = page.nextCursor;
        if (before === null) break;
      }
      expect(seen).toEqual(expected.map(({ id }) => id));
    }
  }
});

test("a page of deliveries reads few rows more than it has, however many destinations and states there are", () => {
  const opened = openDatabase(":memory:");
  onTestFinished(() => opened.close());
  let read = 0;
  const prepare = opened.db.prepare.bind(opened.db);
  opened.db.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (!sql.startsWith("SELECT * FROM deliveries")) return statement;
    const all = statement.all.bind(statement);
    statement.all = (...values) => {
      const rows = all(...values);
      read += rows.length;
      return rows;
    };
    return statement;
  }) as typeof prepare;
  const store = createStore(opened);
  const to = Array.from({ length: 50 }, (_, n) => n + 1);
  store.commit([request(Array.from({ length: 60 }, () => ({ to })))]);
  // One destination has the newest hundred, and with them most of a page.
  store.commit([request(Array.from({ length: 100 }, () => ({ to: [7] })))]);
  const half = Array.from({ length: 1500 }, (_, n) => delivery(2 * n + 1));
  store.record(
    [],
    half.map((id) => moveTo(id, "waiting", startOfTime + (id % 10))),
  );
  const rowsRead = (list: () => { items: unknown[] }): number => {
    read = 0;
    expect(list().items).toHaveLength(150);
    return read;
  };
  expect(rowsRead(() => store.deliveries({}, 150, null))).toBeLessThan(600);
  expect(rowsRead(() => store.deliveries({ state: "queued" }, 150, delivery(2500)))).toBeLessThan(
    600,
  );
  expect(rowsRead(() => store.deliveriesByDue({}, 150, null))).toBeLessThan(600);
});

test("one delivery is told as its message tells it, and one that is not there as nothing", () => {
  const one = openTestStore();
  one.store.commit([
    request([
      { to: [1, 2], text: '{"n":1}' },
      { to: [1], text: '{"n":2}' },
    ]),
  ]);
  claim(one, 1);
  one.store.record(
    [attempt(delivery(3), { status: 503 })],
    [moveTo(delivery(3), "waiting", startOfTime + 1)],
  );
  const told = [1, 2].flatMap((id) => one.store.message(id as MessageRowId)?.deliveries ?? []);
  expect(told.map(({ id }) => one.store.deliveryDetails(id))).toEqual(told);
  expect(told[2]).toMatchObject({
    payload: Buffer.from('{"n":2}'),
    attempts: [{ deliveryId: 3 }],
    transitions: [{ deliveryId: 3, state: "waiting" }],
  });
  expect(one.store.deliveryDetails(delivery(4))).toBe(null);
});

describe("waiting deliveries by due time", () => {
  /**
   * Sixty of two destinations, due in an order that is not that of their ids, many at the same
   * second.
   */
  function waiting(): TestStore {
    const one = openTestStore();
    one.store.commit([request(Array.from({ length: 60 }, (_, n) => ({ to: [1 + (n % 2)] })))]);
    for (const destination of [1, 2]) claim(one, destination);
    const due = (id: number): number => startOfTime + ((id * 7) % 5) * 1000;
    one.store.record(
      [],
      Array.from({ length: 60 }, (_, n) =>
        moveTo(delivery(n + 1), n === 30 ? "failed" : "waiting", n === 30 ? null : due(n + 1)),
      ),
    );
    return one;
  }

  test.each([[undefined], [1], [2], [3]])(
    "come in pages, each once, those due at the same time by their id (destination %s)",
    (id) => {
      const one = waiting();
      const filter = id === undefined ? {} : { destinationId: id as DestinationId };
      const expected = one.db
        .prepare(
          "SELECT id FROM deliveries WHERE state = 2 AND coalesce(?, destination_id) = destination_id ORDER BY next_attempt_at, id",
        )
        .pluck()
        .all(id ?? null);
      const seen: number[] = [];
      for (let after: DuePlace | null = null; ;) {
        const page = one.store.deliveriesByDue(filter, 7, after);
        expect(page).toMatchObject({ total: expected.length, totalCapped: false });
        seen.push(...page.items.map((item) => item.id));
        after = page.nextCursor;
        if (after === null) break;
      }
      expect(seen).toEqual(expected);
      if (filter.destinationId === undefined) return;
      const due = one.store.deliveriesByDue(filter, 5, null).items;
      const times = due.map(({ nextAttemptAt }) => nextAttemptAt);
      expect(one.store.dueTimes(filter.destinationId, 5)).toEqual(times);
    },
  );

  test("go on after a place whose delivery has moved meanwhile", () => {
    const one = waiting();
    const { items, nextCursor } = one.store.deliveriesByDue({}, 10, null);
    const rest = one.store.deliveriesByDue({}, 100, nextCursor).items;
    for (const { id } of items) one.store.record([], [moveTo(id, "cancelled")]);
    expect(one.store.deliveriesByDue({}, 100, nextCursor).items).toEqual(rest);
  });
});

test("a listed delivery says what it delivers and shows a mark for each round: the success, else the longest", () => {
  const one = openTestStore();
  one.store.commit([
    request([
      { userId: "ada", event: "Bought", to: [1] },
      { type: null, anonymousId: "a1", to: [1] },
    ]),
  ]);
  claim(one, 1);
  const made = (round: number, webhook: number, more: Parameters<typeof attempt>[1]) =>
    attempt(delivery(1), {
      round,
      webhookId: webhook as WebhookId,
      startedAt: startOfTime + round * 1000 + webhook,
      ...more,
    });
  one.store.record(
    [
      made(1, 1, { status: 503, durationMs: 3 }),
      made(1, 2, { outcome: "timeout", durationMs: 5000, response: null }),
      made(2, 1, { status: 503, durationMs: 900 }),
      made(2, 2, { status: 200, durationMs: 2 }),
    ],
    [],
  );
  const [second, first] = one.store
    .deliveries({}, 10, null)
    .items.map((each) => one.store.listed(each));
  expect(first).toMatchObject({
    ...one.store.delivery(delivery(1)),
    type: "track",
    event: "Bought",
    userId: "ada",
    anonymousId: null,
    marks: [
      { round: 1, startedAt: startOfTime + 1001, outcome: "timeout" },
      { round: 2, startedAt: startOfTime + 2001, outcome: "success" },
    ],
  });
  expect(second).toMatchObject({
    type: null,
    event: null,
    userId: null,
    anonymousId: "a1",
    marks: [],
  });
});

test("a listed delivery whose message is gone is shown without it", () => {
  const one = openTestStore();
  one.store.commit([request([{ userId: "ada", event: "Bought", to: [1] }])]);
  one.db.exec("DELETE FROM messages");
  const [item] = one.store.deliveries({}, 1, null).items;
  expect(item && one.store.listed(item)).toMatchObject({
    id: 1,
    type: null,
    event: null,
    userId: null,
    anonymousId: null,
    marks: [],
  });
});

test("of attempts that failed a mark shows the longest, and the first of those as long", () => {
  const one = openTestStore();
  one.store.commit([request([{ to: [1] }])]);
  claim(one, 1);
  const made = (round: number, more: Parameters<typeof attempt>[1]) =>
    attempt(delivery(1), { round, status: 503, ...more });
  one.store.record(
    [
      made(2, { durationMs: 5, startedAt: startOfTime + 8 }),
      made(1, { durationMs: 5, startedAt: startOfTime + 7, outcome: "timeout", response: null }),
      made(1, { durationMs: 5, startedAt: startOfTime + 9 }),
      made(3, { durationMs: 1, status: 200, startedAt: startOfTime + 1 }),
      made(3, { durationMs: 90, status: 200, startedAt: startOfTime + 2, simulated: true }),
    ],
    [],
  );
  const [item] = one.store.deliveries({}, 1, null).items;
  expect(item && one.store.listed(item).marks).toEqual([
    { round: 1, startedAt: startOfTime + 7, outcome: "timeout" },
    { round: 2, startedAt: startOfTime + 8, outcome: "http_error" },
    { round: 3, startedAt: startOfTime + 1, outcome: "success" },
  ]);
});

test("statistics count messages by state and type, those without a known type too, and deliveries by state", () => {
  const one = openTestStore();
  const rejection = { reason: "missing_event", detail: "No." };
  one.store.commit([
    request([
      { to: [1, 2] },
      { to: [1] },
      { type: null, rejection },
      { type: null, rejection },
      { type: "page" },
    ]),
  ]);
  claim(one, 2);
  const stats = one.store.stats();
  expect(stats.dataBytes).toBe(one.db.serialize().length);
  expect(stats.messages.total).toBe(5);
  expect(stats.messages.byType).toEqual({ track: 2, page: 1, unknown: 2 });
  expect(Object.entries(stats.messages.byState).filter(([, n]) => n > 0)).toEqual([
    ["sending", 1],
    ["queued", 1],
    ["filtered", 1],
    ["rejected", 2],
  ]);
  expect(stats.deliveries.total).toBe(3);
  expect(Object.entries(stats.deliveries.byState).filter(([, n]) => n > 0)).toEqual([
    ["sending", 1],
    ["queued", 2],
  ]);
  expect(Object.values(one.store.countByState()).reduce((sum, n) => sum + n)).toBe(3);
});

test("a page of deliveries has as many as it may, and a cursor only where there are more", () => {
  const one = openTestStore();
  one.store.commit([request(Array.from({ length: 4 }, () => ({ to: [1] })))]);
  const ids = (limit: number) => {
    const { items, nextCursor } = one.store.deliveries({}, limit, null);
    return [items.map(({ id }) => Number(id)), nextCursor];
  };
  expect([ids(3), ids(4), ids(5)]).toEqual([
    [[4, 3, 2], 2],
    [[4, 3, 2, 1], null],
    [[4, 3, 2, 1], null],
  ]);
  claim(one, 1);
  one.store.record(
    [],
    [1, 2, 3, 4].map((id) => moveTo(delivery(id), "waiting", startOfTime + (id % 2))),
  );
  const due = (limit: number, after: DuePlace | null) => {
    const { items, nextCursor } = one.store.deliveriesByDue({}, limit, after);
    return [items.map(({ id }) => Number(id)), nextCursor];
  };
  expect([due(1, null), due(3, null), due(4, null)]).toEqual([
    [[2], { at: startOfTime, id: 2 }],
    [[2, 4, 1], { at: startOfTime + 1, id: 1 }],
    [[2, 4, 1, 3], null],
  ]);
  expect(due(2, { at: startOfTime, id: delivery(2) })).toEqual([
    [4, 1],
    { at: startOfTime + 1, id: 1 },
  ]);
});

test("a page ends with the batch that brings its messages to 8,000", () => {
  const one = openTestStore();
  const mappedTo = [{ to: 1, key: "k", size: 4000 }];
  for (let batch = 0; batch < 3; batch += 1)
    one.store.commit([request(Array.from({ length: 4000 }, () => ({ mappedTo })))]);
  const { items, nextCursor } = one.store.deliveries({}, 100, null);
  expect([items.map(({ messages }) => messages?.length), nextCursor]).toEqual([[4000, 4000], 2]);
  const rest = one.store.deliveries({}, 100, nextCursor);
  expect([rest.items.map(({ id }) => Number(id)), rest.nextCursor]).toEqual([[1], null]);
  const due = one.store.deliveriesByDue({}, 100, null);
  const others = one.store.deliveriesByDue({}, 100, due.nextCursor);
  expect([due.items.length, others.items.length, others.nextCursor]).toEqual([2, 1, null]);
});
