import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { ReceiverClient } from "./receiver-client.ts";
import {
  type RunningReceiver,
  type ShopEntry,
  type ShopOptions,
  shops,
  startShop,
} from "./receivers.ts";

const folder = mkdtempSync(join(tmpdir(), "hookyard-shops-"));
afterAll(() => rmSync(folder, { recursive: true }));

const running: RunningReceiver[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((receiver) => receiver.stop()));
});

async function start(
  entry: ShopEntry,
  options: ShopOptions = {},
): Promise<{ client: ReceiverClient; port: number }> {
  const receiver = await startShop(entry, options);
  running.push(receiver);
  return { client: new ReceiverClient(receiver), port: Number(new URL(receiver.url).port) };
}

test.each(shops)(
  "$name: a copy together with the first message of a user takes effect twice only with its bug",
  async (shop) => {
    const { client } = await start(shop, { accountMs: 500 });
    const token = client.token();
    const userId = client.token();
    const first = client.message("track", { userId, properties: { token } });
    expect(await Promise.all([client.post(first), client.post(first)])).toEqual([200, 200]);
    expect(await client.effectsOf(token)).toBe(shop.bug === "marks-after-account" ? 2 : 1);

    const later = client.token();
    const second = client.message("track", { userId, properties: { token: later } });
    expect(await Promise.all([client.post(second), client.post(second)])).toEqual([200, 200]);
    await client.post(second);
    expect(await client.effectsOf(later)).toBe(1);
  },
);

test.each(shops)(
  "$name: a retry after a restart takes effect twice only with its bug, and after a reset it is new",
  async (shop) => {
    const data = join(folder, `${shop.name}.rows`);
    const { client, port } = await start(shop, { data });
    const [token, real] = [client.token(), client.token()];
    const message = client.message("track", { properties: { token } });
    await client.post(message);
    await client.postTo("/restart");
    await client.post(message);
    expect(await client.effectsOf(token)).toBe(shop.bug === "remembers-in-memory" ? 2 : 1);

    const another = client.message("track", { properties: { token: real } });
    await client.post(another);
    await running.pop()?.stop();
    const { client: restarted } = await start(shop, { data, port });
    await restarted.post(another);
    expect(await restarted.effectsOf(real)).toBe(shop.bug === "remembers-in-memory" ? 2 : 1);

    await restarted.postTo("/reset");
    expect(await restarted.effectsOf(token)).toBe(0);
    await restarted.post(message);
    expect(await restarted.effectsOf(token)).toBe(1);
  },
);

test.each(shops)("$name: an older identify wins only with its bug", async (shop) => {
  const { client } = await start(shop);
  const [userId, older, newer] = [client.token(), client.token(), client.token()];
  for (const [token, second] of [
    [newer, 2],
    [older, 1],
  ] as const) {
    await client.post(
      client.message("identify", {
        userId,
        timestamp: `2026-11-22T12:00:0${second}.000Z`,
        traits: { token },
      }),
    );
  }
  const isWrong = shop.bug === "older-identify-wins";
  expect([await client.effectsOf(older), await client.effectsOf(newer)]).toEqual(
    isWrong ? [1, 0] : [0, 1],
  );
});

const [cart, order, refund] = ["Cart Updated", "Order Completed", "Order Refunded"];
const orders = [
  [cart, order, refund],
  [cart, refund, order],
  [order, cart, refund],
  [order, refund, cart],
  [refund, cart, order],
  [refund, order, cart],
];

test.each(shops)(
  "$name: one order of three events takes effect twice only with its bug",
  async (shop) => {
    const { client } = await start(shop);
    const twice: unknown[] = [];
    for (const events of orders) {
      const [userId, token] = [client.token(), client.token()];
      for (const event of events)
        await client.post(client.message("track", { userId, event, properties: { token } }));
      const times = await client.effectsOf(token);
      if (times === 4) twice.push(events);
      else expect(times).toBe(3);
    }
    expect(twice).toEqual(shop.bug === "refunds-twice" ? [[refund, order, cart]] : []);
  },
);
