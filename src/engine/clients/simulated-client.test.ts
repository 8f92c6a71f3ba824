import { afterEach, expect, test } from "vitest";
import { startBatchServer, stopServers } from "../../../test/support/batch-server.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { SimulatedClient } from "../../domain/configuration.ts";
import type { ClientId } from "../../domain/ids.ts";
import { Activity, Holds } from "../clock/activity.ts";
import type { ScheduleOptions } from "../clock/clock.ts";
import { createTrust } from "../deliver/dial.ts";
import { RunningClient } from "./simulated-client.ts";

afterEach(stopServers);

test("all that a client waits for on the clock is background: flushes, retries, and calls made by itself", async () => {
  const server = await startBatchServer(() => ({ status: 503 }));
  const stepped = createSteppedClock();
  const scheduled: (ScheduleOptions | undefined)[] = [];
  const activity = new Activity();
  const settings: SimulatedClient = {
    ...{
      id: 1 as ClientId,
      name: "Checkout",
      writeKey: "key",
      wire: "v2.1",
      strict: true,
      createdAt: 0,
    },
    ...{ flushAt: 20, flushAfter: 5000, endpoint: server.url },
  };
  const client = new RunningClient({
    settings,
    clock: {
      ...stepped,
      schedule(at, run, options) {
        scheduled.push(options);
        return stepped.schedule(at, run);
      },
    },
    activity,
    holds: new Holds(),
    trust: createTrust(),
    seed: () => 1,
    ingestUrl: () => server.url,
    changed: () => undefined,
  });
  client.generate(2, 1);
  stepped.advanceBy(5000);
  expect(client.view()).toMatchObject({ queued: 0, underWay: 1 });
  expect(activity.isQuiet(true)).toBe(false);
  await activity.whenQuiet();
  expect(client.view()).toMatchObject({ underWay: 1, nextTryAt: expect.any(Number) });
  expect(scheduled.length).toBeGreaterThanOrEqual(4);
  expect(scheduled).toEqual(scheduled.map(() => ({ background: true })));
  client.abandon();
  expect(stepped.scheduled()).toEqual([]);
});
