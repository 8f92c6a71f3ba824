import { describe, expect, test as base } from "vitest";
import { outcomeOf, starting, until } from "../support/running-app.ts";
import type { RunningApp } from "../support/running-app.ts";

const test = base.extend("start", starting);

const modes = [
  { mode: "real" },
  { mode: "faster", speed: 10 },
  { mode: "faster", speed: 60 },
  { mode: "faster", speed: 600 },
  { mode: "paused" },
] as const;

const nowOf = async (app: RunningApp): Promise<number> =>
  Date.parse((await app.call("clock.get", {})).now);

describe("the clock", () => {
  test.for([
    [{ mode: "real" }, 1],
    [{ mode: "faster", speed: 10 }, 10],
    [{ mode: "faster", speed: 60 }, 60],
    [{ mode: "faster", speed: 600 }, 600],
  ] as const)(
    "in the mode %o runs %i times as fast as real time",
    async ([mode, speed], { start }) => {
      const app = await start.app();
      expect(await app.call("clock.set", mode)).toMatchObject(mode);
      const before = Date.now();
      const clock = await nowOf(app);
      const after = Date.now();
      await until(() => Date.now() >= after + 200);
      const went = (await nowOf(app)) - clock;
      expect(went).toBeGreaterThanOrEqual(199 * speed);
      expect(went).toBeLessThanOrEqual((Date.now() - before + 1) * speed);
    },
  );

  test("stands still when it is paused, and what is due now still runs", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    await app.destination([receiver.url]);
    const { now } = await app.call("clock.set", { mode: "paused" });
    const first = await app.send();
    const second = await app.send();
    expect(await app.settle()).toEqual({ settled: true, queued: 0, sending: 0 });
    expect(receiver.requests).toHaveLength(2);
    for (const id of [first, second])
      expect((await app.delivery(id)).attempts).toMatchObject([{ startedAt: now }]);
    expect((await app.call("clock.get", {})).now).toBe(now);
    expect((await app.message(first)).receivedAt).toBe(now);

    const { id: deliveryId } = await app.delivery(first);
    await app.call("deliveries.retry", { id: deliveryId });
    await app.settle();
    expect((await app.delivery(first)).attempts).toMatchObject([
      { startedAt: now },
      { startedAt: now },
    ]);
  });

  test("runs due retries by itself when it is fast", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver((response, _, count) =>
      response.writeHead(count <= 3 ? 503 : 200).end(),
    );
    await app.destination([receiver.url]);
    await app.call("clock.set", { mode: "faster", speed: 600 });
    const id = await app.send();
    await receiver.whenReceived(4);
    await app.settle();
    const { attempts, transitions } = await app.delivery(id);
    expect(attempts.map(outcomeOf)).toEqual(["1: 503", "2: 503", "3: 503", "4: success"]);
    for (const [index, { nextAttemptAt }] of transitions.entries()) {
      const late =
        Date.parse(attempts[index + 1]?.startedAt ?? "") - Date.parse(nextAttemptAt ?? "");
      expect(late).toBeGreaterThanOrEqual(0);
    }
  });

  test("never goes backwards, whatever is done to it", async ({ start }) => {
    const app = await start.app();
    const seen: number[] = [];
    const look = async (): Promise<void> => void seen.push(await nowOf(app));
    await look();
    for (const mode of [...modes, ...modes.toReversed()]) {
      await app.call("clock.set", mode);
      await look();
      await Promise.all([
        app.advance({ byMs: 1500 }),
        look(),
        app.advance({ to: "idle" }),
        look(),
        app.advance({ to: "next-due" }),
      ]);
      await look();
    }
    expect(seen).toEqual(seen.toSorted((one, other) => one - other));
    expect((seen.at(-1) ?? 0) - (seen[0] ?? 0)).toBeGreaterThanOrEqual(15_000);
  });

  test("refuses what it does not know, and a time beyond all dates", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    const wrong = [
      { mode: "backwards" },
      { mode: "faster", speed: 7 },
      { mode: "real", speed: 10 },
      { mode: "paused", speed: 60 },
      {},
    ];
    for (const input of wrong)
      expect(await app.refused("clock.set", input as never), JSON.stringify(input)).toMatchObject({
        status: 400,
      });
    const wrongTargets = [
      { byMs: -1 },
      { byMs: 1.5 },
      { byMs: 9e15 },
      { to: "yesterday" },
      {},
      { byMs: 5, to: "idle" },
    ];
    for (const input of wrongTargets) {
      expect(
        await app.refused("clock.advance", input as never),
        JSON.stringify(input),
      ).toMatchObject({ status: 400 });
    }
    expect(await app.call("clock.get", {})).toMatchObject({ now, mode: "paused" });
  });
});

describe.for(modes)("an advance in the mode %o", (mode) => {
  const waiting = async (app: RunningApp, url: string): Promise<{ id: string; due: number }> => {
    await app.destination([url]);
    await app.call("clock.set", mode);
    const id = await app.send();
    await app.settle();
    return { id, due: Date.parse((await app.delivery(id)).nextAttemptAt ?? "") };
  };

  test("by a duration runs what is due on the way, at its time", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    const { id } = await waiting(app, receiver.url);
    const before = await nowOf(app);
    const after = await app.advance({ byMs: 3_600_000 });
    expect(Date.parse(after.now)).toBeGreaterThanOrEqual(before + 3_600_000);
    expect(after).toMatchObject(mode);
    const { attempts, transitions, nextAttemptAt } = await app.delivery(id);
    expect(attempts.length).toBeGreaterThanOrEqual(8);
    // A clock that runs by itself makes some before and after, and the first one here may be late.
    const { length } = attempts.filter(({ startedAt }) => startedAt <= after.now);
    const from = length - after.ran.attempts + (mode.mode === "faster" ? 1 : 0);
    const onTheWay = attempts.slice(from, length).map(({ startedAt }) => startedAt);
    expect(onTheWay).not.toEqual([]);
    expect(onTheWay).toEqual(
      transitions.slice(from - 1, length - 1).map(({ nextAttemptAt }) => nextAttemptAt),
    );
    expect(Date.parse(nextAttemptAt ?? "")).toBeGreaterThan(Date.parse(after.now));
    if (mode.mode !== "faster") expect(after.ran.attempts).toBe(attempts.length - 1);
  });

  test("to the next due thing runs that and no more", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    const { id, due } = await waiting(app, receiver.url);
    if (mode.mode !== "faster") {
      const after = await app.advance({ to: "next-due" });
      expect(Date.parse(after.now)).toBeGreaterThanOrEqual(due);
      expect(Date.parse(after.now)).toBeLessThan(due + 1000);
      expect(after.ran).toEqual({ attempts: 1 });
      expect((await app.delivery(id)).attempts).toHaveLength(2);
    } else {
      const { nextDueAt } = await app.call("clock.get", {});
      const after = await app.advance({ to: "next-due" });
      expect(Date.parse(after.now)).toBeGreaterThanOrEqual(Date.parse(nextDueAt ?? ""));
    }
  });

  test("to idle ends when nothing is queued, sending or waiting", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(503);
    const { id } = await waiting(app, receiver.url);
    const after = await app.advance({ to: "idle" });
    expect(await app.delivery(id)).toMatchObject({ state: "expired" });
    expect(after).toMatchObject({ ...mode, nextDueAt: null });
    expect(await app.advance({ to: "idle" })).toMatchObject({ ran: { attempts: 0 } });
  });
});

describe("advances", () => {
  test("wait for each other, and each goes its whole way", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    await app.destination([receiver.url]);
    const before = await nowOf(app);
    const id = await app.send();
    const answers = await Promise.all(
      [1, 2, 3, 4].map((minutes) => app.advance({ byMs: minutes * 60_000 })),
    );
    expect(answers.map(({ now }) => (Date.parse(now) - before) / 60_000)).toEqual([1, 3, 6, 10]);
    const ran = answers.reduce((sum, answer) => sum + answer.ran.attempts, 0);
    expect(ran).toBe((await app.delivery(id)).attempts.length);
  });

  test("with nothing to do answer at once and leave the clock where it is", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const { now } = await app.call("clock.get", {});
    expect(await app.advance({ to: "idle" })).toMatchObject({
      now,
      nextDueAt: null,
      ran: { attempts: 0 },
    });
    expect(await app.advance({ to: "next-due" })).toMatchObject({ now, ran: { attempts: 0 } });
    expect(await app.advance({ byMs: 0 })).toMatchObject({ now });
  });

  test("stand still until what started has ended, whoever takes long to answer", async ({
    start,
  }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver((response, _, count) => {
      setTimeout(() => response.writeHead(count < 3 ? 503 : 200).end(), 150);
    });
    await app.destination([receiver.url]);
    const id = await app.send();
    await app.advance({ byMs: 3_600_000 });
    const { attempts, transitions, state } = await app.delivery(id);
    expect(state).toBe("delivered");
    expect(attempts.map(outcomeOf)).toEqual(["1: 503", "2: 503", "3: success"]);
    expect(attempts.slice(1).map(({ startedAt }) => startedAt)).toEqual(
      transitions.map(({ nextAttemptAt }) => nextAttemptAt),
    );
    for (const { durationMs, simulated } of attempts) {
      expect(durationMs).toBeGreaterThanOrEqual(140);
      expect(simulated).toBe(false);
    }
  });

  test("to idle do not wait for what a disabled destination has not begun", async ({ start }) => {
    const app = await start.app({ clock: "paused" });
    const receiver = await start.receiver(503);
    const { id } = await app.destination([receiver.url]);
    await app.send();
    await app.settle();
    const { items } = await app.call("deliveries.list", {});
    await app.call("destinations.update", { id, enabled: false });
    await app.call("deliveries.retry", { id: items[0]?.id ?? "" });
    expect(await app.advance({ to: "idle" })).toMatchObject({ ran: { attempts: 0 } });
    expect((await app.call("deliveries.list", {})).items).toMatchObject([{ state: "queued" }]);
  });
});

describe("settle", () => {
  test("answers with settled false when its time is over", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver(() => {});
    await app.destination([receiver.url]);
    await app.send();
    await receiver.whenReceived(1);
    const began = performance.now();
    expect(await app.settle(200)).toEqual({ settled: false, queued: 0, sending: 1 });
    expect(performance.now() - began).toBeGreaterThanOrEqual(195);
  });

  test("waits for everything that was accepted before it", async ({ start }) => {
    const app = await start.app();
    const receiver = await start.receiver((response) =>
      setTimeout(() => response.writeHead(200).end(), 20),
    );
    await app.destination([receiver.url]);
    await app.sendMany(300);
    expect(await app.settle()).toEqual({ settled: true, queued: 0, sending: 0 });
    expect(receiver.requests).toHaveLength(300);
    expect((await app.call("deliveries.list", { state: "delivered" })).total).toBe(300);
  });

  test("waits for siblings of a delivery that is delivered already", async ({ start }) => {
    const app = await start.app();
    const quick = await start.receiver(200);
    const slow = await start.receiver((response) =>
      setTimeout(() => response.writeHead(503).end(), 400),
    );
    await app.destination([quick.url, slow.url]);
    const id = await app.send();
    expect(await app.settle()).toMatchObject({ settled: true });
    expect(await app.delivery(id)).toMatchObject({ state: "delivered", attempts: [{}, {}] });
  });
});
