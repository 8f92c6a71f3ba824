import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAuthority } from "../endpoints/authority.ts";
import { createIngestListeners } from "./ingest-listeners.ts";

const authority = createAuthority({ dataDir: null });

async function started(handshakeMs: number) {
  const refused: string[] = [];
  const server = createServer((_request, response) => void response.end());
  const listeners = createIngestListeners(
    server,
    {
      host: "127.0.0.1",
      port: 0,
      tlsPort: 0,
      identity: () => authority.identityFor("valid.localhost"),
      log: () => {},
      handshakeMs,
    },
    (_socket, { code }) => refused.push(code),
  );
  const { tlsUrl } = await listeners.start();
  onTestFinished(() => listeners.stop());
  return { ...listeners, server, refused, tlsPort: Number(new URL(tlsUrl ?? "").port) };
}

/** A connection that has come and gone, on the listener's side: calls that would end it. */
async function oneThatEnded(port: number) {
  const accepted = Promise.withResolvers<Socket>();
  const note = (message: unknown): void => {
    const { socket } = message as { socket: Socket };
    if (socket.localPort === port) accepted.resolve(socket);
  };
  subscribe("net.server.socket", note);
  onTestFinished(() => void unsubscribe("net.server.socket", note));
  const client = connect(port, "127.0.0.1");
  const socket = await accepted.promise;
  const ended = closing(socket);
  client.destroy();
  await ended;
  return vi.spyOn(socket, "destroy");
}

function closing(socket: Socket): Promise<unknown> {
  socket.on("error", () => {});
  socket.resume();
  return once(socket, "close");
}

test("connections that do not finish their handshake or their request do not keep it from stopping", async () => {
  const { tlsPort, stop } = await started(600_000);
  const gone = await oneThatEnded(tlsPort);
  const silent = connect(tlsPort, "127.0.0.1");
  await once(silent, "connect");
  const half = connectTls({ port: tlsPort, host: "127.0.0.1", ca: authority.authorityPem() });
  await once(half, "secureConnect");
  half.write("POST /v1/track HTTP/1.1\r\n");
  const closed = [silent, half].map(closing);
  await stop();
  await Promise.all(closed);
  expect(gone).not.toHaveBeenCalled();
});

test("a handshake has a deadline, and one that is late is no mistake of the client", async () => {
  const { tlsPort, refused } = await started(20);
  await closing(connect(tlsPort, "127.0.0.1"));
  expect(refused).toEqual([]);
});

test("when one of its ports is taken, none is left open", async () => {
  const { server, stop } = await started(1000);
  const { port } = server.address() as AddressInfo;
  const other = createServer();
  const second = createIngestListeners(
    other,
    {
      host: "127.0.0.1",
      port: 0,
      tlsPort: port,
      identity: () => authority.identityFor("valid.localhost"),
      log: () => {},
    },
    () => {},
  );
  await expect(second.start()).rejects.toMatchObject({ code: "EADDRINUSE", port });
  expect(other.listening).toBe(false);
  await stop();
});
