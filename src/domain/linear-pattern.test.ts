import fc from "fast-check";
import { expect, test } from "vitest";
import { linearPattern, type LinearPattern } from "./linear-pattern.ts";

function compiled(source: string): LinearPattern {
  const pattern = linearPattern(source);
  if (typeof pattern === "string") throw new Error(pattern);
  return pattern;
}

/** Long enough to be left to the linear matcher. */
const padding = "~".repeat(300);

test.each([
  "^[A-Z]{3}$",
  "^\\d{4}(-\\d{2}){2}$",
  "^[a-z0-9]+(?:-[a-z0-9]+)*$",
  "^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$",
  "fall|winter|spring",
  "^(fall|winter|spring)$",
  "\\bword\\b",
  "^(?<year>\\d+)?\\.?$",
  "^\\p{L}+$",
  "^\\u{1F600}.$",
  "a{2,4}b?",
  "^a{0,3}$",
  "^[\\w\\-\\]]*$",
  "x*",
  "",
  "^$",
  "(a|b|)c",
  "^.{1,5}$",
  "\\/path\\@",
])("matches %s as JavaScript does", (source) => {
  const pattern = compiled(source);
  let native: RegExp;
  try {
    native = new RegExp(source, "u");
  } catch {
    native = new RegExp(source);
  }
  const character = fc.constantFrom(
    ..."aAbcxyz019-_.@~ ]\n".split(""),
    "é",
    "😀",
    "EUR",
    "word",
    "2026-11",
    "/path@",
  );
  fc.assert(
    fc.property(
      fc.array(character, { maxLength: 12 }),
      fc.constantFrom("", padding),
      (parts, end) => {
        for (const text of [parts.join("") + end, end + parts.join("")])
          expect([text, pattern.test(text)]).toEqual([text, native.test(text)]);
      },
    ),
  );
});

test.each(["^(a+)+$", "^(a|a)*$", "^(\\w+\\s?)*$", "^(a*)*$", "a*a*a*a*a*b", "^(a{0,30}){0,30}$"])(
  "takes %s no more steps than characters and places",
  (source) => {
    // JavaScript would take years for each.
    expect(compiled(source).test(`${"a".repeat(3000)}!`)).toBe(false);
  },
);

test.each([
  ["(?=a)b", "a lookaround"],
  ["^(?!bot)", "a lookaround"],
  ["(?<!a)b", "a lookaround"],
  ["(a)\\1", "a back reference"],
  ["(?<x>a)\\k<x>", "a back reference"],
  ["(a{1000}){1000}", "more than 3000 places"],
  ["a{99999}", "more than 3000 places"],
])("refuses %s, because it has %s", (source, why) => {
  expect(linearPattern(source)).toBe(
    `The pattern ${JSON.stringify(source)} has ${why}, so there is no bound on the time that it takes.`,
  );
});

test("refuses what is no regular expression", () => {
  expect(linearPattern("a(b")).toBe('"a(b" is not a regular expression.');
});
