import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId } from "../domain/ids.ts";
import type { DeliveryState } from "../domain/states.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  passOver,
  request,
  startOfTime,
  type TestStore,
} from "./store.fixture.ts";

const first = 1 as DestinationId;
const sending = 0;
const queued = 1;
const deletedUser = { userId: "ada", known: true, detail: "", sourceIds: [], messageIds: [] };

function queue({ store }: TestStore, count: number): void {
  store.commit([request(Array.from({ length: count }, () => ({ to: [1] })))]);
}

function claim({ store }: TestStore, limit = 100): number[] {
  return store.claim(first, startOfTime, limit).map(({ id }) => id);
}

/** What the rows say, without anybody who asks the store. */
function rows({ db }: TestStore): [state: number, rounds: number][] {
  return db.prepare("SELECT state, rounds FROM deliveries ORDER BY id").raw().all() as [
    number,
    number,
  ][];
}

test("a claim is not written, and everything that is read says that the delivery is being sent", async () => {
  const readers: Record<string, (one: TestStore) => unknown> = {
    delivery: ({ store }) => store.delivery(1 as DeliveryId)?.state,
    message: ({ store }) => store.message(1 as MessageRowId)?.deliveries[0]?.state,
    counts: ({ store }) => store.countByState().sending === 1 && "sending",
    stats: ({ store }) => store.stats().deliveries.byState.sending === 1 && "sending",
    deliveries: ({ store }) => store.deliveries({ state: "sending" }, 9, null).items[0]?.state,
    list: async ({ store }) =>
      (await store.messages({ state: "sending" }, 9, null)).items[0]?.state,
    unsettled: ({ store }) => store.unsettledOf(1 as MessageRowId)[0]?.state,
    deletion: ({ store }) => {
      const deletion = store.insertDeletion({ suppress: false, requestedAt: 1, userIds: ["ada"] });
      store.putDeleted(deletion, 0, { ...deletedUser, messageIds: [1 as MessageRowId] });
      return store.stateOfMessages(deletion);
    },
  };
  for (const [name, read] of Object.entries(readers)) {
    const one = openTestStore();
    queue(one, 1);
    expect(claim(one)).toEqual([1]);
    expect(rows(one)).toEqual([[queued, 0]]);
    expect([name, await read(one)]).toEqual([name, "sending"]);
    expect(rows(one)).toEqual([[sending, 1]]);
    expectConsistent(one.db);
  }
});

test("what runs with each commit, each recording and each look of upkeep leaves claims unwritten", () => {
  const one = openTestStore();
  const { store } = one;
  queue(one, 2);
  passOver(one);
  claim(one, 1);
  const deletion = store.insertDeletion({ suppress: false, requestedAt: 1, userIds: ["ada"] });
  store.commit([request([{ rejection: { reason: "no", detail: "No." } }, {}])]);
  expect(store.removeRejected(0, 9)).toBe(1);
  expect(store.removeOld({ maxMessages: 0, olderThanWall: null }, 9).removed).toBe(0);
  store.record([], [moveTo(2 as DeliveryId, "cancelled")]);
  store.rejectedBytes();
  store.giveBack(9);
  store.prepareLookups();
  store.newestRows();
  store.nextDueAt([first]);
  store.countRunnable(first, startOfTime, 9);
  store.destinationsWithWork();
  store.usersToDelete(deletion, 9);
  store.putDeleted(deletion, 0, deletedUser);
  store.suppress("ada", 1, deletion);
  expect(rows(one)).toEqual([
    [queued, 0],
    [5, 0],
  ]);
});

test("retention and cancelling leave a delivery alone whose claim is not written", () => {
  const one = openTestStore();
  queue(one, 3);
  claim(one, 1);
  expect(one.store.removeOld({ maxMessages: 0, olderThanWall: startOfTime + 1 }, 9).removed).toBe(
    0,
  );
  expect(one.store.countByState()).toMatchObject({ sending: 1, queued: 2 });
});

describe("what becomes of a claim that was not written is recorded with it", () => {
  test.each<[DeliveryState, number, number]>([
    ["delivered", 6, 1],
    ["failed", 3, 1],
    ["waiting", 2, 1],
  ])("%s", (state, code, rounds) => {
    const one = openTestStore();
    queue(one, 1);
    claim(one);
    one.store.record([attempt(1 as DeliveryId)], [moveTo(1 as DeliveryId, state, startOfTime + 1)]);
    expect(rows(one)).toEqual([[code, rounds]]);
    expectConsistent(one.db);
  });

  test("an attempt whose round goes on", () => {
    const one = openTestStore();
    queue(one, 1);
    claim(one);
    one.store.record([attempt(1 as DeliveryId, { status: 503 })], []);
    expect(rows(one)).toEqual([[sending, 1]]);
    expectConsistent(one.db);
  });

  test("an interruption, after which it is claimed before newer ones", () => {
    const one = openTestStore();
    queue(one, 3);
    expect(claim(one, 2)).toEqual([1, 2]);
    one.store.record([], [moveTo(1 as DeliveryId, "queued")]);
    expect(rows(one)).toEqual([
      [queued, 0],
      [queued, 0],
      [queued, 0],
    ]);
    expect(one.store.countRunnable(first, startOfTime, 9)).toBe(2);
    expect(claim(one)).toEqual([1, 3]);
    expect(claim(one)).toEqual([]);
    expect(one.store.countByState()).toMatchObject({ sending: 3, queued: 0 });
    expectConsistent(one.db);
  });
});

test("a record that fails leaves the claims in memory", () => {
  const one = openTestStore();
  queue(one, 2);
  claim(one);
  const move = moveTo(1 as DeliveryId, "delivered");
  const unwritable = attempt(1 as DeliveryId, { startedAt: Number.NaN });
  expect(() => one.store.record([attempt(2 as DeliveryId), unwritable], [move])).toThrow(
    "NOT NULL",
  );
  expect(claim(one)).toEqual([]);
  expect(one.store.countRunnable(first, startOfTime, 9)).toBe(0);
  one.store.record([attempt(1 as DeliveryId)], [move]);
  expect(one.store.countByState()).toMatchObject({ delivered: 1, sending: 1, queued: 0 });
  expectConsistent(one.db);
});

test.each([
  "SELECT 1",
  "CREATE TRIGGER full BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'full'); END",
])(
  "after a reset the ids of claims before it are claimed again, also where those were not written: %#",
  (before) => {
    const one = openTestStore();
    queue(one, 3);
    expect(claim(one)).toEqual([1, 2, 3]);
    one.db.exec(before);
    one.store.clearMessages();
    one.db.exec("DROP TRIGGER IF EXISTS full");
    expect([one.store.countByState().sending, one.store.destinationsWithWork()]).toEqual([
      0,
      new Set(),
    ]);
    queue(one, 2);
    expect(one.store.countRunnable(first, startOfTime, 9)).toBe(2);
    expect(claim(one, 1)).toEqual([1]);
    expect(one.store.countRunnable(first, startOfTime, 9)).toBe(1);
    expect(claim(one)).toEqual([2]);
    expect(one.store.countByState()).toMatchObject({ queued: 0, sending: 2 });
    expectConsistent(one.db);
  },
);

test("a reset that the disk refuses at its end leaves the claims in memory", () => {
  const one = openTestStore();
  queue(one, 3);
  expect(claim(one, 2)).toEqual([1, 2]);
  // Only the commit fails: the transaction has done everything before.
  one.db.exec(`CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE children (parent REFERENCES parents(id) DEFERRABLE INITIALLY DEFERRED);
    CREATE TRIGGER refused AFTER DELETE ON messages BEGIN INSERT INTO children VALUES (1); END`);
  one.db.pragma("foreign_keys = ON");
  expect(() => one.store.clearMessages()).toThrow("FOREIGN KEY");
  expect(one.store.countRunnable(first, startOfTime, 9)).toBe(1);
  expect(claim(one)).toEqual([3]);
  one.store.record([attempt(1 as DeliveryId)], [moveTo(1 as DeliveryId, "delivered")]);
  expect(one.store.countByState()).toMatchObject({ delivered: 1, sending: 2, queued: 0 });
  expectConsistent(one.db);
});

test("of the claims whose attempts have not ended, those are written that were there at the last look", () => {
  const one = openTestStore();
  queue(one, 4);
  claim(one, 2);
  expect(one.store.recordOlderClaims()).toBe(true);
  expect(rows(one).map(([state]) => state)).toEqual([queued, queued, queued, queued]);
  claim(one, 1);
  one.store.record([], [moveTo(1 as DeliveryId, "delivered")]);
  expect(one.store.recordOlderClaims()).toBe(true);
  expect(rows(one)).toEqual([
    [6, 1],
    [sending, 1],
    [queued, 0],
    [queued, 0],
  ]);
  expect(one.store.recordOlderClaims()).toBe(false);
  expect(rows(one).map(([state]) => state)).toEqual([6, sending, sending, queued]);
  expectConsistent(one.db);
});

test("while claims cannot be written, reading works, and nothing is claimed twice", () => {
  const one = openTestStore();
  queue(one, 2);
  claim(one, 1);
  one.db.exec(
    "CREATE TRIGGER full BEFORE UPDATE ON deliveries BEGIN SELECT RAISE(ABORT, 'f'); END",
  );
  expect(() => one.store.recordClaims()).toThrow("f");
  expect(one.store.message(1 as MessageRowId)?.deliveries).toHaveLength(1);
  expect(claim(one)).toEqual([2]);
  one.db.exec("DROP TRIGGER full");
  expect(one.store.countByState()).toMatchObject({ sending: 2, queued: 0 });
});

const step = fc.oneof(
  fc.record({ do: fc.constant("queue" as const), n: fc.integer({ min: 1, max: 6 }) }),
  fc.record({ do: fc.constant("claim" as const), n: fc.integer({ min: 1, max: 4 }) }),
  fc.record({
    do: fc.constant("record" as const),
    n: fc.nat(20),
    to: fc.constantFrom("delivered" as const, "failed" as const, "queued" as const),
  }),
  fc.record({
    do: fc.constantFrom("retry" as const, "read" as const, "write" as const),
    n: fc.nat(20),
  }),
);

test("claims take the oldest that are queued, each once, whatever is written in between", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const one = openTestStore();
      const states: DeliveryState[] = [];
      const idsIn = (state: DeliveryState): number[] =>
        states.flatMap((each, place) => (each === state ? [place + 1] : []));
      const move = (id: number | undefined, to: DeliveryState): void => {
        if (id === undefined) return;
        one.store.record([], [moveTo(id as DeliveryId, to)]);
        states[id - 1] = to;
      };
      for (const { do: what, ...each } of steps) {
        if (what === "queue") {
          queue(one, each.n);
          states.push(...Array.from({ length: each.n }, () => "queued" as const));
        }
        if (what === "claim") {
          const expected = idsIn("queued").slice(0, each.n);
          expect(one.store.countRunnable(first, startOfTime, each.n)).toBe(expected.length);
          expect(claim(one, each.n)).toEqual(expected);
          for (const id of expected) states[id - 1] = "sending";
        }
        if (what === "record" && "to" in each) move(idsIn("sending")[each.n], each.to);
        if (what === "retry") move(idsIn("failed")[each.n], "queued");
        if (what === "write") one.store.recordClaims();
        if (what === "read")
          expect(one.store.countByState()).toMatchObject({
            queued: idsIn("queued").length,
            sending: idsIn("sending").length,
            delivered: idsIn("delivered").length,
            failed: idsIn("failed").length,
          });
      }
      one.store.recordClaims();
      expectConsistent(one.db);
    }),
    { numRuns: 100 },
  );
});
