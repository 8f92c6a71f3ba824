import { describe, expect, test as base } from "vitest";
import { outcomeOf, outcomesByWebhook, starting } from "../support/running-app.ts";

const test = base.extend("start", starting);

describe("five webhooks", () => {
  test("are delivered if and only if any one succeeds, in all 32 combinations", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receivers = await Promise.all(
      [0, 1, 2, 3, 4].map((place) =>
        start.receiver((response, { body }) => {
          const { properties } = JSON.parse(body) as { properties: { succeed: boolean[] } };
          response.writeHead(properties.succeed[place] === true ? 200 : 503).end();
        }),
      ),
    );
    const urls = receivers.map(({ url }) => url);
    await app.destination(urls);

    const sent: { id: string; succeed: boolean[] }[] = [];
    for (let combination = 0; combination < 32; combination++) {
      const succeed = urls.map((_, place) => (combination & (1 << place)) !== 0);
      sent.push({ succeed, id: await app.send({ properties: { succeed } }) });
    }
    await app.settle();

    for (const { id, succeed } of sent) {
      const delivery = await app.delivery(id);
      expect(delivery.state, JSON.stringify(succeed)).toBe(
        succeed.includes(true) ? "delivered" : "waiting",
      );
      expect(outcomesByWebhook(delivery, urls)).toEqual(
        succeed.map((success) => [success ? "1: success" : "1: 503"]),
      );
    }
    await app.advance({ byMs: 60_000 });
    for (const { id, succeed } of sent) {
      const delivery = await app.delivery(id);
      const rounds = Math.max(...delivery.attempts.map(({ round }) => round));
      expect(delivery.attempts, JSON.stringify(succeed)).toHaveLength(
        succeed.includes(true) ? 5 : 5 * rounds,
      );
      if (!succeed.includes(true)) expect(rounds).toBeGreaterThan(1);
    }
    for (const { requests } of receivers) {
      const bodies = Map.groupBy(requests, ({ body }) => body);
      const delivered = [...bodies].filter(([body]) =>
        (JSON.parse(body) as { properties: { succeed: boolean[] } }).properties.succeed.includes(
          true,
        ),
      );
      expect(delivered).toHaveLength(31);
      for (const [, times] of delivered) expect(times).toHaveLength(1);
    }
  });
});

describe("an answer", () => {
  test.for([200, 201, 204, 299])("of %i is a success", async (status, { start }) => {
    const app = await start.app();
    const receiver = await start.receiver(status);
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    const delivery = await app.delivery(id);
    expect(delivery).toMatchObject({
      state: "delivered",
      nextAttemptAt: null,
      reason: "succeeded",
    });
    expect(delivery.attempts).toMatchObject([
      { round: 1, outcome: "success", error: null, response: { status } },
    ]);
  });

  test.for([300, 304, 400, 401, 404, 408, 410, 429, 499])(
    "of %i is final",
    async (status, { start }) => {
      const app = await start.app({ clock: "paused" });
      const receiver = await start.receiver(status);
      await app.destination([receiver.url]);
      const id = await app.send();
      await app.advance({ to: "idle" });
      const delivery = await app.delivery(id);
      expect(delivery).toMatchObject({ state: "failed", nextAttemptAt: null });
      expect(delivery.attempts.map(outcomeOf)).toEqual([`1: ${status}`]);
      expect(receiver.requests).toHaveLength(1);
      expect(await app.message(id)).toMatchObject({
        state: "failed",
        attempts: 1,
        lastStatus: status,
      });
    },
  );

  test.for([500, 501, 502, 503, 504, 505, 599])("of %i is retried", async (status, { start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(status);
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    expect(await app.delivery(id)).toMatchObject({
      state: "waiting",
      nextAttemptAt: expect.any(String),
    });
    receiver.answer = 200;
    await app.advance({ to: "next-due" });
    expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual([
      `1: ${status}`,
      "2: success",
    ]);
  });
});

describe("an answer beyond HTTP's own statuses", () => {
  test("is final, retried where the profile says so, and found by its status and by its hundred", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(700);
    const { id } = await app.destination([receiver.url]);
    const final = await app.send();
    await app.settle();
    expect(await app.delivery(final)).toMatchObject({
      state: "failed",
      attempts: [{ outcome: "http_error", response: { status: 700 } }],
    });

    await app.call("destinations.update", { id, retryProfile: "svix" });
    const retried = await app.send();
    await app.settle();
    expect(await app.delivery(retried)).toMatchObject({ state: "waiting" });
    for (const status of ["700", "7xx"]) {
      expect(
        (await app.call("messages.list", { status })).items.map((message) => message.id),
      ).toEqual([retried, final]);
    }
    expect((await app.call("messages.list", { status: "8xx" })).items).toEqual([]);
  });
});

describe("mixed failures", () => {
  test("are retried at the webhook that may be retried only, and failed once none is left", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const gone = await start.receiver(410);
    const busy = await start.receiver(503);
    await app.destination([gone.url, busy.url]);
    const id = await app.send();
    await app.settle();
    expect(await app.delivery(id)).toMatchObject({ state: "waiting" });
    await app.advance({ to: "next-due" });
    expect(await app.delivery(id)).toMatchObject({ state: "waiting" });
    busy.answer = 400;
    await app.advance({ to: "next-due" });
    const delivery = await app.delivery(id);
    expect(delivery).toMatchObject({ state: "failed", nextAttemptAt: null });
    expect(outcomesByWebhook(delivery, [gone.url, busy.url])).toEqual([
      ["1: 410"],
      ["1: 503", "2: 503", "3: 400"],
    ]);
    expect(await app.call("clock.get", {})).toMatchObject({ nextDueAt: null });
  });

  test("are expired when the window closes before the last of them is final", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const gone = await start.receiver(410);
    const busy = await start.receiver(503);
    await app.destination([gone.url, busy.url]);
    const id = await app.send();
    await app.advance({ to: "idle" });
    expect(await app.delivery(id)).toMatchObject({ state: "expired" });
    expect(gone.requests).toHaveLength(1);
    expect(busy.requests.length).toBeGreaterThan(10);
  });

  test("are delivered when the one that is retried succeeds", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const gone = await start.receiver(410);
    const busy = await start.receiver((response, _, count) =>
      response.writeHead(count < 3 ? 500 : 200).end(),
    );
    await app.destination([gone.url, busy.url]);
    const id = await app.send();
    await app.advance({ to: "idle" });
    const delivery = await app.delivery(id);
    expect(delivery.state).toBe("delivered");
    expect(outcomesByWebhook(delivery, [gone.url, busy.url])).toEqual([
      ["1: 410"],
      ["1: 500", "2: 500", "3: success"],
    ]);
  });
});

describe("states", () => {
  test("of a message are the first of its deliveries'", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const good = await start.receiver(200);
    const wrong = await start.receiver(404);
    const busy = await start.receiver(503);
    for (const { url } of [good, wrong, busy]) await app.destination([url]);
    const id = await app.send();
    await app.settle();
    const states = async (): Promise<string[]> =>
      (await app.message(id)).deliveries.map(({ state }) => state);
    const ofMessage = async (): Promise<string> => (await app.message(id)).state;
    expect(await states()).toEqual(["delivered", "failed", "waiting"]);
    expect(await ofMessage()).toBe("waiting");
    expect((await app.call("messages.list", { state: "waiting" })).items).toMatchObject([{ id }]);

    const [, failed, waiting] = (await app.message(id)).deliveries;
    await app.call("deliveries.cancel", { id: waiting?.id ?? "" });
    expect(await states()).toEqual(["delivered", "failed", "cancelled"]);
    expect(await ofMessage()).toBe("failed");
    wrong.answer = 200;
    await app.call("deliveries.retry", { id: failed?.id ?? "" });
    await app.settle();
    expect(await states()).toEqual(["delivered", "delivered", "cancelled"]);
    expect(await ofMessage()).toBe("cancelled");
    busy.answer = 200;
    await app.call("deliveries.retry", { id: waiting?.id ?? "" });
    await app.settle();
    expect(await ofMessage()).toBe("delivered");
    const stats = await app.call("stats.get", {});
    expect(stats.messages.byState).toMatchObject({
      delivered: 1,
      waiting: 0,
      failed: 0,
      cancelled: 0,
    });
    expect(stats.deliveries.byState).toMatchObject({
      delivered: 3,
      waiting: 0,
      failed: 0,
      cancelled: 0,
      sending: 0,
    });
  });

  test("are recorded append-only, so that the record alone tells the timeline", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.settle();
    const recorded = [(await app.delivery(id)).transitions];
    const step = async (move: () => Promise<unknown>): Promise<void> => {
      await move();
      recorded.push((await app.delivery(id)).transitions);
    };
    const { id: deliveryId } = await app.delivery(id);
    await step(() => app.advance({ to: "next-due" }));
    await step(() => app.call("deliveries.cancel", { id: deliveryId }));
    await step(async () => {
      receiver.answer = 400;
      await app.call("deliveries.retry", { id: deliveryId });
      await app.settle();
    });
    await step(async () => {
      receiver.answer = 200;
      await app.call("deliveries.retry", { id: deliveryId });
      await app.settle();
    });

    for (const [index, transitions] of recorded.entries()) {
      expect(transitions.slice(0, recorded[index - 1]?.length ?? 0)).toEqual(
        recorded[index - 1] ?? [],
      );
    }
    const { attempts, transitions, state } = await app.delivery(id);
    expect(state).toBe("delivered");
    expect(transitions.map(({ state, reason }) => [state, reason])).toEqual([
      ["waiting", "retry"],
      ["waiting", "retry"],
      ["cancelled", "cancelled"],
      ["queued", "retry_now"],
      ["failed", "not_retried"],
      ["queued", "retry_now"],
    ]);
    expect(attempts.map(outcomeOf)).toEqual(["1: 503", "2: 503", "3: 400", "4: success"]);
    expect(transitions[0]?.nextAttemptAt).toBe(attempts[1]?.startedAt);
    expect(transitions.map(({ at }) => at)).toEqual(transitions.map(({ at }) => at).toSorted());
  });
});

test("a receiver's Retry-After moves the next round with a profile that honours it, and with no other", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.call("settings.update", { jitter: false });
  await app.call("retryProfiles.create", { name: "polite", honourRetryAfter: true });
  await app.toWholeSecond();
  const source = await app.source({ writeKey: "other" });
  const nextIn = async (retryProfile: string, seconds: string[]): Promise<number | null> => {
    const receivers = await Promise.all(
      seconds.map((value) =>
        start.receiver((response) => response.writeHead(503, { "Retry-After": value }).end()),
      ),
    );
    const { id } = await app.call("destinations.create", {
      name: `${retryProfile} ${seconds.join(" ")}`,
      sourceIds: [source.id],
      webhooks: receivers.map(({ url }) => ({ url })),
      retryProfile,
    });
    await app.ingest("/v1/track", { userId: "u", event: "e" }, "other");
    await app.settle();
    const [delivery] = (await app.call("deliveries.list", { destinationId: id })).items;
    await app.call("destinations.delete", { id });
    const at = delivery?.nextAttemptAt ?? null;
    return at === null ? null : Date.parse(at) - Date.parse((await app.call("clock.get", {})).now);
  };
  expect(await nextIn("documented", ["120"])).toBe(10_000);
  expect(await nextIn("polite", ["120"])).toBe(120_000);
  expect(await nextIn("polite", ["2"])).toBe(10_000);
  expect(await nextIn("polite", ["30", "90"])).toBe(90_000);
  expect(await nextIn("polite", ["14401"])).toBeNull();
});
