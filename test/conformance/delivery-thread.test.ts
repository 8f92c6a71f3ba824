/**
 * The whole pipeline with its delivery thread, which the tests really end. `npx vitest run --mode
 * thread test/conformance` runs the other tests with it too.
 */

import { once } from "node:events";
import type { Worker } from "node:worker_threads";
import { test as base, expect } from "vitest";
import { outcomeOf, starting, until, type Delivery, type Start } from "../support/running-app.ts";

const test = base.extend("start", starting);

const hang = (): void => undefined;

/** An app that is sending one message to webhooks that answer so the first time, and 200 then. */
async function sendingIn(start: Start, firstAnswers: (number | (() => void))[]) {
  const app = await start.app({ threads: true });
  await app.source();
  const receivers = await Promise.all(firstAnswers.map((answer) => start.receiver(answer)));
  await app.destination(receivers.map(({ url }) => url));
  const worker = once(process, "worker") as Promise<[Worker]>;
  const id = await app.send();
  for (const receiver of receivers) {
    await receiver.whenReceived(1);
    receiver.answer = 200;
  }
  const [thread] = await worker;
  return { app, receivers, thread, id };
}

const outcomes = ({ attempts }: Delivery) => attempts.map(outcomeOf).toSorted();

test("when the delivery thread ends, that is told, and what it was sending is sent again", async ({
  start,
}) => {
  const { app, receivers, thread, id } = await sendingIn(start, [hang]);
  expect(await app.delivery(id)).toMatchObject({ state: "sending" });
  await thread.terminate();
  expect((await app.call("stats.get", {})).deliveryTrouble).toContain(
    "The thread that sends deliveries has ended.",
  );
  await receivers[0]?.whenReceived(2);
  await app.settle();
  const delivery = await app.delivery(id);
  expect([delivery.state, outcomes(delivery)]).toEqual(["delivered", ["1: success"]]);
  expect(delivery.transitions).toMatchObject([{ state: "queued", reason: "interrupted" }]);
  const bodies = receivers[0]?.requests.map(({ body }) => body);
  expect(bodies).toEqual([bodies?.[0], bodies?.[0]]);
  expect((await app.call("stats.get", {})).deliveryTrouble).toBe(null);
  expect(app.takeReported()).toMatchObject([{ message: "The delivery thread has ended." }]);
});

test("an attempt on record keeps its round when the thread ends during its sibling", async ({
  start,
}) => {
  const { app, receivers, thread, id } = await sendingIn(start, [503, hang]);
  await until(async () => (await app.delivery(id)).attempts.length === 1);
  await thread.terminate();
  for (const receiver of receivers) await receiver.whenReceived(2);
  await app.settle();
  const delivery = await app.delivery(id);
  expect(delivery.state).toBe("delivered");
  expect(outcomes(delivery)).toEqual(["1: 503", "2: success", "2: success"]);
  expect(app.takeReported()).toHaveLength(1);
});

test("a delivery that one webhook has is delivered when the thread ends during its sibling", async ({
  start,
}) => {
  const { app, thread, id } = await sendingIn(start, [200, hang]);
  await until(async () => (await app.delivery(id)).attempts.length === 1);
  await thread.terminate();
  await app.settle();
  const delivery = await app.delivery(id);
  expect([delivery.state, outcomes(delivery)]).toEqual(["delivered", ["1: success"]]);
  expect(app.takeReported()).toHaveLength(1);
});

test("a stop while the thread hangs at a receiver ends under its deadline, and a restart sends again", async ({
  start,
}) => {
  const data = await start.directory();
  const app = await start.app({ threads: true, data });
  await app.source();
  const receiver = await start.receiver(hang);
  await app.destination([receiver.url]);
  const id = await app.send();
  await receiver.whenReceived(1);
  await app.stop();
  receiver.answer = 200;
  const again = await start.app({ threads: true, data });
  await receiver.whenReceived(2);
  await again.settle();
  const delivery = await again.delivery(id);
  expect([delivery.state, outcomes(delivery)]).toEqual(["delivered", ["1: success"]]);
});

test("a receiver that was quick and then hangs never has more requests than connections", async ({
  start,
}) => {
  const app = await start.app({ threads: true });
  await app.source();
  await app.call("settings.update", { laneConnections: 3 });
  const held: (() => void)[] = [];
  let hangs = false;
  const receiver = await start.receiver((response) => {
    const answer = (): unknown => response.writeHead(200).end();
    if (hangs) held.push(answer);
    else answer();
  });
  await app.destination([receiver.url]);
  await app.sendMany(100);
  await app.settle();
  hangs = true;
  await app.sendMany(20);
  // What was sent ahead has come back.
  await until(async () => (await app.call("flow.get", {})).webhooks[0]?.inFlight === 3);
  for (let left = 20; left > 0; left -= 1) {
    await until(() => held.length >= Math.min(3, left));
    expect(held).toHaveLength(Math.min(3, left));
    held.shift()?.();
  }
  await app.settle();
  const { deliveries } = await app.call("stats.get", {});
  expect(deliveries.byState).toMatchObject({ delivered: 120, sending: 0, queued: 0 });
  expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(120);
  expect(receiver.requests).toHaveLength(120);
});

test("all of many deliveries arrive, however often the thread ends", async ({ start }) => {
  const app = await start.app({ threads: true });
  await app.source();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url]);
  let worker = once(process, "worker") as Promise<[Worker]>;
  for (let kill = 1; kill <= 2; kill += 1) {
    const before = receiver.requests.length;
    await app.sendMany(300);
    await receiver.whenReceived(before + 40);
    const [thread] = await worker;
    worker = once(process, "worker") as Promise<[Worker]>;
    await thread.terminate();
  }
  await app.sendMany(300);
  await app.settle();
  const { deliveries } = await app.call("stats.get", {});
  expect(deliveries.byState).toMatchObject({ delivered: 900, sending: 0, queued: 0 });
  expect(new Set(receiver.requests.map(({ body }) => body)).size).toBe(900);
  expect(app.takeReported()).toHaveLength(2);
});
