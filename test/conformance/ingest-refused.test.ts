/** What the ingest port refuses: the status line that says why, and the list of refused requests. */

import { connect as connectTls } from "node:tls";
import { connect } from "node:net";
import { once } from "node:events";
import fc from "fast-check";
import { expect, test } from "vitest";
import { startIngestApp, writeKey, type IngestApp } from "../support/ingest-app.ts";
import { basic, post, talk } from "../support/ingest-client.ts";
import { anyCharacter } from "../support/any-character.ts";

const track = JSON.stringify({ type: "track", userId: "u", event: "e" });
const key = { Authorization: basic(writeKey) };

/** All that comes back, as text. */
async function bytesFor(port: number, request: string | Uint8Array): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  socket.on("error", () => {});
  socket.write(request);
  await new Promise((resolve) => socket.on("end", resolve).on("close", resolve));
  socket.destroy();
  return text;
}

const once11 = (line: string, headers = ""): string =>
  `${line} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}\r\n`;
const closing = { Connection: "close" };

test.each<[string, string | Uint8Array, string, object]>([
  [
    "a wrong path",
    post("/t", track, { ...key, ...closing, "User-Agent": "analytics-python/2.3.4" }),
    "404 Not Found: /t is not an ingest path. Send messages to /v1/batch",
    {
      code: "unknown_path",
      method: "POST",
      path: "/t",
      writeKey,
      library: { id: "python", version: "2.3.4", recognisedBy: "user-agent" },
      line: expect.stringMatching(/^analytics\.host = "http:\/\/127\.0\.0\.1:\d+"$/),
    },
  ],
  [
    "a call that does not exist",
    post("/v1/tracks", track, closing),
    "404 Not Found: /v1/tracks",
    { code: "unknown_path", library: { id: null, name: "unknown" }, line: null },
  ],
  ["a prefix without v1", post("/pre/t", track, closing), "404 Not Found: /pre/t", {}],
  [
    "a wrong method",
    once11("GET /v1/track", "User-Agent: curl/8.5.0\r\n"),
    "405 Method Not Allowed: /v1/track accepts POST, not GET",
    { code: "method_not_allowed", method: "GET", library: { id: "curl" } },
  ],
  [
    "a missing key",
    post("/v1/track", track, closing),
    "401 Unauthorized: the request has no write key. Send it as the user name of Basic",
    { code: "missing_write_key", advice: null, message: expect.stringContaining("`writeKey`") },
  ],
  [
    "a key that is too long for a source",
    post("/v1/track", track, { ...closing, Authorization: basic("k".repeat(300)) }),
    `401 Unauthorized: no source has the write key ${"k".repeat(40)}...\r\n`,
    { code: "unknown_write_key" },
  ],
  [
    "settings of an unknown key",
    once11("GET /v1/projects/wk_x/settings"),
    "401 Unauthorized: no source has the write key wk_x\r\n",
    { code: "unknown_write_key", writeKey: "wk_x", line: null },
  ],
  [
    "a body that is no JSON, whose library it names",
    post("/v1/batch", `{"context":{"library":{"name":"analytics.js"}},`, { ...key, ...closing }),
    "400 Bad Request: the body is not JSON",
    { code: "invalid_json", library: { id: "browser", recognisedBy: "body" } },
  ],
  [
    "a call without a user",
    post("/v1/track", `{"event":"e"}`, { ...key, ...closing }),
    "400 Bad Request: ",
    { code: "missing_user_id", sourceId: expect.stringMatching(/^src_/) },
  ],
  [
    "two Hosts",
    post("/v1/track", track, { ...key, host: "other" }),
    "400 Bad Request: the request has more than one Host header. Send one\r\n",
    { code: "two_hosts", method: "POST", path: "/v1/track" },
  ],
  [
    "headers that are too large",
    once11("GET /v1/track", `X: ${"x".repeat(20_000)}\r\n`),
    "431 Request Header Fields Too Large: the request line and headers are over 16 KB\r\n",
    { code: "invalid_http", method: null, path: null },
  ],
  [
    "HTTP/2 without TLS",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "400 Bad Request: the client speaks HTTP/2, and this port speaks HTTP/1.1. Let the client use HTTP/1.1\r\n",
    { code: "invalid_http", method: null, path: null },
  ],
  ["no HTTP", "nonsense\r\n\r\n", "400 Bad Request: the input is not", { code: "invalid_http" }],
  [
    "a proxy's request",
    "CONNECT api.example:443 HTTP/1.1\r\nHost: a\r\n\r\n",
    "405 Method Not Allowed: this port is not a proxy",
    { code: "not_a_proxy", method: "CONNECT", line: "NO_PROXY=127.0.0.1,localhost" },
  ],
  [
    "an unknown expectation",
    once11("POST /v1/track", "Expect: wonders\r\n"),
    "417 Expectation Failed: `Expect: wonders` is not supported",
    { code: "unknown_expectation" },
  ],
])("%s is answered in the status line, and listed", async (_, request, line, entry) => {
  const app = await startIngestApp();
  const text = await bytesFor(app.port, request);
  expect(text.slice(0, text.indexOf("\r\n") + 2)).toContain(`HTTP/1.1 ${line}`);
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { count: 1, address: "127.0.0.1", status: Number(line.slice(0, 3)), ...entry },
  ]);
});

test("a body that is refused is shown at the source whose key is in it, with its faults", async () => {
  const app = await startIngestApp();
  const deep = `${"[".repeat(600)}${"]".repeat(600)}`;
  const bodies = [{}, { batch: {} }, JSON.parse(`{"batch":[${deep}]}`) as object];
  const codes = ["missing_batch", "invalid_batch", "too_deep"];
  for (const body of bodies) {
    const sent = await app.send("/v1/batch", { ...body, writeKey }, { key: null });
    expect(sent.status).toBe(400);
  }
  const about = { sourceId: app.source.id };
  expect(await app.messages()).toMatchObject(
    codes.map((reason) => ({ ...about, reason, state: "rejected" })),
  );
  expect((await app.call("refused.list", {})).items.toReversed()).toMatchObject(
    codes.map((code) => ({ ...about, code, writeKey })),
  );
  const faults = [{ do: "answer" as const, status: 429 }];
  await app.call("sources.update", { id: app.source.id, faults });
  expect(await app.send("/v1/batch", { writeKey }, { key: null })).toMatchObject({ status: 429 });
});

test("a TLS client at the plain port is answered and listed as one", async () => {
  const app = await startIngestApp();
  const socket = connectTls({ port: app.port, host: "127.0.0.1" });
  const [error] = (await once(socket, "error")) as [NodeJS.ErrnoException];
  expect(error.code).toBe("ERR_SSL_WRONG_VERSION_NUMBER");
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { code: "tls_on_plain_port", status: 400, method: null, path: null, address: "127.0.0.1" },
  ]);
  // What Go's client looks for, before it says that the server gave an HTTP response.
  expect(await bytesFor(app.port, Uint8Array.of(22, 3, 1, 0, 5, 1, 0, 0, 1, 0))).toMatch(
    /^HTTP\/1\.1 400 Bad Request: this port is plain HTTP, and the client speaks TLS/,
  );
});

async function paths(app: IngestApp): Promise<(string | null)[]> {
  return (await app.call("refused.list", {})).items.map(({ path }) => path);
}

test("requests that are kept for an unknown key are in one list only", async () => {
  const app = await startIngestApp();
  await app.send("/v1/track", track, { key: "lost" });
  expect(await paths(app)).toEqual([]);
  expect((await app.call("unknownKeys.list", {})).items).toHaveLength(1);
});

test("in production mode what is answered with success is listed too", async () => {
  const app = await startIngestApp();
  await app.call("settings.update", { unknownKeys: "production" });
  expect(await app.send("/v1/track", track, { key: null })).toMatchObject({ status: 200 });
  expect(await app.send("/v1/projects/wk_x/settings", undefined, { method: "GET" })).toMatchObject({
    status: 200,
  });
  expect((await app.call("refused.list", {})).items).toMatchObject([
    { code: "missing_write_key", status: 200 },
  ]);
});

test("a page may read why its settings were refused", async () => {
  const app = await startIngestApp();
  const { status, headers, json } = await app.send("/v1/projects/wk_x/settings", undefined, {
    method: "GET",
    headers: { Origin: "http://shop.example" },
  });
  expect([status, headers.get("access-control-allow-origin")]).toEqual([
    401,
    "http://shop.example",
  ]);
  expect(json).toMatchObject({
    code: "unknown_write_key",
    message: expect.stringContaining("wk_x"),
  });
});

test("the list can be emptied, a reset empties it, and good requests are not in it", async () => {
  const app = await startIngestApp();
  expect(await app.send("/v1/track", track)).toMatchObject({ status: 200 });
  expect(await paths(app)).toEqual([]);
  await app.send("/a", track);
  expect(await app.call("refused.clear", {})).toEqual({ count: 1 });
  expect(await paths(app)).toEqual([]);
  await app.send("/b", track);
  await app.call("pipeline.reset", { what: "messages" });
  expect(await paths(app)).toEqual([]);
});

test("whatever a key or a path holds, the answer has one status line of printable ASCII", async () => {
  const app = await startIngestApp();
  const hostile = fc.oneof(
    fc.constantFrom(
      "a\r\nSet-Cookie: x=1\r\n\r\nHTTP/1.1 200 OK",
      "\0",
      "\u0085\u2028",
      "é😀",
      "\ud800",
      `"'\\`,
      "x".repeat(5000),
    ),
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 60 }),
  );
  for (const text of fc.sample(hostile, { numRuns: 60, seed: 4700 })) {
    const inPath = encodeURIComponent(text.toWellFormed());
    const requests = [
      post("/v1/track", track, { ...closing, Authorization: basic(text) }),
      post("/v1/track", JSON.stringify({ ...JSON.parse(track), writeKey: text }), closing),
      once11(`GET /v1/projects/${inPath}/settings`),
      post(`/${inPath}`, track, closing),
      Buffer.from(
        `POST /${text.replace(/[\s\0]/g, "")} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`,
        "latin1",
      ),
    ];
    for (const request of requests) {
      const [head = "", ...rest] = (await bytesFor(app.port, request)).split("\r\n\r\n");
      const [line = "", ...headers] = head.split("\r\n");
      expect(line).toMatch(/^HTTP\/1\.1 4\d\d [\x20-\x7e]{1,160}$/);
      expect(headers.filter((each) => /set-cookie/i.test(each))).toEqual([]);
      expect(rest).toHaveLength(1);
    }
  }
});

test("a client sees the sentence as the text of the status", async () => {
  const app = await startIngestApp();
  const answer = await fetch(`${app.url}/v1/track`, {
    method: "POST",
    headers: { Authorization: basic("wk_x") },
    body: track,
  });
  expect(`${answer.status} ${answer.statusText}`).toBe(
    "401 Unauthorized: no source has the write key wk_x",
  );
});

test("two requests on one connection are answered in order, and the good one is accepted", async () => {
  const app = await startIngestApp();
  const { answers } = await talk(
    app.port,
    [post("/t", track, key), post("/v1/track", track, key)],
    { answers: 2 },
  );
  expect(answers.map(({ status }) => status)).toEqual([404, 200]);
});
