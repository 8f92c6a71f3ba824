import { expect, test } from "vitest";
import type { DeliveryId } from "../domain/ids.ts";
import { nextTurn } from "../engine/real-time.ts";
import { attempt, openTestStore, request } from "./store.fixture.ts";

test("a page ends with the message that brings its attempts to 100,000, and the event loop has turns while it is read", async () => {
  const { store } = openTestStore();
  store.commit([request(Array.from({ length: 60 }, () => ({ to: [1] })))]);
  const rounds = Array.from({ length: 2000 }, (_, n) => n + 1);
  for (let id = 1; id <= 60; id += 1)
    store.record(
      rounds.map((round) => attempt(id as DeliveryId, { round, status: 503 })),
      [],
    );
  let turns = 0;
  let isRead = false;
  const reading = store.messages({}, 100, null).finally(() => (isRead = true));
  for (; !isRead; turns += 1) await nextTurn();
  const { items, nextCursor, total } = await reading;
  expect([items.length, items[0]?.marks.length, total]).toEqual([50, 2000, 60]);
  expect(turns).toBeGreaterThan(10);
  const rest = await store.messages({}, 100, nextCursor);
  expect(rest.items.map(({ id }) => id)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(rest.nextCursor).toBeNull();
});
