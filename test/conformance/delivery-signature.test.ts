/**
 * X-Signature as a receiver verifies it: over the bytes it got, and over what it gets when it
 * parses and re-stringifies them.
 */

import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test as base } from "vitest";
import { starting } from "../support/running-app.ts";
import type { ReceivedRequest } from "../support/webhook-receiver.ts";
import { anyCharacter } from "../support/any-character.ts";

const test = base.extend("start", starting);

const secret = "sécret \u{1F511}";

const digest = (bytes: string): string =>
  createHmac("sha1", Buffer.from(secret, "utf8")).update(bytes, "utf8").digest("hex");
const signatureOf = ({ headers }: ReceivedRequest): string | undefined =>
  headers.find(([name]) => name === "X-Signature")?.[1];

/** JSON texts of properties, as a client may spell them, and what comes out of them. */
const awkward: [name: string, properties: string, delivered: string][] = [
  [
    "umlauts and emoji",
    '{"größe":"Übergröße 👗 \u202e\\u0000x"}',
    '{"größe":"Übergröße 👗 \u202e\\u0000x"}',
  ],
  [
    "escaped characters that need no escape",
    '{"a":"\\u00fc\\u003c\\/\\u003e\\u0026\\u2028"}',
    '{"a":"ü</>&\u2028"}',
  ],
  ["escaped pairs of surrogates", '{"a":"\\ud83d\\udc57"}', '{"a":"👗"}'],
  [
    "lone surrogates",
    '{"a":"\\ud83d","b":"\\udc57\\ud83d","\\udfff":1}',
    '{"a":"\\ud83d","b":"\\udc57\\ud83d","\\udfff":1}',
  ],
  [
    "1.0 and its like",
    '{"a":1.0,"b":1.50,"c":-0,"d":-0.0,"e":100.000}',
    '{"a":1,"b":1.5,"c":0,"d":0,"e":100}',
  ],
  [
    "exponents",
    '{"a":1e3,"b":1E+3,"c":1e21,"d":1e-7,"e":123456789e-12,"f":1e400}',
    '{"a":1000,"b":1000,"c":1e+21,"d":1e-7,"e":0.000123456789,"f":null}',
  ],
  [
    "big integers",
    '{"a":9007199254740993,"b":12345678901234567890123,"c":0.1234567890123456789}',
    '{"a":9007199254740992,"b":1.2345678901234568e+22,"c":0.12345678901234568}',
  ],
  [
    "keys like integers, out of order",
    '{"b":1,"10":2,"2":3,"a":4,"01":5}',
    '{"2":3,"10":2,"b":1,"a":4,"01":5}',
  ],
  [
    "__proto__ and its like",
    '{"__proto__":{"a":1},"constructor":2,"toString":null,"hasOwnProperty":3}',
    '{"__proto__":{"a":1},"constructor":2,"toString":null,"hasOwnProperty":3}',
  ],
  ["duplicate keys", '{"a":1,"b":2,"a":3,"b":{"c":1,"c":2}}', '{"a":3,"b":{"c":2}}'],
  ["white space", '{\r\n\t"a" : [ 1 , 2 ]\n}', '{"a":[1,2]}'],
  [
    "empty names and values",
    '{"":"","a":{},"b":[],"c":null,"d":false}',
    '{"":"","a":{},"b":[],"c":null,"d":false}',
  ],
];

test("awkward bodies verify on their bytes and on what is parsed and re-stringified", async ({
  start,
}) => {
  const app = await start.app();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { sharedSecret: secret });
  for (const [, properties] of awkward) {
    const body = `{"userId":"u1","event":"Awkward","properties":${properties},"context":${properties}}`;
    await app.ingest("/v1/track", body);
    await app.settle();
  }
  expect(receiver.requests).toHaveLength(awkward.length);
  for (const [index, [name, , delivered]] of awkward.entries()) {
    const request = receiver.requests[index] as ReceivedRequest;
    expect(request.body, name).toContain(`"properties":${delivered},`);
    expect(request.body, name).toContain(`"context":${delivered.slice(0, -1)}`);
    expect(signatureOf(request), name).toBe(digest(request.body));
    expect(JSON.stringify(JSON.parse(request.body)), name).toBe(request.body);
  }
});

test("the raw message keeps the spellings that the payload does not", async ({ start }) => {
  const app = await start.app();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { sharedSecret: secret });
  const sent =
    '{"userId":"u1","event":"Awkward","properties":{"a":1.0,"b":9007199254740993,"b":2, "__proto__":1}}';
  await app.ingest("/v1/track", sent);
  const { items } = await app.call("messages.list", {});
  expect((await app.message(items[0]?.id ?? "")).raw).toBe(sent);
});

test("awkward members at every place of every type verify", async ({ start }) => {
  const app = await start.app();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { sharedSecret: secret, payload: "full" });
  await app.destination([receiver.url], { sharedSecret: secret });
  const odd = '"\\ud800ü\\u2028","9":1.0,"1":1e2,"__proto__":{"x":1}';
  const batch = [
    `{"type":"page","userId":"\\udfffü","name":"\\ud83d","properties":{"a":${odd}}}`,
    `{"type":"screen","anonymousId":"ü\\u0000","name":"\\n","properties":{"a":${odd}},"integrations":{"b":{"a":${odd}}}}`,
    `{"type":"identify","userId":"10","traits":{"a":${odd}},"context":{"traits":{"a":${odd}},"__proto__":{"y":1}}}`,
    `{"type":"group","userId":"u1","groupId":"\\ud800","traits":{"a":${odd}}}`,
    `{"type":"alias","userId":"\\ud800","previousId":"\\"\\\\","channel":"\\udc00"}`,
    `{"type":"delete","userId":"\\ud800\\t"}`,
  ];
  await app.ingest(
    "/v1/batch",
    `{"batch":[${batch.join(",")}],"context":{"5":1.0,"__proto__":{"z":2}}}`,
  );
  await app.settle();
  expect(receiver.requests).toHaveLength(batch.length * 2);
  for (const request of receiver.requests) {
    expect(signatureOf(request)).toBe(digest(request.body));
    expect(JSON.stringify(JSON.parse(request.body))).toBe(request.body);
  }
  const identify = receiver.requests
    .map(({ body }) => body)
    .find((body) => body.includes('"type":"identify"'));
  // The message's own member wins over the batch's, also when its name is `__proto__`.
  expect(identify).toContain('"context":{"5":1,');
  expect(identify).toContain('"__proto__":{"y":1}');
  expect(identify).not.toContain('"z"');
});

test("any properties verify", async ({ start }) => {
  const app = await start.app();
  const receiver = await start.receiver(200);
  await app.destination([receiver.url], { sharedSecret: secret });
  const batch = fc.sample(
    fc.dictionary(fc.string({ unit: anyCharacter }), fc.jsonValue({ stringUnit: anyCharacter })),
    {
      numRuns: 300,
      seed: 20_261_121,
    },
  );
  await app.ingest("/v1/batch", {
    batch: batch.map((properties) => ({ type: "track", userId: "u1", event: "Any", properties })),
  });
  await app.settle();
  expect(receiver.requests).toHaveLength(batch.length);
  for (const request of receiver.requests) {
    expect(signatureOf(request)).toBe(digest(request.body));
    expect(JSON.stringify(JSON.parse(request.body))).toBe(request.body);
  }
});
