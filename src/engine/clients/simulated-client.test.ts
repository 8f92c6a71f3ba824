import { afterEach, expect, test, vi } from "vitest";
import { Analytics } from "../../client/analytics.ts";
import { startBatchServer, stopServers } from "../../../test/support/batch-server.ts";
import { until } from "../../../test/support/running-app.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { SimulatedClient } from "../../domain/configuration.ts";
import type { ClientId } from "../../domain/ids.ts";
import { Activity, Holds } from "../clock/activity.ts";
import type { ScheduleOptions } from "../clock/clock.ts";
import { createTrust } from "../deliver/dial.ts";
import { RunningClient } from "./simulated-client.ts";

afterEach(async () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  await stopServers();
});

const settings = (endpoint: string): SimulatedClient => ({
  ...{ id: 1 as ClientId, name: "Checkout", writeKey: "key", wire: "v2.1", strict: true },
  ...{ createdAt: 0, flushAt: 20, flushAfter: 5000, endpoint },
});

function startClient(url: string) {
  const stepped = createSteppedClock();
  const scheduled: (ScheduleOptions | undefined)[] = [];
  const activity = new Activity();
  const client = new RunningClient({
    settings: settings(url),
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
    ingestUrl: () => url,
    changed: () => undefined,
  });
  return { stepped, scheduled, activity, client };
}

test("all that a client waits for on the clock is background: flushes, retries, and calls made by itself", async () => {
  const server = await startBatchServer(() => ({ status: 503 }));
  const { stepped, scheduled, activity, client } = startClient(server.url);
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

test("a closed client keeps no connection, and is not closed again", async () => {
  const server = await startBatchServer();
  const { client } = startClient(server.url);
  const close = vi.spyOn(Analytics.prototype, "close");
  client.call("track", { userId: "ada", event: "Bought" });
  client.flush();
  await until(() => server.received.length === 1);
  await client.close();
  await until(() => server.open() === 0);
  client.abandon();
  expect([client.view().state, close.mock.calls.length]).toEqual(["closed", 1]);
});

test("a stop leaves no deadline", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const { client } = startClient("http://127.0.0.1:9");
  const stopped = client.stop(1000);
  expect(vi.getTimerCount()).toBe(1);
  await stopped;
  expect(vi.getTimerCount()).toBe(0);
});
