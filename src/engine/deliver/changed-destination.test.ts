/** What waits for a connection while its destination is changed. */

import { expect, test } from "vitest";
import { until } from "../../../test/support/running-app.ts";
import { startReceiver } from "../../../test/support/webhook-receiver.ts";
import type { Webhook } from "../../domain/configuration.ts";
import type { DeliveryId } from "../../domain/ids.ts";
import type { DestinationDraft } from "../pipeline.ts";
import { startScheduler } from "./delivery-scheduler.fixture.ts";

/** A first message is being sent, and two more wait for its connection. */
async function startBusy(urls: string[] = []) {
  const kept: (() => void)[] = [];
  const one = await startScheduler((response) => void kept.push(() => response.end()), {
    laneConnections: 1,
    jitter: false,
  });
  const destination = one.addDestination([one.receiver.url, ...urls]);
  one.commit(3, "{}", "own", [destination.id]);
  await until(() => kept.length === 1);
  return {
    ...one,
    destination,
    change(changes: Partial<DestinationDraft>): void {
      one.configuration.updateDestination(destination.id, changes);
      one.scheduler.onConfigurationChanged();
    },
    remove(): void {
      one.configuration.deleteDestination(destination.id);
      one.scheduler.onConfigurationChanged();
    },
    /** Lets the receiver answer what it has. */
    answer(): void {
      one.receiver.answer = 200;
      for (const answer of kept) answer();
    },
    became: (id: number) =>
      one.store
        .deliveryDetails(id as DeliveryId)
        ?.transitions.map(({ state, reason }) => [state, reason]),
  };
}

test("it is sent to the new address, with the headers and the secret of then", async () => {
  const one = await startBusy();
  const other = await startReceiver(200);
  one.change({
    webhooks: [{ url: other.url, headers: { "X-New": "1" } }],
    sharedSecret: "new",
  });
  one.answer();
  await until(() => one.count().delivered === 3);
  await other.stop();
  expect([one.receiver.requests.length, other.requests.length]).toEqual([1, 2]);
  for (const { headers } of other.requests)
    expect(headers.map(([name]) => name)).toEqual(expect.arrayContaining(["X-New", "X-Signature"]));
  expect([one.became(2), one.scheduler.hasOwnWork()]).toEqual([[], false]);
});

test("it is paused by a destination that is switched off, at once, and sent when that is on again", async () => {
  const one = await startBusy();
  one.change({ enabled: false });
  await until(() => one.count().queued === 2);
  one.answer();
  await until(() => one.count().delivered === 1);
  await one.activity.whenQuiet();
  expect([one.receiver.requests.length, one.became(2)]).toEqual([1, [["queued", "disabled"]]]);
  one.change({ enabled: true });
  await until(() => one.count().delivered === 3);
  expect(one.store.deliveryDetails(2 as DeliveryId)?.attempts).toMatchObject([{ round: 1 }]);
});

test("it is cancelled with its destination", async () => {
  const one = await startBusy();
  one.remove();
  await until(() => one.count().cancelled === 2);
  one.answer();
  await until(() => one.count().delivered === 1);
  expect([one.receiver.requests.length, one.became(3)]).toEqual([
    1,
    [["cancelled", "destination_deleted"]],
  ]);
});

test("of a round that has started, it is sent as it was, unless its webhook is gone or nothing may be sent", async () => {
  for (const [change, requests, became] of [
    ["secret", 3, []],
    ["pointed", 3, []],
    ["moved", 1, [["waiting", "retry"]]],
    ["disabled", 1, [["waiting", "retry"]]],
    ["deleted", 1, [["cancelled", "destination_deleted"]]],
  ] as const) {
    const busy = await startReceiver(503);
    const one = await startBusy([busy.url]);
    await until(() => busy.requests.length === 3);
    const { id, webhooks } = one.destination;
    const [first, second] = webhooks as [Webhook, Webhook];
    const elsewhere = `${first.url}/new`;
    if (change === "secret") one.change({ sharedSecret: "new" });
    if (change === "pointed") {
      one.configuration.pointWebhook(id, first.id, elsewhere);
      one.scheduler.onConfigurationChanged();
    }
    if (change === "moved") one.change({ webhooks: [{ ...first, url: elsewhere }, second] });
    if (change === "disabled") one.change({ enabled: false });
    if (change === "deleted") one.remove();
    if (requests === 1) await until(() => one.count().sending === 1);
    one.answer();
    await until(() => one.count().sending === 0);
    const seen = one.receiver.requests.map(({ url, headers }) => [
      url,
      headers.some(([name]) => name === "X-Signature"),
    ]);
    expect([change, seen]).toEqual([change, Array(requests).fill(["/hook", false])]);
    expect(one.became(2)).toEqual(became);
    expect([one.scheduler.underWay(), one.reported]).toEqual([[], []]);
    await busy.stop();
  }
});

test("it is sent as before when the transaction of the change fails", async () => {
  const one = await startBusy();
  const other = await startReceiver(200);
  const refused = new Error("refused");
  expect(() =>
    one.store.atomically(() => {
      one.change({ webhooks: [{ url: other.url, headers: {} }] });
      throw refused;
    }),
  ).toThrow(refused);
  one.configuration.reload();
  one.answer();
  await until(() => one.count().delivered === 3);
  await other.stop();
  expect([one.receiver.requests.length, other.requests.length]).toEqual([3, 0]);
});

test("when a connection becomes free before the scheduler's next turn, it goes to the new address all the same", async () => {
  const one = await startBusy();
  const other = await startReceiver(200);
  const turns: (() => void)[] = [];
  one.store.inWritingTurn = (write) => void turns.push(write);
  one.change({ webhooks: [{ url: other.url, headers: {} }] });
  one.answer();
  await until(() => other.requests.length === 2);
  expect(one.receiver.requests.length).toBe(1);
  one.store.inWritingTurn = setImmediate;
  for (const turn of turns) turn();
  await until(() => one.count().delivered === 3);
  await one.activity.whenQuiet();
  await other.stop();
  expect([other.requests.length, one.became(2), one.reported]).toEqual([2, [], []]);
});
