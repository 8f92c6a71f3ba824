/** Retry now, cancel and replay. */

import { describe, expect, test as base } from "vitest";
import { outcomeOf, starting, until } from "../support/running-app.ts";
import type { RunningApp, Start } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const hour = 3_600_000;

/** A delivery in each of the states from which it can be retried. */
async function deliveryThatIs(
  state: "waiting" | "failed" | "expired" | "cancelled",
  start: Start,
): Promise<{ app: RunningApp; receiver: WebhookReceiver; message: string; id: string }> {
  const app = await start.app({ clock: "paused" });
  const receiver = await start.receiver(state === "failed" ? 404 : 503);
  await app.destination([receiver.url]);
  const message = await app.send();
  await app.settle();
  const { id } = await app.delivery(message);
  if (state === "expired") await app.advance({ to: "idle" });
  if (state === "cancelled") await app.call("deliveries.cancel", { id });
  expect((await app.delivery(message)).state).toBe(state);
  return { app, receiver, message, id };
}

describe("retry now", () => {
  test.for(["waiting", "failed", "expired", "cancelled"] as const)(
    "sends a delivery that is %s at once",
    async (state, { start }) => {
      const { app, receiver, message, id } = await deliveryThatIs(state, start);
      const { rounds } = await app.delivery(message);
      const { now } = await app.call("clock.get", {});
      receiver.answer = 200;
      expect(await app.call("deliveries.retry", { id })).toMatchObject({ id, state: "queued" });
      await app.settle();
      const delivery = await app.delivery(message);
      expect(delivery).toMatchObject({ state: "delivered", rounds: rounds + 1 });
      expect(delivery.attempts.at(-1)).toMatchObject({
        round: rounds + 1,
        startedAt: now,
        outcome: "success",
      });
      expect((await app.message(message)).state).toBe("delivered");
    },
  );

  test.for(["failed", "expired", "cancelled"] as const)(
    "gives a delivery that is %s a new window",
    async (state, { start }) => {
      const { app, receiver, message, id } = await deliveryThatIs(state, start);
      const before = await app.delivery(message);
      receiver.answer = 503;
      await app.advance({ byMs: hour });
      const { now } = await app.call("clock.get", {});
      await app.call("deliveries.retry", { id });
      await app.advance({ to: "idle" });
      const delivery = await app.delivery(message);
      expect(delivery).toMatchObject({ state: "expired", firstAttemptAt: now });
      const times = delivery.attempts
        .slice(before.attempts.length)
        .map(({ startedAt }) => Date.parse(startedAt) - Date.parse(now));
      expect(times[0]).toBe(0);
      // The schedule starts again with its ten seconds, and runs for its four hours.
      expect(times[1]).toBeLessThanOrEqual(11_000);
      expect(Math.max(...times)).toBeLessThanOrEqual(4 * hour);
      expect(Math.max(...times)).toBeGreaterThan(3.4 * hour);
      expect(delivery.attempts.map(({ round }) => round)).toEqual(
        delivery.attempts.map((_, index) => index + 1),
      );
    },
  );

  test("leaves a waiting delivery in its window", async ({ start }) => {
    const { app, message, id } = await deliveryThatIs("waiting", start);
    const { firstAttemptAt } = await app.delivery(message);
    await app.advance({ byMs: 3 * hour });
    const { attempts } = await app.delivery(message);
    await app.call("deliveries.retry", { id });
    await app.settle();
    const retried = await app.delivery(message);
    expect(retried).toMatchObject({ state: "waiting", firstAttemptAt });
    expect(retried.attempts).toHaveLength(attempts.length + 1);
    await app.advance({ to: "idle" });
    const last = Date.parse((await app.delivery(message)).attempts.at(-1)?.startedAt ?? "");
    expect(last - Date.parse(firstAttemptAt ?? "")).toBeLessThanOrEqual(4 * hour);
  });

  test("goes to webhooks that had failed for good again, in a new window only", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const [gone, busy] = [await start.receiver(404), await start.receiver(503)];
    await app.destination([gone.url, busy.url]);
    const message = await app.send();
    await app.settle();
    const { id } = await app.delivery(message);
    await app.call("deliveries.retry", { id });
    await app.settle();
    expect([gone.requests.length, busy.requests.length]).toEqual([1, 2]);
    await app.call("deliveries.cancel", { id });
    await app.call("deliveries.retry", { id });
    await app.settle();
    expect([gone.requests.length, busy.requests.length]).toEqual([2, 3]);
    expect(await app.delivery(message)).toMatchObject({ state: "waiting" });
  });

  test("is refused while the delivery is being sent, and after it was delivered", async ({
    start,
  }) => {
    const app = await start.app();
    const waiting: (() => void)[] = [];
    const receiver = await start.receiver(
      (response) => void waiting.push(() => response.writeHead(200).end()),
    );
    await app.destination([receiver.url]);
    const message = await app.send();
    await receiver.whenReceived(1);
    const { id } = await app.delivery(message);
    expect(await app.refused("deliveries.retry", { id })).toEqual({
      status: 409,
      code: "being_sent",
    });
    expect(await app.refused("deliveries.cancel", { id })).toEqual({
      status: 409,
      code: "being_sent",
    });
    waiting[0]?.();
    await app.settle();
    expect(await app.refused("deliveries.retry", { id })).toEqual({
      status: 409,
      code: "already_delivered",
    });
    expect(await app.refused("deliveries.cancel", { id })).toEqual({
      status: 409,
      code: "already_over",
    });
    expect(receiver.requests).toHaveLength(1);
    expect(await app.refused("deliveries.retry", { id: "dlv_zzzzzzzzz" })).toMatchObject({
      status: 404,
    });
    expect(await app.refused("deliveries.cancel", { id: "nonsense" })).toMatchObject({
      status: 404,
    });
  });

  test("many times at once is one more round", async ({ start }) => {
    const { app, receiver, message, id } = await deliveryThatIs("waiting", start);
    await Promise.all(Array.from({ length: 20 }, () => app.refused("deliveries.retry", { id })));
    await app.settle();
    expect(receiver.requests).toHaveLength(2);
    expect((await app.delivery(message)).attempts.map(outcomeOf)).toEqual(["1: 503", "2: 503"]);
  });
});

describe("cancel", () => {
  test("ends a waiting delivery for good", async ({ start }) => {
    const { app, receiver, message, id } = await deliveryThatIs("waiting", start);
    expect(await app.call("deliveries.cancel", { id })).toMatchObject({
      state: "cancelled",
      nextAttemptAt: null,
    });
    expect(await app.advance({ to: "idle" })).toMatchObject({
      ran: { attempts: 0 },
      nextDueAt: null,
    });
    await app.advance({ byMs: hour });
    expect(receiver.requests).toHaveLength(1);
    expect((await app.message(message)).state).toBe("cancelled");
    expect(await app.call("deliveries.cancel", { id })).toMatchObject({ state: "cancelled" });
  });

  test("ends a queued delivery before its first attempt", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    await app.call("settings.update", { laneConnections: 1 });
    const endpoint = await app.call("endpoints.create", {
      name: "Hanging",
      steps: [{ do: "hang" }],
      after: "repeat-last",
    });
    await app.destination([endpoint.url]);
    await app.sendMany(20);
    // The one connection of the lane is taken, so the rest stay where they are.
    await until(
      async () => (await app.call("endpoints.requests", { id: endpoint.id })).total === 1,
    );
    const { items } = await app.call("deliveries.list", { state: "queued" });
    expect(items.length).toBeGreaterThan(10);
    for (const { id } of items) await app.call("deliveries.cancel", { id });
    await app.advance({ byMs: 200_000 });
    const { items: cancelled } = await app.call("deliveries.list", { state: "cancelled" });
    expect(cancelled).toHaveLength(items.length);
    for (const { rounds, firstAttemptAt } of cancelled)
      expect({ rounds, firstAttemptAt }).toEqual({ rounds: 0, firstAttemptAt: null });
  });
});

describe("retry all", () => {
  /** 450 waiting deliveries at one destination and 10 failed ones at another. */
  async function many(start: Start): Promise<{
    app: RunningApp;
    busy: WebhookReceiver;
    wrong: WebhookReceiver;
    destinations: string[];
  }> {
    const app = await start.app({ clock: "paused" });
    const [wrong, busy] = [await start.receiver(404), await start.receiver(503)];
    const { id: first } = await app.destination([wrong.url]);
    await app.sendMany(10);
    await app.settle();
    await app.call("destinations.update", { id: first, enabled: false });
    // 450 at once can take longer than five seconds on a busy machine.
    await app.call("retryProfiles.create", { name: "patient", timeoutMs: 60_000 });
    const { id: second } = await app.destination([busy.url], { retryProfile: "patient" });
    await app.sendMany(450);
    await app.settle();
    await app.call("destinations.update", { id: first, enabled: true });
    return { app, busy, wrong, destinations: [first, second] };
  }

  const finished = (app: RunningApp, id: string) =>
    until(async () => {
      const job = await app.call("jobs.get", { id });
      return job.state !== "running" && job;
    });

  /** Answers what a job, and not a count, is. */
  async function startJob(
    app: RunningApp,
    filter: { state?: "waiting" | "failed"; destinationId?: string },
  ) {
    const job = await app.call("deliveries.retryAll", { filter });
    if (!("id" in job)) throw new Error("this is no job");
    return job;
  }

  test("counts first, without sending", async ({ start }) => {
    const { app, busy, wrong, destinations } = await many(start);
    const count = async (filter: object) =>
      app.call("deliveries.retryAll", { filter, dryRun: true });
    expect(await count({})).toEqual({ count: 460 });
    expect(await count({ state: "waiting" })).toEqual({ count: 450 });
    expect(await count({ state: "failed" })).toEqual({ count: 10 });
    expect(await count({ state: "delivered" })).toEqual({ count: 0 });
    expect(await count({ destinationId: destinations[0] })).toEqual({ count: 10 });
    await app.settle();
    expect([wrong.requests.length, busy.requests.length]).toEqual([10, 450]);
  });

  test("requeues all that match, and says how far it is", async ({ start }) => {
    const { app, busy, wrong } = await many(start);
    busy.answer = 200;
    const job = await startJob(app, { state: "waiting" });
    expect(job).toMatchObject({ state: "running", count: 450, total: 450 });
    expect(job.done).toBeLessThan(450);
    expect(await finished(app, job.id)).toMatchObject({
      state: "done",
      total: 450,
      done: 450,
      retried: 450,
    });
    expect((await app.call("jobs.list", {})).items).toMatchObject([{ id: job.id }]);
    await app.settle();
    expect((await app.call("deliveries.list", { state: "delivered" })).total).toBe(450);
    expect([wrong.requests.length, busy.requests.length]).toEqual([10, 900]);
  });

  test("can be cancelled on the way", async ({ start }) => {
    const { app, busy } = await many(start);
    const job = await startJob(app, { state: "waiting" });
    const cancelled = await app.call("jobs.cancel", { id: job.id });
    expect(cancelled.state).toBe("cancelled");
    await app.settle();
    expect(cancelled.retried).toBeLessThan(450);
    expect(await app.call("jobs.get", { id: job.id })).toEqual(cancelled);
    expect(busy.requests).toHaveLength(450 + cancelled.retried);
    expect(await app.refused("jobs.cancel", { id: "job_zzzzzzzzz" })).toMatchObject({
      status: 404,
    });
  });

  test("jobs that have ended are forgotten, except the newest hundred", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const ids: string[] = [];
    for (let n = 0; n < 130; n += 1) {
      const job = await app.call("deliveries.retryAll", { filter: {} });
      if ("id" in job) ids.push(job.id);
    }
    const { items } = await app.call("jobs.list", {});
    expect(ids).toHaveLength(130);
    expect(items.length).toBeLessThanOrEqual(101);
    expect(items.map(({ id }) => id)).toEqual(ids.slice(-items.length).reverse());
    expect(await app.refused("jobs.get", { id: ids[0] ?? "" })).toMatchObject({ status: 404 });
  });
});

describe("replay", () => {
  test("sends the message again as a new one that says what it replays", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(200);
    await app.destination([receiver.url]);
    const id = await app.send({
      messageId: "first",
      properties: { price: 1 },
      context: { ip: "10.0.0.7" },
      timestamp: "2020-05-05T05:05:05.000Z",
    });
    await app.settle();
    await app.advance({ byMs: hour });
    const replayed = await app.call("messages.replay", { id });
    expect(replayed).toMatchObject({
      replayOf: id,
      userId: "u1",
      event: "Bought",
      timestamp: "2020-05-05T05:05:05.000Z",
    });
    expect(replayed.id).not.toBe(id);
    expect(replayed.messageId).not.toBe("first");
    await app.settle();
    const [before, after] = receiver.requests.map(
      ({ body }) => JSON.parse(body) as Record<string, unknown>,
    );
    expect(after).toEqual({ ...before, messageId: replayed.messageId });
    expect(await app.message(replayed.id)).toMatchObject({ state: "delivered", replayOf: id });
    expect(await app.message(id)).toMatchObject({ state: "delivered", replayOf: null });
    expect((await app.delivery(id)).attempts).toHaveLength(1);
    expect(await app.refused("messages.replay", { id: "msg_zzzzzzzzz" })).toMatchObject({
      status: 404,
    });
    const { sourceId } = await app.message(id);
    await app.call("sources.delete", { id: sourceId });
    expect(await app.refused("messages.replay", { id })).toMatchObject({
      status: 409,
      code: "source_deleted",
    });
  });

  test("comes from the address that the message came from", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(200);
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    const replayed = await app.call("messages.replay", { id });
    await app.call("messages.replay", { id: replayed.id });
    await app.settle();
    const addresses = receiver.requests.map(
      ({ body }) => (JSON.parse(body) as { context: { ip?: string } }).context.ip,
    );
    expect(addresses).toEqual(["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
  });

  test("of a message that is as large as one may be is accepted, also once more", async ({
    start,
  }) => {
    const app = await start.app();
    const receiver = await start.receiver(200);
    await app.destination([receiver.url]);
    const sized = (size: number) => {
      const message = { userId: "u", event: "Bought", properties: { pad: "" } };
      message.properties.pad = "x".repeat(size - JSON.stringify(message).length);
      return message;
    };
    await app.ingest("/v1/track", sized(32_768));
    const [{ id } = { id: "" }] = (await app.call("messages.list", {})).items;
    const once = await app.call("messages.replay", { id });
    const twice = await app.call("messages.replay", { id: once.id });
    expect([once.reason, twice.reason]).toEqual([null, null]);
    await app.settle();
    expect(receiver.requests).toHaveLength(3);

    await app.call("pipeline.reset", { what: "messages" });
    await app.ingest("/v1/batch", { batch: [{ type: "track", ...sized(32_768) }] });
    const [large] = (await app.call("messages.list", {})).items;
    expect(large?.reason).toBe("message_too_large");
    const replayed = await app.call("messages.replay", { id: large?.id ?? "" });
    expect(replayed.reason).toBe("message_too_large");
  });

  test("of a replay, and of one message of a batch, works the same", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(200);
    await app.destination([receiver.url]);
    const messages = [1, 2].map((place) => ({
      type: "track",
      userId: `u${place}`,
      event: "Bought",
      messageId: `m${place}`,
    }));
    await app.ingest("/v1/batch", { batch: messages, context: { locale: "de" } });
    const { items } = await app.call("messages.list", { userId: "u2" });
    const once = await app.call("messages.replay", { id: items[0]?.id ?? "" });
    const twice = await app.call("messages.replay", { id: once.id });
    expect(twice).toMatchObject({ replayOf: once.id, userId: "u2" });
    await app.settle();
    const bodies = receiver.requests.map(
      ({ body }) => JSON.parse(body) as { userId: string; messageId: string; context: object },
    );
    expect(bodies).toHaveLength(4);
    expect(new Set(bodies.map(({ messageId }) => messageId)).size).toBe(4);
    expect(bodies.every(({ context }) => (context as { locale?: string }).locale === "de")).toBe(
      true,
    );
  });
});
