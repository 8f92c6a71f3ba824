import { describe, expect, test } from "vitest";
import type { DeliveryId, DestinationId } from "../domain/ids.ts";
import type { Store } from "../engine/store-ports.ts";
import { blockSize } from "./posting-segments.ts";
import { createStore } from "./sqlite-store.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  request,
  startOfTime,
  tables,
  type TestStore,
} from "./store.fixture.ts";
import { Transactions, type Cache, type Db } from "./transactions.ts";

const failure = new Error("This statement fails.");

/** The same database, whose statement of a given number fails, counted from `failAt`. */
function failing(db: Db): { db: Db; failAt(number: number | null): void } {
  let left: number | null = null;
  const count = (): void => {
    if (left === null) return;
    left -= 1;
    if (left === 0) throw failure;
  };
  const counted = (
    target: object,
    names: readonly string[],
    wrap: (value: object) => unknown,
  ): object =>
    new Proxy(target, {
      get(_, name) {
        const member = Reflect.get(target, name, target) as unknown;
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          if (names.includes(String(name))) count();
          const result = member.apply(target, args) as unknown;
          return typeof result === "object" && result !== null ? wrap(result) : result;
        };
      },
    });
  const isStatement = (value: object): boolean => value.constructor.name === "LateStatement";
  const statement = (value: object): unknown =>
    isStatement(value) ? counted(value, ["run", "get", "all", "iterate"], statement) : value;
  return { db: counted(db, ["exec"], statement) as Db, failAt: (number) => void (left = number) };
}

const filters = [
  {},
  { userId: "ada" },
  { event: "Lost" },
  { states: ["queued"] },
  { states: ["rejected"] },
  { types: ["track"] },
] as const;

/** What readers find: mostly through the kinds and the postings. */
async function found(store: Store): Promise<unknown> {
  const lists = await Promise.all(
    filters.map((filter) => store.messages(filter as Parameters<Store["messages"]>[0], 100, null)),
  );
  return {
    lists: lists.map(({ items, total }) => ({ ids: items.map(({ id }) => id), total })),
    stats: store.stats(),
    rejectedBytes: store.rejectedBytes(),
  };
}

/** What writers find: ids, originals of duplicates, quotas, the place of retention. */
function written(store: Store): unknown {
  const drafts = ["before", "lost-1", "lost-2", "also"].map((messageId) => ({
    messageId,
    userId: "ada",
    event: "Lost",
    to: [1],
  }));
  return {
    committed: store.commit([request(drafts)]),
    claimed: store
      .claim(1 as DestinationId, startOfTime, 100)
      .map(({ id, messageRow }) => [id, messageRow]),
    rejectedBytes: store.rejectedBytes(),
    removed: store.removeOld({ maxMessages: 2, olderThanWall: null }, 10).removed,
  };
}

function inVain(store: Store, write: (store: Store) => unknown): unknown {
  let result: unknown;
  const undo = new Error("rolled back");
  expect(() =>
    store.atomically(() => {
      result = write(store);
      throw undo;
    }),
  ).toThrow(undo);
  return result;
}

const rejection = { reason: "missing_user", detail: "It has no user." } as never;

/** With messages of each kind, the last of them just before the end of a block. */
function filled(): { one: TestStore; store: Store; failAt(number: number | null): void } {
  const one = openTestStore();
  one.store.markFollowed((blockSize - 8) as never);
  const { db, failAt } = failing(one.db);
  const store = createStore({ db, health: one.health, close: () => {} });
  store.commit([
    request([
      { messageId: "before", userId: "ada", event: "Lost", to: [1, 2] },
      { messageId: "settled", userId: "ada", to: [1] },
      { messageId: "plain", event: "Lost", notTo: [1] },
      { messageId: "wrong", rejection },
      { messageId: "before", userId: "ada" },
    ]),
  ]);
  store.markFollowed(store.followed().newest);
  store.claim(2 as DestinationId, startOfTime, 1);
  store.recordClaims();
  store.record([attempt(3 as DeliveryId)], [moveTo(3 as DeliveryId, "delivered")]);
  return { one, store, failAt };
}

const lost = (): Parameters<Store["commit"]>[0] => [
  request([
    { messageId: "lost-1", userId: "ada", event: "Lost", to: [1, 2] },
    { messageId: "lost-2", rejection },
    { messageId: "before", userId: "ada" },
  ]),
  request([{ messageId: "also", userId: "ada", event: "Lost", notTo: [2] }]),
];

const writes: Record<string, (store: Store) => unknown> = {
  "a commit": (store) => store.commit(lost()),
  "a claim": (store) => {
    store.claim(1 as DestinationId, startOfTime, 10);
    store.recordClaims();
  },
  "a record of attempts": (store) =>
    store.record(
      [attempt(2 as DeliveryId, { status: 503 })],
      [moveTo(2 as DeliveryId, "waiting", startOfTime + 1)],
    ),
  "requeueing at the start": (store) => store.requeueInterrupted(startOfTime),
  retention: (store) => store.removeOld({ maxMessages: 0, olderThanWall: startOfTime + 1 }, 2),
  "retention of what was rejected": (store) => store.removeRejected(0, 10),
  "names that are seen": (store) =>
    store.noteSeen({
      traits: new Map([["plan", 1]]),
      events: new Map([["Lost", { times: 1, properties: new Map([["sku", 1]]) }]]),
    }),
  clearing: (store) => store.clearMessages(),
  "several in one": (store) =>
    store.atomically(() => {
      store.commit(lost());
      store.claim(1 as DestinationId, startOfTime, 10);
      store.recordClaims();
      store.atomically(() =>
        store.commit([request([{ messageId: "inner", userId: "ada", to: [1] }])]),
      );
      store.removeRejected(0, 10);
    }),
};

describe("the store's memory is that of a store that has just been opened", () => {
  test.each(Object.keys(writes))(
    "after %s that failed in any of its places, and when it succeeds",
    async (name) => {
      let statements = 0;
      // The parts of several fail at each of theirs by themselves.
      const step = name === "several in one" ? 3 : 1;
      for (let fails = true; fails; statements += step) {
        const { one, store, failAt } = filled();
        const before = tables(one);
        // The caches are in use when it begins.
        await found(store);
        failAt(statements + 1);
        try {
          writes[name]?.(store);
          fails = false;
        } catch (error) {
          expect(error).toBe(failure);
        }
        failAt(null);
        if (fails) expect(tables(one)).toEqual(before);
        const opened = createStore({ db: one.db, health: one.health, close: () => {} });
        expect({ statements, ...((await found(store)) as object) }).toEqual({
          statements,
          ...((await found(opened)) as object),
        });
        if (fails) {
          const expected = inVain(opened, written);
          expect({ statements, written: inVain(store, written) }).toEqual({
            statements,
            written: expected,
          });
          expect({ statements, written: written(store) }).toEqual({
            statements,
            written: expected,
          });
        }
        expectConsistent(one.db);
      }
      expect(statements).toBeGreaterThan(2);
    },
  );

  test("after a part of a transaction failed, with what the rest of it wrote", async () => {
    const { one, store, failAt } = filled();
    store.atomically(() => {
      store.commit([request([{ messageId: "lost-1", userId: "ada", to: [1] }])]);
      failAt(5);
      expect(() => store.commit(lost())).toThrow(failure);
      failAt(null);
      store.commit([request([{ messageId: "lost-2", event: "Lost", to: [2] }])]);
    });
    const opened = createStore({ db: one.db, health: one.health, close: () => {} });
    expect(await found(store)).toEqual(await found(opened));
    const expected = inVain(opened, written);
    expect(written(store)).toEqual(expected);
    expectConsistent(one.db);
  });
});

describe("a transaction", () => {
  function withCaches() {
    const transactions = new Transactions(openTestStore().db);
    const calls: string[] = [];
    const cache = (name: string): Cache => ({
      flush: () => void calls.push(`${name} flushed`),
      rollback: () => void calls.push(`${name} back`),
    });
    return { transactions, calls, a: cache("a"), b: cache("b") };
  }

  test("flushes what changed before it ends, and what its outer one has put off before it begins", () => {
    const { transactions, calls, a, b } = withCaches();
    transactions.run(() => {
      transactions.changes(a);
      transactions.run(() => transactions.changes(b));
      calls.push("outer");
    });
    expect(calls).toEqual(["a flushed", "b flushed", "outer", "a flushed", "b flushed"]);
  });

  test("rolls back what changed in it, the last change first, and nothing else", () => {
    const { transactions, calls, a, b } = withCaches();
    const fail = (): never => {
      throw failure;
    };
    transactions.run(() => transactions.changes(a));
    calls.length = 0;
    expect(() => transactions.run(fail)).toThrow(failure);
    expect(calls).toEqual([]);
    const outer = (): void => {
      transactions.changes(a);
      transactions.run(() => transactions.changes(b));
      calls.length = 0;
      fail();
    };
    expect(() => transactions.run(outer)).toThrow(failure);
    expect(calls).toEqual(["b back", "a back"]);
  });

  test("is needed for a change", () => {
    const { transactions, a } = withCaches();
    expect(() => transactions.changes(a)).toThrow("in a transaction only");
  });
});
