import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { behind, receiver } from "../../../test/support/forwarding.ts";
import { Activity } from "../clock/activity.ts";
import { until } from "../../../test/support/running-app.ts";
import { createSteppedClock } from "../../../test/support/stepped-clock.ts";
import type { EndpointId } from "../../domain/ids.ts";
import { Holds } from "../clock/activity.ts";
import { createTrust } from "../deliver/dial.ts";
import { createForwarding } from "./forwarding.ts";

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

test("512 forwards are in progress at most: the next one is refused until one has ended", async () => {
  const clock = createSteppedClock();
  const forwarding = createForwarding({
    ...{ clock, holds: new Holds(), activity: new Activity(), trust: createTrust() },
    seed: () => 1,
  });
  const ended: string[] = [];
  const forward = (delayMs: number) => {
    const told = { status: 0, body: "" };
    const response = {
      headersSent: false,
      writeHead: (status: number) => void (told.status = status),
      end: (body: string) => void (told.body = body),
    };
    const serving = forwarding.forward({
      step: { do: "forward", to: "http://127.0.0.1:9/", lose: "request", delayMs },
      endpoint: { id: 1 as EndpointId, path: "p" },
      request: { tcp: { destroyed: false, resetAndDestroy: () => {} }, response } as never,
      entry: {} as never,
      changed: () => {},
      ended: () => ended.push("ended"),
    });
    return { told, isRefused: serving === null };
  };
  const asked = Array.from({ length: 512 }, (_, nth) => forward(nth === 0 ? 10 : 1000));
  expect(asked.filter(({ isRefused }) => isRefused)).toEqual([]);
  expect(forward(1000)).toMatchObject({
    told: { status: 503, body: expect.stringContaining("512 forwarded requests") as string },
    isRefused: true,
  });
  clock.advanceBy(10);
  await until(() => ended.length === 1);
  expect([forward(1000).isRefused, forward(1000).isRefused]).toEqual([false, true]);
  clock.advanceBy(1000);
  await until(() => ended.length === 513);
});
