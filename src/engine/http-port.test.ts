import { EventEmitter, once } from "node:events";
import { createServer, type Server, type ServerOptions, type ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { problem, type Problem } from "../domain/problem.ts";
import {
  answerBadInput,
  arrivalLimits,
  close,
  headerPairs,
  listen,
  maxRequestsPerTurn,
  problemOfInput,
  serveRequests,
  urlOf,
  type Handle,
} from "./http-port.ts";
import { nextTurn } from "./real-time.ts";

const servers: Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await close(server, 0);
});

function serverOf(
  handle: Handle = (_request, response) => void response.end(),
  options: ServerOptions = {},
): Server {
  const server = createServer(options);
  servers.push(server);
  serveRequests(
    server,
    handle,
    (response: ServerResponse, { status, code }: Problem) =>
      void response.writeHead(status).end(code),
  );
  answerBadInput(server, problem(405, "no_proxy", "This is no proxy."));
  return server;
}

/** All that comes from the other side until it ends, to a client that never ends its own. */
function answerTo(port: number, bytes: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true }, () =>
      socket.write(bytes),
    );
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
    await expect(listen(other, "127.0.0.1", port)).rejects.toMatchObject({
      code: "EADDRINUSE",
      port,
    });
    expect([one, other].map((server) => server.listenerCount("error"))).toEqual([before, before]);
    await close(one, 0);
    expect(await listen(other, "127.0.0.1", port)).toBe(port);
  });

  test("that does not listen is closed", () => close(serverOf(), 0));

  test("is closed once what is under way has its answer", async () => {
    const waiting: ServerResponse[] = [];
    const server = serverOf((_request, response) => void waiting.push(response));
    const answer = answerTo(
      await listen(server, "127.0.0.1", 0),
      "GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    );
    while (waiting.length === 0) await nextTurn();
    const told: string[] = [];
    const closed = close(server, 60_000).then(() => told.push("closed"));
    for (let turn = 0; turn < 10; turn += 1) await nextTurn();
    told.push("answered");
    waiting[0]?.end("in time");
    expect(await answer).toMatch(/in time$/);
    await closed;
    expect(told).toEqual(["answered", "closed"]);
  });

  test("leaves no deadline when it is closed", async () => {
    const server = serverOf();
    await listen(server, "127.0.0.1", 0);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const closed = close(server, 60_000);
    expect(vi.getTimerCount()).toBe(1);
    await closed;
    expect(vi.getTimerCount()).toBe(0);
  });

  test("serves a request without a Host", async () => {
    const limits = arrivalLimits({ headersMs: 1000, requestMs: 1000 });
    const server = serverOf((_request, response) => void response.end("served"), limits);
    const answer = await answerTo(
      await listen(server, "127.0.0.1", 0),
      "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 200 [^]*served/);
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
    [
      "endless headers",
      `GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
      "Request Header Fields Too Large",
      "headers_too_large",
    ],
    [
      "a proxy's request",
      "CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n",
      405,
      "Method Not Allowed",
      "no_proxy",
    ],
  ])(
    "%s is answered, and the port can be closed though the other side never ends",
    async (_, bytes, status, phrase, code) => {
      const server = serverOf((request) => request.resume());
      const port = await listen(server, "127.0.0.1", 0);
      const [head = "", body = ""] = (await answerTo(port, bytes)).split("\r\n\r\n");
      expect(head.split("\r\n")[0]).toBe(`HTTP/1.1 ${status} ${phrase}`);
      expect(head).toContain(`Content-Length: ${body.length}`);
      expect(JSON.parse(body)).toEqual({ code, message: expect.any(String) });
      await close(server, 60_000);
    },
  );
});

describe("a request that takes long to arrive", () => {
  const limits = arrivalLimits({ headersMs: 100, requestMs: 300 });

  /** Writes a byte at a time for as long as the other side listens. */
  async function drip(port: number, head: string): Promise<string> {
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    let text = "";
    socket.on("data", (chunk) => (text += chunk.toString()));
    socket.on("error", () => {});
    socket.write(head);
    const drops = setInterval(() => socket.write("x"), 20);
    await new Promise((resolve) => socket.on("close", resolve));
    clearInterval(drops);
    return text;
  }

  test.each([
    ["its headers", "POST / HTTP/1.1\r\nHost: h\r\nX: "],
    ["its body", "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n"],
  ])("is refused while %s are still dripping, soon after its time is up", async (_, head) => {
    const server = serverOf((request) => void request.resume(), limits);
    expect(await drip(await listen(server, "127.0.0.1", 0), head)).toMatch(/^HTTP\/1\.1 408 /);
  });

  const head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n";
  test.each([
    ["is served when it arrived", "", `${head}x`, 200],
    ["is served when its body arrived", head, "x", 200],
    ["is refused when only its headers arrived", "", head, 408],
  ])("%s while the process stood still", async (_, first, rest, status) => {
    const server = serverOf(
      (request, response) => void request.resume().on("end", () => response.end()),
      arrivalLimits({ headersMs: 600, requestMs: 600 }),
    );
    const port = await listen(server, "127.0.0.1", 0);
    const client = connect(port, "127.0.0.1");
    await Promise.all([once(client, "connect"), once(server, "connection")]);
    if (first !== "") {
      client.write(first);
      await once(server, "request");
    }
    client.write(rest);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 900);
    const [answer] = (await once(client, "data")) as [Buffer];
    client.destroy();
    expect(answer.toString()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  test("is looked for ten times within the shortest time that it may take", () => {
    expect(limits.connectionsCheckingInterval).toBe(10);
    expect(
      arrivalLimits({ headersMs: 10_000, requestMs: 30_000 }).connectionsCheckingInterval,
    ).toBe(1000);
  });
});

describe("a connection that pipelines", () => {
  test("keeps no other one waiting, and gets all its answers in order", async () => {
    const many = 3000;
    const handled: string[] = [];
    const server = serverOf((request, response) => {
      handled.push(request.url ?? "");
      response.end(request.url);
    });
    const port = await listen(server, "127.0.0.1", 0);
    const other = connect(port, "127.0.0.1");
    await once(other, "connect");
    const requests = Array.from(
      { length: many },
      (_, n) =>
        `GET /${n} HTTP/1.1\r\nHost: h\r\n${n === many - 1 ? "Connection: close\r\n" : ""}\r\n`,
    );
    const answered = answerTo(port, requests.join(""));
    while (handled.length === 0) await new Promise((resolve) => setImmediate(resolve));
    other.write("GET /other HTTP/1.1\r\nHost: h\r\n\r\n");
    await once(other, "data");
    other.destroy();
    expect(handled.indexOf("/other")).toBeLessThan(many / 2);
    expect([...(await answered).matchAll(/\r\n\r\n(\/\d+)/g)].map(([, url]) => url)).toEqual(
      requests.map((_, n) => `/${n}`),
    );
  });

  test("has so many requests handled in a turn of the event loop, whatever their bodies", async () => {
    let now = 0;
    let most = 0;
    const server = serverOf((request, response) => {
      if (now === 0) setImmediate(() => (now = 0));
      most = Math.max(most, (now += 1));
      request.resume().on("end", () => response.end());
    });
    const request = `POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc`;
    const last = request.replace("Host", "Connection: close\r\nHost");
    const text = await answerTo(await listen(server, "127.0.0.1", 0), request.repeat(999) + last);
    expect(text.match(/HTTP\/1\.1 200 /g)).toHaveLength(1000);
    // Those that are read in a turn, and those that waited.
    expect(most).toBeLessThanOrEqual(2 * maxRequestsPerTurn);
  });

  test.each([1, 16, 17, 32, 33, 48, 49])(
    "has each of %d requests answered, and the event loop rests after the last",
    async (count) => {
      const server = serverOf((request, response) => void response.end(request.url));
      const port = await listen(server, "127.0.0.1", 0);
      const requests = Array.from(
        { length: count },
        (_, n) =>
          `GET /${n} HTTP/1.1\r\nHost: h\r\n${n === count - 1 ? "Connection: close\r\n" : ""}\r\n`,
      );
      const text = await answerTo(port, requests.join(""));
      expect([...text.matchAll(/\r\n\r\n(\/\d+)/g)].map(([, url]) => url)).toEqual(
        requests.map((_, n) => `/${n}`),
      );
      await close(server, 60_000);
      const turns = vi.spyOn(globalThis, "setImmediate");
      for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      const seen = turns.mock.calls.length;
      turns.mockRestore();
      expect(seen).toBeLessThan(8);
    },
  );

  test("has nothing handled once it is gone", async () => {
    let handled = 0;
    const server = serverOf((request) => {
      handled += 1;
      request.socket.destroy();
    });
    const port = await listen(server, "127.0.0.1", 0);
    expect(
      await answerTo(port, "GET / HTTP/1.1\r\nHost: h\r\n\r\n".repeat(100)).catch(() => ""),
    ).toBe("");
    await close(server, 0);
    expect(handled).toBeLessThanOrEqual(maxRequestsPerTurn);
  });
});

describe("requests in a turn of the event loop", () => {
  function startTurns() {
    const handled: { socket: Socket; url?: string }[] = [];
    const server = serverOf((request) => void handled.push(request));
    const open = () => {
      const told: string[] = [];
      let asked = 0;
      const socket = Object.assign(new EventEmitter(), {
        destroyed: false,
        pause: () => void told.push("pause"),
        resume: () => void told.push("resume"),
      }) as unknown as Socket;
      return {
        told,
        socket,
        ask(count: number, event = "request"): void {
          for (let n = 0; n < count; n += 1) {
            server.emit(event, { socket, rawHeaders: [], url: String(asked) }, {});
            asked += 1;
          }
        },
        /** How many, which are the first ones in their order. */
        handled(): number {
          const urls = handled.filter((one) => one.socket === socket).map(({ url }) => url);
          expect(urls).toEqual(urls.map((_, n) => String(n)));
          return urls.length;
        },
      };
    };
    return { open };
  }

  test("are 16 of a connection, which is not read until the others are handled, and of another as many", async () => {
    const { open } = startTurns();
    const [one, other] = [open(), open()];
    one.ask(16);
    expect([one.handled(), one.told]).toEqual([16, []]);
    one.ask(24);
    expect([one.handled(), new Set(one.told)]).toEqual([16, new Set(["pause"])]);
    other.ask(1);
    other.ask(1, "checkExpectation");
    expect(other.handled()).toBe(2);
    one.told.length = 0;
    await nextTurn();
    expect([one.handled(), one.told]).toEqual([32, []]);
    // Reading a body resumes it.
    one.socket.emit("resume");
    expect(one.told).toEqual(["pause"]);
    await nextTurn();
    expect([one.handled(), one.told]).toEqual([40, ["pause", "resume"]]);
    one.socket.emit("resume");
    expect(one.told).toEqual(["pause", "resume"]);
    // Those of this turn count.
    one.ask(9);
    expect(one.handled()).toBe(48);
    await nextTurn();
    await nextTurn();
    one.ask(16);
    expect([one.handled(), other.told]).toEqual([49 + 16, []]);
  });

  test("are answered without a look at their bodies when they have two Hosts", () => {
    const told: string[] = [];
    const server = serverOf(() => told.push("handled"));
    const response = {
      setHeader: (name: string, value: string) => void told.push(`${name}: ${value}`),
      writeHead: (status: number) => ({ end: (code: string) => told.push(`${status} ${code}`) }),
    };
    const request = {
      ...{ socket: new EventEmitter(), rawHeaders: ["Host", "a", "X", "b", "hoSt", "a"] },
    };
    server.emit("request", request, response);
    expect(told).toEqual(["Connection: close", "400 two_hosts"]);
  });

  test("need no turn once all are handled, or their connection has gone", async () => {
    const turn = vi.spyOn(globalThis, "setImmediate");
    onTestFinished(() => turn.mockRestore());
    const { open } = startTurns();
    const [one, other] = [open(), open()];
    one.ask(1);
    other.ask(40);
    Object.assign(other.socket, { destroyed: true });
    expect(turn).toHaveBeenCalledTimes(1);
    for (let n = 0; n < 5; n += 1) await nextTurn();
    expect([one.handled(), other.handled(), one.told]).toEqual([1, 16, []]);
    expect(other.told).not.toContain("resume");
    turn.mockClear();
    for (let n = 0; n < 5; n += 1) await nextTurn();
    expect(turn).toHaveBeenCalledTimes(5);
    one.ask(1);
    expect([one.handled(), turn.mock.calls.length]).toEqual([2, 6]);
  });
});

describe("a request that the next reader might read as another one is refused, and its connection closed:", () => {
  const head = "POST / HTTP/1.1\r\nHost: h\r\n";
  const chunked = `${head}Transfer-Encoding: chunked\r\n`;
  test.each([
    ["two Hosts", `${head}Host: other\r\nContent-Length: 0\r\n\r\n`],
    ["two equal Hosts", `${head}hOST: h\r\nContent-Length: 0\r\n\r\n`],
    [
      "Content-Length and Transfer-Encoding",
      `${head}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ["Transfer-Encoding and Content-Length", `${chunked}Content-Length: 3\r\n\r\n0\r\n\r\n`],
    ["two Content-Lengths", `${head}Content-Length: 1\r\nContent-Length: 2\r\n\r\nab`],
    ["two equal Content-Lengths", `${head}Content-Length: 1\r\nContent-Length: 1\r\n\r\na`],
    ["a list of Content-Lengths", `${head}Content-Length: 1, 1\r\n\r\na`],
    ["a signed Content-Length", `${head}Content-Length: +1\r\n\r\na`],
    ["a hexadecimal Content-Length", `${head}Content-Length: 0x1\r\n\r\na`],
    ["a Content-Length beyond 64 bits", `${head}Content-Length: 99999999999999999999\r\n\r\na`],
    [
      "Transfer-Encoding that does not end with chunked",
      `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    ],
    ["an unknown Transfer-Encoding", `${head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n`],
    ["two Transfer-Encodings", `${chunked}Transfer-Encoding: identity\r\n\r\n0\r\n\r\n`],
    ["a space before the colon", `${head}Content-Length : 1\r\n\r\na`],
    ["a folded header", `${head}X: a\r\n b\r\nContent-Length: 0\r\n\r\n`],
    [
      "a header line that begins with a space",
      `POST / HTTP/1.1\r\n Host: h\r\nContent-Length: 0\r\n\r\n`,
    ],
    ["lines that end with LF alone", "POST / HTTP/1.1\nHost: h\nContent-Length: 0\n\n"],
    ["a header that ends with LF alone", `${head}X: a\nContent-Length: 0\r\n\r\n`],
    ["a CR within a header", `${head}X: a\rContent-Length: 5\r\n\r\n`],
    ["a NUL within a header", `${head}X: a\0b\r\nContent-Length: 0\r\n\r\n`],
    ["a chunk size with a sign", `${chunked}\r\n+1\r\na\r\n0\r\n\r\n`],
    ["a chunk size with 0x", `${chunked}\r\n0x1\r\na\r\n0\r\n\r\n`],
    ["a chunk size beyond 64 bits", `${chunked}\r\n11111111111111111\r\na\r\n0\r\n\r\n`],
    ["a chunk longer than its size", `${chunked}\r\n1\r\nab\r\n0\r\n\r\n`],
    ["a chunk that ends with LF alone", `${chunked}\r\n1\na\r\n0\r\n\r\n`],
    ["endless chunk extensions", `${chunked}\r\n1;${"x".repeat(20_000)}\r\na\r\n0\r\n\r\n`],
    ["the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
  ])("%s", async (_, bytes) => {
    let bodies = "";
    const server = serverOf((request, response) => {
      request
        .on("data", (chunk: Buffer) => (bodies += chunk.toString()))
        .on("end", () => response.end());
    });
    const port = await listen(server, "127.0.0.1", 0);
    const text = await answerTo(port, `${bytes}GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n`);
    expect(text).toMatch(/^HTTP\/1\.1 400 /);
    expect(text.match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(bodies).not.toContain("smuggled");
  });
});

test.for([
  ["127.0.0.1", "http://127.0.0.1:4700"],
  ["localhost", "http://localhost:4700"],
  ["192.168.1.20", "http://192.168.1.20:4700"],
  ["0.0.0.0", "http://127.0.0.1:4700"],
  ["::", "http://[::1]:4700"],
  ["::1", "http://[::1]:4700"],
  ["fe80::1", "http://[fe80::1]:4700"],
] as const)("a port at %s is reached at %s", ([host, url]) => {
  expect(urlOf(host, 4700)).toBe(url);
});

test.for([
  ["HPE_HEADER_OVERFLOW", 431],
  ["ERR_HTTP_REQUEST_TIMEOUT", 408],
  ["HPE_INVALID_METHOD", 400],
  ["ECONNRESET", null],
  [undefined, null],
] as const)(
  "the error %s of a connection is answered %s, and nothing where it cannot be",
  ([code, status]) => {
    const error = Object.assign(new Error("Odd"), { code });
    const answerTo = (writable: boolean) => problemOfInput(error, { writable } as Socket);
    expect(answerTo(true)?.status ?? null).toBe(status);
    expect(answerTo(false)).toBeNull();
  },
);

test("headers are pairs of names and values", () => {
  expect(headerPairs([])).toEqual([]);
  expect(headerPairs(["A", "1", "a", "2"])).toEqual([
    ["A", "1"],
    ["a", "2"],
  ]);
});

test("a connection whose input is wrong and that cannot be answered is destroyed, and any other is answered", () => {
  const server = serverOf();
  const emit = (code: string, writable: boolean): string[] => {
    const done: string[] = [];
    const socket = {
      writable,
      destroy: () => void done.push("destroyed"),
      destroySoon: () => void done.push("ended"),
      on: () => {},
      write: (text: string) => void done.push(text.split("\r\n")[0] ?? ""),
    };
    server.emit("clientError", Object.assign(new Error("Odd"), { code }), socket);
    return done;
  };
  expect(emit("HPE_INVALID_METHOD", true)).toEqual(["HTTP/1.1 400 Bad Request", "ended"]);
  expect(emit("HPE_INVALID_METHOD", false)).toEqual(["destroyed"]);
  expect(emit("EPIPE", true)).toEqual(["destroyed"]);
});
