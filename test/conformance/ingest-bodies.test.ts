/** Compression, limits, and bodies that are not what they should be: always an answer. */

import { brotliCompressSync, constants, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { startIngestApp, writeKey } from "../support/ingest-app.ts";
import { basic, post, talk, type Answer } from "../support/ingest-client.ts";

const maxRequestBytes = 512_000;
const maxMessageBytes = 32_768;
const authorization = basic(writeKey);
const track = { type: "track", userId: "u", event: "e" };

/** A body of exactly that many bytes, none of whose messages is too large. */
function batchOf(size: number): string {
  const items: string[] = [];
  let left = size - `{"batch":[]}`.length;
  while (left > 0) {
    const next = left > 60_000 ? 30_000 : left > 30_000 ? Math.floor(left / 2) : left;
    items.push(trackOf(items.length === 0 ? next : next - 1));
    left -= next;
  }
  return `{"batch":[${items.join(",")}]}`;
}

function trackOf(size: number): string {
  const bare = JSON.stringify({ ...track, properties: { filler: "" } }).length;
  return JSON.stringify({ ...track, properties: { filler: "x".repeat(size - bare) } });
}

function refused(
  { status, text }: { status: number; text: string } | undefined = { status: 0, text: "" },
) {
  const { code, message } = JSON.parse(text) as { code: unknown; message: unknown };
  expect(message).toEqual(expect.stringMatching(/\w+.*\.$/));
  return [status, code];
}

describe("compression", () => {
  const body = JSON.stringify({ batch: [track, { ...track, userId: "ü" }] });
  const encodings: [string, string, Buffer][] = [
    ["gzip", "gzip", gzipSync(body)],
    ["gzip in capitals", " GZIP ", gzipSync(body)],
    ["gzip by its old name", "x-gzip", gzipSync(body)],
    [
      "gzip in two members",
      "gzip",
      Buffer.concat([gzipSync(body.slice(0, 20)), gzipSync(body.slice(20))]),
    ],
    ["deflate with zlib's header", "deflate", deflateSync(body)],
    ["deflate with zlib's header, stored", "deflate", deflateSync(body, { level: 0 })],
    ["bare deflate", "deflate", deflateRawSync(body)],
    ["bare deflate, stored", "deflate", deflateRawSync(body, { level: 0 })],
    ["br", "br", brotliCompressSync(body)],
    ["none", "identity", Buffer.from(body)],
  ];
  test.each(encodings)("%s is understood", async (_, encoding, bytes) => {
    const app = await startIngestApp();
    expect(
      await app.send("/v1/batch", bytes, { headers: { "content-encoding": encoding } }),
    ).toMatchObject({ status: 200 });
    expect((await app.messages()).map(({ userId }) => userId)).toEqual(["u", "ü"]);
  });

  const wrong: [string, string, Buffer, string][] = [
    ["JSON that says gzip", "gzip", Buffer.from(body), "invalid_compression"],
    ["gzip that says br", "br", gzipSync(body), "invalid_compression"],
    ["gzip that says deflate", "deflate", gzipSync(body), "invalid_compression"],
    ["gzip that breaks off", "gzip", gzipSync(body).subarray(0, 30), "invalid_compression"],
    [
      "gzip with a wrong check sum",
      "gzip",
      Buffer.concat([gzipSync(body).subarray(0, -8), Buffer.alloc(8)]),
      "invalid_compression",
    ],
    ["nothing that says gzip", "gzip", Buffer.alloc(0), "invalid_compression"],
    ["nothing that says deflate", "deflate", Buffer.alloc(0), "invalid_compression"],
    ["nothing that says br", "br", Buffer.alloc(0), "invalid_compression"],
    ["gzip that says nothing", "", gzipSync(body), "invalid_utf8"],
    ["an encoding nobody knows", "zstd", gzipSync(body), "unsupported_encoding"],
    ["gzip twice", "gzip, gzip", gzipSync(gzipSync(body)), "unsupported_encoding"],
  ];
  test.each(wrong)("%s is 400", async (_, encoding, bytes, code) => {
    const app = await startIngestApp();
    expect(
      refused(await app.send("/v1/batch", bytes, { headers: { "content-encoding": encoding } })),
    ).toEqual([400, code]);
    expect(await app.messages()).toMatchObject([
      { state: "rejected", reason: code, type: null, detail: expect.any(String) },
    ]);
    expect(await app.send("/v1/track", track)).toMatchObject({ status: 200 });
  });

  const zeros = Buffer.alloc(25_000_000);
  // The best quality would take a second.
  const quickly = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
  test.each([
    ["gzip", gzipSync(zeros)],
    ["deflate", deflateSync(zeros)],
    ["br", brotliCompressSync(zeros, quickly)],
  ])("a %s bomb is 400, and is not unpacked", async (encoding, bomb) => {
    const app = await startIngestApp();
    await app.send("/v1/batch", gzipSync(body), { headers: { "content-encoding": "gzip" } });
    const before = process.memoryUsage();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        app.send("/v1/batch", bomb, { headers: { "content-encoding": encoding } }),
      ),
    );
    const after = process.memoryUsage();
    expect(answers.map(refused)).toEqual(answers.map(() => [400, "request_too_large"]));
    // Eight bombs unpacked would be 200 MB; what is left is the 512 KB of each and their 25 KB.
    expect(after.external + after.heapUsed - before.external - before.heapUsed).toBeLessThan(
      60_000_000,
    );
  });
});

describe("the limit of a request", () => {
  test("is 512,000 bytes and not one more", async () => {
    const app = await startIngestApp();
    const exact = batchOf(maxRequestBytes);
    expect(exact.length).toBe(maxRequestBytes);
    expect(await app.send("/v1/batch", exact)).toMatchObject({
      status: 200,
      text: `{"success":true}`,
    });
    const taken = (await app.messages()).length;
    expect(refused(await app.send("/v1/batch", ` ${exact}`))).toEqual([400, "request_too_large"]);
    expect(await app.messages({ state: "rejected" })).toMatchObject([
      { reason: "request_too_large", type: null },
    ]);
    expect(await app.messages()).toHaveLength(taken + 1);
  });

  test.each([
    ["gzip", gzipSync],
    ["deflate", deflateRawSync],
    ["br", brotliCompressSync],
  ])("counts after decompression of %s too", async (encoding, compress) => {
    const app = await startIngestApp();
    const headers = { "content-encoding": encoding };
    expect(
      await app.send("/v1/batch", compress(batchOf(maxRequestBytes)), { headers }),
    ).toMatchObject({ status: 200 });
    expect(
      refused(await app.send("/v1/batch", compress(batchOf(maxRequestBytes + 1)), { headers })),
    ).toEqual([400, "request_too_large"]);
  });

  const chunk = `2000\r\n${"x".repeat(0x2000)}\r\n`;
  const chunked = post("/v1/batch", "", {
    Authorization: authorization,
    "Transfer-Encoding": "chunked",
  });

  test("holds without a Content-Length, and the connection goes on", async () => {
    const app = await startIngestApp();
    const good = post("/v1/track", JSON.stringify(track), { Authorization: authorization });
    const { answers } = await talk(
      app.port,
      [chunked, ...Array.from({ length: 100 }, () => chunk), "0\r\n\r\n", good],
      { answers: 2 },
    );
    expect(refused(answers[0])).toEqual([400, "request_too_large"]);
    expect(answers[1]).toMatchObject({ status: 200 });
  });

  test("a chunked body within it is taken", async () => {
    const app = await startIngestApp();
    const exact = batchOf(maxRequestBytes);
    const parts = [exact.slice(0, 1), exact.slice(1, 400_000), exact.slice(400_000)];
    const { answers } = await talk(app.port, [
      chunked,
      ...parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`),
      "0\r\n\r\n",
    ]);
    expect(answers).toMatchObject([{ status: 200 }]);
  });

  test("is told as soon as it is passed, to a client that is still sending", async () => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [chunked, ...Array.from({ length: 63 }, () => chunk)]);
    expect(refused(answers[0])).toEqual([400, "request_too_large"]);
  });

  test("is told once to a client that then breaks off", async () => {
    const app = await startIngestApp();
    const { answers, closed } = await talk(
      app.port,
      [chunked, ...Array.from({ length: 64 }, () => chunk)],
      {
        answers: 2,
        halfClose: true,
      },
    );
    expect([answers.map(refused), closed]).toEqual([[[400, "request_too_large"]], true]);
  });

  test("is told to a client that announces too much before it sends it", async () => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [
      post("/v1/batch", "{", { Authorization: authorization, "Content-Length": "90000000" }),
    ]);
    expect(refused(answers[0])).toEqual([400, "request_too_large"]);
  });

  test("a hundred megabytes are answered, once, also to a client that first sends them all", async () => {
    const app = await startIngestApp();
    const large = Buffer.from(chunk.repeat(128), "latin1");
    const { answers } = await talk(
      app.port,
      [chunked, ...Array.from({ length: 100 }, () => large), "0\r\n\r\n"],
      {
        answers: 2,
        halfClose: true,
      },
    );
    expect(answers.map(refused)).toEqual([[400, "request_too_large"]]);
    expect(await app.messages()).toHaveLength(1);
  });
});

describe("the limit of a message", () => {
  test("is 32,768 bytes and not one more, at a path of its own", async () => {
    const app = await startIngestApp();
    expect(await app.send("/v1/track", ` \n${trackOf(maxMessageBytes)}\t `)).toMatchObject({
      status: 200,
    });
    expect(refused(await app.send("/v1/track", trackOf(maxMessageBytes + 1)))).toEqual([
      400,
      "message_too_large",
    ]);
    expect((await app.messages()).map(({ state }) => state)).toEqual(["filtered", "rejected"]);
  });

  test("and in a batch, where it costs no neighbour", async () => {
    const app = await startIngestApp();
    const body = `{"batch":[${trackOf(maxMessageBytes)}, ${trackOf(maxMessageBytes + 1)} ,${trackOf(100)}]}`;
    expect((await app.send("/v1/batch", body)).json).toMatchObject({
      success: true,
      rejected: [{ index: 1, reason: "message_too_large" }],
    });
    expect((await app.messages()).map(({ state }) => state)).toEqual([
      "filtered",
      "rejected",
      "filtered",
    ]);
  });

  test("counts bytes, not characters", async () => {
    const app = await startIngestApp();
    const message = { ...track, properties: { filler: "✓".repeat(11_000) } };
    expect(JSON.stringify(message).length).toBeLessThan(maxMessageBytes);
    expect(refused(await app.send("/v1/track", message))).toEqual([400, "message_too_large"]);
  });
});

describe("a body that cannot be read is 400 and is kept as rejected:", () => {
  const bodies: [string, string, string | Buffer, string][] = [
    ["nothing", "/v1/track", "", "invalid_json"],
    ["half of an object", "/v1/track", `{"userId":"u"`, "invalid_json"],
    ["two objects", "/v1/track", `{"userId":"u"}{}`, "invalid_json"],
    ["single quotes", "/v1/track", `{'userId':'u'}`, "invalid_json"],
    ["NaN", "/v1/track", `{"a":NaN}`, "invalid_json"],
    ["a byte-order mark", "/v1/track", Buffer.from(`\ufeff{}`), "invalid_json"],
    ["an array", "/v1/batch", `[${JSON.stringify(track)}]`, "not_an_object"],
    ["a string", "/v1/track", `"hello"`, "not_an_object"],
    ["a number", "/v1/track", "1", "not_an_object"],
    ["null", "/v1/batch", "null", "not_an_object"],
    ["no batch", "/v1/batch", "{}", "missing_batch"],
    ["a batch that is an object", "/v1/batch", `{"batch":{}}`, "invalid_batch"],
    ["a batch that is a string", "/v1/batch", `{"batch":"[]"}`, "invalid_batch"],
    ["a batch that is a number", "/v1/import", `{"batch":0}`, "invalid_batch"],
    ["a batch that is false", "/v1/batch", `{"batch":false}`, "invalid_batch"],
    [
      "invalid UTF-8",
      "/v1/track",
      Buffer.from([...Buffer.from(`{"userId":"`), 0xc3, 0x28, ...Buffer.from(`"}`)]),
      "invalid_utf8",
    ],
    [
      "a surrogate in UTF-8",
      "/v1/track",
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      "invalid_utf8",
    ],
    ["501 levels", "/v1/track", nested(501), "too_deep"],
    ["50,000 levels of arrays", "/v1/track", nested(50_000), "too_deep"],
    [
      "50,000 levels of objects",
      "/v1/batch",
      `{"batch":[${`{"a":`.repeat(50_000)}1${"}".repeat(50_000)}]}`,
      "too_deep",
    ],
    ["50,000 levels that never close", "/v1/track", "[".repeat(50_000), "invalid_json"],
  ];
  test.each(bodies)("%s", async (_, path, body, code) => {
    const app = await startIngestApp();
    expect(refused(await app.send(path, body))).toEqual([400, code]);
    expect(await app.messages()).toMatchObject([
      { state: "rejected", reason: code, detail: expect.stringMatching(/\.$/), decisions: [] },
    ]);
    // The hosted service refuses these as well.
    await app.call("sources.update", { id: app.source.id, mode: "production" });
    expect(refused(await app.send(path, body))).toEqual([400, code]);
    expect(await app.send("/v1/track", track)).toMatchObject({ status: 200 });
  });

  test("its bytes are kept as they came", async () => {
    const app = await startIngestApp();
    const bytes = Buffer.from([0x7b, 0xff, 0xfe, 0x7d]);
    await app.send("/v1/track", bytes);
    await app.send("/v1/track", `{"half`);
    expect((await app.messages()).map(({ raw }) => raw)).toEqual([
      { base64: bytes.toString("base64") },
      `{"half`,
    ]);
  });

  test("500 levels are still taken", async () => {
    const app = await startIngestApp();
    const destination = await app.destination({ sourceIds: [app.source.id], payload: "full" });
    expect(await app.send("/v1/track", nested(500))).toMatchObject({ status: 200 });
    expect(await destination.received()).toHaveLength(1);
  });

  test.each([
    `{"batch":null}`,
    `{"batch":[]}`,
    `{"batch": [ ] , "context":{}}`,
    `{"batch":[{}],"batch":[]}`,
  ])("%s is 200 with nothing in it", async (body) => {
    const app = await startIngestApp();
    expect(await app.send("/v1/batch", body)).toMatchObject({
      status: 200,
      text: `{"success":true}`,
    });
    expect(await app.messages()).toEqual([]);
  });
});

/** A track whose properties nest so that the whole has that many levels. */
function nested(levels: number): string {
  return JSON.stringify({ ...track, properties: { a: 0 } }).replace(
    `"a":0`,
    `"a":${"[".repeat(levels - 2)}${"]".repeat(levels - 2)}`,
  );
}

describe("what is no whole HTTP request", () => {
  const cases: [string, string | Buffer, number][] = [
    ["random words", "hello there\r\n\r\n", 400],
    ["a TLS greeting", Buffer.from("16030100a5010000a10303", "hex"), 400],
    ["an unknown method", "FETCH / HTTP/1.1\r\nHost: h\r\n\r\n", 400],
    ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400],
    ["a broken header", "POST /v1/track HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n", 400],
    ["two lengths", post("/v1/track", "{}", { "Content-Length": "2", "content-length": "3" }), 400],
    ["a negative length", post("/v1/track", "{}", { "Content-Length": "-2" }), 400],
    [
      "a length beside chunks",
      post("/v1/track", "0\r\n\r\n", { "Content-Length": "5", "Transfer-Encoding": "chunked" }),
      400,
    ],
    ["a broken chunk", post("/v1/track", "zz\r\n", { "Transfer-Encoding": "chunked" }), 400],
    ["no host", `POST /v1/nowhere HTTP/1.1\r\nContent-Length: 0\r\n\r\n`, 404],
    [
      "endless headers",
      `POST /v1/track HTTP/1.1\r\nHost: h\r\nX: ${"x".repeat(20_000)}\r\n\r\n`,
      431,
    ],
    ["an endless path", `POST /${"x".repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`, 431],
  ];
  test.each(cases)("%s is answered in JSON", async (_, bytes, status) => {
    const app = await startIngestApp();
    const { answers } = await talk(app.port, [bytes]);
    expect(refused(answers[0])).toEqual([status, expect.stringMatching(/^[a-z_]+$/)]);
    expect(await app.send("/v1/track", track)).toMatchObject({ status: 200 });
  });

  const body = JSON.stringify(track);
  const broken: [string, Buffer][] = [
    [
      "a body that ends early",
      post("/v1/track", body.slice(0, -5), {
        Authorization: authorization,
        "Content-Length": String(body.length),
      }),
    ],
    [
      "chunks that end early",
      post("/v1/track", `ff\r\n${body}`, {
        Authorization: authorization,
        "Transfer-Encoding": "chunked",
      }),
    ],
    ["a head that ends early", Buffer.from("POST /v1/track HTTP/1.1\r\nHost")],
  ];
  test.each(broken)(
    "%s is 400 to a client that still listens, and nothing is accepted",
    async (_, bytes) => {
      const app = await startIngestApp();
      const { answers, closed } = await talk(app.port, [bytes], { halfClose: true });
      expect([refused(answers[0]), closed]).toEqual([[400, "invalid_http"], false]);
      expect(await app.messages()).toEqual([]);
    },
  );

  test("a client that ends its side right after a whole request has its answer", async () => {
    const app = await startIngestApp({ source: { faults: [{ do: "delay", delayMs: 50 }] } });
    const { answers } = await talk(
      app.port,
      [post("/v1/track", body, { Authorization: authorization })],
      { halfClose: true },
    );
    expect(answers).toMatchObject([{ status: 200 }]);
    expect(await app.messages()).toHaveLength(1);
  });

  test("garbage behind a whole request does not take the request's answer", async () => {
    const app = await startIngestApp();
    const bytes = Buffer.concat([
      post("/v1/track", body, { Authorization: authorization }),
      Buffer.from("garbage\r\n\r\n"),
    ]);
    const { answers } = await talk(app.port, [bytes], { answers: 2 });
    expect(answers.map(({ status }: Answer) => status)).toEqual([200, 400]);
    expect(await app.messages()).toHaveLength(1);
  });

  test("a client that goes away in the middle leaves nothing behind", async () => {
    const app = await startIngestApp();
    await talk(
      app.port,
      [post("/v1/track", body, { Authorization: authorization, "Content-Length": "5000" })],
      {
        answers: 0,
        halfClose: true,
      },
    );
    expect(await app.send("/v1/track", track)).toMatchObject({ status: 200 });
    expect(await app.messages()).toHaveLength(1);
  });
});
