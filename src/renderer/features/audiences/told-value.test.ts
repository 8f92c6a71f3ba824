import { expect, test } from "vitest";
import { toldValue } from "./told-value.ts";

test("the value that a receiver was told stands in the recorded identify", () => {
  expect(toldValue('{"traits":{"big_spenders":false}}', "big_spenders")).toBe("false");
  expect(toldValue('{"traits":{"big_spenders":null}}', "big_spenders")).toBe("null");
  expect(toldValue('{"traits":{}}', "constructor")).toBeNull();
  expect(toldValue("no JSON", "big_spenders")).toBeNull();
  expect(toldValue({ base64: "AA==" }, "big_spenders")).toBeNull();
});
