/**
 * How a team tests its own webhook receiver: the real program on its real port, driven by
 * `hookyard/testing` through the four hours in which deliveries are retried.
 */

import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Hookyard, start } from "hookyard/testing";

const secret = "kept between the two of them";
let service: Awaited<ReturnType<typeof startService>>;
let hookyard: Hookyard;

beforeEach(async () => {
  service = await startService();
  hookyard = await start({
    destinations: {
      "Order service": {
        webhooks: [{ url: `${service.url}/webhooks/orders` }],
        sharedSecret: secret,
      },
    },
  });
});

afterEach(async () => {
  await hookyard.stop();
  service.process.kill();
});

const order = (total: number) => ({
  type: "track" as const,
  event: "Order Completed",
  userId: "u_1",
  properties: { total },
});

describe("the order service", () => {
  test("takes an order that is signed as agreed", async () => {
    await hookyard.send(order(49.9));
    await hookyard.expect({
      deliveries: { state: "delivered", attempts: 1 },
      attempts: { result: 201, signature: "valid" },
    });
    expect(await service.orders()).toEqual({
      orders: [{ event: "Order Completed", total: 49.9 }],
      refused: 0,
    });
  });

  test("loses nothing in an outage of three hours, and has each order once", async () => {
    await service.setDatabase({ up: false });
    await hookyard.send([order(1), order(2), order(3)]);
    await hookyard.advance("3h");
    await hookyard.expect({
      deliveries: { count: 3, state: "waiting", rounds: { atLeast: 12 } },
      attempts: { result: 503, response: { body: { "$.error": "the database is down" } } },
    });

    await service.setDatabase({ up: true });
    await hookyard.advance("33m");
    await hookyard.expect({
      deliveries: { count: 3, state: "delivered" },
      clock: { nextDue: "nothing" },
    });
    const { orders, refused } = await service.orders();
    expect(orders.map(({ total }) => total).toSorted((one, other) => one - other)).toEqual([
      1, 2, 3,
    ]);
    expect(refused).toBeGreaterThanOrEqual(3 * 12);
  });

  test("is given up on after four hours of failures, and takes the order when somebody retries", async () => {
    await service.setDatabase({ up: false });
    await hookyard.send(order(7));
    await hookyard.expect({
      deliveries: { of: { state: ["delivered", "failed"] }, never: true, within: "4h" },
    });
    await hookyard.expect({
      deliveries: { state: "expired", took: { atLeast: "3h20m", atMost: "4h" } },
      clock: { nextDue: "nothing" },
    });
    expect((await service.orders()).orders).toEqual([]);

    await service.setDatabase({ up: true });
    await hookyard.retry({ state: "expired" });
    await hookyard.expect({ deliveries: { state: "delivered" } });
    expect((await service.orders()).orders).toEqual([{ event: "Order Completed", total: 7 }]);
  });

  test("refuses what another secret has signed, and that is not retried", async () => {
    await hookyard.change({ destinations: { "Order service": { sharedSecret: "guessed" } } });
    await hookyard.send(order(5));
    await hookyard.advance("idle");
    await hookyard.expect({
      deliveries: { state: "failed" },
      attempts: { results: [401], signedWith: "guessed" },
    });
  });

  test("takes a replayed message as a new one, and a repeated one once", async () => {
    await hookyard.send({ ...order(9), messageId: "order-9" }, { resend: 2 });
    await hookyard.expect([
      { messages: { of: { state: "duplicate" }, count: 2 } },
      { deliveries: { count: 1, state: "delivered" } },
    ]);
    const [message] = (await hookyard.call("messages.list", { state: "delivered" })).items;
    await hookyard.during(() => hookyard.call("messages.replay", { id: message?.id ?? "" }));
    await hookyard.expect({ deliveries: { count: 2, state: "delivered" } });
    expect((await service.orders()).orders).toHaveLength(2);
  });
});

async function startService(): Promise<{
  url: string;
  process: ChildProcess;
  orders(): Promise<{ orders: { event: string; total: number }[]; refused: number }>;
  setDatabase(state: { up: boolean }): Promise<void>;
}> {
  const program = fileURLToPath(new URL("./order-service.ts", import.meta.url));
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  const port = await new Promise<string>((resolve, reject) => {
    child.stdout.once("data", (line: Buffer) => resolve(line.toString().trim()));
    child.once("exit", (code) => reject(new Error(`The order service ended with ${code}.`)));
  });
  const url = `http://127.0.0.1:${port}`;
  return {
    url,
    process: child,
    orders: async () =>
      (await fetch(`${url}/orders`)).json() as Promise<{
        orders: { event: string; total: number }[];
        refused: number;
      }>,
    setDatabase: async (state) =>
      void (await fetch(`${url}/database`, { method: "POST", body: JSON.stringify(state) })),
  };
}
