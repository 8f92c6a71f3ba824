/** How an advance of the clock ends before its target, and how it reports where it is. */

import { describe, expect, test as base } from "vitest";
import { createPortApi } from "../../src/api/port-api.ts";
import type { Change } from "../../src/engine/pipeline.ts";
import { starting, until, type RunningApp, type Start } from "../support/running-app.ts";

const test = base.extend("start", starting);

const hour = 3_600_000;

/**
 * An app whose receiver keeps a request until `answer` is called, so that an advance that waits for
 * it does not end.
 */
async function stuck(start: Start) {
  const app = await start.app({ clock: "paused" });
  const kept: (() => void)[] = [];
  const receiver = await start.receiver(
    (response) => void kept.push(() => response.writeHead(503).end()),
  );
  await app.destination([receiver.url]);
  await app.send();
  await until(() => kept.length > 0);
  return { app, answer: () => kept.splice(0).forEach((each) => each()) };
}

/** Until the advance is under way. */
const underWay = (app: RunningApp) =>
  until(async () => (await app.call("clock.get", {})).advance ?? false);

describe("an advance that waits for a receiver", () => {
  test("ends at once when the clock is set, and says so and where the clock stands", async ({
    start,
  }) => {
    const { app, answer } = await stuck(start);
    const { now } = await app.call("clock.get", {});
    const advancing = app.advance({ byMs: hour });
    const waiting = app.advance({ byMs: hour });
    await underWay(app);
    expect(await app.call("clock.set", { mode: "real" })).toMatchObject({
      mode: "real",
      advance: null,
    });
    for (const ended of [await advancing, await waiting]) {
      expect(ended).toMatchObject({
        mode: "real",
        ran: { attempts: 0 },
        endedEarly: { code: "clock_set" },
      });
      expect(Date.parse(ended.now) - Date.parse(now)).toBeLessThan(hour);
    }
    const again = await app.call("clock.get", {});
    await until(async () => (await app.call("clock.get", {})).now > again.now);
    answer();
  });

  test("ends when it is cancelled; the next one runs", async ({ start }) => {
    const { app, answer } = await stuck(start);
    const advancing = app.advance({ to: "idle" });
    await underWay(app);
    expect(await app.call("clock.cancelAdvance", {})).toMatchObject({
      mode: "paused",
      advance: null,
    });
    expect((await advancing).endedEarly).toEqual({
      code: "cancelled",
      message: "The advance was cancelled.",
    });
    answer();
    expect(await app.advance({ byMs: 1 })).toMatchObject({ endedEarly: null });
    expect(await app.call("clock.cancelAdvance", {})).toMatchObject({ advance: null });
  });

  test("ends when its caller goes away, and one whose caller has gone never starts", async ({
    start,
  }) => {
    const { app, answer } = await stuck(start);
    const { now } = await app.call("clock.get", {});
    const first = new AbortController();
    const second = new AbortController();
    const advancing = app.advance({ byMs: hour }, first.signal);
    const waiting = app.advance({ byMs: hour }, second.signal);
    const last = app.advance({ byMs: 1000 });
    await underWay(app);
    second.abort();
    first.abort();
    expect((await advancing).endedEarly?.code).toBe("caller_gone");
    expect((await waiting).endedEarly?.code).toBe("caller_gone");
    answer();
    expect(Date.parse((await last).now) - Date.parse(now)).toBe(1000);
  });

  test("ends when the message port of its caller closes", async ({ start }) => {
    const { app, answer } = await stuck(start);
    const { promise: answered, resolve } = Promise.withResolvers<unknown>();
    const api = {
      beside: () => undefined,
      changes: app.changes,
      call: (...call: Parameters<typeof app.answer>) =>
        app.answer(...call).finally(() => resolve(undefined)),
    };
    const port = createPortApi({ api, send: () => undefined });
    port.receive(JSON.stringify({ id: 1, name: "clock.advance", input: { byMs: hour } }));
    await underWay(app);
    port.end();
    await answered;
    expect((await app.call("clock.get", {})).advance).toBeNull();
    answer();
  });

  test("ends when Hookyard stops", async ({ start }) => {
    const { app } = await stuck(start);
    const advancing = app.advance({ byMs: hour });
    await underWay(app);
    await app.stop();
    expect((await advancing).endedEarly?.code).toBe("stopping");
    expect(await app.refused("clock.advance", { byMs: 1 })).toMatchObject({
      status: 409,
      code: "stopping",
    });
  });
});

test("progress is reported while it goes on, and its end", async ({ start }) => {
  const { app, answer } = await stuck(start);
  const { now } = await app.call("clock.get", {});
  const heard: Change[] = [];
  const stopListening = app.changes.subscribe((changes) =>
    heard.push(...changes.filter(({ area }) => area === "clock")),
  );
  const to = new Date(Date.parse(now) + hour).toISOString();
  const advancing = app.advance({ byMs: hour });
  const advance = { from: now, to, now, attempts: 0 };
  await until(() => heard.some((change) => change.advance !== null));
  expect(heard.at(-1)).toMatchObject({ area: "clock", advance });
  expect(await app.call("clock.get", {})).toMatchObject({ now, advance });
  await app.call("clock.cancelAdvance", {});
  expect((await advancing).endedEarly?.code).toBe("cancelled");
  await until(() => heard.at(-1)?.advance === null);
  stopListening();
  answer();
});
