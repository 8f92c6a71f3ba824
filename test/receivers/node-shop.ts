/**
 * A shop's receiver on `node:http`, for searches: its bugs need two or three steps. Its rows are on
 * disk (`data`) and survive a restart, either its end and another one's start, or `POST /restart`,
 * which forgets what is only in memory. `POST /reset` empties it.
 */

import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  cut,
  isSigned,
  keyOf,
  knownTypes,
  listen,
  type Message,
  parseMessage,
  readBody,
  wait,
} from "./node-server.ts";

type Options = {
  bug: string | null;
  secret: string;
  port: number;
  data: string | undefined;
  /**
   * How long a user's first message takes: long enough that a copy sent together with it arrives.
   */
  accountMs: number;
};

type Row = {
  key: string;
  type: string;
  event: string | undefined;
  userId: string;
  token: string | undefined;
  at: string;
};

/** What is gone after a restart, or was computed from the rows. */
type Memory = {
  work: Map<string, Promise<void>>;
  users: Set<string>;
  carts: Set<string>;
  completed: Set<string>;
  refunds: Map<string, Row>;
};

export class NodeShop {
  readonly #options: Options;
  readonly #server: Server;
  #rows: Row[] = [];
  #memory: Memory;

  constructor(options: Options) {
    this.#options = options;
    this.#memory = this.#read();
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  /** Returns its port. */
  start(): Promise<number> {
    return listen(this.#server, this.#options.port);
  }

  /** What it works on is not done any more. */
  async stop(): Promise<void> {
    this.#memory = this.#read();
    await cut(this.#server);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const answer = (status: number): void => void response.writeHead(status).end();
    const { url } = request;
    if (url === "/hooks") this.#receive(request).then(answer, () => answer(500));
    else if (url === "/effects")
      response.setHeader("content-type", "application/json").end(JSON.stringify(this.#effects()));
    else if (url === "/restart" || url === "/reset") {
      if (url === "/reset") this.#clear();
      this.#memory = this.#read();
      answer(204);
    } else answer(404);
  }

  #read(): Memory {
    const { bug, data } = this.#options;
    if (data !== undefined && existsSync(data))
      this.#rows = readFileSync(data, "utf8")
        .split("\n")
        .filter(Boolean)
        .map((line) => JSON.parse(line));
    const known = bug === "remembers-in-memory" ? [] : this.#rows;
    const usersWith = (event: string): Set<string> =>
      new Set(this.#rows.filter((row) => row.event === event).map(({ userId }) => userId));
    return {
      work: new Map(known.map(({ key }) => [key, Promise.resolve()])),
      users: new Set(this.#rows.map(({ userId }) => userId)),
      carts: usersWith("Cart Updated"),
      completed: usersWith("Order Completed"),
      refunds: new Map(),
    };
  }

  #save(row: Row): void {
    this.#rows.push(row);
    const { data } = this.#options;
    if (data !== undefined) appendFileSync(data, `${JSON.stringify(row)}\n`);
  }

  async #createAccount(userId: string): Promise<void> {
    if (this.#memory.users.has(userId)) return;
    const before = this.#memory;
    await wait(this.#options.accountMs);
    if (this.#memory !== before) throw new Error("The receiver was restarted.");
    this.#memory.users.add(userId);
  }

  #apply(
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
    this.#save(row);
    if (this.#options.bug === "refunds-twice") this.#settleRefunds(row);
  }

  /**
   * A refund that arrives before its order waits for it; with the first cart of the user, those that
   * still wait are settled.
   */
  #settleRefunds(row: Row): void {
    const { carts, completed, refunds } = this.#memory;
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
        this.#save(refund);
      }
    }
  }

  async #work(message: Message, key: string): Promise<void> {
    await this.#createAccount(message.userId ?? message["User ID"] ?? message.anonymousId ?? "");
    this.#apply(message, key);
  }

  /** A copy waits for the work of the first. */
  #workOnce(message: Message, key: string): Promise<void> {
    const { work: known } = this.#memory;
    const first = known.get(key);
    if (first !== undefined) return first;
    const running = this.#work(message, key);
    const claim = (): unknown => known.set(key, running);
    if (this.#options.bug === "marks-after-account") return running.then(() => void claim());
    claim();
    return running.catch((error: unknown) => {
      known.delete(key);
      throw error;
    });
  }

  /** Users as their newest identify describes them, and everything else as it was received. */
  #effects(): Row[] {
    const { bug } = this.#options;
    const users = new Map<string, Row>();
    for (const row of this.#rows.filter(({ type }) => type === "identify")) {
      const known = users.get(row.userId);
      if (
        bug === "older-identify-wins" ||
        known === undefined ||
        Date.parse(known.at) <= Date.parse(row.at)
      )
        users.set(row.userId, row);
    }
    return [...users.values(), ...this.#rows.filter(({ type }) => type !== "identify")];
  }

  async #receive(request: IncomingMessage): Promise<number> {
    if (request.method !== "POST") return 405;
    const body = await readBody(request);
    const signature = request.headers["x-signature"] as string | undefined;
    if (!isSigned(body, signature, this.#options.secret)) return 401;
    const message = parseMessage(body);
    const key = message === null ? undefined : keyOf(message);
    if (message === null || key === undefined) return 400;
    if (knownTypes.includes(message.type)) await this.#workOnce(message, key);
    return 200;
  }

  #clear(): void {
    this.#rows = [];
    const { data } = this.#options;
    if (data !== undefined) writeFileSync(data, "");
  }
}
