import { createServer, type Server } from "node:http";
import { connect } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { problem } from "../domain/problem.ts";
import { answerBadInput, close, listen } from "./http-port.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server, 0);
});

function serverOf(handle: Parameters<typeof createServer>[1] = (_request, response) => void response.end()): Server {
  const server = createServer(handle);
  servers.push(server);
  answerBadInput(server, problem(405, "no_proxy", "This is no proxy."));
  return server;
}

/** All that comes from the other side until it ends, to a client that never ends its own. */
function answerTo(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.write(bytes));
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("end", () => resolve(text));
    socket.on("error", reject);
  });
}

describe("a port", () => {
  test("is the one that it was given, or any, and leaves no listener behind", async () => {
    const [one, other] = [serverOf(), serverOf()];
    const before = one.listenerCount("error");
    const port = await listen(one, "127.0.0.1", 0);
    expect(port).toBeGreaterThan(0);
    await expect(listen(other, "127.0.0.1", port)).rejects.toMatchObject({ code: "EADDRINUSE", port });
    expect([one, other].map((server) => server.listenerCount("error"))).toEqual([before, before]);
    await close(one, 0);
    expect(await listen(other, "127.0.0.1", port)).toBe(port);
  });

  test("that does not listen is closed", async () => {
    await close(serverOf(), 0);
  });

  test("cuts what is still under way when its time is up", async () => {
    const server = serverOf(() => {});
    const port = await listen(server, "127.0.0.1", 0);
    const asked = new Promise((resolve) => server.once("request", resolve));
    const answer = answerTo(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n");
    await asked;
    await close(server, 10);
    expect(await answer).toBe("");
  });
});

describe("what is no request", () => {
  test.each([
    ["nonsense", "nonsense\r\n\r\n", 400, "Bad Request", "bad_request"],
    [
      "a chunk without a length",
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
      400,
      "Bad Request",
      "bad_request",
    ],
    ["endless headers", `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431, "Request Header Fields Too Large", "headers_too_large"],
    ["a proxy's request", "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 405, "Method Not Allowed", "no_proxy"],
  ])("%s is answered, and the port can be closed though the other side never ends", async (_, bytes, status, phrase, code) => {
    const server = serverOf((request) => request.resume());
    const port = await listen(server, "127.0.0.1", 0);
    const [head = "", body = ""] = (await answerTo(port, bytes)).split("\r\n\r\n");
    expect(head.split("\r\n")[0]).toBe(`HTTP/1.1 ${status} ${phrase}`);
    expect(head).toContain(`Content-Length: ${body.length}`);
    expect(JSON.parse(body)).toEqual({ code, message: expect.any(String) });
    await close(server, 60_000);
  });
});
