import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { checkMessage, readSentAt, type RequestFrame } from "./check.ts";
import type { PayloadShape } from "./configuration.ts";
import type { Json } from "./json.ts";
import { makeEvent, makePayload } from "./payload.ts";

const now = Date.UTC(2026, 10, 21, 3, 25, 0, 123);
const frame: RequestFrame = {
  context: null,
  integrations: null,
  sentAt: null,
  library: null,
  ip: null,
  now,
  correctClockSkew: false,
};

function messageOf(text: string, around: Partial<RequestFrame> = {}) {
  const result = checkMessage(JSON.parse(text) as Json, text.length, { ...frame, ...around }, null);
  if (!result.ok) throw new Error(`rejected: ${result.rejection.detail}`);
  return { ...result.message, messageId: result.message.messageId ?? "m" };
}

function payloadOf(
  text: string,
  shape: PayloadShape = "documented",
  around: Partial<RequestFrame> = {},
): string {
  return makePayload(messageOf(text, around), shape, now + 1);
}

const time = `"2026-11-21T03:25:00.123Z"`;
const start = (type: string): string =>
  `{"version":1,"type":"${type}","messageId":"m","timestamp":${time}`;

describe("the documented payload", () => {
  test.each([
    [
      `{"type":"identify","userId":"u"}`,
      `${start("identify")},"userId":"u","traits":{},"context":{}}`,
    ],
    [
      `{"type":"identify","anonymousId":"a","userId":"","traits":{"b":1,"a":2}}`,
      `${start("identify")},"anonymousId":"a","traits":{"b":1,"a":2},"context":{}}`,
    ],
    [
      `{"properties":{"revenue":19.95,"html":"\\u003ca\\u0026b\\u003e"},"event":"Order Completed","userId":"u","anonymousId":"a","type":"track","extra":1,"name":"no"}`,
      `${start("track")},"userId":"u","anonymousId":"a","event":"Order Completed","properties":{"revenue":19.95,"html":"<a&b>"},"context":{}}`,
    ],
    [
      `{"type":"page","userId":"u","properties":null,"name":null,"category":null}`,
      `${start("page")},"userId":"u","properties":{},"context":{}}`,
    ],
    [
      `{"type":"page","userId":"u","category":"Docs","name":"Home","properties":{"url":"x"}}`,
      `${start("page")},"userId":"u","name":"Home","category":"Docs","properties":{"url":"x"},"context":{}}`,
    ],
    [
      `{"type":"screen","anonymousId":"a","name":"Main","context":{"os":{"name":"iOS"}}}`,
      `${start("screen")},"anonymousId":"a","name":"Main","properties":{},"context":{"os":{"name":"iOS"}}}`,
    ],
    [
      `{"type":"group","userId":"u","groupId":"acme"}`,
      `${start("group")},"userId":"u","groupId":"acme","traits":{},"context":{}}`,
    ],
    [
      `{"type":"alias","userId":"u","previousId":"a"}`,
      `${start("alias")},"Previous ID":"a","User ID":"u","context":{}}`,
    ],
    [
      `{"type":"delete","userId":"u","anonymousId":"a","context":{"x":1},"channel":"server"}`,
      `{"type":"delete","userId":"u","timestamp":${time}}`,
    ],
  ])("of %s", (text, expected) => {
    expect(payloadOf(text)).toBe(expected);
  });

  test("says the time with milliseconds and Z, however it came", () => {
    const parsed = JSON.parse(
      payloadOf(`{"type":"identify","userId":"u","timestamp":"2019-05-01T02:00:00.9999+0200"}`),
    ) as unknown;
    expect(parsed).toMatchObject({ timestamp: "2019-05-01T00:00:00.999Z" });
  });
});

test.each([
  [`{"type":"identify","userId":"","anonymousId":"a"}`, { anonymousId: "a" }],
  [`{"type":"identify","userId":null,"anonymousId":"a"}`, { anonymousId: "a" }],
  [`{"type":"identify","userId":"u","anonymousId":""}`, { userId: "u" }],
  [`{"type":"identify","userId":"u","anonymousId":"a"}`, { userId: "u", anonymousId: "a" }],
])("the event of %s has the identities that count, and no others", (text, ids) => {
  const { userId, anonymousId } = makeEvent(messageOf(text), now);
  expect({ userId, anonymousId }).toEqual(ids);
});

test("the event has a member __proto__ like any other, and none that concerns only the sender", () => {
  const text = `{"type":"track","userId":"u","event":"e","__proto__":{"plan":"gold"},"writeKey":"k","_metadata":{}}`;
  const event = makeEvent(messageOf(text), now);
  expect(JSON.stringify(event)).toContain(`"event":"e","__proto__":{"plan":"gold"},`);
  expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
  expect(Object.keys(event)).not.toEqual(expect.arrayContaining(["writeKey"]));
  expect(Object.keys(event)).not.toEqual(expect.arrayContaining(["_metadata"]));
});

describe("the full payload", () => {
  test("adds what Hookyard knows of the message", () => {
    const text = `{"type":"identify","userId":"u","channel":"server","timestamp":"2026-11-21T03:24:58+0000","integrations":{"All":true}}`;
    expect(
      payloadOf(text, "full", {
        sentAt: readSentAt("2026-11-21T03:24:59+0000"),
        integrations: { A: false },
      }),
    ).toBe(
      `{"version":1,"type":"identify","messageId":"m","timestamp":"2026-11-21T03:24:58.000Z","userId":"u","traits":{},"context":{},` +
        `"receivedAt":"2026-11-21T03:25:00.124Z","sentAt":"2026-11-21T03:24:59.000Z","originalTimestamp":"2026-11-21T03:24:58.000Z",` +
        `"integrations":{"A":false,"All":true},"channel":"server"}`,
    );
  });

  test("says null for the times that the client did not give, and has no channel when there was none", () => {
    const parsed = JSON.parse(payloadOf(`{"type":"identify","userId":"u"}`, "full")) as object;
    expect(parsed).toMatchObject({ sentAt: null, originalTimestamp: null, integrations: {} });
    expect(parsed).not.toHaveProperty("channel");
  });

  test("of a delete is the documented one", () => {
    expect(payloadOf(`{"type":"delete","userId":"u"}`, "full")).toBe(
      `{"type":"delete","userId":"u","timestamp":${time}}`,
    );
  });
});

describe("the bytes", () => {
  const awkward = [
    "1e400",
    "-1e400",
    "-0",
    "1.0",
    "0.1e-6",
    "1e21",
    "12345678901234567890",
    `"\\ud800"`,
    `"\\udc00\\ud800"`,
    `"\\u2028"`,
    `"\\u0000\\u007f"`,
    `"<\\/a>"`,
    `"😀é"`,
    `{"10":1,"9":2,"a":3,"1":4,"-1":5,"4294967296":6}`,
    `{"__proto__":{"x":1},"constructor":null}`,
    `{"toJSON":"x","":{}}`,
    `{"a":1,"a":2}`,
    "[[],{}]",
  ];
  const json: fc.Arbitrary<string> = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, fc.constantFrom(...awkward), fc.json(), tie("object")),
    key: fc.oneof(
      fc.constantFrom("__proto__", "7", "toJSON", "ip", "library", "\\ud83d", "integrations"),
      fc.string().map((key) => JSON.stringify(key).slice(1, -1)),
    ),
    object: fc
      .array(fc.tuple(tie("key"), tie("value")), { maxLength: 6 })
      .map(
        (pairs) => `{${pairs.map(([key, value]) => `"${String(key)}" : ${String(value)}`).join()}}`,
      ),
  })).object;

  test("are a fixed point of JSON.stringify and JSON.parse, whatever came", () => {
    const type = fc.constantFrom("identify", "track", "page", "screen", "group", "alias", "delete");
    const id = fc.constantFrom(`"u"`, `"\\ud800"`, `"__proto__"`, `"é"`);
    const shape = fc.constantFrom<PayloadShape>("documented", "full");
    fc.assert(
      fc.property(
        type,
        id,
        json,
        json,
        json,
        json,
        shape,
        (kind, user, properties, context, integrations, around, form) => {
          const text = `{"type":"${kind}","userId":${user},"previousId":${user},"groupId":${user},"event":${user},"name":${user},
          "properties":${properties},"traits":${properties},"context":${context},"integrations":${integrations},"channel":${properties}}`;
          // The engine's JSON.parse (V8 of Node 24) takes another object's key of one escaped
          // letter for this one, if this one came first.
          fc.pre(![text, around].some((each) => each.includes(String.raw`"\\"`)));
          const defaults = JSON.parse(around) as { [key: string]: Json };
          const bytes = payloadOf(text, form, {
            context: defaults,
            integrations: defaults,
            ip: "::1",
            library: { name: "x" },
          });
          expect(JSON.stringify(JSON.parse(bytes))).toBe(bytes);
          // And so when they went through UTF-8, as they do on the wire.
          expect(JSON.stringify(JSON.parse(Buffer.from(bytes).toString()))).toBe(bytes);
        },
      ),
      { numRuns: 500 },
    );
  });

  test.each(awkward)("hold %s as JSON.parse read it", (value) => {
    const bytes = payloadOf(
      `{"type":"track","userId":"u","event":"e","properties":{"x":${value}}}`,
    );
    expect(bytes).toContain(`"properties":{"x":${JSON.stringify(JSON.parse(value))}}`);
    expect(JSON.stringify(JSON.parse(bytes))).toBe(bytes);
  });
});
