/** A receiver on `node:http`. It is right, except for the one bug that `--bug` names. */

import { createHmac } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import {
  createServer,
  isSigned,
  keyOf,
  knownTypes,
  listen,
  type Message,
  parseMessage,
  readBody,
} from "./node-server.ts";

const { bug, style, port, secret, ...given } = parseArgs({
  options: {
    bug: { type: "string" },
    style: { type: "string", default: "keep-alive" },
    port: { type: "string", default: "0" },
    secret: { type: "string", default: "" },
    /** How long a second of the receiver's work takes. */
    "second-ms": { type: "string", default: "1000" },
  },
}).values;
const seconds = (count: number): Promise<void> => wait(count * Number(given["second-ms"]));

type Effect = { type: string; userId: string | undefined; token: string | undefined; at: string };
const effects: Effect[] = [];
const profiles = new Map<string | undefined, Effect>();
const done = new Map<string, string>();
const answering = new Map<string, Promise<void>>();
const requestsOf = new WeakMap<Socket, number>();
/** Messages whose copies are refused meanwhile. */
const working = new Set<string>();
const validSignatures = new Set<string | undefined>();
/** Requests that were never counted as answered. */
let leaked = 0;

function isValid(body: Buffer, signature: string | undefined): boolean {
  const digest = (text: string): string => createHmac("sha1", secret).update(text).digest("hex");
  switch (bug) {
    case "signature-not-verified":
    case "verifies-after-work":
      return true;
    case "signature-prefix":
      return (
        signature !== undefined && signature !== "" && digest(body.toString()).startsWith(signature)
      );
    case "verifies-restringified":
      return signature === digest(JSON.stringify(parseMessage(body)));
    case "verifies-latin1":
      return signature === digest(body.toString("latin1"));
    case "signature-cache":
      if (isSigned(body, signature, secret)) validSignatures.add(signature);
      return validSignatures.has(signature);
    default:
      return isSigned(body, signature, secret);
  }
}

function add({
  type,
  userId,
  anonymousId,
  timestamp,
  properties,
  traits,
  ...message
}: Message): void {
  const user = userId ?? message["User ID"] ?? anonymousId;
  effects.push({ type, userId: user, token: properties?.token ?? traits?.token, at: timestamp });
}

const handlers: Record<string, (message: Message) => void> = {
  track: add,
  page: add,
  screen: add,
  alias: add,
  group(message) {
    add(message);
    if (bug === "fails-after-work") throw new Error("The mail about the new member was not sent.");
  },
  identify({ type, userId, anonymousId, timestamp: at, traits }) {
    const user = userId ?? anonymousId;
    const known = profiles.get(user);
    const isNewer = known === undefined || Date.parse(known.at) <= Date.parse(at);
    if (isNewer || bug === "older-identify-wins")
      profiles.set(user, { type, userId: user, token: traits?.token, at });
  },
  delete(message) {
    profiles.delete(message.userId);
    add(message);
  },
};

async function takeEffect(message: Message, key: string, response: ServerResponse): Promise<void> {
  if (bug === "marks-after-answer") {
    await answering.get(key);
    if (done.has(key)) return;
    response.once("finish", () => done.set(key, message.timestamp));
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    answering.set(key, closed);
    void closed.then(() => answering.delete(key));
    await seconds(0.1);
    return handlers[message.type]?.(message);
  }
  if (done.has(key)) return;
  if (bug === "duplicate-race") await seconds(0.1);
  if (bug === "leaks-when-hung-up") {
    await seconds(0.5);
    if (response.destroyed) leaked += 1;
  }
  if (done.has(key) && bug !== "duplicate-race") return;
  handlers[message.type]?.(message);
  done.set(key, message.timestamp);
  if (bug === "hundred-ids")
    for (const oldest of [...done.keys()].slice(0, -100)) done.delete(oldest);
  if (bug === "ten-minute-memory") {
    for (const [key, timestamp] of done)
      if (Date.parse(timestamp) < Date.now() - 600_000) done.delete(key);
  }
}

async function receive(request: IncomingMessage, response: ServerResponse): Promise<number> {
  const { headers, method, socket } = request;
  if (method !== "POST") return 405;
  const requests = (requestsOf.get(socket) ?? 0) + 1;
  requestsOf.set(socket, requests);
  const isRefused =
    (bug === "second-request-reset" && requests > 1) ||
    (bug === "connection-close-reset" && headers.connection === "close");
  if (isRefused) {
    socket.destroy();
    return 0;
  }

  const body = await readBody(request);
  const isJson = headers["content-type"]?.includes("json") === true;
  if (bug === "content-type-crash" && !isJson) throw new Error("There is no body to verify.");
  if (bug === "body-limit" && body.length > 16_384) return 413;
  const signature = headers["x-signature"] as string | undefined;
  if (!isValid(body, signature)) return 401;
  const message = parseMessage(body);
  if (message === null && bug === "bad-json-exit") process.exit(1);
  if (message === null) return 400;
  if (leaked >= 3) return 503;
  if (bug === "too-slow") await seconds(6);
  if (style === "slow") await seconds(1.5);
  if (bug === "delete-not-found" && message.type === "delete") return 404;
  if (!knownTypes.includes(message.type)) {
    if (bug === "unknown-type-crash") throw new Error(`There is no handler for ${message.type}.`);
    return 200;
  }
  const key = keyOf(message);
  if (key === undefined) return 400;
  if (style === "conflict" && !done.has(key)) {
    if (working.has(key)) return 409;
    working.add(key);
    await seconds(0.05);
    working.delete(key);
  }
  await takeEffect(message, key, response);
  return bug === "verifies-after-work" && !isSigned(body, signature, secret) ? 401 : 200;
}

const server = createServer((request, response) => {
  if (request.method === "GET" && request.url === "/effects") {
    response
      .setHeader("content-type", "application/json")
      .end(JSON.stringify([...profiles.values(), ...effects]));
    return;
  }
  const answer = (status: number): void => {
    if (style === "page") response.setHeader("content-type", "text/html; charset=utf-8");
    if (status > 0) response.writeHead(status).end(style === "page" ? "OK" : "");
  };
  if (request.url !== "/hooks") answer(404);
  else receive(request, response).then(answer, () => answer(500));
});
if (style === "conflict") {
  // It also closes kept connections early.
  server.maxRequestsPerSocket = 3;
  server.keepAliveTimeout = 50;
}
if (bug === "connection-limit") server.maxConnections = 50;
listen(server, Number(port));
