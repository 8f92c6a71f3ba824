import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { PortTaken } from "../app-errors.ts";
import { answerOf, createFeed, send, startControlPort, token } from "./control-port.fixture.ts";
import { createControlPort } from "./http-api.ts";
import { createStaticPages } from "./static-pages.ts";

let control: Awaited<ReturnType<typeof startControlPort>>;
beforeEach(async () => {
  control = await startControlPort();
});
afterEach(() => control.stop());

describe("a call over HTTP", () => {
  test("reaches the API with the members of path, query and body in one object", async () => {
    const answer = await control.send("PATCH", "/api/sources/src_1", { body: '{"name":"Web"}' });
    expect(answer.json()).toEqual({ name: "sources.update", input: { id: "src_1", name: "Web" } });
  });

  test("has its query's text turned into what the call wants", async () => {
    const answer = await control.send("GET", "/api/messages?limit=20&userId=7&search=true");
    expect(answer.json()).toEqual({
      name: "messages.list",
      input: { limit: 20, userId: "7", search: "true" },
    });
    const several = await control.send(
      "GET",
      "/api/messages?sourceId=src_1&limit=-3&sourceId=src_2",
    );
    expect(several.json()).toMatchObject({ input: { limit: -3, sourceId: ["src_1", "src_2"] } });
    const twice = await control.send("GET", "/api/messages?search=a?limit=2");
    expect(twice.json()).toMatchObject({ input: { search: "a?limit=2" } });
    const secrets = await control.send("GET", "/api/configuration?secrets=true");
    expect(secrets.json()).toMatchObject({ input: { secrets: true } });
  });

  test("may leave out a body that may be empty", async () => {
    expect((await control.send("POST", "/api/settle")).json()).toEqual({
      name: "pipeline.settle",
      input: {},
    });
  });

  test("finds the longer name before a parameter", async () => {
    expect(
      (await control.send("POST", "/api/deliveries/retry", { body: '{"filter":{}}' })).json(),
    ).toMatchObject({
      name: "deliveries.retryAll",
    });
    expect((await control.send("POST", "/api/deliveries/dlv_1/retry")).json()).toMatchObject({
      name: "deliveries.retry",
      input: { id: "dlv_1" },
    });
  });

  test("takes any character in a parameter of the path", async () => {
    const answer = await control.send("POST", "/api/unknown-keys/a%2Fb%20%C3%A9/adopt", {
      body: '{"name":"x"}',
    });
    expect(answer.json()).toMatchObject({ input: { writeKey: "a/b é", name: "x" } });
  });

  test("is answered as JSON that nobody keeps, sniffs, frames or reads from another origin", async () => {
    const { headers } = await control.send("GET", "/api/clock");
    expect(headers).toMatchObject({
      "content-type": "application/json; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      "x-frame-options": "DENY",
      "cross-origin-resource-policy": "same-origin",
    });
    expect(Object.keys(headers).filter((name) => name.startsWith("access-control"))).toEqual([]);
  });

  test.each([
    ["GET", "/api/messages?colour=red", undefined, 400, "invalid", "colour"],
    ["GET", "/api/messages?limit=1&limit=2", undefined, 400, "invalid", "limit"],
    ["POST", "/api/settle?timeoutMs=5", "{}", 400, "invalid", "timeoutMs"],
    ["PATCH", "/api/sources/src_1", '{"id":"src_2"}', 400, "invalid", "id"],
    ["POST", "/api/sources", "{", 400, "bad_json", "JSON"],
    ["POST", "/api/sources", "[]", 400, "invalid", "object"],
    ["POST", "/api/sources", "null", 400, "invalid", "object"],
    ["POST", "/api/sources", new Uint8Array([0x7b, 0xff, 0x7d]), 400, "bad_utf8", "UTF-8"],
    ["POST", "/api/sources", "[".repeat(200_000), 400, "bad_json", "JSON"],
    ["GET", "/api/sources/%E0%A4%A", undefined, 400, "bad_path", "percent"],
    ["GET", "/api/nothing", undefined, 404, "not_found", "openapi"],
    ["GET", "/api", undefined, 404, "not_found", "openapi"],
    ["GET", "/api/sources/", undefined, 404, "not_found", "openapi"],
    ["GET", "/nothing", undefined, 404, "not_found", "path"],
    ["DELETE", "/api/sources", undefined, 405, "method_not_allowed", "GET, POST"],
    ["HEAD", "/api/events", undefined, 405, "", ""],
    ["OPTIONS", "/api/sources", undefined, 405, "method_not_allowed", "GET, POST"],
    ["POST", "/", "", 405, "method_not_allowed", "GET, HEAD"],
  ])("%s %s is refused", async (method, path, body, status, code, part) => {
    const answer = await control.send(method, path, body === undefined ? {} : { body });
    expect(answer.status).toBe(status);
    if (method === "HEAD") return;
    expect(answer.json()).toEqual({ code, message: expect.stringContaining(part) });
    if (status === 405) expect(answer.headers["allow"]).toBe(part);
  });

  test("in an encoding of its body is refused, unless that leaves it as it is", async () => {
    const sent = (encoding: string) =>
      control.send("POST", "/api/sources", {
        headers: { "Content-Encoding": encoding },
        body: '{"name":"Shop"}',
      });
    const answer = await sent("gzip");
    expect([answer.status, answer.json()]).toEqual([
      415,
      { code: "unsupported_encoding", message: expect.any(String) },
    ]);
    expect((await sent("identity")).status).toBe(200);
  });

  test.each(["with", "without"])(
    "of more than 8 MiB is refused, %s a length given",
    async (length) => {
      const body = Buffer.alloc(8 * 1024 * 1024 + 1, 0x20);
      const headers: Record<string, string> =
        length === "with"
          ? { "Content-Length": String(body.length) }
          : { "Transfer-Encoding": "chunked" };
      const answer = await control.send("POST", "/api/sources", { headers, body });
      expect([answer.status, answer.json()]).toEqual([
        413,
        { code: "too_large", message: expect.stringContaining("8 MiB") },
      ]);
    },
  );

  test("of up to 32 MiB is accepted where a whole configuration is imported", async () => {
    const sizes = [1, 0].map((more) => 32 * 1024 * 1024 + more);
    const answers = sizes.map((size) =>
      control.send("POST", "/api/configuration", { body: Buffer.alloc(size, "{}".padEnd(64)) }),
    );
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([413, 400]);
  });

  test("of more values than the call accepts is refused before it is parsed", async () => {
    const bodyOf = (lists: number): string => `{"name":["\\",[{",${"[ ], ".repeat(lists)}{}]}`;
    const refused = await control.send("POST", "/api/sources", { body: bodyOf(240_000) });
    expect([refused.status, refused.json()]).toEqual([
      400,
      { code: "invalid", message: expect.stringContaining("more than the 240000 values allowed") },
    ]);
    const accepted = await control.send("POST", "/api/sources", { body: bodyOf(239_996) });
    expect(accepted.status).toBe(200);
  });

  test("with an object of more members than any has is refused before it is parsed", async () => {
    const bodyOf = (count: number): string => {
      const names = Array.from({ length: count }, (_, n) => `"n${n}":[{"a":1},{"b":2}]`);
      return `{"name":"Shop","plan":{"schemas":{${names.join()}}}}`;
    };
    const [refused, accepted] = await Promise.all(
      [10_001, 10_000].map((count) =>
        control.send("POST", "/api/sources", { body: bodyOf(count) }),
      ),
    );
    expect([refused?.status, refused?.json()]).toMatchObject([
      400,
      { message: expect.stringContaining("more than the 10000 members allowed") as string },
    ]);
    expect(accepted?.status).toBe(200);
  });

  test("with more members than any call has is refused", async () => {
    const names = Array.from({ length: 2000 }, (_, n) => [`n${n}`, 1]);
    const body = JSON.stringify(Object.fromEntries(names));
    const refused = await control.send("POST", "/api/destinations", { body });
    expect([refused.status, refused.json()]).toMatchObject([
      400,
      { message: "The body has more than 1000 members, and no call has that many." },
    ]);
  });

  test("of 8 MiB is accepted", async () => {
    const [before, after] = ['{"name":"', '"}'];
    const body = before + "x".repeat(8 * 1024 * 1024 - before.length - after.length) + after;
    const { input } = (await control.send("POST", "/api/sources", { body })).json() as {
      input: { name: string };
    };
    expect(input.name).toHaveLength(body.length - before.length - after.length);
  });

  test("is answered after 64 MiB of a body that does not end", async () => {
    const { hostname, port } = new URL(control.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    const authorized = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n`;
    socket.write(`POST /api/sources HTTP/1.1\r\n${authorized}Content-Length: ${1024 ** 3}\r\n\r\n`);
    socket.write(Buffer.alloc(64 * 1024 * 1024 + 1, 0x20));
    const answer = await new Promise<Buffer>((resolve) => socket.once("data", resolve));
    expect(answer.toString("latin1")).toMatch(/^HTTP\/1\.1 413 /);
    socket.destroy();
  });

  test("is not made when its caller goes away before the body is complete", async () => {
    const made: string[] = [];
    const other = await startControlPort({
      call: async (name) => {
        made.push(name);
        return { status: 200, body: {} };
      },
    });
    const { hostname, port } = new URL(other.url);
    const socket = connect(Number(port), hostname);
    const authorized = `Host: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n`;
    // The server asks for the body, so that the call has begun to read when its caller goes.
    socket.write(
      `POST /api/sources HTTP/1.1\r\n${authorized}Content-Length: 12\r\nExpect: 100-continue\r\n\r\n`,
    );
    await new Promise((resolve) => socket.once("data", resolve));
    socket.destroy();
    await other.stop();
    expect([made, other.reported]).toEqual([[], []]);
  });

  test("hears when its caller closes the connection", async () => {
    const asked = Promise.withResolvers<AbortSignal | undefined>();
    const left = Promise.withResolvers<void>();
    const slow = await startControlPort({
      call: async (_name, _input, caller) => {
        caller?.addEventListener("abort", () => left.resolve());
        asked.resolve(caller);
        await left.promise;
        return { status: 200, body: {} };
      },
    });
    const { hostname, port } = new URL(slow.url);
    const socket = connect(Number(port), hostname);
    socket.write(
      `DELETE /api/clock/advance HTTP/1.1\r\nHost: ${hostname}:${port}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
    expect((await asked.promise)?.aborted).toBe(false);
    socket.destroy();
    await left.promise;
    await slow.stop();
  });

  test("that breaks is reported and answered", async () => {
    const broken = await startControlPort({
      call: () => Promise.reject(new Error("of the store")),
    });
    const answer = await broken.send("GET", "/api/clock");
    expect([answer.status, answer.json()]).toEqual([
      500,
      { code: "internal", message: expect.not.stringContaining("store") },
    ]);
    expect(broken.reported).toEqual([new Error("of the store")]);
    await broken.stop();
  });

  test("that breaks after its answer began is cut", async () => {
    const { feed } = createFeed();
    const subscribe = () => {
      throw new Error("of the feed");
    };
    const broken = await startControlPort({ changes: { ...feed, subscribe } });
    await expect(broken.send("GET", "/api/events")).rejects.toMatchObject({ code: "ECONNRESET" });
    expect(broken.reported).toEqual([new Error("of the feed")]);
    await broken.stop();
  });

  test("answers with the status and body of the API", async () => {
    const other = await startControlPort({
      call: () => answerOf(409, { code: "sending", message: "No." }),
    });
    const answer = await other.send("POST", "/api/deliveries/dlv_1/retry");
    expect([answer.status, answer.json()]).toEqual([409, { code: "sending", message: "No." }]);
    await other.stop();
  });
});

describe("who may call", () => {
  test.each(["127.0.0.1", "localhost:1", "LOCALHOST:4701", "any.name.localhost:80", "[::1]:4701"])(
    "the host %s is ours",
    async (host) => {
      expect((await control.send("GET", "/api/clock", { headers: { Host: host } })).status).toBe(
        200,
      );
    },
  );

  test.each([
    "evil.com",
    "evil.com:4701",
    "localhost.evil.com",
    "127.0.0.1.evil.com",
    "evillocalhost",
    "192.168.0.1",
    "a@localhost",
    "localhost:x",
  ])("the host %j is not", async (host) => {
    for (const path of ["/", "/api/clock"]) {
      const answer = await control.send("GET", path, { headers: { Host: host } });
      expect([answer.status, answer.json()]).toEqual([
        403,
        { code: "bad_host", message: expect.any(String) },
      ]);
    }
  });

  test("the host that it was told to listen on is ours, and any address when it listens everywhere", async () => {
    const everywhere = await startControlPort({ host: "0.0.0.0" });
    expect(everywhere.url).toMatch(/^http:\/\/127\.0\.0\.1:/);
    expect(
      (await everywhere.send("GET", "/api/clock", { headers: { Host: "192.168.0.1:4701" } }))
        .status,
    ).toBe(200);
    expect(
      (await everywhere.send("GET", "/api/clock", { headers: { Host: "evil.com" } })).status,
    ).toBe(403);
    await everywhere.stop();
  });

  test("its own origin may call, and no other", async () => {
    const host = new URL(control.url).host;
    const status = async (origin: string) =>
      (await control.send("GET", "/api/clock", { headers: { Origin: origin } })).status;
    expect(await status(`http://${host}`)).toBe(200);
    for (const origin of [
      "null",
      "http://127.0.0.1",
      `https://${host}`,
      "http://localhost:3000",
      "http://evil.com",
    ])
      expect(await status(origin)).toBe(403);
  });

  test("a preflight from another origin is refused without a word about CORS", async () => {
    const answer = await control.send("OPTIONS", "/api/sources", {
      headers: { Origin: "http://evil.com", "Access-Control-Request-Method": "POST" },
    });
    expect(answer.status).toBe(403);
    expect(Object.keys(answer.headers).filter((name) => name.startsWith("access-control"))).toEqual(
      [],
    );
  });

  test.each([
    "",
    token,
    `Basic ${token}`,
    "Bearer",
    "Bearer x",
    `Bearer ${token}x`,
    `Bearer ${token} x`,
  ])("the authorization %j is refused", async (Authorization) => {
    for (const path of ["/api/clock", "/api/events", "/api/nothing"]) {
      const answer = await control.send("GET", path, { headers: { Authorization } });
      expect([answer.status, answer.json()]).toEqual([
        401,
        { code: "unauthorized", message: expect.any(String) },
      ]);
    }
  });

  test("the token counts in the header only", async () => {
    const answer = await control.send("GET", `/api/clock?token=${token}`, {
      headers: { Authorization: "" },
    });
    expect(answer.status).toBe(401);
  });
});

describe("the pages", () => {
  test("are those of the first directory with an index, and only what has a hash in its name is kept by a browser", async () => {
    const directory = mkdtempSync(join(tmpdir(), "hookyard-pages-"));
    mkdirSync(join(directory, "built", "assets"), { recursive: true });
    mkdirSync(join(directory, "empty"));
    for (const [file, text] of [
      ["index.html", "<p>built"],
      ["assets/page-1a2b.js", "1"],
    ] as const)
      writeFileSync(join(directory, "built", file), text);
    mkdirSync(join(directory, "other"));
    writeFileSync(join(directory, "other", "index.html"), "<p>other");
    const pages = createStaticPages(
      ["empty", "built", "other"].map((name) => join(directory, name)),
    );
    const server = createServer((request, response) => pages.answer(response, request.url ?? ""));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const page = await send(url, "GET", "/");
    expect([page.text, page.headers["cache-control"]]).toEqual(["<p>built", "no-store"]);
    const asset = await send(url, "GET", "/assets/page-1a2b.js");
    expect([asset.text, asset.headers["cache-control"]]).toEqual([
      "1",
      "max-age=31536000, immutable",
    ]);
    expect(
      ["/", "/index.html", "/assets/page-1a2b.js", "/assets"].map((path) => pages.has(path)),
    ).toEqual([true, true, true, false]);
    await new Promise((resolve) => server.close(resolve));
    rmSync(directory, { recursive: true });
  });

  test("are served with a strict policy and no token", async () => {
    const answer = await control.send("GET", "/", { headers: { Authorization: "" } });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("text/html; charset=utf-8");
    expect(answer.headers["content-security-policy"]).toMatch(
      /^default-src 'none'; script-src 'self';/,
    );
    expect(answer.headers["content-security-policy"]).not.toContain("unsafe");
    expect((await control.send("GET", "/bare.js")).headers["content-type"]).toBe(
      "text/javascript; charset=utf-8",
    );
  });

  test("answer HEAD with the headers alone", async () => {
    const answer = await control.send("HEAD", "/");
    expect([answer.status, answer.text]).toEqual([200, ""]);
    expect(Number(answer.headers["content-length"])).toBeGreaterThan(100);
  });

  test.each([
    "/../package.json",
    "/..%2f..%2fpackage.json",
    "/%2e%2e/%2e%2e/package.json",
    "//etc/passwd",
    "/..\\package.json",
    "/index.html%00.js",
  ])("do not lead out of their directory: %s", async (path) => {
    expect((await control.send("GET", path)).status).toBe(404);
  });
});

test("the OpenAPI document is at its place", async () => {
  const nobody = { headers: { Authorization: "" } };
  expect((await control.send("GET", "/api/openapi.json", nobody)).json()).toEqual({
    openapi: "3.1.0",
  });
  expect((await control.send("GET", "/api/health", nobody)).json()).toEqual({
    name: "about.health",
    input: {},
  });
  const other = { headers: { Authorization: "", Host: "evil.test" } };
  expect((await control.send("GET", "/api/openapi.json", other)).status).toBe(403);
});

test("a port that is taken is named", async () => {
  const port = Number(new URL(control.url).port);
  const api = {
    call: () => answerOf(200, {}),
    beside: () => undefined,
    changes: { sequence: () => 0, since: () => [], subscribe: () => () => undefined },
    openApi: () => ({}),
    metrics: () => "",
  };
  const second = createControlPort({
    api,
    token,
    pages: createStaticPages([]),
    host: "127.0.0.1",
    port,
    report: () => undefined,
  });
  await expect(second.start()).rejects.toEqual(new PortTaken({ port, role: "ui" }));
});

test("stopping waits a second for a call that takes long", async () => {
  const slow = await startControlPort({ call: () => new Promise(() => undefined) });
  const pending = slow
    .send("POST", "/api/settle")
    .catch((error: NodeJS.ErrnoException) => error.code);
  // Answered after the call above was taken up.
  await send(slow.url, "GET", "/");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  let over = false;
  const stopped = slow.stop().then(() => (over = true));
  await vi.advanceTimersByTimeAsync(999);
  expect(over).toBe(false);
  vi.advanceTimersByTime(1);
  vi.useRealTimers();
  expect([await pending, await stopped]).toEqual(["ECONNRESET", true]);
});
