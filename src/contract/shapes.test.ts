import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sourceIds, type SourceId } from "../domain/ids.ts";
import { bytes, idOf, time } from "./shapes.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

describe("recorded bytes", () => {
  test("come back exactly, whatever they are", () => {
    const anything = fc.oneof(
      fc.uint8Array(),
      fc.string({ unit: anyCharacter }).map((text) => new TextEncoder().encode(text)),
    );
    fc.assert(
      fc.property(anything, (original) => {
        expect(z.decode(bytes, z.encode(bytes, original))).toEqual(Uint8Array.from(original));
      }),
    );
  });

  test("are a string when they are UTF-8, a byte order mark included, and base64 when they are not", () => {
    expect(z.encode(bytes, new Uint8Array([0xef, 0xbb, 0xbf, 0x61]))).toBe("\uFEFFa");
    expect(z.encode(bytes, new Uint8Array([0xed, 0xa0, 0x80]))).toEqual({ base64: "7aCA" });
  });
});

test("a time beyond the calendar does not break the answer", () => {
  expect(() => z.encode(time, Number.MAX_SAFE_INTEGER)).not.toThrow();
  expect(z.encode(time, 1_000)).toBe("1970-01-01T00:00:01.000Z");
});

test("an id is text for callers and a number for handlers, and other text is refused by name", () => {
  const id = idOf(sourceIds);
  expect(z.encode(id, 7 as SourceId)).toBe("src_000000007");
  expect(z.decode(id, "src_000000007")).toBe(7);
  expect(id.safeDecode("shop").error?.issues[0]?.message).toBe("shop is not the id of a source.");
});
