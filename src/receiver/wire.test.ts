import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createTrust } from "../engine/deliver/dial.ts";
import { performRequest } from "./request.ts";
import { createWire, type WireRequest } from "./wire.ts";

test("a request on a connection that the receiver has closed meanwhile fails at once", async () => {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  const accepted = once(server, "connection");
  const opened = await wire.open();
  const [socket] = (await accepted) as [Socket];
  socket.resume().end();
  await once(socket, "close");
  expect("send" in opened).toBe(true);
  if (!("send" in opened)) return;
  expect(await opened.send({ method: "POST", headers: [], body: Buffer.from("{}") })).toMatchObject(
    {
      outcome: "connection_error",
      status: null,
    },
  );
});

/** Answers everything, and closes no connection. */
async function startReceiver(onConnection: (socket: Socket) => void): Promise<string> {
  const server = createHttpServer((request, response) => {
    request.resume().once("end", () => response.end());
  });
  server.keepAliveTimeout = 0;
  server.on("connection", onConnection);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("the connections of copies are open together and end with the last answer", async () => {
  let most = 0;
  let open = 0;
  const url = await startReceiver((socket) => {
    open += 1;
    most = Math.max(most, open);
    socket.once("close", () => (open -= 1));
  });
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  const sent = await performRequest(wire, { body: "{}", copies: 20 }, null);
  expect(sent.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
  expect(most).toBe(20);
  await expect.poll(() => open).toBe(0);
});

test("requests beside each other do not share a kept connection", async () => {
  const sockets: Socket[] = [];
  const url = await startReceiver((socket) => sockets.push(socket));
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  const send = async () =>
    (await wire.send({ method: "POST", headers: [], body: Buffer.from("{}"), connection: "kept" }))
      .status;
  const lane = async (): Promise<void> => {
    for (let nth = 0; nth < 100; nth += 1) expect(await send()).toBe(200);
  };
  await lane();
  expect(sockets).toHaveLength(1);
  await Promise.all([lane(), lane(), lane()]);
  expect(sockets).toHaveLength(3);
  const closed = sockets.map((socket) => once(socket, "close"));
  wire.close();
  await Promise.all(closed);
});

test("connections beside others keep their own, and close no others", async () => {
  const sockets: Socket[] = [];
  const url = await startReceiver((socket) => sockets.push(socket));
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  const [one, other] = [wire.beside(), wire.beside()];
  const kept: WireRequest = {
    method: "POST",
    headers: [],
    body: Buffer.from("{}"),
    connection: "kept",
  };
  for (const each of [one, other, one, other, wire, wire]) await each.send(kept);
  expect(sockets).toHaveLength(3);
  const ends = sockets.map((socket) => once(socket, "close"));
  one.close();
  await ends[0];
  await other.send(kept);
  await one.send(kept);
  expect(sockets).toHaveLength(4);
  expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, false, false, false]);
  for (const each of [one, other, wire]) each.close();
  await Promise.all(ends);
});

test("what follows an answer is read as the next one on a kept connection", async () => {
  const server = createServer((socket) =>
    socket.on("data", () => socket.write("HTTP/1.1 204 No Content\r\n\r\nOK")),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  onTestFinished(() => wire.close());
  const send = () =>
    wire.send({ method: "POST", headers: [], body: Buffer.from("{}"), connection: "kept" });
  expect(await send()).toMatchObject({ status: 204 });
  expect(await send()).toMatchObject({ status: null, error: { code: "not_http" } });
  expect(await send()).toMatchObject({ status: 204 });
});

test("an answer without a length is whole when its connection ends", async () => {
  const server = createServer((socket) =>
    socket.on("data", () => socket.end("HTTP/1.1 201 Created\r\n\r\nOK")),
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const wire = createWire({ url, trust: createTrust(), timeoutMs: 3_000 });
  const request = { method: "POST", headers: [], body: Buffer.from("{}") };
  expect(await wire.send({ ...request, connection: "kept" })).toMatchObject({
    outcome: "answered",
    status: 201,
  });
});
