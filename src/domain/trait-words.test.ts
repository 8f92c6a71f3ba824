import { expect, test } from "vitest";
import type { JsonObject } from "./json.ts";
import { traitWords } from "./trait-words.ts";

test.each<[JsonObject, string | null]>([
  [{}, null],
  [{ email: "a@example.test", plan: "pro", city: "Łódź" }, "email, plan, city"],
  [{ big_spenders: true }, "big_spenders: true"],
  [{ big_spenders: false }, "big_spenders: false"],
  [{ plan: "pro" }, "plan"],
  [{ isAdmin: true, plan: "pro" }, "isAdmin, plan"],
  [Object.fromEntries(Array.from({ length: 6 }, (_, n) => [`t${n}`, n])), "t0, t1, t2, t3, t4, t5"],
  [{ ["x".repeat(120)]: 1 }, "x".repeat(120)],
  [{ ["x".repeat(121)]: 1 }, `${"x".repeat(120)}…`],
  [
    Object.fromEntries(Array.from({ length: 8 }, (_, n) => [`t${n}`, n])),
    "t0, t1, t2, t3, t4, t5…",
  ],
  [{ ["ü".repeat(30_000)]: 1 }, `${"ü".repeat(120)}…`],
  [{ [`${"x".repeat(119)}😀`]: 1 }, `${"x".repeat(119)}\uFFFD…`],
])("the traits %j are %s in a list", (traits, words) => {
  expect(traitWords(traits)).toBe(words);
});
