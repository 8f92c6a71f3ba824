/**
 * The least that delivers: one pool of connections, each signing and POSTing the next payload as
 * soon as it is free.
 */

import { createHmac } from "node:crypto";
import { Pool } from "undici";
import { scriptData } from "../children.ts";
import { makeMessage, seeded } from "../messages.ts";

export type DeliveryFloor = {
  url: string;
  deliveries: number;
  connections: number;
  secret: string;
};

const { url, deliveries, connections, secret } = scriptData<DeliveryFloor>();
const random = seeded(1);
const payloads = Array.from({ length: deliveries }, () =>
  JSON.stringify({ ...makeMessage(random), version: 1 }),
);
const { origin, pathname } = new URL(url);
const pool = new Pool(origin, { connections });
let next = 0;

async function deliver(): Promise<void> {
  for (let body = payloads[next]; body !== undefined; body = payloads[next]) {
    next += 1;
    const { statusCode, body: answer } = await pool.request({
      path: pathname,
      method: "POST",
      headers: {
        "user-agent": "Hookyard/1.0",
        "content-type": "application/json",
        "x-signature": createHmac("sha1", secret).update(body).digest("hex"),
      },
      body,
    });
    await answer.dump();
    if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
  }
}

process.send?.("prepared");
process.once("message", () => {
  void Promise.all(Array.from({ length: connections }, deliver)).then(async () => {
    await pool.close();
    process.disconnect();
  });
});
