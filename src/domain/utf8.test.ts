import fc from "fast-check";
import { expect, test } from "vitest";
import { utf8Bytes, utf8Text } from "./utf8.ts";

const anyText = fc.string({
  unit: fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom("a", "ü", "€", "😀"),
  ),
});

test("texts become the bytes that Node makes of them, halves of surrogate pairs included", () => {
  fc.assert(
    fc.property(anyText, (text) => {
      expect(Buffer.from(utf8Bytes(text))).toEqual(Buffer.from(text));
    }),
  );
  expect([...utf8Bytes("\ud800")]).toEqual([0xef, 0xbf, 0xbd]);
});

test("bytes become their text, or null when they are not UTF-8", () => {
  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array(),
        anyText.map((text) => new TextEncoder().encode(text)),
      ),
      (bytes) => {
        let expected: string | null;
        try {
          expected = strict.decode(bytes);
        } catch {
          expected = null;
        }
        expect(utf8Text(bytes)).toBe(expected);
      },
    ),
  );
  expect(utf8Text(Uint8Array.of(0xff))).toBeNull();
});
