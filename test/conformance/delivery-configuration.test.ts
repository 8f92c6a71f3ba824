/** What a change to a destination does to deliveries on their way. */

import { describe, expect, test as base } from "vitest";
import { outcomeOf, outcomesByWebhook, starting } from "../support/running-app.ts";
import type { WebhookReceiver } from "../support/webhook-receiver.ts";

const test = base.extend("start", starting);

const header = ({ requests }: WebhookReceiver, index: number, name: string): string | undefined =>
  requests[index]?.headers.find(([known]) => known === name)?.[1];

const hour = 3_600_000;

describe("each round", () => {
  test("takes the headers, the secret and the vendor as they are when it starts", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([{ url: receiver.url, headers: { "X-Team": "one" } }]);
    const message = await app.send();
    await app.settle();
    expect(header(receiver, 0, "X-Team")).toBe("one");
    expect(header(receiver, 0, "X-Signature")).toBeUndefined();
    expect(header(receiver, 0, "User-Agent")).toBe("Hookyard/1.0");

    await app.call("destinations.update", {
      id,
      webhooks: [{ url: receiver.url, headers: { "X-Team": "two" } }],
      sharedSecret: "secret",
    });
    await app.call("settings.update", { vendor: "Acme" });
    await app.advance({ to: "next-due" });
    expect(header(receiver, 1, "X-Team")).toBe("two");
    expect(header(receiver, 1, "X-Signature")).toMatch(/^[0-9a-f]{40}$/);
    expect(header(receiver, 1, "User-Agent")).toBe("Acme/1.0");

    await app.call("destinations.update", {
      id,
      webhooks: [{ url: receiver.url }],
      sharedSecret: null,
    });
    await app.advance({ to: "next-due" });
    expect(header(receiver, 2, "X-Team")).toBeUndefined();
    expect(header(receiver, 2, "X-Signature")).toBeUndefined();
    // What was sent stays on record as it was sent, and the body is the same each time.
    const { attempts } = await app.delivery(message);
    expect(attempts[0]?.request.headers).toContainEqual(["X-Team", "one"]);
    expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(1);
  });

  test("leaves out a webhook that was removed and includes one that was added", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const [removed, kept, added] = [
      await start.receiver(503),
      await start.receiver(503),
      await start.receiver(503),
    ];
    const { id } = await app.destination([removed.url, kept.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.update", {
      id,
      webhooks: [{ url: kept.url }, { url: added.url }],
    });
    await app.advance({ to: "next-due" });
    added.answer = 200;
    await app.advance({ to: "next-due" });
    const delivery = await app.delivery(message);
    expect(delivery.state).toBe("delivered");
    expect(outcomesByWebhook(delivery, [removed.url, kept.url, added.url])).toEqual([
      ["1: 503"],
      ["1: 503", "2: 503", "3: 503"],
      ["2: 503", "3: success"],
    ]);
  });

  test("does not go again to a webhook that has failed for good, whatever happens to the others", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const [gone, busy, added] = [
      await start.receiver(404),
      await start.receiver(503),
      await start.receiver(200),
    ];
    const { id } = await app.destination([gone.url, busy.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.update", {
      id,
      webhooks: [{ url: gone.url, headers: { "X-Team": "two" } }, { url: added.url }],
    });
    await app.advance({ to: "next-due" });
    const delivery = await app.delivery(message);
    expect(delivery.state).toBe("delivered");
    expect(gone.requests).toHaveLength(1);
    expect(delivery.attempts.map(outcomeOf).toSorted()).toEqual(["1: 404", "1: 503", "2: success"]);
  });

  test("ends as failed when only webhooks that failed for good are left", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const [gone, busy] = [await start.receiver(404), await start.receiver(503)];
    const { id } = await app.destination([gone.url, busy.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.update", { id, webhooks: [{ url: gone.url }] });
    await app.advance({ to: "idle" });
    expect(await app.delivery(message)).toMatchObject({
      state: "failed",
      attempts: [{ round: 1 }, { round: 1 }],
    });
  });
});

describe("a disabled destination", () => {
  test("holds its deliveries while their window runs on, and sends them at once when it is enabled again", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([receiver.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.update", { id, enabled: false });
    await app.advance({ byMs: hour });
    expect(receiver.requests).toHaveLength(1);
    expect(await app.delivery(message)).toMatchObject({ state: "waiting" });
    expect((await app.message(await app.send())).decisions).toMatchObject([
      { routed: false, reason: "disabled" },
    ]);

    const { now } = await app.call("clock.get", {});
    await app.call("destinations.update", { id, enabled: true });
    await app.settle();
    const delivery = await app.delivery(message);
    expect(delivery.attempts.map(({ startedAt }) => startedAt)).toEqual([
      delivery.firstAttemptAt,
      now,
    ]);
    await app.advance({ to: "idle" });
    const { attempts, state, firstAttemptAt } = await app.delivery(message);
    expect(state).toBe("expired");
    expect(
      Date.parse(attempts.at(-1)?.startedAt ?? "") - Date.parse(firstAttemptAt ?? ""),
    ).toBeLessThanOrEqual(4 * hour);
    expect(
      Date.parse(attempts.at(-1)?.startedAt ?? "") - Date.parse(firstAttemptAt ?? ""),
    ).toBeGreaterThan(3 * hour);
  });

  test("lets its deliveries expire at the end of their window, without another attempt", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([receiver.url]);
    const message = await app.send();
    await app.settle();
    const { windowEndsAt, firstAttemptAt } = await app.delivery(message);
    expect(Date.parse(windowEndsAt ?? "") - Date.parse(firstAttemptAt ?? "")).toBe(4 * hour);
    await app.call("destinations.update", { id, enabled: false });
    await app.advance({ byMs: 4 * hour - 1 });
    expect(await app.delivery(message)).toMatchObject({ state: "waiting" });
    await app.advance({ to: "idle" });
    const delivery = await app.delivery(message);
    expect(delivery).toMatchObject({
      state: "expired",
      nextAttemptAt: null,
      attempts: [{ round: 1 }],
    });
    expect(delivery.transitions.at(-1)).toMatchObject({ at: windowEndsAt, state: "expired" });
    expect((await app.message(message)).state).toBe("expired");
    await app.call("destinations.update", { id, enabled: true });
    await app.settle();
    expect(receiver.requests).toHaveLength(1);
  });

  test("lets what was queued again in an open window expire at its end as well, and keeps what has not been tried", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([receiver.url]);
    const message = await app.send();
    await app.settle();
    const { id: deliveryId, windowEndsAt } = await app.delivery(message);
    await app.call("destinations.update", { id, enabled: false });
    expect(await app.call("deliveries.retry", { id: deliveryId })).toMatchObject({
      state: "queued",
    });
    await app.advance({ byMs: 4 * hour - 1 });
    expect(await app.delivery(message)).toMatchObject({ state: "queued" });
    await app.advance({ byMs: 1 });
    const delivery = await app.delivery(message);
    expect(delivery).toMatchObject({ state: "expired", attempts: [{ round: 1 }] });
    expect(delivery.transitions.at(-1)).toMatchObject({
      at: windowEndsAt,
      reason: "window_closed_while_disabled",
    });
    // A retry of an expired one begins a new window, which has no end before its first attempt.
    expect(await app.call("deliveries.retry", { id: deliveryId })).toMatchObject({
      state: "queued",
      windowEndsAt: null,
    });
    await app.advance({ byMs: 5 * hour });
    expect(await app.delivery(message)).toMatchObject({ state: "queued" });
    await app.call("destinations.update", { id, enabled: true });
    await app.settle();
    expect(receiver.requests).toHaveLength(2);
  });

  test("holds up no other destination", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const [held, other] = [await start.receiver(503), await start.receiver(503)];
    const { id } = await app.destination([held.url]);
    await app.destination([other.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.update", { id, enabled: false });
    other.answer = 200;
    await app.advance({ byMs: 60_000 });
    expect((await app.message(message)).deliveries).toMatchObject([
      { state: "waiting" },
      { state: "delivered" },
    ]);
  });
});

describe("a deleted destination", () => {
  test("cancels what is on its way, and keeps the record", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([receiver.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.delete", { id });
    await app.advance({ to: "idle" });
    expect(await app.delivery(message)).toMatchObject({
      state: "cancelled",
      reason: "destination_deleted",
      attempts: [{ round: 1 }],
    });
    expect(receiver.requests).toHaveLength(1);
    expect((await app.message(message)).state).toBe("cancelled");
  });

  test("leaves nothing to retry", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const [gone, other] = [await start.receiver(503), await start.receiver(503)];
    const { id } = await app.destination([gone.url]);
    await app.destination([other.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.delete", { id });
    const { id: delivery } = await app.delivery(message);
    expect(await app.refused("deliveries.retry", { id: delivery })).toEqual({
      status: 409,
      code: "destination_deleted",
    });
    expect(await app.call("deliveries.retryAll", { filter: {}, dryRun: true })).toEqual({
      count: 1,
    });
    expect(
      await app.call("deliveries.retryAll", { filter: { state: "cancelled" }, dryRun: true }),
    ).toEqual({ count: 0 });
    await app.call("deliveries.retryAll", { filter: {} });
    await app.settle();
    expect((await app.message(message)).deliveries).toMatchObject([
      { state: "cancelled" },
      { state: "waiting", rounds: 2 },
    ]);
    expect(gone.requests).toHaveLength(1);
  });

  test("cancels a round under way when it has failed", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const endpoint = await app.call("endpoints.create", {
      name: "Slow",
      steps: [{ do: "answer", status: 503, delayMs: 1000 }],
    });
    const { id } = await app.destination([endpoint.url]);
    const message = await app.send();
    await app.settle();
    await app.call("destinations.delete", { id });
    expect((await app.delivery(message)).state).toBe("sending");
    await app.advance({ to: "idle" });
    expect(await app.delivery(message)).toMatchObject({
      state: "cancelled",
      attempts: [{ outcome: "http_error" }],
    });
  });
});

describe("a reset", () => {
  test("of the messages ends what is under way as if it had not been made", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(() => {});
    await app.call("settings.update", { laneConnections: 2 });
    await app.destination([receiver.url]);
    await app.sendMany(20);
    await receiver.whenReceived(2);
    await app.call("pipeline.reset", { what: "messages" });
    expect((await app.call("stats.get", {})).deliveries.total).toBe(0);
    receiver.answer = 200;
    const message = await app.send();
    expect(await app.settle()).toEqual({ settled: true, queued: 0, sending: 0 });
    expect(await app.delivery(message)).toMatchObject({
      state: "delivered",
      attempts: [{ round: 1, outcome: "success" }],
    });
    expect(receiver.requests).toHaveLength(3);
  });
});

test("a destination has one to five webhooks with up to five headers of their own each, and is refused otherwise", async ({
  start,
}) => {
  const app = await start.app();
  const upTo = <One>(count: number, one: (n: number) => One): One[] =>
    Array.from({ length: count }, (_, n) => one(n));
  const webhook = (n: number) => ({ url: `http://a.localhost/${n}` });
  const withHeaders = (count: number) => [
    { ...webhook(0), headers: Object.fromEntries(upTo(count, (n) => [`X-${n}`, "1"])) },
  ];
  const { id } = await app.destination(upTo(5, webhook));
  await app.call("destinations.update", { id, webhooks: withHeaders(5) });
  for (const [webhooks, sentence] of [
    [[], "at least one webhook"],
    [upTo(6, webhook), "at most 5 webhooks, not 6"],
    [withHeaders(6), "at most 5 headers, not 6"],
    [[{ ...webhook(0), headers: { "X-Signature": "mine" } }], "sets the header X-Signature itself"],
    [[{ ...webhook(0), headers: { "X-A": "1", "x-a": "2" } }], "twice"],
    [[{ url: "a.localhost/hook" }], "http://"],
  ] as const) {
    const refused = {
      status: 400,
      body: { code: "invalid", message: expect.stringContaining(sentence) },
    };
    expect(
      await app.answer("destinations.create", {
        name: "B",
        sourceIds: [],
        webhooks: [...webhooks],
      }),
    ).toMatchObject(refused);
    expect(await app.answer("destinations.update", { id, webhooks: [...webhooks] })).toMatchObject(
      refused,
    );
  }
  expect((await app.call("destinations.list", {})).items).toMatchObject([
    { name: "Receivers", webhooks: [{ url: webhook(0).url }] },
  ]);
});
