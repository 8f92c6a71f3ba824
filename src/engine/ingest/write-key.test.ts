import fc from "fast-check";
import { expect, test } from "vitest";
import { keyInBody, keyInHeader } from "./write-key.ts";

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
])("Authorization %j names %j", (header, key) => {
  expect(keyInHeader(header)).toBe(key);
});

test("any key without a colon comes through", () => {
  fc.assert(
    fc.property(fc.string({ minLength: 1, unit: "grapheme" }), fc.string(), (key, password) => {
      fc.pre(!key.includes(":"));
      expect(keyInHeader(basic(`${key}:${password}`))).toBe(key);
    }),
  );
});

test("in the body it is a string that is not empty", () => {
  expect(keyInBody({ writeKey: "k" })).toBe("k");
  for (const writeKey of ["", 5, null, {}, ["k"]]) expect(keyInBody({ writeKey })).toBeNull();
  expect(keyInBody({})).toBeNull();
});
