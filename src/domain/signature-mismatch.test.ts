import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { differingAspects } from "./json-spellings.ts";
import { explainMismatch, explaining, firstDifference } from "./signature-mismatch.ts";

const secret = "aGVsbG8gd29ybGQh";
const value = {
  version: 1,
  type: "track",
  userId: "ü-0",
  event: "<Order & more>",
  properties: { z: 0.00001, b: [1, 2, { url: "https://e.example/" }], a: "text" },
};
const bodyText = JSON.stringify(value);
const body = Buffer.from(bodyText);
const hmac = (bytes: string | Buffer, key: string | Buffer = secret, algorithm = "sha1"): Buffer =>
  createHmac(algorithm, key).update(bytes).digest();
const expected = hmac(body).toString("hex");

/**
 * The same JSON as the receivers' languages write it, made by means other than those under test.
 */
const sorted = bodyText.replace(/^.*$/, () =>
  JSON.stringify({
    event: value.event,
    properties: { a: "text", b: value.properties.b, z: value.properties.z },
    type: "track",
    userId: "ü-0",
    version: 1,
  }),
);
const pythonSpaces = `{"version": 1, "type": "track", "userId": "ü-0", "event": "<Order & more>", "properties": {"z": 0.00001, "b": [1, 2, {"url": "https://e.example/"}], "a": "text"}}`;

const reserialised: [string, string, string][] = [
  ["key_order", "members in another order", sorted],
  ["spaces", "spaces", pythonSpaces],
  ["spaces", "spaces", JSON.stringify(value, null, 2)],
  ["spaces", "spaces", JSON.stringify(value, null, "\t")],
  ["escaped_non_ascii", "outside ASCII", bodyText.replace("ü", "\\u00fc")],
  [
    "escaped_html",
    "Go's encoding/json",
    bodyText.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
  ],
  ["escaped_slash", "PHP", bodyText.replaceAll("/", "\\/")],
  [
    "number_spelling",
    "formats numbers",
    bodyText.replace(":1,", ":1.0,").replace("[1,2", "[1.0,2.0"),
  ],
  ["number_spelling", "formats numbers", bodyText.replace("0.00001", "1e-05")],
  ["trailing_newline", "line break", `${bodyText}\n`],
  ["trailing_newline", "line break", `${bodyText}\r\n`],
  ["spaces", "spaces", pythonSpaces.replace("ü", "\\u00fc").replace("0.00001", "1e-05")],
  [
    "key_order",
    "line break",
    `${sorted.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")}\n`,
  ],
];

describe("a body that was serialised again is recognised", () => {
  test.each(reserialised)("%s (%s), from the body itself", (cause, part, text) => {
    expect(JSON.parse(text)).toEqual(value);
    const explanation = explainMismatch({
      body,
      secret,
      expected,
      receiverBody: Buffer.from(text),
    });
    expect(explanation).toMatchObject({ cause, sentence: expect.stringContaining(part) });
    expect(explanation.firstDifference).toEqual(differenceOf(Buffer.from(text)));
  });

  test.each(reserialised)("%s (%s), from the digest alone", (cause, part, text) => {
    const explanation = explainMismatch({
      body,
      secret,
      expected,
      receiverDigest: hmac(text).toString("hex"),
    });
    expect(explanation).toMatchObject({ cause, sentence: expect.stringContaining(part) });
    expect(explanation.firstDifference).toEqual(differenceOf(Buffer.from(text)));
  });

  test("with all that differs in one sentence", () => {
    const receiverBody = Buffer.from(
      `${pythonSpaces.replace("ü", "\\u00fc").replace("0.00001", "1e-05")}\n`,
    );
    const { sentence } = explainMismatch({ body, secret, expected, receiverBody });
    for (const part of ["spaces", "outside ASCII", "numbers", "line break"])
      expect(sentence).toContain(part);
    expect(sentence).not.toContain("another order");
    expect(sentence).not.toContain("Go's encoding/json");
    expect(sentence).not.toContain("PHP's");
  });
});

function differenceOf(theirs: Buffer): unknown {
  const offset = Array.from({ length: theirs.length }, (_, index) => index).find(
    (index) => body[index] !== theirs[index],
  );
  if (offset === undefined) return null;
  return { offset, ours: body[offset] ?? null, theirs: theirs[offset] ?? null };
}

describe("a body that is not the one sent is recognised", () => {
  test.each<[string, Buffer]>([
    ["empty_body", Buffer.alloc(0)],
    ["cut_short", body.subarray(0, 40)],
    ["encoding", Buffer.from(bodyText, "latin1")],
    ["encoding", Buffer.from(body.toString("latin1"))],
    ["byte_order_mark", Buffer.from(`\uFEFF${bodyText}`)],
    ["double_encoded", Buffer.from(JSON.stringify(bodyText))],
    ["not_json", Buffer.from("[object Object]")],
    ["content", Buffer.from(JSON.stringify({ ...value, extra: 1 }))],
    ["content", Buffer.from(bodyText.replace("[1,2", "[2,1"))],
    ["escapes", Buffer.from(bodyText.replace("text", "t\\u0065xt"))],
  ])("%s", (cause, receiverBody) => {
    const explanation = explainMismatch({ body, secret, expected, receiverBody });
    expect(explanation.cause).toBe(cause);
    expect(explanation.firstDifference).not.toBeNull();
  });
});

describe("a digest that was made in another way is recognised", () => {
  test.each<[string, string, string]>([
    ["sha256", "HMAC-SHA256", hmac(body, secret, "sha256").toString("hex")],
    ["sha256", "Base64", hmac(body, secret, "sha256").toString("base64")],
    ["base64", "Base64", hmac(body).toString("base64")],
    ["base64", "Base64", hmac(body).toString("base64url")],
    ["upper_case", "upper case", expected.toUpperCase()],
    ["prefix", "starts with the name", `sha1=${expected}`],
    ["not_hmac", "plain SHA-1", createHash("sha1").update(body).digest("hex")],
    ["not_hmac", "plain SHA-1", createHash("sha1").update(secret).update(body).digest("hex")],
    ["wrong_secret", "line break", hmac(body, `${secret}\n`).toString("hex")],
    ["wrong_secret", "quotation marks", hmac(body, `"${secret}"`).toString("hex")],
    [
      "wrong_secret",
      "decodes the secret from Base64",
      hmac(body, Buffer.from(secret, "base64")).toString("hex"),
    ],
    ["wrong_secret", "empty", hmac(body, "").toString("hex")],
    ["wrong_secret", "most likely", hmac(body, "another").toString("hex")],
    ["sha256", "another secret", hmac(body, "another", "sha256").toString("hex")],
    ["not_a_digest", "neither", "verified"],
    ["spaces", "Base64", hmac(pythonSpaces).toString("base64")],
  ])("%s: %s", (cause, part, receiverDigest) => {
    expect(explainMismatch({ body, secret, expected, receiverDigest })).toMatchObject({
      cause,
      sentence: expect.stringMatching(new RegExp(part, "i")),
    });
  });

  test("and with the same body on both sides another secret is certain", () => {
    const explanation = explainMismatch({
      body,
      secret,
      expected,
      receiverBody: body,
      receiverDigest: hmac(body, "another").toString("hex"),
    });
    expect(explanation).toMatchObject({
      cause: "wrong_secret",
      sentence: expect.stringContaining("so the receiver uses another secret"),
      firstDifference: null,
    });
  });

  test("and beside a body that differs", () => {
    const both = { body, secret, expected, receiverBody: Buffer.from(`${bodyText}\n`) };
    const right = explainMismatch({
      ...both,
      receiverDigest: hmac(`${bodyText}\n`).toString("hex"),
    });
    expect(right).toMatchObject({
      cause: "trailing_newline",
      sentence: expect.not.stringContaining("Besides"),
    });
    const wrong = explainMismatch({
      ...both,
      receiverDigest: hmac(`${bodyText}\n`, secret, "sha256").toString("hex"),
    });
    expect(wrong).toMatchObject({
      cause: "trailing_newline",
      sentence: expect.stringMatching(/Besides: .*SHA256/),
    });
  });
});

test("a secret that has changed since is named first", () => {
  expect(
    explainMismatch({ body, secret: "new", expected, receiverDigest: expected }),
  ).toMatchObject({
    cause: "wrong_secret",
    sentence: expect.stringContaining("has changed"),
  });
});

test("no difference is no cause", () => {
  expect(explainMismatch({ body, secret, expected })).toMatchObject({ cause: "none" });
  expect(
    explainMismatch({
      body,
      secret,
      expected,
      receiverDigest: ` ${expected}\n`,
      receiverBody: body,
    }),
  ).toMatchObject({
    cause: "none",
    firstDifference: null,
  });
});

test("any body and any digest get a sentence", () => {
  fc.assert(
    fc.property(
      fc.json(),
      fc.oneof(
        fc.json().map((text) => Buffer.from(text)),
        fc.uint8Array(),
      ),
      fc.string(),
      (ours, receiverBody, receiverDigest) => {
        const sent = Buffer.from(ours);
        const question = {
          body: sent,
          secret,
          expected: hmac(sent).toString("hex"),
          receiverBody,
          receiverDigest,
        };
        expect(explainMismatch(question).sentence).toMatch(/\.$/);
        const same = Buffer.compare(sent, receiverBody) === 0;
        expect(
          explainMismatch({ ...question, receiverDigest: undefined }).firstDifference === null,
        ).toBe(same);
      },
    ),
  );
});

test("the first difference is where one of the two is over, too", () => {
  const bytes = (text: string): Uint8Array => Buffer.from(text);
  expect(firstDifference(bytes("abc"), bytes("abc"))).toBeNull();
  expect(firstDifference(bytes("abc"), bytes("axc"))).toEqual({
    offset: 1,
    ours: 0x62,
    theirs: 0x78,
  });
  expect(firstDifference(bytes("abc"), bytes("ab"))).toStrictEqual({
    offset: 2,
    ours: 0x63,
    theirs: null,
  });
  expect(firstDifference(bytes(""), bytes("a"))).toStrictEqual({
    offset: 0,
    ours: null,
    theirs: 0x61,
  });
});

test("an escape that both spellings have is no difference", () => {
  const ours = '{"a":"\\u003c\\/\\u00fc","b":1}';
  expect(differingAspects(ours, '{"a": "\\u003c\\/\\u00fc", "b": 1}')).toEqual(["spaces"]);
  expect(differingAspects(ours, ours)).toEqual([]);
  expect(differingAspects(ours, '{"a":"\\u003c\\/\\u00fc","b":2}')).toBeNull();
});

test("a signature and a digest are read with the white space and the case in which they were copied", () => {
  const question = {
    body,
    secret,
    expected: ` ${expected.toUpperCase()}\n`,
    receiverDigest: ` ${expected}\n`,
  };
  expect(explainMismatch(question)).toMatchObject({ cause: "none" });
});

test("no step of an explanation writes much more than the body, however deep that is nested", () => {
  let deep: unknown = Array.from({ length: 1000 }, () => 1.5);
  for (let level = 0; level < 400; level += 1) deep = [deep];
  const nested = Buffer.from(JSON.stringify({ deep }));
  const steps = explaining({
    ...{ body: nested, secret, expected: hmac(nested).toString("hex") },
    receiverDigest: "a".repeat(40),
  });
  let step = steps.next();
  let count = 0;
  for (; step.done !== true; step = steps.next()) {
    count += 1;
    expect(step.value).toBeLessThan(2 * nested.length);
  }
  expect(count).toBe(6);
  expect(step.value).toMatchObject({ cause: "wrong_secret" });
});
