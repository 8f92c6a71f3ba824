import { expect, test } from "vitest";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { DestinationId } from "../../domain/ids.ts";
import { moveTo, openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity } from "../clock/activity.ts";
import { nextTurn } from "../real-time.ts";
import { createDeliveries } from "./deliveries.ts";

test("a retry of all that the store refuses leaves no work open", async () => {
  const { db, store } = openTestStore();
  store.insertDestination({
    name: "One",
    enabled: true,
    sourceIds: [],
    webhooks: [],
    sharedSecret: null,
    retryProfile: "documented",
    payload: "documented",
    createdAt: startOfTime,
  });
  store.commit([request([{ to: [1] }])]);
  const [claimed] = store.claim(1 as DestinationId, startOfTime, 1);
  if (claimed === undefined) throw new Error("nothing was queued");
  store.record([], [moveTo(claimed.id, "failed")]);
  const activity = new Activity();
  const reported: unknown[] = [];
  const deliveries = createDeliveries({
    store,
    clock: createSteppedClock(startOfTime),
    activity,
    changes: createChangeFeed(),
    kick: () => {},
    report: (error) => reported.push(error),
  });
  db.exec("CREATE TRIGGER full BEFORE INSERT ON transitions BEGIN SELECT RAISE(ABORT, 'full'); END");
  const { id } = deliveries.retryAll({});
  await nextTurn();
  expect(reported).toHaveLength(1);
  expect(deliveries.retryJob(id)?.state).toBe("cancelled");
  expect(activity.isQuiet(true)).toBe(true);
});
