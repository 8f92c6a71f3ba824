import { expect, test } from "vitest";
import type { DeliveryId } from "../domain/ids.ts";
import {
  attempt,
  moveTo,
  openTestStore,
  request,
  startOfTime,
  type TestStore,
} from "./store.fixture.ts";

const keepUnknown = ({ store }: TestStore, at: number): void =>
  store.keepUnknownKeyRequest(
    {
      writeKey: "x",
      receivedAt: at,
      wallAt: 1,
      method: "POST",
      path: "/",
      headers: [],
      ip: null,
      body: Buffer.alloc(0),
    },
    1_000_000,
  );

test("the clock is as it was stored last, and null where it never was", () => {
  const one = openTestStore();
  expect([one.store.loadClock(), one.store.latestRecordedAt()]).toEqual([null, 0]);
  for (const now of [5, 7]) one.store.saveClock({ now, wallAt: 6, mode: "paused", speed: 1 });
  expect(one.restarted().store.loadClock()).toEqual({
    now: 7,
    wallAt: 6,
    mode: "paused",
    speed: 1,
  });
});

test("the record is as late as the latest of anything in it", () => {
  const one = openTestStore();
  one.store.commit([request([{}], { at: startOfTime })]);
  expect(one.store.latestRecordedAt()).toBe(startOfTime);
  keepUnknown(one, startOfTime + 10);
  expect(one.store.latestRecordedAt()).toBe(startOfTime + 10);
  one.store.insertDeletion({ suppress: false, requestedAt: startOfTime + 20, userIds: ["u"] });
  expect(one.store.latestRecordedAt()).toBe(startOfTime + 20);
});

test("the record is as late as its latest attempt and its latest change of a delivery", () => {
  const one = openTestStore();
  one.store.commit([request([{ to: [1] }], { at: startOfTime })]);
  one.store.record([attempt(1 as DeliveryId, { startedAt: startOfTime + 5 })], []);
  expect(one.store.latestRecordedAt()).toBe(startOfTime + 5);
  one.store.record([], [moveTo(1 as DeliveryId, "failed", null, startOfTime + 6)]);
  expect(one.store.latestRecordedAt()).toBe(startOfTime + 6);
});

test("the latest is found among the newest 256 rows, where rows are out of order", () => {
  const one = openTestStore();
  keepUnknown(one, startOfTime + 99);
  for (let n = 0; n < 255; n += 1) keepUnknown(one, startOfTime);
  expect(one.store.latestRecordedAt()).toBe(startOfTime + 99);
  keepUnknown(one, startOfTime);
  expect(one.store.latestRecordedAt()).toBe(startOfTime);
});
