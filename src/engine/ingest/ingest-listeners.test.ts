import { X509Certificate } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { expect, onTestFinished, test, vi } from "vitest";
import { createAuthority } from "../endpoints/authority.ts";
import { nextTurn } from "../real-time.ts";
import { createIngestListeners } from "./ingest-listeners.ts";

const authority = createAuthority({ dataDir: null });

async function started(
  handshakeMs: number,
  identity = () => authority.identityFor("valid.localhost"),
) {
  const refused: string[] = [];
  const server = createServer((_request, response) => void response.end());
  const listeners = createIngestListeners(
    server,
    {
      host: "127.0.0.1",
      port: 0,
      tlsPort: 0,
      identity,
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

test("a renewed certificate is shown to the next connection", async () => {
  const identities = [1, 2].map(() =>
    createAuthority({ dataDir: null }).identityFor("valid.localhost"),
  );
  let current = identities[0]!;
  const { tlsPort } = await started(600_000, () => current);
  for (current of [...identities, identities[1]!]) {
    const socket = connectTls({ port: tlsPort, host: "127.0.0.1", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const { serialNumber } = socket.getPeerCertificate();
    expect(serialNumber).toBe(new X509Certificate(current.cert).serialNumber);
    expect(socket.alpnProtocol).toBe(false);
    socket.destroy();
  }
});

test("plain HTTP at the port for TLS is refused, and its connection ended", async () => {
  const { tlsPort, refused } = await started(600_000);
  const socket = connect(tlsPort, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\n\r\n");
  await closing(socket);
  expect(refused).toEqual(["http_on_tls_port"]);
});

test("a stop gives requests a second of real time, and leaves no deadline", async () => {
  for (const isAnswered of [true, false]) {
    const { server, tlsPort, stop } = await started(600_000);
    server.removeAllListeners("request");
    const asked = once(server, "request") as Promise<[IncomingMessage, ServerResponse]>;
    const socket = connectTls({ port: tlsPort, host: "127.0.0.1", ca: authority.authorityPem() });
    await once(socket, "secureConnect");
    socket.write("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
    const [, response] = await asked;
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let isOver = false;
    const stopped = stop().then(() => (isOver = true));
    const ended = closing(socket);
    vi.advanceTimersByTime(999);
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(isOver).toBe(false);
    if (isAnswered) response.end();
    else vi.advanceTimersByTime(1);
    await Promise.all([stopped, ended]);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  }
});

test("a client that ends its side right after a whole request has its answer over TLS too", async () => {
  const { server, tlsPort } = await started(600_000);
  server.removeAllListeners("request");
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("request", (request: IncomingMessage, response: ServerResponse) => {
    request.resume();
    request.socket.once("end", () => setImmediate(() => response.end("late")));
  });
  const client = connectTls({
    ...{ port: tlsPort, host: "127.0.0.1", ca: authority.authorityPem() },
    ...{ servername: "valid.localhost", allowHalfOpen: true },
  });
  let text = "";
  client.on("error", () => {}).on("data", (chunk: Buffer) => (text += chunk.toString()));
  client.end("GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n");
  await once(client, "close");
  expect(text).toContain("late");
});
