import { afterEach, describe, expect, test, vi } from "vitest";
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

function startClient(url: string, more: Partial<SimulatedClient> = {}) {
  let changes = 0;
  const stepped = createSteppedClock();
  const scheduled: (ScheduleOptions | undefined)[] = [];
  const activity = new Activity();
  const client = new RunningClient({
    settings: { ...settings(url), ...more },
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
    changed: () => void (changes += 1),
  });
  return { stepped, scheduled, activity, client, changes: () => changes };
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

const nowhere = "http://127.0.0.1:9";

describe("calls made by itself", () => {
  test.for<[count: number, perSecond: number, at: number[]]>([
    [3, 2, [0, 500, 1000]],
    [4, 3, [0, 334, 667, 1000]],
    [2, 1000, [0, 1]],
    [1, 1, [0]],
  ])("are %i at %i a second of the clock, and end", ([count, perSecond, at]) => {
    const { client, stepped } = startClient(nowhere);
    client.generate(count, perSecond);
    const start = stepped.now();
    for (const [made, due] of at.entries()) {
      stepped.advanceBy(start + due - stepped.now() - (due === 0 ? 0 : 1));
      if (due > 0) {
        expect(client.view()).toMatchObject({
          queued: made,
          generating: { count, made, perSecond },
        });
        stepped.advanceBy(1);
      }
      expect(client.view().queued).toBe(made + 1);
    }
    expect(client.view().generating).toBeNull();
    // That of the flush.
    expect(stepped.scheduled()).toEqual([start + 5000]);
    client.abandon();
  });

  test("are not made once they are stopped", () => {
    const { client, stepped } = startClient(nowhere);
    client.generate(3, 1);
    stepped.advanceBy(1000);
    client.stopGenerating();
    stepped.advanceBy(3000);
    expect(client.view()).toMatchObject({ generating: null, queued: 2 });
    client.abandon();
  });

  test("go on where they stopped, and begin again after a restart", () => {
    const { client, stepped } = startClient(nowhere, { flushAt: 100 });
    const calls = (from: number) =>
      client
        .details()
        .queue.slice(from)
        .map(({ type, event, userId }) => ({ type, event, userId }));
    const generate = (count: number): void => {
      client.generate(count, 1000);
      stepped.advanceBy(count);
    };
    generate(12);
    const whole = calls(0);
    expect([whole.length, new Set(whole.map((call) => JSON.stringify(call))).size > 3]).toEqual([
      12,
      true,
    ]);
    client.restart();
    expect(client.details()).toMatchObject({ queue: [], counts: { calls: 0 }, generating: null });
    generate(5);
    generate(7);
    expect(calls(0)).toEqual(whole);
    client.abandon();
  });

  test("are replaced by others, and refused when the client is closed", async () => {
    const { client, stepped, changes } = startClient(nowhere);
    expect(client.generate(9, 1)).toBeNull();
    expect(client.generate(5, 1)).toBeNull();
    expect([client.view().generating?.count, stepped.scheduled().length]).toEqual([5, 1]);
    const before = changes();
    client.stopGenerating();
    client.stopGenerating();
    expect([changes() - before, stepped.scheduled()]).toEqual([1, []]);
    client.generate(5, 1);
    await client.close();
    expect(client.view()).toMatchObject({ state: "closed", generating: null });
    expect(stepped.scheduled()).toEqual([]);
    expect(client.generate(1, 1)).toMatchObject({ status: 409, code: "closed" });
    expect(client.call("track", { userId: "u", event: "e" })).toMatchObject({
      status: 409,
      code: "closed",
    });
    client.reopen();
    expect([client.generate(1, 1), client.view().state]).toEqual([null, "running"]);
    client.abandon();
  });
});

test("a call is in the queue with its event and its user, by whatever names it has them", () => {
  const { client } = startClient(nowhere, { strict: false, wire: "v3" });
  for (const [type, call, event, userId] of [
    ["track", { userId: "u", anonymousId: "a", event: "E" }, "E", "u"],
    ["page", { anonymousId: "a", name: "Home" }, "Home", "a"],
    ["group", { userId: "u", groupId: "g" }, "g", "u"],
    ["page", { userId: "u", name: "" }, null, "u"],
  ] as const) {
    const called = client.call(type, call);
    const last = client.details().queue.at(-1);
    expect(called).toEqual({ messageId: last?.messageId, batchId: null });
    expect(last).toMatchObject({ type, event, userId });
  }
  for (const wrong of [null, undefined, 5, "text"])
    expect(client.call("track", wrong)).toMatchObject({ status: 400, code: "invalid_call" });
  expect(client.view()).toMatchObject({ queued: 4, counts: { calls: 4 } });
  client.abandon();
});

describe("a change", () => {
  test.for<[Partial<SimulatedClient>, boolean]>([
    [{ writeKey: "other" }, true],
    [{ wire: "v1.2" }, true],
    [{ strict: false }, true],
    [{ flushAt: 9 }, false],
    [{ flushAfter: 9000 }, false],
    [{ name: "Other" }, false],
  ])("of %j sends what is queued at once: %s", async ([change, isNew]) => {
    const server = await startBatchServer(() => "hang");
    const { client, stepped } = startClient(server.url);
    client.call("track", { userId: "u", event: "e" });
    const { bytes } = client.view();
    expect(bytes).toBeGreaterThan(0);
    client.change({ ...settings(server.url), ...change });
    const { flushAfter = 5000 } = change;
    // What is being sent counts until it has been.
    expect(client.view()).toMatchObject({
      ...{ queued: isNew ? 0 : 1, underWay: isNew ? 1 : 0, bytes, ...change },
      url: `${server.url}${change.wire === "v1.2" ? "/v1/import" : "/v1/batch"}`,
      nextFlushAt: isNew ? null : stepped.now() + flushAfter,
    });
    client.abandon();
    await until(() => server.open() === 0);
  });

  test("of a closed client counts when it is opened again", async () => {
    const { client } = startClient(nowhere);
    const { changes, client: other } = startClient(nowhere);
    await client.close();
    client.change({ ...settings("http://127.0.0.1:8"), writeKey: "other" });
    expect(client.view()).toMatchObject({ state: "closed", url: `${nowhere}/v1/batch` });
    client.reopen();
    expect(client.view()).toMatchObject({ state: "running", url: "http://127.0.0.1:8/v1/batch" });
    other.reopen();
    expect(changes()).toBe(0);
    client.abandon();
  });
});

test("closing takes until what it holds is sent, and its end is told", async () => {
  const server = await startBatchServer();
  const { client, changes } = startClient(server.url);
  client.call("track", { userId: "u", event: "e" });
  const before = changes();
  const closed = client.close();
  expect(client.view().state).toBe("closing");
  expect(changes()).toBeGreaterThan(before);
  expect(client.call("track", { userId: "u", event: "e" })).toMatchObject({ code: "closed" });
  await closed;
  expect(client.view()).toMatchObject({ state: "closed", bytes: 0, counts: { sent: 1 } });
  const after = changes();
  await client.close();
  expect(changes()).toBe(after);
});
