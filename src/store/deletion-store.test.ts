import { describe, expect, test } from "vitest";
import type { DeletionId, DeliveryId, MessageRowId, SourceId } from "../domain/ids.ts";
import type { DeletedUser } from "../engine/profile-ports.ts";
import { moveTo, openTestStore, passOver, request, startOfTime } from "./store.fixture.ts";
import type { TestStore } from "./store.fixture.ts";

const deleted = (userId: string, messages: number[] = []): DeletedUser => ({
  userId,
  known: messages.length > 0,
  detail: "Done.",
  sourceIds: messages.length > 0 ? [1 as SourceId] : [],
  messageIds: messages as MessageRowId[],
});

function ask({ store }: TestStore, userIds: string[], suppress = true): DeletionId {
  return store.insertDeletion({ suppress, requestedAt: startOfTime, userIds });
}

describe("a deletion request", () => {
  test("knows which of its users are still to be deleted, also after a restart", () => {
    const one = openTestStore();
    const id = ask(one, ["ada", "bob", "eve"]);
    one.store.putDeleted(id, 1, deleted("bob"));
    const { store } = one.restarted();
    expect(store.unfinishedDeletions()).toEqual([id]);
    expect(store.usersToDelete(id, 1)).toEqual([{ place: 0, userId: "ada" }]);
    expect(store.usersToDelete(id, 9).map(({ userId }) => userId)).toEqual(["ada", "eve"]);
    store.putDeleted(id, 0, deleted("ada"));
    store.putDeleted(id, 2, deleted("eve"));
    expect(store.unfinishedDeletions()).toEqual([]);
    const { userId: _, ...outcome } = deleted("bob");
    expect(store.deletion(id)).toEqual({
      id,
      suppress: true,
      send: true,
      requestedAt: startOfTime,
      users: ["ada", "bob", "eve"].map((userId) => ({ userId, deleted: outcome })),
    });
  });

  test("is listed newest first, in pages, until it is forgotten", () => {
    const { store, ...one } = openTestStore();
    const ids = [1, 2, 3].map((n) => ask({ store, ...one }, [`u-${n}`], false));
    const first = store.deletions(2, null);
    expect(first).toMatchObject({
      items: [{ id: ids[2], suppress: false }, { id: ids[1] }],
      nextCursor: ids[1],
      total: 3,
      totalCapped: false,
    });
    expect(store.deletions(2, first.nextCursor)).toMatchObject({
      items: [{ id: ids[0] }],
      nextCursor: null,
    });
    expect(store.deletions(3, null)).toMatchObject({ items: [{}, {}, {}], nextCursor: null });
    expect(store.deleteDeletion(ids[1] as DeletionId)).toBe(true);
    expect(store.deleteDeletion(ids[1] as DeletionId)).toBe(false);
    expect(store.deletion(ids[1] as DeletionId)).toBeNull();
    expect(store.deletions(9, null).items.map(({ id }) => id)).toEqual([ids[2], ids[0]]);
  });

  test("a page of requests ends with the one that brings their users to 8,000", () => {
    const { store, ...one } = openTestStore();
    const named = (from: number) => Array.from({ length: 3000 }, (_, n) => `u-${from + n}`);
    const ids = [0, 1, 2, 3].map((n) => ask({ store, ...one }, named(3000 * n), false));
    const { items, nextCursor } = store.deletions(9, null);
    expect([items.map(({ id }) => id), nextCursor]).toEqual([[ids[3], ids[2], ids[1]], ids[1]]);
    expect(store.deletions(9, nextCursor)).toMatchObject({
      items: [{ id: ids[0] }],
      nextCursor: null,
    });
  });

  test("is in the first state of its messages, and keeps the states of those that retention takes", () => {
    const one = openTestStore();
    const { store } = one;
    const id = ask(one, ["ada", "bob"]);
    expect(store.stateOfMessages(id)).toBeNull();
    const messages = store
      .commit([request([1, 2].map(() => ({ type: "delete" as const, userId: "ada", to: [1] })))])
      .flat();
    for (const [place, message] of messages.entries())
      store.putDeleted(id, place, deleted("ada", [message.id]));
    expect(store.deleteMessages()).toEqual(
      messages.map((message) => ({ messageId: message.id, deletionId: id })),
    );
    expect(store.stateOfMessages(id)).toBe("queued");
    store.record(
      [],
      [moveTo(1 as DeliveryId, "failed"), moveTo(2 as DeliveryId, "waiting", startOfTime)],
    );
    expect(store.stateOfMessages(id)).toBe("waiting");
    store.record([], [moveTo(2 as DeliveryId, "delivered")]);
    expect(store.stateOfMessages(id)).toBe("failed");
    passOver(one);
    expect(store.removeOld({ maxMessages: 0, olderThanWall: null }, 10).removed).toBe(2);
    expect(store.stateOfMessages(id)).toBe("failed");
  });
});

describe("suppressed users", () => {
  test("are suppressed once, by the first request, until they are lifted", () => {
    const one = openTestStore();
    const { store } = one;
    const deletionId = ask(one, ["ada"]);
    store.suppress("ada", 1, deletionId);
    store.suppress("ada", 2, null);
    const ada = { userId: "ada", since: 1, deletionId };
    expect(store.suppressions("", 10, null).items).toEqual([ada]);
    expect(store.suppression("ada")).toEqual(ada);
    store.deleteDeletion(deletionId);
    expect(store.suppressions("", 10, null).items).toEqual([{ ...ada, deletionId: null }]);
    expect(store.suppression("ada")).toEqual({ ...ada, deletionId: null });
    expect(store.suppressedUsers()).toEqual(["ada"]);
    expect(store.lift("ada")).toBe(true);
    expect(store.lift("ada")).toBe(false);
    expect(store.suppressedUsers()).toEqual([]);
  });

  test("are listed by userId in pages, and found from the beginning of it", () => {
    const { store } = openTestStore();
    for (const userId of ["bob", "ada", "ädäm", "adam", "a%", "Ada", "add"])
      store.suppress(userId, 1, null);
    const all: string[] = [];
    for (let after: string | null = ""; after !== null;) {
      const page: ReturnType<typeof store.suppressions> = store.suppressions("", 3, after);
      expect(page).toMatchObject({ total: 7, totalCapped: false });
      all.push(...page.items.map(({ userId }) => userId));
      after = page.nextCursor;
    }
    expect(all).toEqual(["Ada", "a%", "ada", "adam", "add", "bob", "ädäm"]);
    const found = (search: string): string[] =>
      store.suppressions(search, 10, null).items.map(({ userId }) => userId);
    expect(found("ad")).toEqual(["ada", "adam", "add"]);
    expect(found("a%")).toEqual(["a%"]);
    expect(found("ä")).toEqual(["ädäm"]);
    expect(found("adama")).toEqual([]);
    expect(store.suppressions("ad", 1, null)).toMatchObject({ total: 3, nextCursor: "ada" });
    expect(store.suppressions("ad", 3, null)).toMatchObject({ total: 3, nextCursor: null });
    expect(store.suppressions("ad", 1, "ada")).toMatchObject({
      items: [{ userId: "adam" }],
      total: 3,
    });
  });
});

test("a reset of the messages forgets requests and suppressions, since the rows they name begin again", () => {
  const one = openTestStore();
  const id = ask(one, ["ada"]);
  one.store.putDeleted(id, 0, deleted("ada", [1]));
  one.store.suppress("ada", 1, id);
  one.store.clearMessages();
  expect([
    one.store.deletions(9, null).total,
    one.store.deleteMessages(),
    one.store.suppressedUsers(),
  ]).toEqual([0, [], []]);
});

test("totals are exact up to ten thousand, and said to be more beyond", () => {
  const one = openTestStore();
  const { store, db } = one;
  const count = (): unknown[] =>
    [store.deletions(1, null), store.suppressions("", 1, null)].map(({ total, totalCapped }) => [
      total,
      totalCapped,
    ]);
  const some = db.transaction((from: number, to: number) => {
    for (let n = from; n <= to; n += 1) {
      db.prepare("INSERT INTO deletions (requested_at, suppress) VALUES (1, 0)").run();
      store.suppress(`user-${n}`, 1, null);
    }
  });
  some(1, 10_000);
  expect(count()).toEqual([
    [10_000, false],
    [10_000, false],
  ]);
  some(10_001, 10_001);
  expect(count()).toEqual([
    [10_000, true],
    [10_000, true],
  ]);
});
