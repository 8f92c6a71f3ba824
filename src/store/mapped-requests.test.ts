import { expect, test } from "vitest";
import type { DeliveryId, DestinationId, MessageRowId } from "../domain/ids.ts";
import {
  attempt,
  expectConsistent,
  moveTo,
  openTestStore,
  passOver,
  request,
  startOfTime,
} from "./store.fixture.ts";

const to = 1 as DestinationId;

/** A batch of three, which is full and claimed. */
function sendingBatch() {
  const one = openTestStore();
  const mappedTo = [{ to, key: "k" }];
  one.store.commit([request([{ mappedTo }, { mappedTo }, { mappedTo }])]);
  const [claimed] = one.store.claim(to, startOfTime, 9);
  expect(claimed?.mapped?.messages).toEqual([1, 2, 3]);
  return { one, id: claimed?.id as DeliveryId };
}

test("a restart while a batch is sent queues each of its messages again", async () => {
  const { store, db } = sendingBatch().one;
  store.requeueInterrupted(startOfTime);
  expectConsistent(db);
  const { items } = await store.messages({}, 9, null);
  expect(items.map(({ state }) => state)).toEqual(["queued", "queued", "queued"]);
});

test("a batch that collects has no window, and leaves those of its destination's other deliveries alone", () => {
  const { store } = openTestStore();
  store.commit([request([{ mappedTo: [{ to, key: null }] }, { mappedTo: [{ to, key: "k" }] }])]);
  expect(store.nextWindowEnd(to, 100)).toBeNull();
  const [tried] = store.claim(to, startOfTime, 9);
  const id = tried?.id as DeliveryId;
  store.record([attempt(id, { status: 503 })], [moveTo(id, "waiting", startOfTime + 1000)]);
  expect(store.nextWindowEnd(to, 100)).toBe(startOfTime + 100);
});

test("a batch whose first message is removed belongs to the next, and goes with the last", () => {
  const { one, id } = sendingBatch();
  const { store, db } = one;
  store.record([attempt(id)], [moveTo(id, "delivered")]);
  passOver(one);
  expect(store.removeOld({ maxMessages: 2, olderThanWall: null }, 9).removed).toBe(1);
  expectConsistent(db);
  expect(store.message(2 as MessageRowId)?.deliveries).toMatchObject([{ id, messages: [2, 3] }]);
  expect(store.removeOld({ maxMessages: 1, olderThanWall: null }, 9).removed).toBe(1);
  expect(store.message(3 as MessageRowId)?.deliveries).toMatchObject([{ id, messages: [3] }]);
  expect(store.removeOld({ maxMessages: 0, olderThanWall: null }, 9).removed).toBe(1);
  for (const table of ["deliveries", "batch_parts", "mapped_requests", "attempts"])
    expect([table, db.prepare(`SELECT count(*) FROM ${table}`).pluck().get()]).toEqual([table, 0]);
});

test("beside a batch, a message has the first state of its deliveries", () => {
  const { store } = openTestStore();
  store.commit([request([{ to: [1, 2] }, { mappedTo: [{ to, key: "k" }] }])]);
  store.record([], [moveTo(1 as DeliveryId, "failed")]);
  expect(store.message(1 as MessageRowId)?.state).toBe("queued");
  store.record([], [moveTo(2 as DeliveryId, "delivered")]);
  expect(store.message(1 as MessageRowId)?.state).toBe("failed");
});
