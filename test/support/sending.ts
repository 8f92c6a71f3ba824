/** For tests of the sending side: receivers and senders that end with the test (`afterEach(stopAll)`), and one POST with what was seen of it. */

import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { expect } from "vitest";
import { createSender } from "../../src/engine/deliver/exchange.ts";
import type { Exchange, Sender, SendRequest } from "../../src/engine/deliver/exchange.ts";
import { createTrust } from "../../src/engine/deliver/trust.ts";
import type { Trust } from "../../src/engine/deliver/trust.ts";
import { startRawReceiver } from "./raw-receiver.ts";
import type { RawReceiver, RawReceiverOptions } from "./raw-receiver.ts";

export const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/** Some containers have no IPv6 at all. */
export const hasIpv6 = Object.values(networkInterfaces())
  .flat()
  .some((one) => one?.address === "::1");

const running: { stop(): unknown }[] = [];

export async function stopAll(): Promise<void> {
  for (const one of running.splice(0)) await one.stop();
}

export async function receiver(options: RawReceiverOptions): Promise<RawReceiver> {
  const started = await startRawReceiver(options);
  running.push(started);
  return started;
}

/** A receiver that answers each request with the same bytes. */
export function answering(answer: string, options: RawReceiverOptions = {}): Promise<RawReceiver> {
  return receiver({ onRequest: (socket) => socket.write(answer, "latin1"), ...options });
}

export function sender({ trust = createTrust(), maxIdle }: { trust?: Trust; maxIdle?: number } = {}): Sender {
  const created = createSender(maxIdle === undefined ? { trust } : { trust, maxIdle });
  running.push({ stop: () => created.close() });
  return created;
}

type Sent = Exchange & { phases: string[]; sockets: string[] };

export function post(from: Sender, url: string, request: Partial<SendRequest> = {}): Sent {
  const phases: string[] = [];
  const sockets: string[] = [];
  const exchange = from.send({
    url,
    headers: [],
    body: Buffer.from('{"a":1}'),
    onPhase: (phase) => phases.push(phase),
    onSocket: (address, port) => sockets.push(`${address} ${port}`),
    ...request,
  });
  return { done: exchange.done, abort: (reason) => exchange.abort(reason), phases, sockets };
}

export function closed(socket: Socket | undefined): Promise<unknown> {
  return new Promise((resolve) => socket?.on("close", resolve));
}

/** The socket is closed well before the second for which an idle connection is kept. */
export async function closedAtOnce(socket: Socket | undefined): Promise<void> {
  const start = performance.now();
  await closed(socket);
  expect(performance.now() - start).toBeLessThan(700);
}
