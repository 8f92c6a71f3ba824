/**
 * A server that takes batches as a client sends them, and answers each request as it is told. Ends
 * with the test (`afterEach(stopAll)`).
 */

import { createServer } from "node:http";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";

export type BatchAnswer =
  | { status: number; headers?: Record<string, string>; body?: string | Buffer }
  | "cut"
  | "hang";

type ReceivedBatch = {
  url: string;
  body: string;
  ids: string[];
  messages: Record<string, unknown>[];
  answer: BatchAnswer;
};

type BatchServer = {
  url: string;
  port: number;
  received: ReceivedBatch[];
  connections: number;
  /** How many there are now. */
  open(): number;
  /** The most requests that there ever were at once. */
  most: number;
  stop(): Promise<void>;
};

const running = new Set<BatchServer>();

export async function stopServers(): Promise<void> {
  for (const server of running) await server.stop();
}

/** `answer` is asked when a request is there as a whole; its number counts from 0. */
export async function startBatchServer(
  answer: (request: number, ids: string[]) => BatchAnswer = () => ({ status: 200 }),
  port = 0,
): Promise<BatchServer> {
  const sockets = new Set<Socket>();
  let open = 0;
  // Idle connections stay until the client closes them.
  const server = createServer(
    { keepAliveTimeout: 0 },
    (request, response) => void serve(request, response),
  );
  server.on("connection", (socket: Socket) => {
    one.connections += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    open += 1;
    one.most = Math.max(one.most, open);
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      // The client broke it off.
      return;
    } finally {
      open -= 1;
    }
    const body = Buffer.concat(chunks).toString("utf8");
    const { batch: messages } = JSON.parse(body) as { batch: Record<string, unknown>[] };
    const ids = messages.map(({ messageId }) => String(messageId));
    const given = answer(one.received.length, ids);
    one.received.push({ url: request.url ?? "", body, ids, messages, answer: given });
    if (given === "cut") request.socket.destroy();
    else if (given !== "hang") response.writeHead(given.status, given.headers).end(given.body);
  }

  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const bound = (server.address() as AddressInfo).port;
  const one: BatchServer = {
    url: `http://127.0.0.1:${bound}`,
    port: bound,
    received: [],
    connections: 0,
    open: () => sockets.size,
    most: 0,
    stop() {
      running.delete(one);
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  running.add(one);
  return one;
}
