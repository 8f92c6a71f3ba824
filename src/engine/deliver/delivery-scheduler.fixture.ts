/** A delivery scheduler on a store, with its receiver. */

import { onTestFinished, vi } from "vitest";
import { startReceiver } from "../../../test/support/webhook-receiver.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { Destination, Settings } from "../../domain/configuration.ts";
import { isProblem } from "../../domain/problem.ts";
import { openTestStore, request, startOfTime } from "../../store/store.fixture.ts";
import { createChangeFeed } from "../changes.ts";
import { Activity, Holds, type Origin } from "../clock/activity.ts";
import { openConfiguration } from "../configuration.fixture.ts";
import { createDeliveries } from "./deliveries.ts";
import { DeliveryScheduler } from "./delivery-scheduler.ts";
import { createTrust } from "./dial.ts";

/** A scheduler with one destination, whose receiver answers as it is told. */
export async function startScheduler(
  answer: Parameters<typeof startReceiver>[0],
  settings: Partial<Settings> = {},
  isStarted = true,
) {
  const { db, store } = openTestStore();
  const clock = createSteppedClock(startOfTime);
  const changes = createChangeFeed();
  const configuration = openConfiguration({ store, clock, changes });
  configuration.updateSettings(settings);
  const receiver = await startReceiver(answer);
  const addDestination = (urls = [receiver.url], name = "More"): Destination => {
    const made = configuration.createDestination({
      ...{ name, sourceIds: [] },
      webhooks: urls.map((url) => ({ url, headers: {} })),
    });
    if (isProblem(made)) throw new Error(made.message);
    return made;
  };
  const destination = addDestination();
  const reported: unknown[] = [];
  const activity = new Activity();
  const holds = new Holds();
  const attempts: number[] = [];
  const scheduler = new DeliveryScheduler({
    ...{ store, configuration, clock, activity, changes, holds, trust: createTrust() },
    cancelOf: (id) => deliveries.cancelOf(id),
    onAttempts: ({ length }) => void attempts.push(length),
    report: (error) => reported.push(error),
  });
  const deliveries = createDeliveries({
    ...{ store, configuration, clock, activity, changes, scheduler },
    report: (error) => reported.push(error),
  });
  if (isStarted) {
    scheduler.start();
    await activity.whenQuiet();
  }
  onTestFinished(async () => {
    vi.useRealTimers();
    await receiver.stop();
    await scheduler.stop();
    changes.stop();
  });
  return {
    ...{
      db,
      changes,
      store,
      clock,
      configuration,
      receiver,
      destination,
      reported,
      activity,
      holds,
      scheduler,
    },
    /** With the same webhook as the first one when left out. */
    addDestination,
    /** Attempts that were recorded. */
    attempts: () => attempts.reduce((sum, count) => sum + count, 0),
    commit(count: number, text = "{}", origin: Origin = "own", to = [destination.id]): void {
      const committed = store.commit([
        request(Array.from({ length: count }, () => ({ to, text }))),
      ]);
      scheduler.onCommitted(committed.flat(), origin);
    },
    count: () => store.countByState(),
  };
}

export type Running = Awaited<ReturnType<typeof startScheduler>>;
