import fc from "fast-check";
import { expect, test } from "vitest";
import { yamlTokens } from "./yaml-tokens.ts";

const words = (line: string): string[] =>
  yamlTokens(line)
    .filter(({ text }) => text.trim() !== "")
    .map(({ kind, text }) => `${kind} ${text.trim()}`);

test("keys, texts, literals, punctuation and comments are told apart", () => {
  expect(words("name: What if round 3 answered 200 # a note")).toEqual([
    "key name",
    "punct :",
    "string What if round 3 answered 200",
    "comment # a note",
  ]);
  expect(words("  - { status: 503, times: 2 }")).toEqual([
    "punct -",
    "punct {",
    "key status",
    "punct :",
    "literal 503",
    "punct ,",
    "key times",
    "punct :",
    "literal 2",
    "punct }",
  ]);
  expect(words('  url: "http://a.test/#b"')).toEqual([
    "key url",
    "punct :",
    'string "http://a.test/#b"',
  ]);
  expect(words("  url: http://a.test:80/x#y")).toEqual([
    "key url",
    "punct :",
    "string http://a.test:80/x#y",
  ]);
  expect(words("# all of it")).toEqual(["comment # all of it"]);
  expect(words("enabled: true")).toEqual(["key enabled", "punct :", "literal true"]);
});

test("no character of any line is lost", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), (line) => {
      expect(
        yamlTokens(line)
          .map(({ text }) => text)
          .join(""),
      ).toBe(line);
    }),
  );
});
