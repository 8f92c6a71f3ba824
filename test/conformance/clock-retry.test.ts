import { describe, expect, test as base } from "vitest";
import { outcomeOf, starting } from "../support/running-app.ts";
import type { Delivery, RunningApp, Start } from "../support/running-app.ts";

const test = base.extend("start", starting);

const second = 1000;
const minute = 60 * second;
const window = 4 * 60 * minute;

const startTimes = ({ attempts }: Delivery): number[] =>
  attempts.map(({ startedAt }) => Date.parse(startedAt));
const gaps = (times: number[]): number[] =>
  times.slice(1).map((time, index) => time - (times[index] ?? 0));

/** Messages to a receiver that answers 503 for ever, until they are expired. */
async function untilExpired(
  start: Start,
  { seed, jitter, messages = 1 }: { seed?: number; jitter?: boolean; messages?: number },
): Promise<Delivery[]> {
  const app = await start.app({ clock: "paused" });
  if (seed !== undefined) await app.call("settings.update", { seed });
  if (jitter !== undefined) await app.call("settings.update", { jitter });
  const receiver = await start.receiver(503);
  await app.destination([receiver.url]);
  await app.toWholeSecond();
  const ids: string[] = [];
  for (let message = 0; message < messages; message++) ids.push(await app.send());
  await app.advance({ to: "idle" });
  return Promise.all(ids.map((id) => app.delivery(id)));
}

describe("503 for ever", () => {
  test("is tried again until the delivery is expired, and never later than four hours after the first attempt", async ({
    start,
  }) => {
    const deliveries = await untilExpired(start, { messages: 8 });
    for (const delivery of deliveries) {
      expect(delivery).toMatchObject({
        state: "expired",
        nextAttemptAt: null,
        reason: "window_closed",
      });
      const times = startTimes(delivery);
      const [first = 0, ...later] = times;
      expect(later.every((time) => time % second === 0)).toBe(true);
      expect(Math.max(...times)).toBeLessThanOrEqual(first + window);
      // One more step of at most 33 minutes would have gone beyond the window, and the delivery
      // expired at once.
      expect(Math.max(...times)).toBeGreaterThan(first + window - 33 * minute);
      expect(Date.parse(delivery.transitions.at(-1)?.at ?? "")).toBe(times.at(-1));
      expect(delivery.attempts.map(({ round }) => round)).toEqual(
        times.map((_, index) => index + 1),
      );
      expect(new Set(delivery.attempts.map(outcomeOf).map((text) => text.split(": ")[1]))).toEqual(
        new Set(["503"]),
      );

      for (const [index, gap] of gaps(times).entries()) {
        const plain = Math.min(30 * minute, 10 * second * 2 ** index);
        expect(gap).toBeGreaterThanOrEqual(plain * 0.9);
        expect(gap).toBeLessThanOrEqual(plain * 1.1);
      }
    }
    // Jitter is drawn for each delivery and round.
    expect(new Set(deliveries.map((delivery) => gaps(startTimes(delivery)).join())).size).toBe(
      deliveries.length,
    );
  });

  test("is tried again at exactly 10, 20, 40 … seconds and then every 30 minutes without jitter", async ({
    start,
  }) => {
    const [delivery] = await untilExpired(start, { jitter: false });
    const seconds = gaps(startTimes(delivery as Delivery)).map((gap) => gap / second);
    expect(seconds).toEqual([
      10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800, 1800, 1800, 1800,
    ]);
  });

  test("is tried again at the same times with the same seed, and at others with another", async ({
    start,
  }) => {
    const timesWith = async (seed: number): Promise<number[][]> => {
      const deliveries = await untilExpired(start, { seed, messages: 3 });
      return deliveries.map((delivery) => gaps(startTimes(delivery)));
    };
    const one = await timesWith(7);
    expect(await timesWith(7)).toEqual(one);
    const other = await timesWith(8);
    for (const [index, times] of other.entries()) expect(times).not.toEqual(one[index]);
  });
});

test("the delay to the next round counts from when the round got a connection", async ({
  start,
}) => {
  const app = await start.app({ clock: "paused" });
  await app.call("settings.update", { laneConnections: 1, jitter: false });
  const slow = await app.call("endpoints.create", {
    name: "Slow",
    steps: [{ do: "answer", status: 503, delayMs: 4000, times: 100 }],
  });
  await app.destination([slow.url]);
  const ids = [];
  for (let n = 0; n < 5; n += 1) ids.push(await app.send());
  await app.advance({ byMs: 20_000 });
  const last = await app.delivery(ids.at(-1) ?? "");
  const [started = 0] = startTimes(last);
  expect(started - Date.parse(last.createdAt)).toBe(16_000);
  const next = last.transitions.find(({ nextAttemptAt }) => nextAttemptAt !== null);
  expect(Date.parse(next?.nextAttemptAt ?? "") - started).toBeGreaterThan(9000);
});

describe("the window", () => {
  test("starts with the first attempt of a round, not with the one that ended it", async ({
    start,
  }) => {
    // One connection: the second delivery's attempt at the slow webhook starts later than that at
    // the quick one.
    const app = await start.app({ clock: "paused" });
    await app.call("settings.update", { laneConnections: 1 });
    const quick = await start.receiver(503);
    const slow = await app.call("endpoints.create", {
      name: "Slow",
      steps: [{ do: "answer", status: 503, delayMs: 4000 }],
    });
    await app.destination([quick.url, slow.url]);
    const ids = [await app.send(), await app.send(), await app.send()];
    await app.advance({ byMs: 12_000 });
    for (const id of ids) {
      const delivery = await app.delivery(id);
      expect(Date.parse(delivery.firstAttemptAt ?? "")).toBe(Math.min(...startTimes(delivery)));
    }
    await app.advance({ to: "idle" });
    for (const id of ids) {
      const delivery = await app.delivery(id);
      const times = startTimes(delivery);
      expect(delivery.state).toBe("expired");
      expect(Math.max(...times) - Math.min(...times)).toBeLessThanOrEqual(window);
    }
  });

  test("starts with the first attempt also when a later one ends before it", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    await app.call("settings.update", { laneConnections: 1 });
    const busy = (event: string, delayMs: number) => ({
      match: { event },
      times: 100,
      do: "answer" as const,
      status: 503,
      delayMs,
    });
    const first = await app.call("endpoints.create", {
      name: "First",
      steps: [busy("One", 0), busy("Two", 4000)],
    });
    const later = await app.call("endpoints.create", {
      name: "Later",
      steps: [busy("One", 1000), busy("Two", 0)],
    });
    await app.destination([first.url, later.url]);
    await app.send({ event: "One" });
    const id = await app.send({ event: "Two" });
    await app.advance({ byMs: 8000 });
    const delivery = await app.delivery(id);
    const [one = 0, two = 0] = startTimes(delivery);
    expect(two - one).toBe(1000);
    expect(delivery.attempts.map(({ durationMs }) => Math.round(durationMs / 1000))).toEqual([
      4, 0,
    ]);
    expect(Date.parse(delivery.firstAttemptAt ?? "")).toBe(one);
  });

  test("of a custom profile, with its schedule, deadline and set of statuses", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    await app.call("retryProfiles.create", {
      name: "quick",
      schedule: { kind: "list", delaysMs: [1000, 2000, 3000] },
      jitter: 0,
      windowMs: minute,
      timeoutMs: 2000,
      retriedStatuses: [{ from: 429, to: 429 }],
      retryTimeouts: false,
    });
    const throttling = await start.receiver(429);
    const failing = await start.receiver(503);
    const hanging = await app.call("endpoints.create", {
      name: "Hanging",
      steps: [{ do: "hang" }],
    });
    for (const { url } of [throttling, failing, hanging])
      await app.destination([url], { retryProfile: "quick" });
    await app.toWholeSecond();
    const id = await app.send();
    await app.advance({ to: "idle" });
    const [throttled, failed, hung] = (await app.message(id)).deliveries;
    expect(throttled?.state).toBe("expired");
    expect(gaps(startTimes(throttled as Delivery))).toEqual([1000, 2000, 3000]);
    expect(failed).toMatchObject({ state: "failed", attempts: [{ response: { status: 503 } }] });
    expect(hung).toMatchObject({
      state: "failed",
      attempts: [{ outcome: "timeout", durationMs: 2000 }],
    });
  });
});

describe("more than a thousand deliveries", () => {
  test("are advanced to idle, each to its own end", async ({ start }) => {
    const app: RunningApp = await start.app({ clock: "paused" });
    const seen = new Map<string, number>();
    const receiver = await start.receiver((response, { body }) => {
      const { userId } = JSON.parse(body) as { userId: string };
      const times = (seen.get(userId) ?? 0) + 1;
      seen.set(userId, times);
      response.writeHead(times === 3 ? 200 : 503).end();
    });
    await app.destination([receiver.url]);
    await app.sendMany(1200);
    const { ran } = await app.advance({ to: "idle" });
    const stats = await app.call("stats.get", {});
    expect(stats.deliveries.byState).toMatchObject({
      delivered: 1200,
      waiting: 0,
      queued: 0,
      sending: 0,
    });
    expect([...seen.values()].every((times) => times === 3)).toBe(true);
    expect(ran.attempts).toBeLessThanOrEqual(3600);
    expect(ran.attempts).toBeGreaterThanOrEqual(2400);
  });
});
