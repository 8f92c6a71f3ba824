import { describe, expect, test } from "vitest";
import type { DeliveryId, DestinationId } from "../domain/ids.ts";
import type { MessageDraft, TestStore } from "./store.fixture.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  request,
  startOfTime,
  tables,
} from "./store.fixture.ts";

const failure = new Error("in the middle");

function commit({ store }: TestStore, ...drafts: MessageDraft[]) {
  return store.commit([request(drafts)]).flat();
}

/** Long enough to fill a block of postings and to make the table of recent ids grow. */
const many = (prefix: string): MessageDraft[] =>
  Array.from({ length: 5000 }, (_, n) => ({
    messageId: `${prefix}-${n}`,
    userId: "ada",
    event: "Lost",
    to: [1, 2],
  }));

/** Ids, duplicates, users and totals are those of a store in which it had not been tried. */
async function expectNothingHappened(one: TestStore): Promise<void> {
  expect(commit(one, { messageId: "lost-0", userId: "ada", to: [1] })).toMatchObject([
    { id: 2, duplicateOf: null },
  ]);
  expect(commit(one, { messageId: "lost-1" })).toMatchObject([{ id: 3, duplicateOf: null }]);
  expect(commit(one, { messageId: "before" })).toMatchObject([{ duplicateOf: 1 }]);
  expect(
    one.store
      .claim(1 as DestinationId, startOfTime, 10)
      .map(({ id, messageRow }) => [id, messageRow]),
  ).toEqual([
    [1, 1],
    [2, 2],
  ]);
  expect((await one.store.messages({ userId: "ada" }, 10, null)).items.map(({ id }) => id)).toEqual(
    [2, 1],
  );
  expect((await one.store.messages({ event: "Lost" }, 10, null)).total).toBe(0);
  expectConsistent(one.db);
}

function openWithOne(): TestStore {
  const one = openTestStore();
  commit(one, { messageId: "before", userId: "ada", to: [1] });
  return one;
}

test("what is written atomically is one commit, and its answer comes through", () => {
  const one = openWithOne();
  const answer = one.store.atomically(() => {
    const [first] = commit(one, { messageId: "a", to: [1] });
    one.store.record([attempt(1 as DeliveryId)], [moveTo(1 as DeliveryId, "delivered")]);
    const [second] = commit(one, { messageId: "a" });
    expect(one.db.inTransaction).toBe(true);
    return [first?.id, second?.duplicateOf];
  });
  expect(answer).toEqual([2, 2]);
  expect(one.db.inTransaction).toBe(false);
  expect(one.store.stats().messages.byState).toMatchObject({
    delivered: 1,
    queued: 1,
    duplicate: 1,
  });
  expectConsistent(one.db);
});

describe("nothing of it is left, in the file and in memory", () => {
  test("when it fails in the middle, after commits that went well", async () => {
    const one = openWithOne();
    const before = tables(one);
    expect(() =>
      one.store.atomically(() => {
        commit(one, ...many("lost"));
        one.store.record([attempt(1 as DeliveryId)], [moveTo(1 as DeliveryId, "delivered")]);
        commit(one, ...many("also"));
        throw failure;
      }),
    ).toThrow(failure);
    expect(tables(one)).toEqual(before);
    await expectNothingHappened(one);
  });

  test("when a commit in it fails", async () => {
    const one = openWithOne();
    const before = tables(one);
    expect(() =>
      one.store.atomically(() => {
        commit(one, ...many("lost"));
        commit(one, { messageId: "more" }, { failure });
      }),
    ).toThrow(failure);
    expect(tables(one)).toEqual(before);
    await expectNothingHappened(one);
  });

  test("when the file refuses it at the very end", async () => {
    const one = openWithOne();
    const before = tables(one);
    expect(() =>
      one.store.atomically(() => {
        commit(one, ...many("lost"));
        // Looked at when the transaction is committed, and not before.
        one.db.pragma("defer_foreign_keys = ON");
        one.db.prepare("INSERT INTO webhooks VALUES (1, 99, 0, 'http://127.0.0.1', '{}')").run();
      }),
    ).toThrow(expect.objectContaining({ code: "SQLITE_CONSTRAINT_FOREIGNKEY" }));
    expect(one.db.inTransaction).toBe(false);
    expect(tables(one)).toEqual(before);
    await expectNothingHappened(one);
  });

  test("when the disk is full, and it works again with room", async () => {
    const one = openWithOne();
    const before = tables(one);
    const pages = one.db.pragma("page_count", { simple: true }) as number;
    one.db.pragma(`max_page_count = ${pages + 20}`);
    const fill = (): void =>
      one.store.atomically(() => [1, 2, 3].forEach(() => commit(one, ...many("lost"))));
    expect(fill).toThrow(expect.objectContaining({ code: "SQLITE_FULL" }));
    expect(one.db.inTransaction).toBe(false);
    expect(tables(one)).toEqual(before);
    one.db.pragma("max_page_count = 1000000");
    await expectNothingHappened(one);
    fill();
    expectConsistent(one.db);
  });

  test("when one within another fails and the outer one goes on: the outer one's is kept", async () => {
    const one = openWithOne();
    one.store.atomically(() => {
      expect(commit(one, { messageId: "lost-0", userId: "ada", to: [1] })).toMatchObject([
        { id: 2 },
      ]);
      expect(() =>
        one.store.atomically(() => {
          commit(one, ...many("gone"));
          throw failure;
        }),
      ).toThrow(failure);
      expect(commit(one, { messageId: "gone-0" })).toMatchObject([{ id: 3, duplicateOf: null }]);
    });
    expect(commit(one, { messageId: "gone-0" })).toMatchObject([{ id: 4, duplicateOf: 3 }]);
    expect(
      (await one.store.messages({ userId: "ada" }, 10, null)).items.map(({ id }) => id),
    ).toEqual([2, 1]);
    expectConsistent(one.db);
  });

  test("when the outer one fails after one within it went well", async () => {
    const one = openWithOne();
    const before = tables(one);
    expect(() =>
      one.store.atomically(() => {
        one.store.atomically(() => commit(one, ...many("lost")));
        throw failure;
      }),
    ).toThrow(failure);
    expect(tables(one)).toEqual(before);
    await expectNothingHappened(one);
  });
});
