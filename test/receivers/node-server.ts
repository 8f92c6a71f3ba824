/** What the receivers on `node:http` share. They run in the process of the tests. */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setImmediate, setTimeout } from "node:timers/promises";

export type Message = {
  type: string;
  messageId?: string;
  userId?: string;
  anonymousId?: string;
  "User ID"?: string;
  timestamp: string;
  event?: string;
  properties?: { token?: string };
  traits?: { token?: string };
};

export const knownTypes = ["identify", "track", "page", "screen", "group", "alias", "delete"];

/** What arrived at a socket while the process stood still has been read by then. */
export async function wait(ms: number): Promise<void> {
  await setTimeout(ms);
  await setImmediate();
  await setImmediate();
}

export async function readBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

export function isSigned(body: Buffer, given: string | undefined, secret: string): boolean {
  const expected = createHmac("sha1", secret).update(body).digest("hex");
  return (
    given?.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
  );
}

/** Null when the body is no JSON object. */
export function parseMessage(body: Buffer): Message | null {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Message)
      : null;
  } catch {
    return null;
  }
}

/** A delete message has no `messageId`: deleting a user twice is deleting once. */
export function keyOf({ type, messageId, userId }: Message): string | undefined {
  return type === "delete" ? `delete ${userId}` : messageId;
}

/** Returns the port. */
export async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", 512, resolve);
  });
  return (server.address() as AddressInfo).port;
}

/**
 * As when its process ends: open connections are cut. Clients in this process know it then, and
 * send their next request on another connection.
 */
export async function cut(server: Server): Promise<void> {
  const closed = new Promise((resolve) => server.close(resolve));
  server.closeAllConnections();
  await closed;
  await setImmediate();
}
