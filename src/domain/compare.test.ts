import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compares, comparesAll, compareText, spellingOf } from "./compare.ts";
import type { Json } from "./json.ts";
import type { Operand, Operator } from "./rules.ts";
import { utf8Bytes } from "./utf8.ts";

const none = undefined;

describe("an operator", () => {
  test.each<[Json | undefined, Operator, Operand | undefined, boolean]>([
    ["pro", "is", "pro", true],
    ["Pro", "is", "pro", false],
    ["", "is", "", true],
    ["1", "is", 1, false],
    [1, "is", true, false],
    [true, "is", true, true],
    [0, "is", -0, true],
    [2 ** 53, "is", 2 ** 53 + 2, false],
    [null, "is", "null", false],
    [none, "is", "", false],
    [["pro"], "is", "pro", false],
    [{}, "is", "[object Object]", false],
    ["é", "is", "e\u0301", false],
    ["a\u0000b", "is", "a", false],
    ["\ud800", "is", "\ufffd", false],

    ["pro", "isNot", "free", true],
    ["pro", "isNot", "pro", false],
    [none, "isNot", "pro", true],
    [null, "isNot", "pro", true],
    [1, "isNot", "1", true],
    [["pro"], "isNot", "pro", true],

    ["", "exists", none, true],
    [0, "exists", none, true],
    [false, "exists", true, true],
    [[], "exists", true, true],
    [null, "exists", none, false],
    [none, "exists", true, false],
    [null, "exists", false, true],
    [none, "exists", false, true],
    ["", "exists", false, false],

    ["a@example.com", "contains", "@example.", true],
    ["a@Example.com", "contains", "@example.", false],
    ["", "contains", "", true],
    ["a", "contains", "", true],
    ["12", "contains", 1, false],
    [12, "contains", "1", false],
    [["a", 1], "contains", "a", true],
    [["a", 1], "contains", 1, true],
    [["a", 1], "contains", "1", false],
    [["ab"], "contains", "a", false],
    [[["a"]], "contains", "a", false],
    [[true], "contains", true, true],
    [[-0], "contains", 0, true],
    [{ a: 1 }, "contains", "a", false],
    [none, "contains", "", false],
    ["😀", "contains", "\ud83d", false],
    ["😀", "contains", "\ude00", false],
    ["😀\ud83d", "contains", "\ud83d", true],
    ["\ude00", "contains", "\ude00", true],
    ["x😀y", "contains", "😀", true],

    [2, "greater", 1, true],
    [1, "greater", 1, false],
    [10, "greater", 9, true],
    [-1, "less", 0, true],
    [-0, "less", 0, false],
    [0, "greater", -0, false],
    [2 ** 53 + 2, "greater", 2 ** 53, true],
    ["10", "greater", "9", false],
    ["b", "greater", "a", true],
    ["a", "greater", "B", true],
    ["ab", "greater", "a", true],
    ["", "less", "a", true],
    ["2026-11-21T00:00:00.000Z", "greater", "2026-11-20", true],
    ["\u{10000}", "greater", "\uffff", true],
    ["a\u0000", "greater", "a", true],
    ["2", "greater", 1, false],
    [2, "greater", "1", false],
    [true, "greater", false, false],
    [null, "less", 1, false],
    [none, "less", 1, false],
    [[2], "greater", 1, false],
  ])("%j %s %j: %s", (value, op, operand, holds) => {
    expect(compares(operand === undefined ? { op } : { op, value: operand }, value)).toBe(holds);
  });
});

test("names that every object inherits are names like any other", () => {
  const inherited = JSON.parse('{"__proto__":1}') as Record<string, Json>;
  expect(comparesAll([{ property: "__proto__", op: "is", value: 1 }], inherited)).toBe(true);
  for (const property of ["__proto__", "constructor", "toString"]) expect(comparesAll([{ property, op: "exists" }], {})).toBe(false);
});

const wide = fc.string({ unit: fc.constantFrom("a", "b", "\u0000", "é", "\ud7ff", "\ue000", "\uffff", "\u{10000}", "😀", "\u{10ffff}") });

test("texts sort as their UTF-8 bytes", () => {
  fc.assert(
    fc.property(wide, wide, (a, b) => {
      expect(Math.sign(compareText(a, b))).toBe(Math.sign(Buffer.compare(utf8Bytes(a), utf8Bytes(b))));
    }),
  );
});

test("texts sort by code point, halves of pairs among them", () => {
  const torn = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00", "\ud800", "\uffff") });
  const points = (text: string): number[] => Array.from(text, (point) => point.codePointAt(0) ?? 0);
  fc.assert(
    fc.property(torn, torn, (a, b) => {
      const [left, right] = [points(a), points(b)];
      const at = left.findIndex((point, place) => point !== right[place]);
      const expected = at < 0 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
      expect(Math.sign(compareText(a, b))).toBe(Math.sign(expected));
    }),
    { numRuns: 1000 },
  );
});

test("text is found exactly where its code points are", () => {
  const torn = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00"), maxLength: 6 });
  const part = fc.string({ unit: fc.constantFrom("a", "\ud83d", "\ude00"), maxLength: 2 });
  const spelled = (text: string): string => `,${Array.from(text, (point) => `${point.codePointAt(0)},`).join("")}`;
  fc.assert(
    fc.property(torn, part, (text, part) => {
      expect(compares({ op: "contains", value: part }, text)).toBe(spelled(text).includes(spelled(part)));
    }),
    { numRuns: 1000 },
  );
});

test("two values are spelled alike when only the order of their members differs", () => {
  expect(spellingOf({ a: 1, b: [{ c: 1, d: 2 }] })).toBe(spellingOf({ b: [{ d: 2, c: 1 }], a: 1 }));
  expect(spellingOf([1, 2])).not.toBe(spellingOf([2, 1]));
  expect(spellingOf("1")).not.toBe(spellingOf(1));
  expect(spellingOf(JSON.parse('{"__proto__":1}') as Json)).not.toBe(spellingOf({}));
});
