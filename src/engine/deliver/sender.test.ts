import { lookup } from "node:dns/promises";
import type { Socket } from "node:net";
import { hostname } from "node:os";
import { afterEach, describe, expect, test } from "vitest";
import { lastingPort } from "../../../test/support/free-ports.ts";
import {
  answering,
  hasIpv6,
  ok,
  post,
  receiver,
  sender,
  stopAll,
} from "../../../test/support/sending.ts";
import { nextTurn } from "../real-time.ts";

afterEach(stopAll);

/** The only name beside localhost that most machines can resolve without a network. */
const thisMachine = await lookup(hostname()).catch(() => null);

describe("an answered exchange", () => {
  test("records exactly what was sent and what came", async () => {
    const answer = "HTTP/1.1 500 Oh N\xf6\r\ncontent-LENGTH: 4\r\nX-A:  b\r\n\r\n\x00\xff\r\n";
    const there = await answering(answer);
    const exchange = post(sender(), `http://127.0.0.1:${there.port}/in?x=1#part`, {
      headers: [
        ["User-Agent", "Hookyard/1.0"],
        ["x-lower", "caf\xe9"],
      ],
    });
    const result = await exchange.done;
    const requestHead =
      `POST /in?x=1 HTTP/1.1\r\nHost: 127.0.0.1:${there.port}\r\nUser-Agent: Hookyard/1.0\r\nx-lower: caf\xe9\r\n` +
      "Content-Length: 7\r\nConnection: keep-alive\r\n\r\n";
    expect(there.received).toEqual([`${requestHead}{"a":1}`]);
    expect(result).toEqual({
      outcome: "answered",
      error: null,
      requestHead,
      response: {
        status: 500,
        head: answer.slice(0, -4),
        body: new Uint8Array([0, 255, 13, 10]),
        bodyLength: 4,
      },
    });
    expect(exchange.phases).toEqual(["connect", "sent", "firstByte", "done"]);
    expect(exchange.sockets).toEqual([`127.0.0.1 ${there.sockets[0]?.remotePort}`]);
  });

  test.each([0, 4_000, 5_000, 1_000_000])("a body of %i bytes arrives whole", async (size) => {
    const there = await answering(ok);
    const { outcome, requestHead } = await post(sender(), `http://127.0.0.1:${there.port}/`, {
      body: Buffer.alloc(size, "x"),
    }).done;
    expect(outcome).toBe("answered");
    expect(requestHead).toContain(`Content-Length: ${size}\r\n`);
    expect(there.received[0] === requestHead + "x".repeat(size)).toBe(true);
  });

  test.each([
    ["/a%20b/?", "POST /a%20b/? HTTP/1.1"],
    ["", "POST / HTTP/1.1"],
    ["?q=ü", "POST /?q=%C3%BC HTTP/1.1"],
    ["//x/../y", "POST //x/../y HTTP/1.1"],
  ])("the path %j goes out as %j", async (path, line) => {
    const there = await answering(ok);
    const { requestHead } = await post(sender(), `http://127.0.0.1:${there.port}${path}`).done;
    expect(requestHead.split("\r\n")[0]).toBe(line);
  });

  test("credentials in the URL become Basic authorization, unless a header says otherwise", async () => {
    const there = await answering(ok);
    const from = sender();
    const url = `http://us%C3%A9r:p%3Aw@127.0.0.1:${there.port}/`;
    const basic = `Authorization: Basic ${Buffer.from("usér:p:w").toString("base64")}\r\n`;
    expect((await post(from, url).done).requestHead).toContain(basic);
    const own = await post(from, url, { headers: [["authorization", "Bearer x"]] }).done;
    expect(own.requestHead.match(/authorization/gi)).toEqual(["authorization"]);
    expect(own.requestHead).toContain(`Host: 127.0.0.1:${there.port}\r\n`);
  });

  test.each(hasIpv6 ? ["127.0.0.1", "::1"] : ["127.0.0.1"])(
    "localhost and names below it reach %s, without DNS",
    async (host) => {
      // No other test may have it on the other address: that is where the name would lead too.
      const there = await answering(ok, { host, port: await lastingPort() });
      for (const name of ["localhost", "any.name.localhost"]) {
        const exchange = post(sender(), `http://${name}:${there.port}/`);
        expect(await exchange.done).toMatchObject({ outcome: "answered" });
        expect(exchange.phases).toEqual(["connect", "sent", "firstByte", "done"]);
        expect(there.received.at(-1)).toContain(`Host: ${name}:${there.port}\r\n`);
      }
    },
  );

  test.skipIf(thisMachine === null)(
    "any other name is looked up, and the look-up is a phase",
    async () => {
      const there = await answering(ok, { host: thisMachine?.address ?? "" });
      const exchange = post(sender(), `http://${hostname()}:${there.port}/`);
      expect(await exchange.done).toMatchObject({ outcome: "answered" });
      expect(exchange.phases).toEqual(["dns", "connect", "sent", "firstByte", "done"]);
    },
  );

  test("an answer that comes byte by byte is the same", async () => {
    const answer =
      "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    const there = await receiver({
      onRequest: (socket) => {
        socket.setNoDelay(true);
        let at = 0;
        const next = () => at < answer.length && socket.write(answer.charAt(at++), next);
        next();
      },
    });
    const { response } = await post(sender(), `http://127.0.0.1:${there.port}/`).done;
    expect(response).toMatchObject({
      status: 201,
      body: new Uint8Array(Buffer.from("abc")),
      bodyLength: 3,
    });
  });

  test("a body that ends with the connection is whole", async () => {
    const there = await receiver({
      onRequest: (socket) => socket.end("HTTP/1.0 200 OK\r\n\r\nuntil the end"),
    });
    const result = await post(sender(), `http://127.0.0.1:${there.port}/`).done;
    expect(result).toMatchObject({ outcome: "answered", response: { bodyLength: 13 } });
  });
});

test("a request that has no body by its kind has no length either, unless it has a body", async () => {
  const lengths: Record<string, (string | null)[]> = {};
  for (const method of ["GET", "HEAD", "OPTIONS", "DELETE", "TRACE", "POST", "PUT", "PATCH"])
    for (const text of ["", "x"]) {
      const there = await answering(ok);
      const { requestHead } = await post(sender(), `http://127.0.0.1:${there.port}/`, {
        method,
        body: Buffer.from(text),
      }).done;
      expect(requestHead).toMatch(new RegExp(`^${method} / HTTP/1.1\r\n`));
      (lengths[method] ??= []).push(/Content-Length: (\d)/.exec(requestHead)?.[1] ?? null);
    }
  const [without, always] = [
    [null, "1"],
    ["0", "1"],
  ];
  expect(lengths).toEqual({
    ...{ GET: without, HEAD: without, OPTIONS: without, DELETE: without, TRACE: without },
    ...{ POST: always, PUT: always, PATCH: always },
  });
});

test("a sender builds its headers again for another URL and another method", async () => {
  const there = await answering(ok);
  const from = sender();
  const headers: [string, string][] = [["X", "1"]];
  const lines: (string | undefined)[] = [];
  for (const [path, method] of [
    ["a", "PUT"],
    ["a", "PUT"],
    ["b", "PUT"],
    ["b", "POST"],
  ] as const) {
    const url = `http://127.0.0.1:${there.port}/${path}`;
    const { requestHead } = await post(from, url, { method, headers }).done;
    lines.push(requestHead.split(" HTTP")[0]);
  }
  expect(lines).toEqual(["PUT /a", "PUT /a", "PUT /b", "POST /b"]);
});

test("what is refused ends once, and cannot be stopped or held any more", async () => {
  const ends: unknown[] = [];
  const refused = post(sender(), "none", { onEnd: ({ error }) => void ends.push(error?.code) });
  expect(ends).toEqual([]);
  refused.abort("stopped");
  refused.limit(1);
  refused.markReached();
  await nextTurn();
  expect(ends).toEqual(["invalid_url"]);
  expect(sender().isAway("none")).toBe(false);
});

describe("an exchange without a whole answer", () => {
  test.each([
    [
      "a close without answer",
      (socket: Socket) => socket.end(),
      "closed_without_answer",
      /before any byte/,
      null,
    ],
    [
      "a close in the head",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nX"),
      "closed_without_answer",
      /middle of the response head/,
      null,
    ],
    [
      "a close in a counted body",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
      "body_cut_short",
      /after 3 of 9 bytes/,
      3,
    ],
    [
      "a close in a chunked body",
      (socket: Socket) =>
        socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"),
      "body_cut_short",
      /after 3 bytes/,
      3,
    ],
    [
      "a reset",
      (socket: Socket) => socket.resetAndDestroy(),
      "ECONNRESET",
      /reset the connection before any byte/,
      null,
    ],
    [
      "garbage",
      (socket: Socket) => socket.write("<html>no</html>"),
      "not_http",
      /begins with "<html>/,
      null,
    ],
    [
      "a protocol switch",
      (socket: Socket) => socket.write("HTTP/1.1 101 Switching Protocols\r\n\r\n"),
      "not_http",
      /101/,
      0,
    ],
    [
      "a bad length",
      (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: no\r\n\r\n"),
      "not_http",
      /Content-Length/,
      0,
    ],
    [
      "an endless head",
      (socket: Socket) => socket.write(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(70_000)}`),
      "head_too_large",
      /64 KB/,
      null,
    ],
  ])(
    "%s is a connection error with its code and sentence",
    async (_, answer, code, message, bodyLength) => {
      const there = await receiver({ onRequest: (socket) => answer(socket) });
      const exchange = post(sender(), `http://127.0.0.1:${there.port}/`);
      const result = await exchange.done;
      expect(result).toMatchObject({
        outcome: "connection_error",
        error: { code, message: expect.stringMatching(message) },
      });
      expect(result.requestHead).toContain("POST / HTTP/1.1\r\n");
      expect(result.response?.bodyLength ?? null).toBe(bodyLength);
      expect(exchange.phases).not.toContain("done");
    },
  );

  test("a reset in the body keeps what came before it", async () => {
    const there = await receiver({
      onRequest: (socket) => socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
    });
    const { port } = there;
    const { done } = post(sender(), `http://127.0.0.1:${port}/`, {
      onPhase: (phase) => phase === "firstByte" && there.sockets[0]?.resetAndDestroy(),
    });
    expect(await done).toMatchObject({
      outcome: "connection_error",
      error: { code: "ECONNRESET" },
      response: { status: 200, bodyLength: 3 },
    });
  });

  test("a receiver that speaks first is not asked anything more", async () => {
    const there = await receiver({ onConnection: (socket) => socket.write("220 mail ready\r\n") });
    const result = await post(sender(), `http://127.0.0.1:${there.port}/`).done;
    expect(result).toMatchObject({ outcome: "connection_error", error: { code: "not_http" } });
  });

  test("a refused connection is a connection error with nothing sent", async () => {
    const port = await lastingPort();
    for (const host of ["127.0.0.1", "localhost"]) {
      const exchange = post(sender(), `http://${host}:${port}/`);
      const result = await exchange.done;
      expect(result).toMatchObject({
        outcome: "connection_error",
        error: { code: "ECONNREFUSED" },
        requestHead: "",
        response: null,
      });
      expect(result.error?.message).toContain(`Nothing listens at ${host}:${port}`);
      expect(exchange.phases).toEqual([]);
    }
  });

  test("an unknown host name is a connection error that names it", async () => {
    const exchange = post(sender(), "http://no-such-host.invalid/");
    const result = await exchange.done;
    expect(result).toMatchObject({ outcome: "connection_error", requestHead: "" });
    expect(["ENOTFOUND", "EAI_AGAIN"]).toContain(result.error?.code);
    expect(result.error?.message).toContain("no-such-host.invalid");
  });

  test.each([
    ["invalid_url", { url: "ftp://127.0.0.1/" }],
    ["invalid_url", { url: "not a url" }],
    ["invalid_header", { headers: [["A b", "c"]] as [string, string][] }],
    ["invalid_header", { headers: [["A", "b\r\nC: d"]] as [string, string][] }],
    ["invalid_header", { headers: [["A", "snow\u2603"]] as [string, string][] }],
  ])("what cannot be a request is refused: %s %j", async (code, request) => {
    const there = await answering(ok);
    const result = await post(sender(), `http://127.0.0.1:${there.port}/`, request).done;
    expect(result).toMatchObject({
      outcome: "connection_error",
      error: { code },
      requestHead: "",
      response: null,
    });
    expect(there.sockets).toHaveLength(0);
  });
});
