/**
 * The least that delivers: so many connections, each signing and POSTing the next payload as soon
 * as it is free. Over an undici pool; or over bare sockets, to show what undici costs.
 */

import { createHmac } from "node:crypto";
import { connect } from "node:net";
import { Pool } from "undici";
import { scriptData } from "../children.ts";
import { makeMessage, seeded } from "../messages.ts";

export type DeliveryFloor = {
  over: "undici" | "node:net";
  url: string;
  deliveries: number;
  connections: number;
  secret: string;
};

const { over, url, deliveries, connections, secret } = scriptData<DeliveryFloor>();
const random = seeded(1);
const payloads = Array.from({ length: deliveries }, () =>
  JSON.stringify({ ...makeMessage(random), version: 1 }),
);
const { origin, pathname, host, hostname, port } = new URL(url);
const signed = (body: string): string => createHmac("sha1", secret).update(body).digest("hex");
let next = 0;

async function overUndici(): Promise<void> {
  const pool = new Pool(origin, { connections });
  const deliver = async (): Promise<void> => {
    for (let body = payloads[next]; body !== undefined; body = payloads[next]) {
      next += 1;
      const { statusCode, body: answer } = await pool.request({
        path: pathname,
        method: "POST",
        headers: {
          "user-agent": "Hookyard/1.0",
          "content-type": "application/json",
          "x-signature": signed(body),
        },
        body,
      });
      await answer.dump();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: connections }, deliver));
  await pool.close();
}

/** The receiver's answers have no body, so each ends with its head. */
function overSockets(): Promise<unknown> {
  const head = `POST ${pathname} HTTP/1.1\r\nHost: ${host}\r\nUser-Agent: Hookyard/1.0\r\nContent-Type: application/json\r\n`;
  const deliver = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true });
      const send = (): void => {
        const body = payloads[next];
        if (body === undefined) {
          socket.destroy();
          return resolve();
        }
        next += 1;
        const length = Buffer.byteLength(body);
        socket.write(
          `${head}X-Signature: ${signed(body)}\r\nContent-Length: ${length}\r\n\r\n${body}`,
        );
      };
      let text = "";
      socket.on("connect", send).on("error", reject);
      socket.setEncoding("latin1").on("data", (chunk) => {
        text += String(chunk);
        if (!text.endsWith("\r\n\r\n")) return;
        if (!text.startsWith("HTTP/1.1 200")) return reject(new Error(text));
        text = "";
        send();
      });
    });
  return Promise.all(Array.from({ length: connections }, deliver));
}

process.send?.("prepared");
process.once("message", () => {
  void (over === "undici" ? overUndici() : overSockets()).then(() => process.disconnect());
});
