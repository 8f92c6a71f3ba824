import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { connect as connectTls } from "node:tls";
import * as fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { askWithNode } from "../../../test/support/foreign-clients.ts";
import { lastingPort } from "../../../test/support/free-ports.ts";
import { startEndpoints, testAuthority } from "../../../test/support/running-endpoints.ts";
import { createAuthority, type Authority } from "./authority.ts";
import { createEndpointServer, type EndpointRequest } from "./endpoint-server.ts";

/** Sends bytes and gives back all that comes until the other side ends. */
function sendBytes(url: string, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () => socket.end(bytes));
    socket.on("data", (chunk) => (answer += chunk.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

const listen = (port: number) =>
  new Promise<Server>((resolve, reject) => {
    const server = createServer();
    server.on("error", reject);
    server.listen(port, "127.0.0.1", () => resolve(server));
  });
const close = (server: Server) => new Promise((resolve) => server.close(resolve));

describe("the ports of the test endpoints", () => {
  test("answer 404 in JSON where there is no endpoint", async () => {
    const { url } = await startEndpoints();
    const seen = await askWithNode(`${url}/nowhere?x=1`);
    expect(seen).toMatchObject({ status: 404, headers: { "content-type": "application/json" } });
    expect(JSON.parse("body" in seen ? seen.body : "")).toEqual({
      code: "not_found",
      message: expect.stringContaining("/nowhere?x=1"),
    });
    const twice = "GET /nowhere HTTP/1.1\r\nHost: h\r\n\r\n".repeat(2);
    expect((await sendBytes(url, twice)).match(/HTTP\/1\.1 404 /g)).toHaveLength(2);
  });

  test.each(["GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"])(
    "take %s and record it",
    async (method) => {
      const { endpoints, create } = await startEndpoints();
      const { id, url } = create({ steps: [{ do: "answer", status: 202 }] });
      expect(await askWithNode(`${url}/?q=1`, { method, body: "" })).toMatchObject({ status: 202 });
      expect(endpoints.received(id, 1, null)).toMatchObject({
        items: [{ method, path: "/under-test/?q=1" }],
      });
    },
  );

  test("record a body that comes in pieces in their order", async () => {
    const { url, endpoints, create } = await startEndpoints();
    const { id } = create({ steps: [{ do: "answer", status: 202 }] });
    const pieces = ["first", "second", "third"];
    const chunks = pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`);
    const body = `${chunks.join("")}0\r\n\r\n`;
    const answer = await new Promise<string>((resolve) => {
      const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
        socket.write(
          `POST /under-test HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${body}`,
        ),
      );
      socket.once("data", (chunk) => {
        resolve(chunk.toString("latin1"));
        socket.destroy();
      });
    });
    expect(answer).toMatch(/^HTTP\/1\.1 202 /);
    const whole = Buffer.from(pieces.join(""));
    expect(endpoints.received(id, 1, null)).toMatchObject({
      items: [{ body: new Uint8Array(whole), bodyLength: whole.length }],
    });
  });

  test("take a request with the whole URL, as a proxy's client sends it", async () => {
    const { url, create } = await startEndpoints();
    create({ steps: [{ do: "answer", status: 202 }] });
    expect(await sendBytes(url, "GET http://example.test/under-test?a HTTP/1.1\r\n\r\n")).toMatch(
      /^HTTP\/1\.1 202 /,
    );
  });

  test("keep the bytes and the headers of a request as they came", async () => {
    const { endpoints, url, create, clock } = await startEndpoints();
    const { id } = create({ steps: [{ do: "answer" }] });
    const body = Buffer.from([0, 255, 10, 13, 128]);
    await sendBytes(
      url,
      Buffer.concat([
        Buffer.from("POST /under-test HTTP/1.1\r\nX-a: 1\r\nx-A:  2 \r\nContent-Length: 5\r\n\r\n"),
        body,
      ]),
    );
    const received = endpoints.received(id, 1, null);
    expect(received).toMatchObject({
      items: [
        {
          receivedAt: clock.now(),
          bodyLength: 5,
          headers: [
            ["X-a", "1"],
            ["x-A", "2"],
            ["Content-Length", "5"],
          ],
        },
      ],
    });
    expect("items" in received && Buffer.from(received.items[0]?.body ?? [])).toEqual(body);
  });

  test("answer 413 to a body over 1 MB, record it, and leave the program where it is", async () => {
    const { endpoints, create } = await startEndpoints();
    const { id, url } = create({ steps: [{ do: "reset" }, { do: "answer" }] });
    expect(await askWithNode(url, { body: "x".repeat(1024 * 1024 + 1) })).toMatchObject({
      status: 413,
    });
    const received = endpoints.received(id, 1, null);
    expect(received).toMatchObject({
      items: [{ step: null, did: "default", status: 413, bodyLength: 1024 * 1024 + 1 }],
    });
    expect("items" in received && received.items[0]?.body.byteLength).toBe(64 * 1024);
    expect(endpoints.get(id)?.position).toMatchObject({ step: 0, received: 0 });
  });

  test("take a body of exactly 1 MB", async () => {
    const { create } = await startEndpoints();
    expect(
      await askWithNode(create({ steps: [{ do: "answer" }] }).url, {
        body: "x".repeat(1024 * 1024),
      }),
    ).toMatchObject({ status: 200 });
  });

  test.each([
    ["no HTTP", "hello\r\n\r\n", 400],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a wrong length", "POST /under-test HTTP/1.1\r\nContent-Length: many\r\n\r\n", 400],
    ["a wrong chunk", "POST /under-test HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400],
    ["headers without an end", `GET /under-test HTTP/1.1\r\nX: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["a request to be a proxy", "CONNECT example.test:443 HTTP/1.1\r\n\r\n", 405],
  ])("answer %s in JSON and go on", async (_, bytes, status) => {
    const { url, create } = await startEndpoints();
    const endpoint = create({ steps: [{ do: "answer" }] });
    const [head, body = ""] = (await sendBytes(url, bytes)).split("\r\n\r\n");
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(JSON.parse(body)).toEqual({ code: expect.any(String), message: expect.any(String) });
    expect(await askWithNode(endpoint.url)).toMatchObject({ status: 200 });
  });

  test("live through any bytes, on both ports", async () => {
    const { url, tlsUrl, create } = await startEndpoints();
    const endpoint = create({ steps: [{ do: "answer" }] });
    const start = fc.constantFrom(
      "",
      "POST /under-test HTTP/1.1\r\n",
      "GET /under-test HTTP/1.1\r\nContent-Length: 3\r\n\r\n",
      "\x16\x03\x01",
    );
    await fc.assert(
      fc.asyncProperty(
        start,
        fc.uint8Array({ maxLength: 200 }),
        fc.constantFrom(url, tlsUrl),
        async (first, bytes, target) => {
          await sendBytes(target, Buffer.concat([Buffer.from(first, "latin1"), bytes]));
        },
      ),
      { numRuns: 60 },
    );
    expect(await askWithNode(endpoint.url)).toMatchObject({ status: 200 });
  });

  test("record nothing of a request that ends in its middle", async () => {
    const { endpoints, url, create } = await startEndpoints();
    const { id } = create({ steps: [{ do: "answer" }] });
    await sendBytes(url, "POST /under-test HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
    expect(endpoints.received(id, 1, null)).toMatchObject({ total: 0 });
  });

  test("say with Node's own error which port is taken, and let go of the other one", async () => {
    const [taken, freePort] = [await listen(0), await lastingPort()];
    const takenPort = (taken.address() as AddressInfo).port;

    await expect(startEndpoints({ port: takenPort })).rejects.toMatchObject({
      code: "EADDRINUSE",
      port: takenPort,
    });
    await expect(startEndpoints({ port: freePort, tlsPort: takenPort })).rejects.toMatchObject({
      code: "EADDRINUSE",
      port: takenPort,
    });
    await close(await listen(freePort));
    await close(taken);
  });

  test("end idle connections and unfinished handshakes at the stop", async () => {
    const { endpoints, url, tlsUrl } = await startEndpoints();
    const closed = [url, tlsUrl].map(
      (target) =>
        new Promise<void>((resolve, reject) => {
          const socket = connect(Number(new URL(target).port), "127.0.0.1");
          socket.on("error", () => {});
          socket.on("close", () => resolve());
          socket.on("timeout", reject);
        }),
    );
    const secure = new Promise<void>((resolve) => {
      const socket = connectTls(
        { port: Number(new URL(tlsUrl).port), host: "127.0.0.1", rejectUnauthorized: false },
        () => {
          socket.on("close", () => resolve());
          socket.resume();
          void endpoints.stop();
        },
      );
      socket.on("error", () => {});
    });
    await Promise.all([...closed, secure]);
  });
});

async function startServer(
  receive: (request: EndpointRequest) => void,
  authority: Authority = testAuthority,
) {
  const options = { host: "127.0.0.1", port: 0, tlsPort: 0, authority, receive };
  const server = createEndpointServer(options);
  const { port, tlsPort } = await server.start();
  onTestFinished(() => server.stop());
  return { url: `http://127.0.0.1:${port}`, tlsPort };
}

/** What Node says of so many requests when it has read their heads. */
async function whenStarted(count = 1) {
  const all: { request: IncomingMessage; server: object }[] = [];
  await new Promise<void>((resolve) => {
    const note = (message: unknown): void => {
      all.push(message as (typeof all)[number]);
      if (all.length === count) resolve();
    };
    subscribe("http.server.request.start", note);
    onTestFinished(() => void unsubscribe("http.server.request.start", note));
  });
  return all;
}

const head = "POST / HTTP/1.1\r\nHost: h\r\n";

describe("one port alone", () => {
  test("answers 500 with the reason when a request cannot be served, and cuts an answer that has begun", async () => {
    const thrown: unknown[] = [new Error("Odd"), "odd"];
    const { url } = await startServer(({ response }) => {
      if (thrown.length === 0) response.writeHead(200, { "Content-Length": 9 }).write("half");
      throw thrown.shift();
    });
    for (const reason of ["Odd", "odd"]) {
      const seen = await askWithNode(url);
      expect(seen).toMatchObject({ status: 500, headers: { "content-type": "application/json" } });
      expect(JSON.parse("body" in seen ? seen.body : "")).toEqual({
        code: "internal",
        message: `The test endpoint failed: ${reason}`,
      });
    }
    expect(await askWithNode(url)).toMatchObject({ failed: "ECONNRESET" });
  });

  test("gives a request ten seconds for its headers and a minute for all of it, and an idle connection 75 seconds", async () => {
    const { url, tlsPort } = await startServer(({ response }) => void response.end());
    const started = whenStarted(2);
    await askWithNode(url);
    await askWithNode(`https://valid.localhost:${tlsPort}`, { ca: testAuthority.authorityPem() });
    const servers = (await started).map(({ server }) => server);
    const limits = { headersTimeout: 10_000, requestTimeout: 60_000, keepAliveTimeout: 75_000 };
    expect(servers).toEqual([expect.objectContaining(limits), expect.objectContaining(limits)]);
  });

  test("gets the beginning of a body over 1 MB, with its length, and all of one of 1 MB", async () => {
    const received: [boolean, number, number][] = [];
    const { url } = await startServer(({ response, tooLarge, body, bodyLength }) => {
      received.push([tooLarge, bodyLength, body.length]);
      response.end();
    });
    const most = 1024 * 1024;
    for (const body of ["", "x".repeat(most), "x".repeat(most + 1)])
      await askWithNode(url, { body });
    expect(received.slice(0, 2)).toEqual([
      [false, 0, 0],
      [false, most, most],
    ]);
    const [tooLarge, length, kept = 0] = received[2] ?? [];
    expect([tooLarge, length]).toEqual([true, most + 1]);
    expect(kept).toBeGreaterThan(most / 2);
    expect(kept).toBeLessThanOrEqual(most);
  });

  test("reads a body of 64 MB, and ends the connection of a larger one", async () => {
    const { url } = await startServer(() => {});
    const started = whenStarted();
    const answer = sendBytes(url, `${head}Content-Length: 999999999\r\n\r\n`);
    const { request } = (await started)[0]!;
    for (const [more, isCut] of [
      [64 * 1024 * 1024, false],
      [1, true],
    ] as const) {
      request.emit("data", Buffer.alloc(more));
      expect(request.socket.destroyed).toBe(isCut);
    }
    expect(await answer).toBe("");
  });

  test.skipIf(process.platform !== "linux")(
    "tells connections to both ports from one port of a client apart",
    async () => {
      const { url, tlsPort } = await startServer(({ response, tls, tcp }) => {
        response.end(`${tls} ${tcp.localPort}`);
      });
      const from = { host: "127.0.0.1", localPort: await lastingPort() };
      const tls = connectTls({ ...from, port: tlsPort, rejectUnauthorized: false });
      onTestFinished(() => void tls.destroy());
      await once(tls, "secureConnect");
      const port = Number(new URL(url).port);
      const plain = connect({ ...from, port });
      onTestFinished(() => void plain.destroy());
      await once(plain, "connect");
      const ask = async (socket: Socket): Promise<string> => {
        socket.write("GET / HTTP/1.1\r\nHost: h\r\n\r\n");
        const [answer] = (await once(socket, "data")) as [Buffer];
        return answer.toString().split("\r\n\r\n")[1]!;
      };
      expect(await ask(plain)).toBe(`false ${port}`);
      expect(await ask(tls)).toBe(`true ${tlsPort}`);
      await once(plain.end(), "close");
      expect(await ask(tls)).toBe(`true ${tlsPort}`);
    },
  );

  test("is no proxy, with TLS neither", async () => {
    const { tlsPort } = await startServer(() => {});
    const socket = connectTls({ port: tlsPort, host: "127.0.0.1", rejectUnauthorized: false });
    socket.write("CONNECT example.test:443 HTTP/1.1\r\n\r\n");
    const [answer] = (await once(socket, "data")) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 405 [^]*"no_proxy"/);
    await once(socket.resume(), "close");
  });

  test("shows a renewed certificate to the next connection, and reads each only once", async () => {
    let reads = 0;
    const identities = [1, 2].map(() => {
      const { cert, key } = createAuthority({ dataDir: null }).identityFor("valid.localhost");
      const { serialNumber } = new X509Certificate(cert);
      const identity = {
        key,
        get cert() {
          reads += 1;
          return cert;
        },
      };
      return { identity, serialNumber };
    });
    let current = identities[0]!;
    const { tlsPort } = await startServer(() => {}, {
      authorityPem: () => "",
      identityFor: () => current.identity,
    });
    const shownTo = async (name: object): Promise<string | undefined> => {
      const socket = connectTls({
        ...{ port: tlsPort, host: "127.0.0.1", rejectUnauthorized: false },
        ...name,
      });
      await once(socket, "secureConnect");
      const { serialNumber } = socket.getPeerCertificate();
      socket.destroy();
      return serialNumber;
    };
    for (current of identities) {
      const { serialNumber } = current;
      for (const name of [{}, { servername: "valid.localhost" }])
        expect(await shownTo(name)).toBe(serialNumber);
      const before = reads;
      for (const name of [{}, { servername: "other.localhost" }])
        expect(await shownTo(name)).toBe(serialNumber);
      expect(reads).toBe(before);
    }
  });
});
