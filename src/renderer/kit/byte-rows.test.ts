import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { asciiOf, bytesOf, hexOf, sizeOf, textRows } from "./byte-rows.ts";

const rowsOf = (text: string, width: number) =>
  textRows(text, width).map(({ offset, start, end }) => [offset, text.slice(start, end)]);

describe("rows of text", () => {
  test("begin at every 64th byte", () => {
    expect(textRows("x".repeat(130), 64).map(({ offset }) => offset)).toEqual([0, 64, 128]);
  });

  test("end after a line break, and count on from there", () => {
    expect(rowsOf("ab\r\ncdefg\n\nh", 4)).toEqual([
      [0, "ab\r\n"],
      [4, "cdef"],
      [8, "g\n"],
      [10, "\n"],
      [11, "h"],
    ]);
  });

  test("keep a character whole that lies across their border, without moving the next border", () => {
    expect(rowsOf("abcé5678z", 4)).toEqual([
      [0, "abcé"],
      [5, "567"],
      [8, "8z"],
    ]);
  });

  test("hold every character once, at the byte where it is", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 1, max: 70 }),
        (text, width) => {
          const rows = textRows(text, width);
          expect(rows.map(({ start, end }) => text.slice(start, end)).join("")).toBe(text);
          for (const { offset, start, end } of rows) {
            expect(bytesOf(text.slice(0, start)).length).toBe(offset);
            expect(bytesOf(text.slice(start, end)).length).toBeLessThanOrEqual(width + 3);
          }
        },
      ),
    );
  });
});

describe("recorded bytes", () => {
  test("have the size that they have on the wire", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        expect(sizeOf(text)).toBe(bytesOf(text).length);
      }),
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        const recorded = { base64: btoa(String.fromCharCode(...bytes)) };
        expect(sizeOf(recorded)).toBe(bytes.length);
        expect([...bytesOf(recorded)]).toEqual([...bytes]);
      }),
    );
  });

  test("can be read as hex and as ASCII", () => {
    const bytes = Uint8Array.of(0x00, 0x41, 0x7f, 0xc3, 0xa9);
    expect(hexOf(bytes)).toEqual(["00", "41", "7f", "c3", "a9"]);
    expect(asciiOf(bytes)).toBe(".A...");
  });
});
