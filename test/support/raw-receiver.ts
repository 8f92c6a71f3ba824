/**
 * A receiver written byte by byte on `node:net` or `node:tls`, for tests of what goes over the
 * wire.
 */

import { readFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import type { TLSSocket, TlsOptions } from "node:tls";

export type RawReceiver = {
  port: number;
  /**
   * All bytes received on each connection, as latin1, in the order in which the connections came.
   */
  received: string[];
  sockets: Socket[];
  /** Resolves with the connection when it has come. */
  connection(index: number): Promise<Socket>;
  stop(): Promise<void>;
};

export type RawReceiverOptions = {
  /** Called for each connection; `index` counts from 0. */
  onConnection?: (socket: Socket, index: number) => void;
  /**
   * Called for each whole request (head and counted body); `index` counts the requests of its
   * connection from 0.
   */
  onRequest?: (socket: Socket, index: number, request: string) => void;
  tls?: TlsOptions;
  host?: string;
  /** Any that is free when left out. */
  port?: number;
};

export async function startRawReceiver({
  onConnection,
  onRequest,
  tls,
  host = "127.0.0.1",
  port = 0,
}: RawReceiverOptions): Promise<RawReceiver> {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const waiting: { index: number; resolve: (socket: Socket) => void }[] = [];

  function accept(socket: Socket | TLSSocket): void {
    const index = sockets.push(socket) - 1;
    received.push("");
    let pending = "";
    let requests = 0;
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      received[index] += text;
      pending += text;
      for (;;) {
        const size = requestSize(pending);
        if (size === null || pending.length < size) return;
        const request = pending.slice(0, size);
        pending = pending.slice(size);
        onRequest?.(socket, requests++, request);
      }
    });
    onConnection?.(socket, index);
    for (const waiter of waiting.splice(0)) {
      if (waiter.index === index) waiter.resolve(socket);
      else waiting.push(waiter);
    }
  }

  const raw = new Set<Socket>();
  const server: Server = tls ? createTlsServer(tls, accept) : createServer(accept);
  server.on("connection", (socket: Socket) => {
    raw.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => raw.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    received,
    sockets,
    connection(index) {
      const socket = sockets[index];
      return socket
        ? Promise.resolve(socket)
        : new Promise((resolve) => waiting.push({ index, resolve }));
    },
    stop() {
      for (const socket of raw) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}

export function certificate(
  name: "authority" | "valid" | "self-signed" | "wrong-host" | "expired",
): { cert: string; key: string } {
  const read = (file: string) =>
    readFileSync(new URL(`./certificates/${file}.pem`, import.meta.url), "utf8");
  return { cert: read(name), key: read(`${name}-key`) };
}

function requestSize(text: string): number | null {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return null;
  return end + 4 + Number(/\r\ncontent-length: (\d+)/i.exec(text.slice(0, end))?.[1] ?? 0);
}
