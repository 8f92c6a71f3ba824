import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { digest, hex, hmac, hmacKey } from "./hash.ts";
import { sha1 } from "./sha1.ts";
import { sha256Hash } from "./sha256.ts";
import { coverable, sign, signatureKey } from "./signature.ts";
import { utf8Bytes } from "./utf8.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

const bytes = fc.uint8Array({ maxLength: 300 });

describe("the hashes are those of node:crypto", () => {
  test("at every length around the ends of blocks", () => {
    for (let length = 0; length <= 200; length++) {
      const input = Uint8Array.from({ length }, (_, index) => index * 7);
      expect(hex(sha1(input))).toBe(createHash("sha1").update(input).digest("hex"));
      expect(hex(digest(sha256Hash, input))).toBe(createHash("sha256").update(input).digest("hex"));
    }
  });

  test("for any bytes", () => {
    fc.assert(
      fc.property(bytes, (input) => {
        expect(hex(sha1(input))).toBe(createHash("sha1").update(input).digest("hex"));
        expect(hex(digest(sha256Hash, input))).toBe(
          createHash("sha256").update(input).digest("hex"),
        );
      }),
    );
  });

  test("for a megabyte", () => {
    const input = new Uint8Array(1_000_003).fill(0xa5);
    expect(hex(sha1(input))).toBe(createHash("sha1").update(input).digest("hex"));
  });
});

describe("a signature", () => {
  test("is lower-case hex HMAC-SHA1 keyed with the secret in UTF-8", () => {
    const key = signatureKey("key");
    expect(sign(key, utf8Bytes("The quick brown fox jumps over the lazy dog"))).toBe(
      "de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9",
    );
  });

  test("is what node:crypto computes for any secret and body, as often as the key is used", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter, maxLength: 100 }),
        fc.array(bytes, { minLength: 1, maxLength: 3 }),
        (secret, bodies) => {
          const key = signatureKey(secret);
          for (const body of bodies)
            expect(sign(key, body)).toBe(createHmac("sha1", secret).update(body).digest("hex"));
        },
      ),
    );
  });

  test("is so for secrets around the length of a block, beyond which they are hashed", () => {
    for (const secret of ["", "s".repeat(63), "s".repeat(64), "s".repeat(65), "ü".repeat(32)]) {
      expect(sign(signatureKey(secret), utf8Bytes("body"))).toBe(
        createHmac("sha1", secret).update("body").digest("hex"),
      );
    }
  });

  test("with SHA-256 is what node:crypto computes", () => {
    fc.assert(
      fc.property(bytes, bytes, (secret, body) => {
        expect(hex(hmac(hmacKey(sha256Hash, secret), body))).toBe(
          createHmac("sha256", secret).update(body).digest("hex"),
        );
      }),
    );
  });
});

describe("a signature may cover the first element of an array", () => {
  test.each([
    ['{"a":[1,2]}', null],
    ['[{"a":"],\\\\\\"}","b":[1,{"c":2}]},{"d":3}]', '{"a":"],\\\\\\"}","b":[1,{"c":2}]}'],
    ["[1]", "1"],
    ['["a,b" ,2]', '"a,b" '],
    ["[[1,2],3]", "[1,2]"],
    ["[{", null],
    ["", null],
  ])("%s", (body, first) => {
    const parts = coverable(utf8Bytes(body)).map((part) => Buffer.from(part).toString());
    expect(parts).toEqual(first === null ? [body] : [body, first]);
  });
});
