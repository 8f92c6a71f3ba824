/** Attempts that a test endpoint holds: their five seconds run on the clock. */

import { describe, expect, test as base } from "vitest";
import type { InputOf } from "../../src/contract/contract.ts";
import { lastingPort } from "../support/free-ports.ts";
import { outcomeOf, starting, until } from "../support/running-app.ts";
import type { RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

type Steps = InputOf<"endpoints.create">["steps"];

/**
 * One message to a test endpoint with these steps, on a paused clock; answers when nothing but the
 * clock can move it on.
 */
async function sendTo(app: RunningApp, steps: Steps, tls = false): Promise<string> {
  const endpoint = await app.call("endpoints.create", { name: "Held", steps });
  await app.destination([tls ? endpoint.tlsUrl.replace("self-signed.", "valid.") : endpoint.url]);
  const id = await app.send();
  await app.settle();
  return id;
}

describe("a held attempt", () => {
  test("stays sending on a paused clock, and settling does not wait for it", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    const id = await sendTo(app, [{ do: "hang" }]);
    expect(await app.settle()).toEqual({ settled: true, queued: 0, sending: 1 });
    const delivery = await app.delivery(id);
    expect(delivery).toMatchObject({ state: "sending", attempts: [] });
    expect((await app.message(id)).state).toBe("sending");
    expect(await app.call("clock.get", {})).toMatchObject({
      now,
      nextDueAt: new Date(Date.parse(now) + 5000).toISOString(),
    });
    expect(await app.refused("deliveries.retry", { id: delivery.id })).toEqual({
      status: 409,
      code: "being_sent",
    });
    expect(await app.refused("deliveries.cancel", { id: delivery.id })).toEqual({
      status: 409,
      code: "being_sent",
    });
  });

  test("that fills a lane leaves what is behind it unsettled until the clock is moved", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    await app.call("settings.update", { laneConnections: 2 });
    const endpoint = await app.call("endpoints.create", {
      name: "Held",
      steps: [{ times: 2, do: "hang" }, { do: "answer" }],
    });
    await app.destination([endpoint.url]);
    await app.ingest("/v1/batch", {
      batch: Array.from({ length: 10 }, (_, n) => ({
        type: "track",
        userId: `u${n}`,
        event: "Bought",
      })),
    });
    const { settled, queued, sending } = await app.call("pipeline.settle", { timeoutMs: 300 });
    expect([settled, queued + sending]).toEqual([false, 10]);
    const settling = app.call("pipeline.settle", { timeoutMs: 200_000 });
    await app.advance({ byMs: 5000 });
    expect(await settling).toEqual({ settled: true, queued: 0, sending: 0 });
    expect((await app.call("deliveries.list", { state: "delivered" })).total).toBe(8);
  });

  test.for([{ tls: false }, { tls: true }])(
    "of 4.5 s is a success of 4,500 ms, simulated (TLS $tls)",
    async ({ tls }, { start }) => {
      const app = await start.app({ clock: "paused" });
      const { now } = await app.call("clock.get", {});
      const id = await sendTo(app, [{ do: "answer", delayMs: 4500, body: "late" }], tls);
      const after = await app.advance({ to: "next-due" });
      expect(Date.parse(after.now) - Date.parse(now)).toBe(4500);
      const delivery = await app.delivery(id);
      expect(delivery.state).toBe("delivered");
      expect(delivery.attempts).toMatchObject([
        {
          outcome: "success",
          startedAt: now,
          durationMs: 4500,
          simulated: true,
          phases: { firstByte: 4500, done: 4500 },
          response: { body: "late" },
        },
      ]);
      expect(await app.settle()).toMatchObject({ settled: true, sending: 0 });
    },
  );

  test("that drips has its first byte at once and its last after the time of the step", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const id = await sendTo(app, [{ do: "drip", body: "drip", forMs: 4000 }]);
    await app.advance({ to: "idle" });
    const { attempts } = await app.delivery(id);
    expect(attempts).toMatchObject([
      { outcome: "success", durationMs: 4000, phases: { firstByte: 0, done: 4000 } },
    ]);
  });

  test.for([
    ["that hangs", [{ do: "hang" }]],
    ["that ends at that very moment", [{ do: "answer", delayMs: 5000 }]],
    ["that hangs for longer", [{ do: "hang", forMs: 8000 }]],
    ["whose answer takes 5.5 s", [{ do: "answer", delayMs: 5500 }]],
    ["whose body drips", [{ do: "drip", body: "dripping", forMs: 8000 }]],
  ] as const)("%s is a timeout at exactly 5,000 ms", async ([, steps], { start }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    const id = await sendTo(app, [...steps, { do: "answer" }] as Steps);
    await app.advance({ byMs: 4999 });
    expect((await app.delivery(id)).state).toBe("sending");
    await app.advance({ byMs: 1 });
    const delivery = await app.delivery(id);
    expect(delivery).toMatchObject({
      state: "waiting",
      attempts: [
        {
          outcome: "timeout",
          startedAt: now,
          durationMs: 5000,
          simulated: true,
          retryable: true,
          error: { code: "timeout" },
        },
      ],
    });
    // The next time counts from the start of the round.
    expect(Date.parse(delivery.nextAttemptAt ?? "") - Date.parse(now)).toBeLessThanOrEqual(11_000);
    await app.advance({ to: "idle" });
    expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: timeout", "2: success"]);
  });

  test("that drips in time is a success", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const id = await sendTo(app, [{ do: "drip", body: "dripping", forMs: 4000 }]);
    await app.advance({ to: "idle" });
    expect(await app.delivery(id)).toMatchObject({
      state: "delivered",
      attempts: [
        { outcome: "success", durationMs: 4000, simulated: true, response: { body: "dripping" } },
      ],
    });
  });

  test("that is reset after a wait is a connection error of that time", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const id = await sendTo(app, [
      { do: "reset", delayMs: 2000 },
      { do: "close", delayMs: 1000 },
      { do: "answer" },
    ]);
    await app.advance({ to: "idle" });
    const { attempts, state } = await app.delivery(id);
    expect(state).toBe("delivered");
    expect(attempts.map((attempt) => [outcomeOf(attempt), attempt.simulated])).toEqual([
      ["1: connection_error", true],
      ["2: connection_error", true],
      ["3: success", false],
    ]);
    expect(attempts.slice(0, 2).map(({ durationMs }) => durationMs)).toEqual([2000, 1000]);
  });

  test("runs the whole program of 503 ×3, hang, reset, 200 in a moment", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const id = await sendTo(app, [
      { times: 3, do: "answer", status: 503 },
      { do: "hang" },
      { do: "reset" },
      { do: "answer" },
    ]);
    await app.advance({ to: "idle" });
    const { attempts, state } = await app.delivery(id);
    expect(state).toBe("delivered");
    expect(attempts.map(outcomeOf)).toEqual([
      "1: 503",
      "2: 503",
      "3: 503",
      "4: timeout",
      "5: connection_error",
      "6: success",
    ]);
    expect(attempts.map(({ simulated }) => simulated)).toEqual([
      false,
      false,
      false,
      true,
      false,
      false,
    ]);
  });

  test("holds up nobody else in an advance: each of many ends at its own time", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    const delays = [100, 700, 2500, 4999, 5100];
    const endpoints = await Promise.all(
      delays.map((delayMs) =>
        app.call("endpoints.create", {
          name: `After ${delayMs}`,
          steps: [{ do: "answer", delayMs }],
        }),
      ),
    );
    await app.destination(endpoints.map(({ url }) => url));
    const id = await app.send();
    await app.settle();
    await app.advance({ byMs: 100 });
    expect(await app.delivery(id)).toMatchObject({
      state: "delivered",
      attempts: [{ durationMs: 100 }],
    });
    await app.advance({ byMs: 6000 });
    const { attempts } = await app.delivery(id);
    expect(
      attempts.map(({ outcome, durationMs, startedAt }) => [outcome, durationMs, startedAt]),
    ).toEqual([
      ["success", 100, now],
      ["success", 700, now],
      ["success", 2500, now],
      ["success", 4999, now],
      ["timeout", 5000, now],
    ]);
  });

  test("and one outside: the clock stands while the one outside goes on", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    const outside = await start.receiver((response) =>
      setTimeout(() => response.writeHead(503).end(), 300),
    );
    const endpoint = await app.call("endpoints.create", {
      name: "Held",
      steps: [{ do: "answer", delayMs: 1000 }],
    });
    await app.destination([outside.url, endpoint.url]);
    const id = await app.send();
    const after = await app.advance({ to: "next-due" });
    expect(Date.parse(after.now) - Date.parse(now)).toBe(1000);
    const { attempts, state } = await app.delivery(id);
    expect(state).toBe("delivered");
    expect(attempts).toHaveLength(2);
    expect(attempts.find(({ simulated }) => simulated)).toMatchObject({
      outcome: "success",
      durationMs: 1000,
    });
    const real = attempts.find(({ simulated }) => !simulated);
    expect(real?.durationMs).toBeGreaterThanOrEqual(290);
  });

  test("beside a sibling that succeeded is run to its end by an advance to idle", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const quick = await start.receiver(200);
    const endpoint = await app.call("endpoints.create", { name: "Held", steps: [{ do: "hang" }] });
    await app.destination([quick.url, endpoint.url]);
    const id = await app.send();
    await app.settle();
    expect(await app.delivery(id)).toMatchObject({
      state: "delivered",
      attempts: [{ outcome: "success" }],
    });
    expect(await app.advance({ to: "idle" })).toMatchObject({
      ran: { attempts: 1 },
      nextDueAt: null,
    });
    expect((await app.delivery(id)).attempts.map(outcomeOf).toSorted()).toEqual([
      "1: success",
      "1: timeout",
    ]);
  });

  test("ends by itself when the clock runs, ten times as fast at speed 10", async ({ start }) => {
    const app = await start.app();
    await app.call("clock.set", { mode: "faster", speed: 10 });
    const began = performance.now();
    const endpoint = await app.call("endpoints.create", {
      name: "Held",
      steps: [{ do: "hang" }, { do: "answer" }],
    });
    await app.destination([endpoint.url]);
    const id = await app.send();
    // A running clock moves it on, so settling waits for it.
    expect(await app.settle()).toMatchObject({ settled: true, sending: 0 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(490);
    const [attempt] = (await app.delivery(id)).attempts;
    expect(attempt).toMatchObject({ outcome: "timeout", simulated: true });
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(5000);
    // The way there and back takes its real time.
    expect(attempt?.durationMs).toBeLessThan(5000 + performance.now() - began);
    await until(async () => (await app.delivery(id)).state === "delivered");
  });

  test.for([
    ["are answered in time", [{ do: "answer", delayMs: 1000 }], "success", 1000],
    ["drip in time", [{ do: "drip", body: "dripping", forMs: 1000 }], "success", 1000],
    ["are answered too late", [{ do: "answer", delayMs: 60_200 }], "timeout", 60_000],
    ["drip for too long", [{ do: "drip", body: "dripping", forMs: 60_200 }], "timeout", 60_000],
  ] as const)(
    "is like any other when it is one of 200 and the clock is 600 times as fast: they %s",
    async ([, steps, outcome, durationMs], { start }) => {
      const app = await start.app();
      await app.call("clock.set", { mode: "faster", speed: 600 });
      await app.call("retryProfiles.create", {
        name: "once",
        schedule: { kind: "list", delaysMs: [14_400_000] },
        // So long that 200 real ways there and back always fit.
        timeoutMs: 60_000,
      });
      const endpoint = await app.call("endpoints.create", { name: "Held", steps: [...steps] });
      await app.destination([endpoint.url], { retryProfile: "once" });
      const began = performance.now();
      await app.sendMany(200);
      expect(await app.settle()).toMatchObject({ settled: true });
      const realMs = performance.now() - began;
      const { items } = await app.call("messages.list", { limit: 200 });
      const firsts = await Promise.all(
        items.map(async ({ id }) => (await app.delivery(id)).attempts[0]),
      );
      expect(
        new Set(firsts.map((attempt) => `${attempt?.outcome}, simulated: ${attempt?.simulated}`)),
      ).toEqual(new Set([`${outcome}, simulated: true`]));
      // The way there and back takes its real time, and not 600 times that.
      const durations = firsts.map((attempt) => attempt?.durationMs ?? 0);
      expect(Math.min(...durations)).toBeGreaterThanOrEqual(durationMs);
      expect(Math.max(...durations)).toBeLessThan(durationMs + realMs);
    },
  );

  test("goes on when a paused clock runs again", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const id = await sendTo(app, [{ do: "answer", delayMs: 3000 }]);
    await app.call("clock.set", { mode: "faster", speed: 600 });
    expect(await app.settle()).toMatchObject({ settled: true, sending: 0 });
    expect(await app.delivery(id)).toMatchObject({
      state: "delivered",
      attempts: [{ simulated: true }],
    });
  });

  test("is given a moment to end when Hookyard stops, since a running clock ends it", async ({
    start,
  }) => {
    const data = await start.directory();
    const app = await start.app({ data });
    const endpoint = await app.call("endpoints.create", {
      name: "Held",
      steps: [{ do: "answer", delayMs: 400 }],
    });
    await app.destination([endpoint.url]);
    const id = await app.send();
    await until(
      async () => (await app.call("endpoints.requests", { id: endpoint.id })).total === 1,
    );
    await app.stop();
    const again = await start.app({ data, clock: "paused" });
    const { state, attempts, transitions } = await again.delivery(id);
    expect({ state, transitions }).toEqual({ state: "delivered", transitions: [] });
    expect(attempts).toMatchObject([{ round: 1, outcome: "success", simulated: true }]);
  });

  test("is made again after a restart, and nothing of it was recorded", async ({ start }) => {
    const data = await start.directory();
    const endpointsPort = await lastingPort();
    const app = await start.app({ data, endpointsPort, clock: "paused" });
    const id = await sendTo(app, [{ times: 2, do: "hang" }, { do: "answer" }]);
    await app.stop();
    const again = await start.app({ data, endpointsPort });
    await again.settle();
    expect(await again.delivery(id)).toMatchObject({ state: "sending", attempts: [] });
    await again.advance({ to: "idle" });
    const { state, attempts } = await again.delivery(id);
    expect(state).toBe("delivered");
    expect(attempts.at(-1)).toMatchObject({ outcome: "success" });
  });
});
