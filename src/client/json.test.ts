import fc from "fast-check";
import { expect, test } from "vitest";
import { parseAsWritten } from "../domain/written-json.ts";
import { deepest, encodeJson, TooDeepError } from "./json.ts";
import { anyCharacter } from "../../test/support/any-character.ts";

const cases: [unknown, string | undefined][] = [
  [{ b: 1, a: 2, B: 3, "1": 4 }, '{"1":4,"B":3,"a":2,"b":1}'],
  ["<a&b>", String.raw`"\u003ca\u0026b\u003e"`],
  ["\u2028 \u2029", String.raw`"\u2028 \u2029"`],
  ['"\\\n\t\u0001\u007f', `"${String.raw`\"\\\n\t\u0001`}\u007f"`],
  ["é 🙂", '"é 🙂"'],
  ["cut \ud83d", '"cut \ufffd"'],
  [{ "<k>": 1 }, String.raw`{"\u003ck\u003e":1}`],
  [{ "🙂": 1, "\uff5e": 2 }, '{"\uff5e":2,"🙂":1}'],
  [[undefined, () => 1, Number.NaN, null], "[null,null,null,null]"],
  [Object.assign([], { 1: 1 }), "[null,1]"],
  [{ gone: undefined, none: null }, '{"none":null}'],
  [12_345_678_901_234_567_890n, "12345678901234567890"],
  [parseAsWritten("[1.10]"), "[1.10]"],
  [[1e21, 1e-7, 0.000001, 1.5, -3], "[1e+21,1e-7,0.000001,1.5,-3]"],
  [new Date(0), '"1970-01-01T00:00:00.000Z"'],
  [undefined, undefined],
];

test.each(cases.map(([value, json]) => ({ value, json })))("$json", ({ value, json }) => {
  expect(encodeJson(value)).toBe(json);
});

test("any JSON is read back as what it was", () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
      const json = encodeJson(value) ?? "";
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(value)));
      expect(json).not.toMatch(/[<>&\u2028\u2029]/);
    }),
  );
});

test("nesting has a limit, and so has an object that refers to itself", () => {
  const nested = (levels: number): unknown => (levels === 0 ? 1 : { in: nested(levels - 1) });
  expect(encodeJson(nested(deepest + 1))).toContain("1");
  expect(() => encodeJson(nested(deepest + 2))).toThrow(TooDeepError);
  const circular: Record<string, unknown> = {};
  circular["self"] = [circular];
  expect(() => encodeJson(circular)).toThrow(TooDeepError);
});
