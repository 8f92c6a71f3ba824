/**
 * The five seconds toward addresses outside, in real time: the cases run at the same time, and the
 * file takes as long as the slowest.
 */

import type { ServerResponse } from "node:http";
import { describe, expect, test as base } from "vitest";
import {
  outcomeOf,
  outcomesByWebhook,
  starting,
  until,
  type RunningApp,
} from "../support/running-app.ts";

const test = base.extend("start", starting);

const never = (): void => {};
const answerLate = (response: ServerResponse): unknown => response.writeHead(200).end("late");

/**
 * Counted from when the request was seen, which on a busy machine is some time after the attempt
 * started.
 */
const after =
  (ms: number) =>
  (response: ServerResponse): void =>
    void setTimeout(() => answerLate(response), ms);

/** For a machine on which the next round may come before a test has looked. */
async function tryingOnce({ call }: RunningApp): Promise<{ retryProfile: string }> {
  const schedule = { kind: "list" as const, delaysMs: [3_600_000] };
  return { retryProfile: (await call("retryProfiles.create", { name: "once", schedule })).name };
}

describe.concurrent("the five seconds", () => {
  test("accept an answer after 1 s and end an attempt whose answer takes 15 s", async ({
    start,
  }) => {
    const app = await start.app();
    const late = await start.receiver(after(1000));
    // A process that stands still for a moment reads what came meanwhile before it ends an attempt;
    // to the millisecond, test endpoints show the deadline.
    const tooLate = await start.receiver(after(15_000));
    await app.destination([late.url]);
    await app.destination([tooLate.url], await tryingOnce(app));
    const id = await app.send();
    await app.settle();
    const [accepted, timedOut] = (await app.message(id)).deliveries;

    expect(accepted).toMatchObject({
      state: "delivered",
      attempts: [{ outcome: "success", simulated: false, response: { body: "late" } }],
    });
    expect(accepted?.attempts[0]?.durationMs).toBeGreaterThanOrEqual(990);
    expect(timedOut).toMatchObject({
      state: "waiting",
      attempts: [
        {
          outcome: "timeout",
          retryable: true,
          simulated: false,
          error: { code: "timeout" },
          response: null,
        },
      ],
    });
    expect(timedOut?.attempts[0]?.durationMs).toBeGreaterThanOrEqual(4990);
    expect(timedOut?.attempts[0]?.error?.message).toBe(
      "No complete response within 5 s: timed out before any byte of the response arrived.",
    );
  });

  test("hold for the whole answer: a body that drips is a timeout, and what came of it is on record", async ({
    start,
  }) => {
    const app = await start.app();
    const receiver = await start.receiver((response) => {
      response.writeHead(200, { "Content-Length": 1000 });
      const drip = setInterval(() => response.write("."), 200);
      response.on("close", () => clearInterval(drip));
    });
    await app.destination([receiver.url], await tryingOnce(app));
    const id = await app.send();
    await app.settle();
    const delivery = await app.delivery(id);
    const [attempt] = delivery.attempts;
    expect(delivery.state).toBe("waiting");
    expect(attempt).toMatchObject({
      outcome: "timeout",
      response: { status: 200, body: expect.stringMatching(/^\.{1,999}$/) },
    });
    expect(attempt?.durationMs).toBeGreaterThanOrEqual(4990);
    expect(attempt?.phases).toMatchObject({
      sent: expect.any(Number),
      firstByte: expect.any(Number),
    });
    expect(attempt?.phases).not.toHaveProperty("done");
  });

  test("are the same where nobody speaks", async ({ start }) => {
    const app = await start.app();
    const silent = await start.rawReceiver({ onConnection: (socket) => socket.pause() });
    await app.destination(
      [`http://127.0.0.1:${silent.port}/`, `https://127.0.0.1:${silent.port}/`],
      await tryingOnce(app),
    );
    const id = await app.send();
    await app.settle();
    expect((await app.delivery(id)).attempts.map(outcomeOf)).toEqual(["1: timeout", "1: timeout"]);
  });

  test("of a webhook that hangs delay neither its siblings nor anybody else", async ({ start }) => {
    const app = await start.app();
    const held: ServerResponse[] = [];
    const hanging = await start.receiver((response) => held.push(response));
    const sibling = await start.receiver(200);
    const other = await start.receiver(200);
    // No attempt ends while the test runs, however long it takes.
    const { name } = await app.call("retryProfiles.create", {
      name: "patient",
      timeoutMs: 600_000,
    });
    await app.destination([hanging.url, sibling.url], { retryProfile: name });
    await app.destination([other.url]);
    await app.sendMany(200);
    await Promise.all([sibling.whenReceived(200), other.whenReceived(200)]);
    await until(async () => (await app.call("stats.get", {})).deliveries.byState.delivered === 400);
    expect(hanging.requests).toHaveLength(64);
    const { total } = await app.call("messages.list", { state: "delivered" });
    expect(total).toBe(200);

    for (const response of held.slice(0, 10)) response.destroy();
    await hanging.whenReceived(74);
    expect(hanging.requests).toHaveLength(74);
  });

  test("begin when an attempt gets its place in the lane", async ({ start }) => {
    const app = await start.app();
    const hanging = await start.receiver(never);
    const sibling = await start.receiver(200);
    await app.call("settings.update", { laneConnections: 1 });
    await app.destination([hanging.url, sibling.url]);
    const ids = [await app.send(), await app.send()];
    await hanging.whenReceived(2);
    for (const id of ids) {
      const delivery = await until(async () => {
        const seen = await app.delivery(id);
        return seen.attempts.length === 2 && seen;
      });
      expect(delivery.state).toBe("delivered");
      expect(outcomesByWebhook(delivery, [hanging.url, sibling.url])).toEqual([
        ["1: timeout"],
        ["1: success"],
      ]);
      expect(
        delivery.attempts.find(({ outcome }) => outcome === "timeout")?.durationMs,
      ).toBeGreaterThanOrEqual(4990);
    }
  });
});

describe.concurrent("a stop", () => {
  test("waits for an attempt under way that ends soon", async ({ start }) => {
    const data = await start.directory();
    const app = await start.app({ data });
    const receiver = await start.receiver(after(300));
    await app.destination([receiver.url]);
    const id = await app.send();
    await receiver.whenReceived(1);
    await app.stop();

    const again = await start.app({ data });
    await again.settle();
    expect(await again.delivery(id)).toMatchObject({
      state: "delivered",
      attempts: [{ outcome: "success" }],
    });
    expect(receiver.requests).toHaveLength(1);
  });

  test("gives up an attempt that goes on, which is made again after the start", async ({
    start,
  }) => {
    const data = await start.directory();
    const app = await start.app({ data });
    const receiver = await start.receiver(never);
    await app.destination([receiver.url]);
    const id = await app.send();
    await receiver.whenReceived(1);
    await app.stop();

    receiver.answer = 200;
    const again = await start.app({ data });
    await again.settle();
    const delivery = await again.delivery(id);
    expect(delivery.attempts.map(outcomeOf)).toEqual(["1: success"]);
    expect(delivery.transitions).toMatchObject([{ state: "queued", reason: "restarted" }]);
    expect(receiver.requests).toHaveLength(2);
    expect(receiver.requests[1]?.body).toBe(receiver.requests[0]?.body);
  });
});
