import { once } from "node:events";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createTrust } from "../engine/deliver/dial.ts";
import { createWire } from "./wire.ts";

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
