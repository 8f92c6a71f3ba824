/** Which deliveries are an advance's own, and whether one of them can still move. */

import { expect, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { Destination } from "../../domain/configuration.ts";
import type { DeliveryId, DestinationId, MessageRowId } from "../../domain/ids.ts";
import type { DeliveryState } from "../../domain/states.ts";
import { attempt, moveTo, openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { Activity, type Origin } from "../clock/activity.ts";
import { OwnDeliveries } from "./own-deliveries.ts";

const [on, off] = [1 as DestinationId, 2 as DestinationId];

/** The first destination is enabled, and the second is not. */
function start() {
  const { store } = openTestStore();
  const activity = new Activity();
  const clock = createSteppedClock(startOfTime);
  const destinations = [
    { id: on, enabled: true },
    { id: off, enabled: false },
  ] as Destination[];
  const own = new OwnDeliveries({ store, activity, clock, destinations: () => destinations });
  return {
    ...{ own, store, activity, clock },
    /** A message, and its delivery. */
    commit(to: DestinationId[], origin: Origin): { message: MessageRowId; delivery: DeliveryId } {
      const committed = store.commit([request([{ to }])]).flat();
      own.add(committed, origin);
      const { message, delivery } = store.newestRows();
      return { message: message as MessageRowId, delivery: delivery as DeliveryId };
    },
    /** With an attempt, its window has begun. */
    move(delivery: DeliveryId, to: DestinationId, state: DeliveryState, hasAttempt = false): void {
      store.claim(to, startOfTime, 100);
      if (state === "sending") return;
      const attempts = hasAttempt ? [attempt(delivery, { status: 503 })] : [];
      const at = state === "waiting" ? startOfTime + 10 : null;
      store.record(attempts, [moveTo(delivery, state, at)]);
    },
  };
}

test("without an advance all are own, and with one those that were there and what the pipeline makes", () => {
  const one = start();
  const before = one.commit([on], "arrival");
  expect([one.own.originOf(before.message), one.own.isRunnable(on)]).toEqual(["own", true]);
  one.activity.beginAdvance();
  const arrival = one.commit([on], "arrival");
  const own = one.commit([], "own");
  const later = one.commit([on], "arrival");
  const origins = () =>
    [before, arrival, own, later].map(({ message }) => one.own.originOf(message));
  expect(origins()).toEqual(["own", "arrival", "own", "arrival"]);
  one.activity.endAdvance();
  expect(origins()).toEqual(["own", "own", "own", "own"]);
  one.activity.beginAdvance();
  const last = one.commit([on], "arrival");
  expect([...origins(), one.own.originOf(last.message)]).toEqual([
    ...["own", "own", "own", "own"],
    "arrival",
  ]);
});

test("an own one can be claimed up to the newest of them, and without an advance any", () => {
  const one = start();
  one.commit([off], "own");
  one.store.commit([request([{ to: [on] }])]);
  expect(one.own.isRunnable(on)).toBe(true);
  one.store.clearMessages();
  one.activity.beginAdvance();
  one.commit([on], "arrival");
  expect(one.own.isRunnable(on)).toBe(false);
  one.own.add([], "own");
  expect(one.own.isRunnable(on)).toBe(false);
  const own = one.commit([on], "own");
  expect([one.own.isRunnable(on), one.own.isRunnable(off)]).toEqual([true, false]);
  one.move(own.delivery, on, "waiting");
  expect(one.own.isRunnable(on)).toBe(false);
  one.clock.advanceBy(10);
  expect(one.own.isRunnable(on)).toBe(true);
});

test.each<[DeliveryState, at: DestinationId, hasAttempt: boolean, isUnsettled: boolean]>([
  ["queued", on, false, true],
  ["sending", on, false, true],
  ["waiting", on, false, true],
  ["waiting", on, true, true],
  ["delivered", on, true, false],
  ["queued", off, false, false],
  ["queued", off, true, false],
  ["sending", off, false, true],
  ["waiting", off, false, false],
  ["waiting", off, true, true],
  ["failed", off, true, false],
])(
  "one that is %s at destination %i, which is enabled if it is 1, with an attempt: %s, can still move: %s",
  (...given) => {
    const [state, to, hasAttempt, isUnsettled] = given;
    for (const isLater of [false, true]) {
      const one = start();
      if (isLater) one.activity.beginAdvance();
      const { delivery } = one.commit([to], "own");
      if (!isLater) one.activity.beginAdvance();
      // Nobody waits for it.
      one.commit([on], "arrival");
      if (state !== "queued" || hasAttempt) one.move(delivery, to, state, hasAttempt);
      expect([isLater, one.own.areUnsettled()]).toEqual([isLater, isUnsettled]);
    }
  },
);

test("own messages that are settled are passed over, and those after them are not", () => {
  const one = start();
  one.activity.beginAdvance();
  const first = one.commit([on], "own");
  const second = one.commit([off, on], "own");
  one.move(first.delivery, on, "delivered");
  expect(one.own.areUnsettled()).toBe(true);
  one.store.record([], [moveTo(second.delivery, "delivered")]);
  // What is left of it is queued at the disabled one.
  expect(one.own.areUnsettled()).toBe(false);
  expect(one.own.originOf(second.message)).toBe("own");
});
