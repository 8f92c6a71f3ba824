import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { jsonLines, keyName, linesInside, tokenise } from "./json-tokens.ts";

const shown = (text: string) =>
  tokenise(text).map(({ kind, start, end }) => [kind, text.slice(start, end)]);

describe("tokens", () => {
  test("tell keys from strings and keep every spelling", () => {
    expect(shown(`{"a": 1.0,"b":["x\\u00e9", -1e+05]}`)).toEqual([
      ["punctuation", "{"],
      ["key", '"a"'],
      ["punctuation", ":"],
      ["space", " "],
      ["literal", "1.0"],
      ["punctuation", ","],
      ["key", '"b"'],
      ["punctuation", ":"],
      ["punctuation", "["],
      ["string", '"x\\u00e9"'],
      ["punctuation", ","],
      ["space", " "],
      ["literal", "-1e+05"],
      ["punctuation", "]"],
      ["punctuation", "}"],
    ]);
  });

  test("of a text that was cut go to its end", () => {
    expect(shown(`{"a":"b\\"c`)).toEqual([
      ["punctuation", "{"],
      ["key", '"a"'],
      ["punctuation", ":"],
      ["string", '"b\\"c'],
    ]);
    expect(shown("<h1>no")).toEqual([["other", "<h1>no"]]);
    expect(shown("01")).toEqual([["other", "01"]]);
  });

  test("cover every text without a gap", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(
          tokenise(text)
            .map(({ start, end }) => text.slice(start, end))
            .join(""),
        ).toBe(text);
      }),
    );
  });
});

describe("lines", () => {
  test("are one for each member, item and end", () => {
    const text = `{"a":{"b":1,"c":[]},"d":[2,"e"]}`;
    const lines = jsonLines(text) ?? [];
    expect(
      lines.map(({ depth, kind, key, value, comma }) => [
        depth,
        kind,
        key === null ? null : keyName(text, key),
        text.slice(value.start, value.end),
        comma,
      ]),
    ).toEqual([
      [0, "open", null, "{", false],
      [1, "open", "a", "{", false],
      [2, "scalar", "b", "1", true],
      [2, "scalar", "c", "[]", false],
      [1, "close", null, "}", true],
      [1, "open", "d", "[", false],
      [2, "scalar", null, "2", true],
      [2, "scalar", null, '"e"', false],
      [1, "close", null, "]", false],
      [0, "close", null, "}", false],
    ]);
    expect(lines[0]).toMatchObject({ partner: 9, count: 2, parent: -1 });
    expect(lines[5]).toMatchObject({ partner: 8, count: 2, parent: 0 });
    expect([...linesInside(lines, 0)]).toEqual([1, 5]);
    expect([...linesInside(lines, 1)]).toEqual([2, 3]);
  });

  test("exist for exactly what JSON.parse takes", () => {
    const nearly = fc
      .array(
        fc.constantFrom(
          "{",
          "}",
          "[",
          "]",
          ",",
          ":",
          '"a"',
          '"',
          "1",
          "1.0",
          "01",
          "-",
          "true",
          "null",
          " ",
          "\\",
          "\n",
          '"\\x"',
          '"\\u00e9"',
          '"\t"',
        ),
      )
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(nearly, fc.json(), fc.string()), (text) => {
        let isJson = true;
        try {
          JSON.parse(text);
        } catch {
          isJson = false;
        }
        expect(jsonLines(text) !== null).toBe(isJson);
      }),
      { numRuns: 2000 },
    );
  });

  test("take any depth", () => {
    const depth = 60_000;
    expect(jsonLines("[".repeat(depth) + "]".repeat(depth))).toHaveLength(2 * depth - 1);
  });

  test("keep numbers that a parser would change", () => {
    const text = "[1.0,12345678901234567890,1E400]";
    expect(
      (jsonLines(text) ?? []).slice(1, 4).map(({ value }) => text.slice(value.start, value.end)),
    ).toEqual(["1.0", "12345678901234567890", "1E400"]);
  });

  test("read the name of a key as JSON spells it", () => {
    const text = '{"caf\\u00e9":1}';
    expect(keyName(text, jsonLines(text)?.[1]?.key ?? { start: 0, end: 0 })).toBe("café");
  });
});
