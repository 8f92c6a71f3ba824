/** Deliveries through a test endpoint that forwards them to a receiver that is not ours. */

import { expect, test as base } from "vitest";
import type { Step } from "../../src/domain/configuration.ts";
import { outcomeOf, starting, until, type RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

async function behind(app: RunningApp, to: string, steps: Partial<Step>[], more = {}) {
  const endpoint = await app.call("endpoints.create", {
    name: "In between",
    steps: steps.map((step) => ({ do: "forward" as const, to, ...step })),
  });
  await app.destination([endpoint.url], { sharedSecret: "s", ...more });
  return {
    endpoint,
    requests: async () =>
      (await app.call("endpoints.requests", { id: endpoint.id })).items.toReversed(),
  };
}

test("a lost answer is retried: the receiver gets the same signed bytes twice", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const { requests } = await behind(app, receiver.url, [{ lose: "answer", times: 1 }, {}]);
  const id = await app.send();
  await app.call("clock.advance", { to: "idle" });
  const delivery = await app.delivery(id);
  expect(delivery.state).toBe("delivered");
  expect(delivery.attempts.map(outcomeOf)).toEqual(["1: connection_error", "2: success"]);
  expect(receiver.requests.map(({ body }) => body)).toEqual([delivery.payload, delivery.payload]);
  const signature = receiver.requests[0]?.headers.find(([name]) => name === "X-Signature")?.[1];
  expect(signature).toMatch(/^[0-9a-f]{40}$/);
  expect(
    (await requests()).map(({ status, forwarded }) => [
      status,
      forwarded.map(({ outcome }) => outcome),
    ]),
  ).toEqual([
    [null, ["success"]],
    [200, ["success"]],
  ]);
});

test("what a forward waits is clock time, and an advance waits for the receiver", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver(
    (response) => void setTimeout(() => response.end("ok"), 50),
  );
  await behind(app, receiver.url, [{ delayMs: 100, delayAfterMs: 300 }]);
  const began = performance.now();
  const id = await app.send();
  await app.settle();
  expect(receiver.requests).toHaveLength(0);
  const from = Date.parse((await app.call("clock.get", {})).now);
  const { now } = await app.call("clock.advance", { to: "idle" });
  const realMs = performance.now() - began;
  expect(Date.parse(now) - from).toBe(400);
  const [attempt] = (await app.delivery(id)).attempts;
  expect(attempt).toMatchObject({ outcome: "success", simulated: true });
  expect(attempt?.durationMs).toBeGreaterThanOrEqual(400);
  expect(attempt?.durationMs).toBeLessThan(400 + realMs);
});

test("a receiver has what the wait before it left of the deadline, in real time", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const working = Promise.withResolvers<{ end(): void }>();
  const receiver = await start.receiver((response) => working.resolve(response));
  await app.call("retryProfiles.create", {
    ...{ name: "once", timeoutMs: 600_000 },
    schedule: { kind: "list", delaysMs: [14_400_000] },
  });
  await behind(app, receiver.url, [{ delayMs: 599_999 }], { retryProfile: "once" });
  const id = await app.send();
  const advanced = app.call("clock.advance", { byMs: 600_000 });
  const response = await working.promise;
  await until(async () => (await app.delivery(id)).attempts.length === 1);
  response.end();
  await advanced;
  expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: timeout"]);
});

test("an answer that is delayed beyond the deadline is a timeout on the clock, and the receiver has done its work", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  await behind(app, receiver.url, [{ delayAfterMs: 6_000, times: 1 }, {}]);
  const id = await app.send();
  await app.call("clock.advance", { to: "idle" });
  expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: timeout", "2: success"]);
  expect(receiver.requests).toHaveLength(2);
});

test("a request that is delayed beyond the deadline arrives after its retry", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  const { requests } = await behind(app, receiver.url, [{ delayMs: 60_000, times: 1 }, {}]);
  const id = await app.send();
  await app.call("clock.advance", { byMs: 120_000 });
  expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: timeout", "2: success"]);
  expect(receiver.requests).toHaveLength(2);
  const [late, retried] = await requests();
  expect(Date.parse(late?.forwarded[0]?.startedAt ?? "")).toBeGreaterThan(
    Date.parse(retried?.forwarded[0]?.startedAt ?? ""),
  );
});

test("a forward to another test endpoint that waits is held with it", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const slow = await app.call("endpoints.create", {
    name: "Slow",
    steps: [{ do: "answer", delayMs: 2_000 }],
  });
  const { requests } = await behind(app, slow.url, [{ copies: 2, together: true }]);
  const id = await app.send();
  await app.settle();
  const from = Date.parse((await app.call("clock.get", {})).now);
  const { now } = await app.call("clock.advance", { to: "idle" });
  expect(Date.parse(now) - from).toBe(2_000);
  expect((await app.delivery(id)).attempts).toMatchObject([
    { outcome: "success", simulated: true, durationMs: 2_000 },
  ]);
  expect((await requests())[0]?.forwarded).toMatchObject([
    { outcome: "success", simulated: true },
    { outcome: "success", simulated: true },
  ]);
});

test("held deliveries arrive in reverse", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver();
  await behind(app, receiver.url, [{ hold: 3 }]);
  for (const userId of ["ada", "bob", "cyd"]) {
    await app.send({ userId });
    await app.settle();
  }
  await until(() => receiver.requests.length === 3);
  expect(
    receiver.requests.map(({ body }) => (JSON.parse(body) as { userId: string }).userId),
  ).toEqual(["cyd", "bob", "ada"]);
  await app.settle();
  expect(await app.call("deliveries.list", { state: "delivered" })).toMatchObject({ total: 3 });
});

test("a forward that leads back to its own endpoint ends at once", async ({ start }) => {
  const app = await start.app({ clock: "paused" });
  const endpoint = await app.call("endpoints.create", { name: "Loop", steps: [{ do: "answer" }] });
  await app.call("endpoints.update", {
    id: endpoint.id,
    steps: [{ do: "forward", to: endpoint.url }],
  });
  await app.destination([endpoint.url]);
  const id = await app.send();
  await app.settle();
  expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: 508"]);
  expect(await app.call("endpoints.requests", { id: endpoint.id })).toMatchObject({ total: 2 });
});
