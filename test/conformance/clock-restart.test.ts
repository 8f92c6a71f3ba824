import { describe, expect, test as base, vi } from "vitest";
import { outcomeOf, starting, until } from "../support/running-app.ts";
import type { Delivery, RunningApp, Start } from "../support/running-app.ts";

const test = base.extend("start", starting);

const nowOf = async (app: RunningApp): Promise<number> =>
  Date.parse((await app.call("clock.get", {})).now);

describe("the clock after a restart", () => {
  test.for([
    { mode: "real" },
    { mode: "faster", speed: 60 },
    { mode: "faster", speed: 600 },
    { mode: "paused" },
  ] as const)("is in the mode %o again, and not behind where it was", async (mode, { start }) => {
    const data = await start.directory();
    const app = await start.app({ data });
    await app.call("clock.set", mode);
    await app.advance({ byMs: 86_400_000 });
    const began = Date.now();
    const before = await nowOf(app);
    await app.stop();
    const again = await start.app({ data });
    const after = await nowOf(again);
    expect(await again.call("clock.get", {})).toMatchObject(mode);
    if (mode.mode === "paused") expect(after).toBe(before);
    else expect(after).toBeGreaterThanOrEqual(before);
    if (mode.mode === "real") expect(after - before).toBeLessThanOrEqual(Date.now() - began + 1);
  });

  test("runs due retries at the times they had", async ({ start }) => {
    const data = await start.directory();
    const receiver = await start.receiver(503);
    const app = await start.app({ data, clock: "paused" });
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.advance({ byMs: 60_000 });
    const before = await app.delivery(id);
    await app.stop();

    const again = await start.app({ data });
    await again.settle();
    expect(await again.delivery(id)).toEqual(before);
    expect((await again.call("clock.get", {})).nextDueAt).toBe(before.nextAttemptAt);
    receiver.answer = 200;
    await again.advance({ to: "next-due" });
    const delivery = await again.delivery(id);
    expect(delivery.attempts.at(-1)).toMatchObject({
      outcome: "success",
      startedAt: before.nextAttemptAt,
      round: before.rounds + 1,
    });
    expect(delivery.attempts.slice(0, -1)).toEqual(before.attempts);
    // The window goes on from the first attempt, not from the restart.
    expect(delivery.firstAttemptAt).toBe(before.firstAttemptAt);
  });
});

/** What a machine shows after a sleep, or when somebody has set its clock. */
async function setWall<Result>(byMs: number, run: () => Promise<Result>): Promise<Result> {
  const wall = Date.now;
  const spy = vi.spyOn(Date, "now").mockImplementation(() => wall() + byMs);
  return run().finally(() => spy.mockRestore());
}

/** A start ten minutes after the stop. Nothing is due between the two, however long a stop takes. */
async function restartLater(start: Start, before: RunningApp, data: string): Promise<RunningApp> {
  await before.call("clock.set", { mode: "real" });
  await before.stop();
  return setWall(600_000, () => start.app({ data, clock: "paused" }));
}

const seen = ({ attempts, transitions }: Delivery): string =>
  [...attempts.map(outcomeOf), transitions.at(-1)?.reason].join(", ");

/** Thirty waiting deliveries whose times pass while nothing runs. Answers after the start. */
async function overdue(
  start: Start,
): Promise<{ app: RunningApp; deliveries: () => Promise<Delivery[]> }> {
  const data = await start.directory();
  const receiver = await start.receiver(503);
  const before = await start.app({ data, clock: "paused" });
  await before.destination([receiver.url]);
  await before.sendMany(30);
  await before.settle();
  expect((await before.call("deliveries.list", { state: "waiting" })).total).toBe(30);

  receiver.answer = 200;
  const app = await restartLater(start, before, data);
  await app.settle();
  const { items } = await app.call("messages.list", { limit: 500 });
  return { app, deliveries: () => Promise.all(items.map(({ id }) => app.delivery(id))) };
}

describe("deliveries that are overdue after a restart", () => {
  test("run once each, spread out over whole seconds", async ({ start }) => {
    const { app, deliveries } = await overdue(start);
    const now = await nowOf(app);
    const waiting = (await deliveries()).filter(({ state }) => state === "waiting");
    expect(waiting.length).toBeGreaterThan(20);
    for (const delivery of waiting) {
      expect(delivery.transitions.at(-1)).toMatchObject({
        state: "waiting",
        reason: "overdue",
        nextAttemptAt: delivery.nextAttemptAt,
      });
      expect(Date.parse(delivery.nextAttemptAt ?? "") % 1000).toBe(0);
    }
    await app.advance({ to: "idle" });
    const done = await deliveries();
    expect(new Set(done.map(seen))).toEqual(new Set(["1: 503, 2: success, overdue"]));
    const starts = done.map(({ attempts }) => Date.parse(attempts[1]?.startedAt ?? ""));
    const perSecond = Map.groupBy(starts, (at) => at);
    expect(perSecond.size).toBeGreaterThanOrEqual(7);
    expect(Math.max(...[...perSecond.values()].map((all) => all.length))).toBeLessThanOrEqual(5);
    expect(Math.min(...starts)).toBeLessThanOrEqual(now + 1000);
    expect(Math.max(...starts)).toBeLessThanOrEqual(now + 60_000);
  });

  test("expire without another attempt when their window has closed meanwhile", async ({
    start,
  }) => {
    const data = await start.directory();
    const receiver = await start.receiver(503);
    const before = await start.app({ data, clock: "paused" });
    // A window shorter than the ten minutes until the start.
    await before.call("retryProfiles.create", { name: "short", windowMs: 60_000 });
    await before.destination([receiver.url], { retryProfile: "short" });
    const id = await before.send();
    await before.settle();
    expect(await before.delivery(id)).toMatchObject({ state: "waiting" });

    const app = await restartLater(start, before, data);
    await app.advance({ to: "idle" });
    expect(await app.delivery(id)).toMatchObject({
      state: "expired",
      nextAttemptAt: null,
      attempts: [{ round: 1 }],
    });
    expect(receiver.requests).toHaveLength(1);
  });
});

describe("the wall clock", () => {
  test("goes on after a sleep: what was due meanwhile runs once each, spread out", async ({
    start,
  }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    const schedule = { kind: "list" as const, delaysMs: [60_000, 3_600_000] };
    await app.call("retryProfiles.create", { name: "soon", schedule, jitter: 0 });
    await app.destination([receiver.url], { retryProfile: "soon" });
    // Its retry is due first, and wakes the clock.
    const atOnce = { kind: "list" as const, delaysMs: [1000, 3_600_000] };
    await app.call("retryProfiles.create", { name: "at-once", schedule: atOnce, jitter: 0 });
    const other = await app.call("sources.create", { name: "Other" });
    const waking = { sourceIds: [other.id], retryProfile: "at-once" };
    await app.destination([receiver.url], waking);
    await app.sendMany(30);
    await app.ingest("/v1/track", { userId: "u", event: "Waking" }, other.writeKey);
    await app.settle();
    await setWall(600_000, async () => {
      await until(async () => (await app.delivery("msg_000000001")).reason === "overdue");
      await app.advance({ byMs: 60_000 });
      const { items } = await app.call("messages.list", { limit: 500 });
      const deliveries = await Promise.all(items.map(({ id }) => app.delivery(id)));
      expect(new Set(deliveries.map(({ attempts }) => attempts.map(outcomeOf).join()))).toEqual(
        new Set(["1: 503,2: 503"]),
      );
      const starts = deliveries.map(({ attempts }) => attempts[1]?.startedAt);
      expect(new Set(starts).size).toBeGreaterThanOrEqual(7);
    });
  });

  test("goes on after a sleep with an event before any timer notices: what was due is spread out too", async ({
    start,
  }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    const schedule = { kind: "list" as const, delaysMs: [60_000, 3_600_000] };
    await app.call("retryProfiles.create", { name: "soon", schedule, jitter: 0 });
    await app.destination([receiver.url], { retryProfile: "soon" });
    await app.sendMany(30);
    await app.settle();
    await setWall(600_000, async () => {
      await app.send();
      await app.settle();
      const { items } = await app.call("deliveries.list", { state: "waiting", limit: 100 });
      const spread = items.filter(({ reason }) => reason === "overdue");
      expect(spread.length).toBeGreaterThan(20);
      expect(new Set(spread.map((each) => each.nextAttemptAt)).size).toBeGreaterThanOrEqual(6);
    });
  });

  test("set back by an hour leaves the clock where it was, and running", async ({ start }) => {
    const app = await start.app();
    const before = await nowOf(app);
    await setWall(-3_600_000, async () => {
      const after = await nowOf(app);
      expect(after).toBeGreaterThanOrEqual(before);
      expect(after).toBeLessThan(before + 1_800_000);
      await until(async () => (await nowOf(app)) > after + 50);
    });
  });
});
