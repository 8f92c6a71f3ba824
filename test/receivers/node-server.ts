/**
 * What the receivers on `node:http` share. Each is a program: it prints its port, and ends with its
 * standard input.
 */

import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An import of `node:http` would load Node's `fetch` too, which is half of the time of a start. */
export const { createServer } = process.getBuiltinModule("node:http");

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

export function listen(server: Server, port: number): void {
  server.listen(port, "127.0.0.1", 512, () => console.log((server.address() as AddressInfo).port));
  process.stdin.resume().once("end", () => process.exit());
}
