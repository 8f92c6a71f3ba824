/**
 * A shop's receiver on `node:http`, for searches: its bugs need two or three steps. Its rows are on
 * disk (`--data`) and survive a restart, either a real one or `POST /restart`, which forgets what
 * is only in memory. `POST /reset` empties it.
 */

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
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

const { bug, port, secret, data, ...given } = parseArgs({
  options: {
    bug: { type: "string" },
    port: { type: "string", default: "0" },
    secret: { type: "string", default: "" },
    data: { type: "string" },
    /**
     * How long a user's first message takes: long enough that a copy sent together with it arrives.
     */
    "account-ms": { type: "string", default: "100" },
  },
}).values;

type Row = {
  key: string;
  type: string;
  event: string | undefined;
  userId: string;
  token: string | undefined;
  at: string;
};

let rows: Row[] = [];
let memory = read();

/** What is gone after a restart, or was computed from the rows. */
function read(): {
  work: Map<string, Promise<void>>;
  users: Set<string>;
  carts: Set<string>;
  completed: Set<string>;
  refunds: Map<string, Row>;
} {
  if (data !== undefined && existsSync(data))
    rows = readFileSync(data, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  const known = bug === "remembers-in-memory" ? [] : rows;
  const usersWith = (event: string): Set<string> =>
    new Set(rows.filter((row) => row.event === event).map(({ userId }) => userId));
  return {
    work: new Map(known.map(({ key }) => [key, Promise.resolve()])),
    users: new Set(rows.map(({ userId }) => userId)),
    carts: usersWith("Cart Updated"),
    completed: usersWith("Order Completed"),
    refunds: new Map(),
  };
}

function save(row: Row): void {
  rows.push(row);
  if (data !== undefined) appendFileSync(data, `${JSON.stringify(row)}\n`);
}

async function createAccount(userId: string): Promise<void> {
  if (memory.users.has(userId)) return;
  const before = memory;
  await wait(Number(given["account-ms"]));
  if (memory !== before) throw new Error("The receiver was restarted.");
  memory.users.add(userId);
}

function apply(
  { type, userId, anonymousId, timestamp, event, properties, traits, ...message }: Message,
  key: string,
): void {
  const user = userId ?? message["User ID"] ?? anonymousId ?? "";
  const row = {
    key,
    type,
    event,
    userId: user,
    token: properties?.token ?? traits?.token,
    at: timestamp,
  };
  save(row);
  if (bug === "refunds-twice") settleRefunds(row);
}

/**
 * A refund that arrives before its order waits for it; with the first cart of the user, those that
 * still wait are settled.
 */
function settleRefunds(row: Row): void {
  const { carts, completed, refunds } = memory;
  const { userId, event } = row;
  if (event === "Order Refunded" && !completed.has(userId)) refunds.set(userId, row);
  if (event === "Order Completed") {
    completed.add(userId);
    if (carts.has(userId)) refunds.delete(userId);
  }
  if (event === "Cart Updated") {
    carts.add(userId);
    const refund = refunds.get(userId);
    if (refund !== undefined && completed.has(userId)) {
      refunds.delete(userId);
      save(refund);
    }
  }
}

async function work(message: Message, key: string): Promise<void> {
  await createAccount(message.userId ?? message["User ID"] ?? message.anonymousId ?? "");
  apply(message, key);
}

/** A copy waits for the work of the first. */
function workOnce(message: Message, key: string): Promise<void> {
  const { work: known } = memory;
  const first = known.get(key);
  if (first !== undefined) return first;
  const running = work(message, key);
  const claim = (): unknown => known.set(key, running);
  if (bug === "marks-after-account") return running.then(() => void claim());
  claim();
  return running.catch((error: unknown) => {
    known.delete(key);
    throw error;
  });
}

/** Users as their newest identify describes them, and everything else as it was received. */
function effects(): Row[] {
  const users = new Map<string, Row>();
  for (const row of rows.filter(({ type }) => type === "identify")) {
    const known = users.get(row.userId);
    if (
      bug === "older-identify-wins" ||
      known === undefined ||
      Date.parse(known.at) <= Date.parse(row.at)
    )
      users.set(row.userId, row);
  }
  return [...users.values(), ...rows.filter(({ type }) => type !== "identify")];
}

async function receive(request: IncomingMessage): Promise<number> {
  if (request.method !== "POST") return 405;
  const body = await readBody(request);
  if (!isSigned(body, request.headers["x-signature"] as string | undefined, secret)) return 401;
  const message = parseMessage(body);
  const key = message === null ? undefined : keyOf(message);
  if (message === null || key === undefined) return 400;
  if (knownTypes.includes(message.type)) await workOnce(message, key);
  return 200;
}

function clear(): void {
  rows = [];
  if (data !== undefined) writeFileSync(data, "");
}

const server = createServer((request, response) => {
  const answer = (status: number): void => void response.writeHead(status).end();
  const { url } = request;
  if (url === "/hooks") receive(request).then(answer, () => answer(500));
  else if (url === "/effects")
    response.setHeader("content-type", "application/json").end(JSON.stringify(effects()));
  else if (url === "/restart" || url === "/reset") {
    if (url === "/reset") clear();
    memory = read();
    answer(204);
  } else answer(404);
});
listen(server, Number(port));
