/** A receiver on `node:http`. It is right, except for the one bug that it is given. */

import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { lastingPort } from "../support/free-ports.ts";
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
  style: string | undefined;
  secret: string;
  /** How long a second of the receiver's work takes. */
  secondMs: number;
};

type Effect = { type: string; userId: string | undefined; token: string | undefined; at: string };

export class NodeReceiver {
  readonly #options: Options;
  readonly #server: Server;
  readonly #effects: Effect[] = [];
  readonly #profiles = new Map<string | undefined, Effect>();
  readonly #done = new Map<string, string>();
  readonly #answering = new Map<string, Promise<void>>();
  readonly #requestsOf = new WeakMap<Socket, number>();
  /** Messages whose copies are refused meanwhile. */
  readonly #working = new Set<string>();
  readonly #validSignatures = new Set<string | undefined>();
  /** Requests that were never counted as answered. */
  #leaked = 0;

  constructor(options: Options) {
    this.#options = options;
    this.#server = createServer((request, response) => this.#serve(request, response));
    if (options.style === "conflict") {
      // It also closes kept connections early.
      this.#server.maxRequestsPerSocket = 3;
      this.#server.keepAliveTimeout = 50;
    }
    if (options.bug === "connection-limit") this.#server.maxConnections = 50;
  }

  /** Returns its port, which no other test gets when a bug ends it. */
  async start(): Promise<number> {
    return listen(this.#server, await lastingPort());
  }

  async stop(): Promise<void> {
    if (this.#server.listening) await cut(this.#server);
  }

  #seconds(count: number): Promise<void> {
    return wait(count * this.#options.secondMs);
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    if (request.method === "GET" && request.url === "/effects") {
      response
        .setHeader("content-type", "application/json")
        .end(JSON.stringify([...this.#profiles.values(), ...this.#effects]));
      return;
    }
    const isPage = this.#options.style === "page";
    const answer = (status: number): void => {
      if (isPage) response.setHeader("content-type", "text/html; charset=utf-8");
      if (status > 0) response.writeHead(status).end(isPage ? "OK" : "");
    };
    if (request.url !== "/hooks") answer(404);
    else this.#receive(request, response).then(answer, () => answer(500));
  }

  #isValid(body: Buffer, signature: string | undefined): boolean {
    const { bug, secret } = this.#options;
    const digest = (text: string): string => createHmac("sha1", secret).update(text).digest("hex");
    switch (bug) {
      case "signature-not-verified":
      case "verifies-after-work":
        return true;
      case "signature-prefix":
        return (
          signature !== undefined &&
          signature !== "" &&
          digest(body.toString()).startsWith(signature)
        );
      case "verifies-restringified":
        return signature === digest(JSON.stringify(parseMessage(body)));
      case "verifies-latin1":
        return signature === digest(body.toString("latin1"));
      case "signature-cache":
        if (isSigned(body, signature, secret)) this.#validSignatures.add(signature);
        return this.#validSignatures.has(signature);
      default:
        return isSigned(body, signature, secret);
    }
  }

  #add({ type, userId, anonymousId, timestamp, properties, traits, ...message }: Message): void {
    const user = userId ?? message["User ID"] ?? anonymousId;
    const token = properties?.token ?? traits?.token;
    this.#effects.push({ type, userId: user, token, at: timestamp });
  }

  #identify({ type, userId, anonymousId, timestamp: at, traits }: Message): void {
    const user = userId ?? anonymousId;
    const known = this.#profiles.get(user);
    const isNewer = known === undefined || Date.parse(known.at) <= Date.parse(at);
    if (isNewer || this.#options.bug === "older-identify-wins")
      this.#profiles.set(user, { type, userId: user, token: traits?.token, at });
  }

  #handle(message: Message): void {
    if (message.type === "identify") return this.#identify(message);
    if (message.type === "delete") this.#profiles.delete(message.userId);
    this.#add(message);
    if (message.type === "group" && this.#options.bug === "fails-after-work")
      throw new Error("The mail about the new member was not sent.");
  }

  async #takeEffect(message: Message, key: string, response: ServerResponse): Promise<void> {
    const { bug } = this.#options;
    const done = this.#done;
    if (bug === "marks-after-answer") {
      await this.#answering.get(key);
      if (done.has(key)) return;
      response.once("finish", () => done.set(key, message.timestamp));
      const closed = new Promise<void>((resolve) => response.once("close", resolve));
      this.#answering.set(key, closed);
      void closed.then(() => this.#answering.delete(key));
      await this.#seconds(0.1);
      return this.#handle(message);
    }
    if (done.has(key)) return;
    if (bug === "duplicate-race") await this.#seconds(0.1);
    if (bug === "leaks-when-hung-up") {
      await this.#seconds(0.5);
      if (response.destroyed) this.#leaked += 1;
    }
    if (done.has(key) && bug !== "duplicate-race") return;
    this.#handle(message);
    done.set(key, message.timestamp);
    if (bug === "hundred-ids")
      for (const oldest of [...done.keys()].slice(0, -100)) done.delete(oldest);
    if (bug === "ten-minute-memory") {
      for (const [key, timestamp] of done)
        if (Date.parse(timestamp) < Date.now() - 600_000) done.delete(key);
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<number> {
    const { bug, style, secret } = this.#options;
    const { headers, method, socket } = request;
    if (method !== "POST") return 405;
    const requests = (this.#requestsOf.get(socket) ?? 0) + 1;
    this.#requestsOf.set(socket, requests);
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
    if (!this.#isValid(body, signature)) return 401;
    const message = parseMessage(body);
    if (message === null && bug === "bad-json-exit") await this.stop();
    if (message === null) return 400;
    if (this.#leaked >= 3) return 503;
    if (bug === "too-slow") await this.#seconds(6);
    if (style === "slow") await this.#seconds(1.5);
    if (bug === "delete-not-found" && message.type === "delete") return 404;
    if (!knownTypes.includes(message.type)) {
      if (bug === "unknown-type-crash") throw new Error(`There is no handler for ${message.type}.`);
      return 200;
    }
    const key = keyOf(message);
    if (key === undefined) return 400;
    if (style === "conflict" && !this.#done.has(key)) {
      if (this.#working.has(key)) return 409;
      this.#working.add(key);
      await this.#seconds(0.05);
      this.#working.delete(key);
    }
    await this.#takeEffect(message, key, response);
    return bug === "verifies-after-work" && !isSigned(body, signature, secret) ? 401 : 200;
  }
}
