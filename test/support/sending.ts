/**
 * For tests of the sending side: receivers and senders that end with the test
 * (`afterEach(stopAll)`), and one POST with what was seen of it.
 */

import type { Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { createTrust } from "../../src/engine/deliver/dial.ts";
import type { Exchange, ExchangeResult, SendRequest } from "../../src/engine/deliver/exchange.ts";
import { createSender, type Sender } from "../../src/engine/deliver/sender.ts";
import { startRawReceiver } from "./raw-receiver.ts";
import type { RawReceiver, RawReceiverOptions } from "./raw-receiver.ts";

/** Promises to keep the connection, so that it is used again however slow the machine is. */
export const ok = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=7200\r\nContent-Length: 2\r\n\r\nok";

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

/**
 * Keeps idle connections longer than any test takes: one that closes was closed for another reason.
 */
export function sender({
  trust = createTrust(),
  idleMs = 3_600_000,
  ...more
}: Partial<Parameters<typeof createSender>[0]> = {}): Sender {
  const created = createSender({ trust, idleMs, ...more });
  running.push({ stop: () => created.close() });
  return created;
}

export type Sent = Exchange & {
  done: Promise<ExchangeResult>;
  phases: string[];
  sockets: string[];
};

export function post(from: Sender, url: string, request: Partial<SendRequest> = {}): Sent {
  const phases: string[] = [];
  const sockets: string[] = [];
  const { promise: done, resolve } = Promise.withResolvers<ExchangeResult>();
  const exchange = from.send({
    url,
    headers: [],
    body: Buffer.from('{"a":1}'),
    onPhase: (phase) => phases.push(phase),
    onSocket: (address, port) => sockets.push(`${address} ${port}`),
    onEnd(result) {
      phases.push(...Object.keys(result.phases ?? {}));
      resolve(result);
    },
    ...request,
  });
  return {
    done,
    abort: (reason) => exchange.abort(reason),
    limit: (ms) => exchange.limit(ms),
    markReached: () => exchange.markReached(),
    phases,
    sockets,
  };
}

export function closed(socket: Socket | undefined): Promise<unknown> {
  return new Promise((resolve) => socket?.on("close", resolve));
}
