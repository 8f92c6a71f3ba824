/**
 * A customer's receiver as a plain `node:http` server outside the app: it keeps what came and
 * answers as it is told.
 */

import { createServer } from "node:http";
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";

export type ReceivedRequest = {
  method: string;
  url: string;
  headers: [string, string][];
  body: string;
  at: number;
};

export type Answer =
  | number
  | ((response: ServerResponse, received: ReceivedRequest, count: number) => void);

export type WebhookReceiver = {
  url: string;
  requests: ReceivedRequest[];
  /** How it answers from now on: with a status and no body, or in any way. */
  answer: Answer;
  /** Resolves when that many requests have come. */
  whenReceived(count: number): Promise<void>;
  stop(): Promise<void>;
};

export async function startReceiver(
  answer: Answer = 200,
  tls?: { cert: string; key: string; host: string },
): Promise<WebhookReceiver> {
  const waiters: { count: number; resolve: () => void }[] = [];
  const listener: RequestListener = (request, response) => {
    readBody(request, (body) => {
      const received = {
        method: request.method ?? "",
        url: request.url ?? "",
        headers: pairs(request.rawHeaders),
        body,
        at: Date.now(),
      };
      receiver.requests.push(received);
      for (const waiter of waiters) if (waiter.count <= receiver.requests.length) waiter.resolve();
      if (typeof receiver.answer === "number")
        response.writeHead(receiver.answer, { "Content-Length": 0 }).end();
      else receiver.answer(response, received, receiver.requests.length);
    });
  };
  // Idle connections stay longer than any test: one that ends between two requests would look like
  // a fault.
  const server =
    tls === undefined
      ? createServer({ keepAliveTimeout: 60_000 }, listener)
      : createTlsServer({ ...tls }, listener);
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: WebhookReceiver = {
    url: tls === undefined ? `http://127.0.0.1:${port}/hook` : `https://${tls.host}:${port}/hook`,
    requests: [],
    answer,
    whenReceived: (count) =>
      new Promise((resolve) => {
        if (receiver.requests.length >= count) resolve();
        else waiters.push({ count, resolve });
      }),
    stop() {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  return receiver;
}

function readBody(request: IncomingMessage, done: (body: string) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => done(Buffer.concat(chunks).toString("utf8")));
}

function pairs(flat: string[]): [string, string][] {
  return flat.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, flat[index + 1] ?? ""]] : [],
  );
}
