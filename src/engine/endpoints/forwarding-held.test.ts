import type { ServerResponse } from "node:http";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { behind, receiver } from "../../../test/support/forwarding.ts";
import { Activity } from "../clock/activity.ts";
import { until } from "../../../test/support/running-app.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { Step } from "../../domain/configuration.ts";
import type { EndpointId } from "../../domain/ids.ts";
import { Holds } from "../clock/activity.ts";
import { createTrust } from "../deliver/dial.ts";
import { nextTurn } from "../real-time.ts";
import { createForwarding, type ForwardingOptions } from "./forwarding.ts";
import type { Serving } from "./serve-step.ts";

describe("held requests", () => {
  async function sendInOrder(
    { at, whenReceived }: { at: string; whenReceived: (count: number) => Promise<void> },
    names: string[],
  ) {
    const seen = [];
    for (const [index, name] of names.entries()) {
      seen.push(askWithNode(at, { body: name }));
      await whenReceived(index + 1);
    }
    return Promise.all(seen);
  }

  test("are released in reverse, each when the one before it was answered", async () => {
    const { url, bodies } = await receiver(
      ({ body, response }) => void response.end(`${body} done`),
    );
    const seen = await sendInOrder(await behind(url, { hold: 3 }), ["a", "b", "c"]);
    expect(bodies()).toEqual(["c", "b", "a"]);
    expect(seen).toMatchObject([{ body: "a done" }, { body: "b done" }, { body: "c done" }]);
  });

  test("are released in an order that the seed draws", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const orderOf = async (seed: number) => {
      const { url, bodies } = await receiver();
      await sendInOrder(
        await behind(url, { hold: 6, order: "seeded" }, { seed: () => seed }),
        names,
      );
      return bodies().join("");
    };
    const first = await orderOf(1);
    expect(await orderOf(1)).toBe(first);
    expect(first.split("").toSorted()).toEqual(names);
    expect(new Set([first, await orderOf(2), await orderOf(3)]).size).toBeGreaterThan(1);
  });

  test("are released in another order than those before them", async () => {
    const names = ["a", "b", "c", "d", "e", "f"];
    const { url, bodies } = await receiver();
    const held = await behind(url, { hold: 6, order: "seeded" });
    await sendInOrder(held, names);
    const next = { at: held.at, whenReceived: (count: number) => held.whenReceived(6 + count) };
    await sendInOrder(next, names);
    const [first, second] = [bodies().slice(0, 6), bodies().slice(6)];
    expect(second.toSorted()).toEqual(names);
    expect(second).not.toEqual(first);
  });

  test("that stay fewer are released by the clock", async () => {
    const { url, bodies } = await receiver();
    const held = await behind(url, { hold: 3, forMs: 700 });
    const seen = sendInOrder(held, ["a", "b"]);
    await held.whenReceived(2);
    held.clock.advanceBy(699);
    expect(bodies()).toEqual([]);
    held.clock.advanceBy(1);
    await seen;
    expect(bodies()).toEqual(["b", "a"]);
    expect(held.clock.scheduled()).toEqual([]);
  });

  test("wait two seconds for the others unless the step says how long, and the next ones are held again", async () => {
    const { url, bodies } = await receiver();
    const held = await behind(url, { hold: 2 });
    await sendInOrder(held, ["a", "b"]);
    const third = askWithNode(held.at, { body: "c" });
    await held.whenReceived(3);
    expect(held.clock.scheduled()).toEqual([held.clock.now() + 2_000]);
    held.clock.advanceBy(2_000);
    await third;
    expect(bodies()).toEqual(["b", "a", "c"]);
  });
});

describe("a forward under way", () => {
  test("is aborted when its endpoint is deleted, held ones too", async () => {
    const closed: string[] = [];
    const { url, bodies } = await receiver(
      ({ body, response }) => void response.once("close", () => closed.push(body)),
    );
    const { at, id, endpoints, clock, create, whenReceived } = await behind(
      url,
      {},
      { forwardTimeoutMs: 3_600_000 },
    );
    const holding = create({ name: "Holding", steps: [{ do: "forward", to: url, hold: 2 }] });
    const seen = [askWithNode(at, { body: "a" }), askWithNode(holding.url, { body: "b" })];
    await whenReceived(2);
    await until(() => bodies().length === 1);
    endpoints.delete(id);
    endpoints.delete(holding.id);
    expect(await Promise.all(seen)).toEqual([{ failed: "ECONNRESET" }, { failed: "ECONNRESET" }]);
    await until(() => closed.length === 1);
    clock.advanceBy(10_000);
    expect(bodies()).toEqual(["a"]);
  });

  test("is an arrival when another program sent it: an advance does not wait for its receiver, and a settle does", async () => {
    const activity = new Activity();
    const waiting: ServerResponse[] = [];
    const { url } = await receiver(({ response }) => void waiting.push(response));
    const { at } = await behind(url, {}, { activity, forwardTimeoutMs: 3_600_000 });
    activity.beginAdvance();
    const seen = askWithNode(at);
    await until(() => waiting.length === 1);
    expect(activity.isQuiet(false)).toBe(false);
    await activity.whenOwnQuiet({ waits: () => false, signal: new AbortController().signal });
    waiting[0]?.end();
    await seen;
    await activity.whenQuiet({ includeHeld: true });
  });

  test("gets its answer before a stop", async () => {
    const waiting: ServerResponse[] = [];
    const { url } = await receiver(({ response }) => void waiting.push(response));
    const { at, endpoints } = await behind(url, {});
    const seen = askWithNode(at);
    await until(() => waiting.length === 1);
    const stopped = endpoints.stop();
    waiting[0]?.end("in time");
    expect(await seen).toMatchObject({ body: "in time" });
    await stopped;
  });
});

describe("forwards alone", () => {
  function startForwarding(options: Partial<ForwardingOptions> = {}) {
    const clock = createSteppedClock();
    const activity = new Activity();
    const forwarding = createForwarding({
      ...{ clock, activity, holds: new Holds(), trust: createTrust(), seed: () => 1 },
      ...options,
    });
    const serving = new Set<Serving>();
    let changes = 0;
    // Requests are held together with those of the same step.
    const steps = new Map<Partial<Step>, Step>();
    const stepOf = (step: Partial<Step>): Step => {
      const known = steps.get(step) ?? { do: "forward", to: "http://127.0.0.1:9/", ...step };
      steps.set(step, known);
      return known;
    };
    onTestFinished(() => {
      for (const each of serving) each.abandon();
      forwarding.close();
    });
    const forward = (step: Partial<Step>, { destroyed = false, forwards = () => ({}) } = {}) => {
      const told = { status: 0, body: "", recorded: null as number | null };
      const response = {
        headersSent: false,
        writeHead: (status: number) => void (told.status = status),
        end: (body: string) => void (told.body = body),
        once: () => {},
      };
      const tcp = {
        destroyed,
        resetAndDestroy: () => {},
        destroy: () => void (tcp.destroyed = true),
      };
      const before = serving.size;
      forwarding.forward({
        step: stepOf(step),
        endpoint: { id: 1 as EndpointId, path: "p" },
        request: {
          tcp,
          response,
          method: "POST",
          url: "/",
          rawHeaders: [],
          body: Buffer.alloc(1),
        } as never,
        entry: {
          forward: forwards,
          answered: () => {},
          answer: (status: number) => void (told.recorded = status),
        } as never,
        changed: () => void (changes += 1),
        serving,
      });
      return { told, isServed: serving.size > before };
    };
    return { clock, activity, forwarding, forward, serving, changes: () => changes };
  }

  test("are 512 at most: the next one is refused until one has ended", async () => {
    const { clock, forward, serving } = startForwarding();
    const lose = (delayMs: number) => forward({ lose: "request", delayMs });
    const asked = Array.from({ length: 512 }, (_, nth) => lose(nth === 0 ? 10 : 1000));
    expect(asked.filter(({ isServed }) => !isServed)).toEqual([]);
    expect(lose(1000)).toMatchObject({
      told: {
        status: 503,
        recorded: 503,
        body: expect.stringContaining("512 forwarded requests") as string,
      },
      isServed: false,
    });
    clock.advanceBy(10);
    await until(() => serving.size === 511);
    expect([lose(1000).isServed, lose(1000).isServed]).toEqual([true, false]);
    clock.advanceBy(1000);
    await until(() => serving.size === 0);
  });

  test.for<Partial<Step>>([
    { delayMs: 1000 },
    { hold: 2 },
    { lose: "request", loseAs: "timeout" },
    { delayAfterMs: 1000 },
    { lose: "answer", loseAs: "timeout" },
  ])("that wait, as with %j, end when they are abandoned", async (step) => {
    const { activity, clock, forward, serving } = startForwarding();
    const { told } = forward(step);
    await until(() => activity.isQuiet(false));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect([serving.size, activity.isQuiet(true)]).toEqual([1, false]);
    for (const each of serving) each.abandon();
    await until(() => serving.size === 0);
    expect([activity.isQuiet(true), told.status]).toEqual([true, 0]);
    clock.advanceBy(10_000);
    expect(clock.scheduled()).toEqual([]);
  });

  test("are none for a sender that has gone", () => {
    const { activity, forward } = startForwarding();
    const told = { status: 0, body: "", recorded: null };
    expect(forward({}, { destroyed: true })).toEqual({ told, isServed: false });
    expect(activity.isQuiet(true)).toBe(true);
  });

  test("tell when they are sent, when the receiver has answered or failed, and when they are answered", async () => {
    const { forward, serving, changes } = startForwarding();
    const { told } = forward({});
    expect(changes()).toBe(1);
    await until(() => serving.size === 0);
    expect([changes(), told.status, told.recorded === null]).toEqual([3, 502, false]);
  });

  test("that fail by themselves are answered with the reason, and leave nothing in progress", async () => {
    const { activity, forward, serving } = startForwarding();
    const forwards = () => {
      throw new Error("Odd");
    };
    const step = { hold: 2 };
    const both = [forward(step, { forwards }), forward(step, { forwards })];
    await until(() => serving.size === 0);
    for (const { told } of both) {
      expect(told.status).toBe(500);
      expect(JSON.parse(told.body)).toEqual({
        code: "internal",
        message: "The forward failed: Error: Odd",
      });
    }
    expect(activity.isQuiet(true)).toBe(true);
  });

  test("have three seconds of real time to end at a stop", async () => {
    const { url, bodies } = await receiver(() => {});
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { forwarding, forward } = startForwarding({ forwardTimeoutMs: 60_000 });
    await forwarding.drain();
    expect(vi.getTimerCount()).toBe(0);
    forward({ to: url });
    while (bodies().length === 0) await nextTurn();
    const before = vi.getTimerCount();
    let isOver = false;
    const drained = forwarding.drain().then(() => (isOver = true));
    vi.advanceTimersByTime(2_999);
    await nextTurn();
    expect([isOver, vi.getTimerCount()]).toEqual([false, before + 1]);
    vi.advanceTimersByTime(1);
    await drained;
    expect(vi.getTimerCount()).toBe(before);
  });
});
