import { expect, test } from "vitest";
import { keyOf } from "./computed-kind.ts";

const audience = { id: "aud_1", name: "Big spenders", key: "big_spenders" };

test("a key that is taken, or that a name cannot have, is said while the name is typed", () => {
  expect(keyOf("Big Spenders!", "aud_2", [audience]).problem).toBe(
    "The key big_spenders is that of Big spenders already. Choose another name.",
  );
  expect(keyOf("Big spenders", "aud_1", [audience])).toEqual({ key: "big_spenders", problem: null });
  expect(keyOf("!!!", null, []).problem).toContain("needs a letter or a digit");
  expect(keyOf(" ", null, []).problem).toBe("It needs a name.");
});
