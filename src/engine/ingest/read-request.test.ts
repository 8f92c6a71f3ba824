import { PassThrough } from "node:stream";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject, type Json, type JsonObject } from "../../domain/json.ts";
import { isProblem } from "../../domain/problem.ts";
import {
  addressOf,
  decompress,
  keyInBody,
  keyInHeader,
  maxRequestBytes,
  parseBody,
  parsePath,
  readBody,
  replayBody,
  splitTarget,
} from "./read-request.ts";
import { anyCharacter } from "../../../test/support/any-character.ts";

const track = { call: "single", type: "track" };
const batch = { call: "batch" };

test.each<[string, object | null]>([
  ["/v1/batch", batch],
  ["/v1/import", batch],
  ["/v1/b", batch],
  ["//v1/batch", batch],
  ["/v1//batch///", batch],
  ["/deep/prefix/v1/track/", track],
  ["/V1/TrAcK", track],
  ["/v1/t", track],
  ["/v1/v1/track", track],
  ["http://host:1/v1/track", track],
  ["/v1/identify", { call: "single", type: "identify" }],
  ["/v1/i", { call: "single", type: "identify" }],
  ["/v1/page", { call: "single", type: "page" }],
  ["/v1/p", { call: "single", type: "page" }],
  ["/v1/screen", { call: "single", type: "screen" }],
  ["/v1/s", { call: "single", type: "screen" }],
  ["/v1/group", { call: "single", type: "group" }],
  ["/v1/g", { call: "single", type: "group" }],
  ["/v1/alias", { call: "single", type: "alias" }],
  ["/v1/a", { call: "single", type: "alias" }],
  ["/v1/m", { call: "metrics" }],
  ["/v1/projects/abc/settings", { call: "settings", writeKey: "abc", prefix: "" }],
  ["/x//v1/projects/a%2Fb/settings/", { call: "settings", writeKey: "a/b", prefix: "/x" }],
  ["//V1/projects/%zz/settings", { call: "settings", writeKey: "%zz", prefix: "" }],
  ["http://h:1/x/v1/projects/k/settings", { call: "settings", writeKey: "k", prefix: "/x" }],
  ["/v1/pixel/track", { ...track, isPixel: true }],
  ["/x/V1//PIXEL/Track//", { ...track, isPixel: true }],
  ["/v1/pixel/delete", null],
  ["/sourceConfig", { call: "sourceConfig" }],
  ["/x//sourceConfig/", { call: "sourceConfig" }],
  ["/xsourceConfig", null],
  ["/", null],
  ["", null],
  ["*", null],
  ["/v1", null],
  ["/v1/", null],
  ["/v12/track", null],
  ["/xv1/track", null],
  ["/v1/tracks", null],
  ["/v1/track/x", null],
  ["/v1/delete", null],
  ["/v1/constructor", null],
  ["/v1/hasownproperty", null],
  ["/v1/projects//settings", null],
])("the path %s", (path, call) => {
  expect(parsePath(path)).toEqual(call);
});

test("the query is what comes after the first question mark", () => {
  const { path, query } = splitTarget("/v1/track?writeKey=a%20b?&x");
  expect([path, query.get("writeKey"), query.get("x")]).toEqual(["/v1/track", "a b?", ""]);
  expect([...splitTarget("/v1/track").query]).toEqual([]);
  expect(splitTarget("?writeKey=a")).toMatchObject({
    path: "",
    query: new URLSearchParams("writeKey=a"),
  });
});

test("any path is parsed, and soon", () => {
  fc.assert(fc.property(fc.webPath(), (path) => void parsePath(path)));
  for (const part of ["/", "/v1", "/v1/", "/v1/projects/", "a"])
    expect(parsePath(part.repeat(16_384))).toBeNull();
});

const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;

test.each<[string | undefined, string | null]>([
  [undefined, null],
  ["", null],
  ["Basic", null],
  ["Bearer abc", null],
  [basic(""), null],
  [basic(":"), null],
  [basic(":password"), null],
  [basic("key"), "key"],
  [basic("key:"), "key"],
  [basic("a:b:c"), "a"],
  [basic("schlüssel:"), "schlüssel"],
  [`  bAsIc \t ${Buffer.from("key:").toString("base64")}  `, "key"],
  [basic("key:").replace(/=+$/, ""), "key"],
  ["Basic !!!", null],
])("Authorization %j has the write key %j", (header, key) => {
  expect(keyInHeader(header)).toBe(key);
});

test("any write key without a colon is read from the header", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: "grapheme" }), fc.string(), (key, password) => {
      fc.pre(!key.includes(":"));
      expect(keyInHeader(basic(`${key}:${password}`))).toBe(key);
    }),
  );
});

test("a write key in the body is a string that is not empty", () => {
  expect(keyInBody({ writeKey: "k" })).toBe("k");
  for (const writeKey of ["", 5, null, {}, ["k"]]) expect(keyInBody({ writeKey })).toBeNull();
  expect(keyInBody({})).toBeNull();
});

test.each<[string, boolean, string]>([
  ["", false, "invalid_json"],
  ["{", false, "invalid_json"],
  ["[]", false, "not_an_object"],
  ["null", true, "not_an_object"],
  ["{}", true, "missing_batch"],
  [`{"batch":{}}`, true, "invalid_batch"],
  [`{"batch":"x"}`, true, "invalid_batch"],
  [`{"batch":[1],"batch":{}}`, true, "invalid_batch"],
  [`{"a":${"[".repeat(500)}${"]".repeat(500)}}`, false, "too_deep"],
])("the body %s is refused", (body, batched, code) => {
  expect(parseBody(Buffer.from(body), batched)).toMatchObject({
    problem: true,
    status: 400,
    code,
    message: expect.stringMatching(/\.$/),
  });
});

test("a body may nest 500 levels deep, and a batch may be null", () => {
  const nested = (levels: number): string =>
    `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  expect(parseBody(Buffer.from(nested(500)), false)).toMatchObject({ items: { length: 1 } });
  expect(parseBody(Buffer.from(nested(501)), false)).toMatchObject({
    message: "The body is nested 501 levels deep; 500 is the limit.",
  });
  expect(parseBody(Buffer.from('{"batch":null}'), true)).toMatchObject({ items: [], spans: [] });
});

test("invalid UTF-8 is refused, wherever it is", () => {
  for (const bytes of [[0xff], [0x7b, 0x22, 0xc0, 0x80, 0x22, 0x3a, 0x31, 0x7d]]) {
    expect(parseBody(Buffer.from(bytes), false)).toMatchObject({ code: "invalid_utf8" });
  }
});

test.each([
  ["a body that says nothing of its gzip", gzipSync("{}"), /gzip\..*`Content-Encoding: gzip`/],
  ["another encoding", Buffer.from('{"a":"é"}', "latin1"), /Encode it as UTF-8\.$/],
  ["a byte order mark", Buffer.from("\ufeff{}"), /byte order mark\. Leave it out\.$/],
])("%s is refused with what to do", (_, body, message) => {
  expect(parseBody(body, false)).toMatchObject({ message: expect.stringMatching(message) });
});

test("the bytes of each message are those that it was written with", () => {
  const spaces = fc.constantFrom("", " ", "\n\t ", "\r\n");
  const items = fc.array(fc.tuple(fc.json(), spaces, spaces), { maxLength: 6 });
  const text = fc.string({ unit: anyCharacter });
  fc.assert(
    fc.property(items, text, spaces, (written, other, space) => {
      const rest = `"other":${JSON.stringify({ batch: [other], [other]: ["]}", '"'] })}`;
      const body = `${space}{${rest},${space}"batch"${space}:${space}[${written.map(([json, before, after]) => before + json + after).join(",")}]${space},"z":0}${space}`;
      const bytes = Buffer.from(body);
      const parsed = parseBody(bytes, true);
      if (isProblem(parsed)) throw new Error(parsed.message);
      expect(parsed.spans.map(({ start, end }) => bytes.toString("utf8", start, end))).toEqual(
        written.map(([json]) => json),
      );
      expect(parsed.items).toEqual(written.map(([json]) => JSON.parse(json) as Json));
    }),
  );
});

const longText = "a long text – ".repeat(1000);

test.each<[string, string]>([
  ["after a batch", `{"batch":[{"a":"${longText}"}]]}`],
  ["in a message", `{"batch":[{"a":"${longText}"},{"a":1,}]}`],
  ["between two messages", `{"batch":[{"a":"${longText}"} {"a":1}]}`],
  ["beside the batch", `{"batch":[{"a":"${longText}"}],b}`],
  ["at the end", `{"batch":[{"a":"${longText}"}]`],
  ["in an empty message", `{"batch":[{"a":"${longText}"},]}`],
  ["in a name", `{"\\uZZZZb":1,"batch":[{"a":"${longText}"}]}`],
])("what is no JSON %s is refused with the place, among large messages too", (_, body) => {
  const message = thrownBy(() => void JSON.parse(body));
  expect(parseBody(Buffer.from(body), true)).toMatchObject({
    code: "invalid_json",
    message: `The body is not JSON: ${message}.`,
  });
});

function thrownBy(act: () => void): string {
  try {
    act();
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test.each<[string, string]>([
  ["a batch that comes after another value", `{"batch":{},"batch":[2,"${longText}"]}`],
  ["a batch that comes twice", `{"batch":[1,"${longText}"],"b\\u0061tch":[2,"${longText}"]}`],
  ["members named __proto__", `{"__proto__":1,"batch":[{"__proto__":"${longText}"}]}`],
  ["values that are no objects", `{"batch":[0,"${longText}",[{"batch":[1]}],null]}`],
  ["more than a batch may have", `{"batch":[${`"${longText.slice(0, 150)}",`.repeat(2600)}1]}`],
])("large messages are what parsing all of the body says: %s", (_, body) => {
  const parsed = parseBody(Buffer.from(body), true);
  if (isProblem(parsed)) throw new Error(parsed.message);
  expect(parsed.root).toStrictEqual(JSON.parse(body));
  expect(parsed.items).toBe(parsed.root["batch"]);
});

test("a single message is the body without the space around it", () => {
  const bytes = Buffer.from(` \r\n{ "a" : 1 }\t`);
  const parsed = parseBody(bytes, false);
  if (isProblem(parsed)) throw new Error(parsed.message);
  expect(parsed.spans.map(({ start, end }) => bytes.toString("utf8", start, end))).toEqual([
    `{ "a" : 1 }`,
  ]);
});

function replay(body: string, place: number, batched: boolean): string | number {
  const bytes = Buffer.from(body);
  const parsed = parseBody(bytes, batched);
  const { start, end } = (isProblem(parsed) ? undefined : parsed.spans[place]) ?? {
    start: 0,
    end: bytes.length,
  };
  const replayed = replayBody(bytes, { offset: start, size: end - start }, batched);
  return isProblem(replayed) ? replayed.status : replayed.toString();
}

const id = `"[0-9a-f-]{36}"`;

test.each([
  [`{"n":1.0,"messageId":"old"}`, `^\\{"n":1\\.0,"messageId":"old","messageId":${id}\\}$`],
  [` {"a": 1e3 } `, `^\\{"a": 1e3 ,"messageId":${id}\\}$`],
  [`{}`, `^\\{"messageId":${id}\\}$`],
  [`{ }`, `^\\{ "messageId":${id}\\}$`],
])("%s keeps its bytes and gets a new message id", (body, pattern) => {
  expect(replay(body, 0, false)).toMatch(new RegExp(pattern));
});

test("one of a batch goes alone, with what the batch gave it", () => {
  const body = `{"context":{"ip":"::1"},"batch":[{"a":1},{"b":2.0}],"sentAt":"now","x":1}`;
  const pattern = `^\\{"batch":\\[\\{"b":2\\.0,"messageId":${id}\\}\\],"context":\\{"ip":"::1"\\},"sentAt":"now"\\}$`;
  expect(replay(body, 1, true)).toMatch(new RegExp(pattern));
  expect(replay(`{"batch":[{"b":2.0}]}`, 0, true)).toMatch(
    new RegExp(`^\\{"batch":\\[\\{"b":2\\.0,"messageId":${id}\\}\\]\\}$`),
  );
});

describe("what is no message has no replay", () => {
  const deep = `{"context":${`{"a":`.repeat(50_000)}1${"}".repeat(50_000)},"batch":[{}]}`;
  test.each([
    ["half a body", `{"a":1`, false],
    ["a number in a batch", `{"batch":[1]}`, true],
    ["an array in a batch", `{"batch":[[{}]]}`, true],
    ["a body without a batch", `{"a":1}`, true],
    ["a body that nests too deep", deep, true],
    ["nothing", "", false],
  ])("%s", (_, body, batched) => {
    expect(replay(body, 0, batched)).toBe(409);
  });
});

test("any message is itself again, with another id", () => {
  // As JSON reads it: there is no -0.
  const item = fc.json().map((text) => JSON.parse(text) as Json);
  const items = fc.array(item, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(
      items,
      fc.option(fc.dictionary(fc.string(), fc.string())),
      fc.nat(3),
      (batch, context, choice) => {
        const place = choice % batch.length;
        const item = batch[place];
        const replayed = replay(JSON.stringify({ batch, context }), place, true);
        if (typeof replayed === "number") {
          expect(isObject(item)).toBe(false);
          return;
        }
        const parsed = JSON.parse(replayed) as { batch: JsonObject[]; context: Json };
        const { messageId, ...rest } = parsed.batch[0] ?? {};
        const { messageId: _, ...before } = item as JsonObject;
        expect([rest, parsed.context]).toEqual([before, context]);
        expect(messageId).toMatch(/^[0-9a-f-]{36}$/);
      },
    ),
  );
});

test.each([
  ["127.0.0.1", "127.0.0.1"],
  ["::ffff:10.0.0.1", "10.0.0.1"],
  ["fe80::ffff:1", "fe80::ffff:1"],
  // The client has gone.
  [undefined, null],
])("a client at %s has the address %s", (remoteAddress, address) => {
  expect(addressOf({ socket: { remoteAddress } as never })).toBe(address);
});

test("deflate is read with the header of zlib and without it, also when its first byte looks like one", async () => {
  const text = `{"event":"${"e".repeat(40)}"}`;
  const stored = (first: number, part: string): Buffer =>
    Buffer.from([first, part.length, 0, 0xff - part.length, 0xff, ...Buffer.from(part)]);
  // Two blocks that are not compressed. The bits after the type of a block mean nothing.
  const split = (first: number, at: number): Buffer =>
    Buffer.concat([stored(first, text.slice(0, at)), stored(0x01, text.slice(at))]);
  for (const body of [deflateSync(text), deflateRawSync(text), split(0x08, 5), split(0, 31)])
    expect(await decompress(body, "deflate")).toEqual(Buffer.from(text));
  expect(await decompress(Buffer.from(text), "deflate")).toMatchObject({
    code: "invalid_compression",
  });
});

test.each([undefined, "", " ", "identity", "gzip", " GZip ", "x-gzip", "deflate", "br"])(
  "a body with the encoding %j is read, up to 512,000 bytes",
  async (encoding) => {
    const name = encoding?.trim().toLowerCase() ?? "";
    const packed = (text: string): Buffer =>
      name.endsWith("gzip")
        ? gzipSync(text)
        : name === "deflate"
          ? deflateSync(text)
          : name === "br"
            ? brotliCompressSync(text)
            : Buffer.from(text);
    const most = "x".repeat(maxRequestBytes);
    expect(await decompress(packed(most), encoding)).toEqual(Buffer.from(most));
    const isPacked = packed("x").length > 1;
    const over = await decompress(packed(`${most}y`), encoding);
    if (isPacked) expect(over).toMatchObject({ status: 400, code: "request_too_large" });
  },
);

test.each<[string, number[], string, RegExp]>([
  ["zstd", [1], "unsupported_encoding", /^Content-Encoding "zstd" is not supported\./],
  ["gzip", [1], "invalid_compression", /^The body is not gzip, as its Content-Encoding says: ./],
  ["br", [0xff], "invalid_compression", /^The body is not br, /],
  ["deflate", [], "invalid_compression", /^The body is not deflate, /],
  ["deflate", [0x08], "invalid_compression", /^The body is not deflate, /],
  ["deflate", [0x08, 0x1d], "invalid_compression", /: unexpected end of file\.$/],
])("with the encoding %s, the bytes %j are refused", async (encoding, bytes, code, message) => {
  expect(await decompress(Buffer.from(bytes), encoding)).toMatchObject({
    ...{ status: 400, code },
    message: expect.stringMatching(message) as string,
  });
});

describe("the body of a request", () => {
  const reading = (length?: number) => {
    const request = new PassThrough();
    const headers = length === undefined ? {} : { "content-length": String(length) };
    const body = readBody(Object.assign(request, { headers }) as never);
    return { request, body };
  };

  test.each([undefined, maxRequestBytes])(
    "with the length %j has 512,000 bytes",
    async (length) => {
      const { request, body } = reading(length);
      request.write("ab");
      request.end("x".repeat(maxRequestBytes - 2));
      expect(await body).toEqual(Buffer.from(`ab${"x".repeat(maxRequestBytes - 2)}`));
    },
  );

  test("is empty when nothing comes", async () => {
    const { request, body } = reading();
    request.end();
    expect(await body).toEqual(Buffer.alloc(0));
  });

  test("that says that it is longer is refused at once, and one that is when it gets there", async () => {
    const tooLarge = { status: 400, code: "request_too_large" };
    expect(await reading(maxRequestBytes + 1).body).toMatchObject(tooLarge);
    const { request, body } = reading();
    request.write("x".repeat(maxRequestBytes));
    request.write("y");
    expect(await body).toMatchObject(tooLarge);
    // The rest is read, so that the client gets the answer.
    request.end("z".repeat(1_000_000));
    await new Promise((resolve) => request.once("end", resolve));
  });

  test("is none when the client has gone", async () => {
    for (const error of [undefined, new Error("gone")]) {
      const { request, body } = reading();
      request.write("x");
      request.destroy(error);
      expect(await body).toBeNull();
    }
  });
});
