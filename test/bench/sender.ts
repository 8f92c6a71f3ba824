/**
 * The load generator, a process of its own: makes its requests first, then sends them over kept
 * connections, each connection one request at a time, as fast as the answers come or at a given
 * pace. Plain sockets, so that it takes as little of the machine as it can from what is measured.
 */

import { connect, type Socket } from "node:net";
import { scriptData } from "./children.ts";
import { enlarged, makeMessage, seeded } from "./messages.ts";

export type Load = {
  /** An ingest port; with a path, a place that takes single messages at that path. */
  url: string;
  connections: number;
  /** Messages in one request; 1 is a single call. */
  batch: number;
  requests: number;
  writeKey: string;
  /** Uses so many keys in turn, `<writeKey>-0` and so on. */
  keys?: number;
  seed: number;
  /** Makes each message so large, with a text among its properties. */
  messageBytes?: number;
  /** Starts a request this often instead of as soon as a connection is free. */
  everyMs?: number;
};

/**
 * `startedAt` and `endedAt` are epoch milliseconds with a fraction, for other processes to compare
 * with.
 */
export type Sent = { startedAt: number; endedAt: number };

const now = (): number => performance.timeOrigin + performance.now();

function makeRequests(load: Load): Buffer[] {
  const { url, batch, requests, writeKey, keys, seed, messageBytes = 0 } = load;
  const random = seeded(seed);
  const { host, pathname } = new URL(url);
  return Array.from({ length: requests }, (_, nth) => {
    const key = keys === undefined ? writeKey : `${writeKey}-${nth % keys}`;
    const authorization = Buffer.from(`${key}:`).toString("base64");
    const messages = Array.from({ length: batch }, () =>
      enlarged(makeMessage(random), messageBytes, random),
    );
    const body = JSON.stringify(batch === 1 ? messages[0] : { batch: messages });
    const path =
      pathname !== "/" ? pathname : batch === 1 ? `/v1/${messages[0]?.type}` : "/v1/batch";
    const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Basic ${authorization}\r\nUser-Agent: bench/1.0\r\nContent-Type: application/json\r\n`;
    return Buffer.from(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  });
}

/** Resolves with a free connection's turn; an answer that is not 200 ends the run. */
function send(socket: Socket, request: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = "";
    const take = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const end = text.indexOf("\r\n\r\n");
      if (end < 0) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
      if (length !== undefined && text.length < end + 4 + Number(length)) return;
      socket.off("data", take);
      if (text.startsWith("HTTP/1.1 200") && length !== undefined) resolve();
      else reject(new Error(text));
    };
    socket.on("data", take);
    socket.write(request);
  });
}

async function run(sockets: Socket[], requests: readonly Buffer[], everyMs: number): Promise<Sent> {
  const startedAt = now();
  let next = 0;
  await Promise.all(
    sockets.map(async (socket) => {
      for (let request = requests[next]; request !== undefined; request = requests[next]) {
        const early = startedAt + next * everyMs - now();
        next += 1;
        if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
        await send(socket, request);
      }
    }),
  );
  return { startedAt, endedAt: now() };
}

const load = scriptData<Load>();
const requests = makeRequests(load);
const { hostname, port } = new URL(load.url);
const sockets = await Promise.all(
  Array.from(
    { length: load.connections },
    () =>
      new Promise<Socket>((resolve) => {
        const socket = connect({ host: hostname, port: Number(port), noDelay: true }, () =>
          resolve(socket),
        );
      }),
  ),
);
process.send?.("prepared");
process.once("message", () => {
  void run(sockets, requests, load.everyMs ?? 0).then((sent) => {
    process.send?.(sent);
    for (const socket of sockets) socket.destroy();
    process.disconnect();
  });
});
