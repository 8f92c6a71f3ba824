import { describe, expect, test } from "vitest";
import { codePointOf, visiblePieces, visibleText } from "./visible-text.ts";

describe("text from outside", () => {
  test("stays one piece when every character can be seen", () => {
    expect(visiblePieces("Café Löwe, 東京, 🙂")).toEqual([
      { text: "Café Löwe, 東京, 🙂", escaped: null },
    ]);
    expect(visiblePieces("")).toEqual([]);
  });

  test("shows characters that turn the order of others", () => {
    expect(visiblePieces("a\u202eb\u2069")).toEqual([
      { text: "a", escaped: null },
      { text: "\\u202e", escaped: "\u202e" },
      { text: "b", escaped: null },
      { text: "\\u2069", escaped: "\u2069" },
    ]);
  });

  test.each([
    ["\u0000", "\\u0000"],
    ["\u001b", "\\u001b"],
    ["\u007f", "\\u007f"],
    ["\u0085", "\\u0085"],
    ["\r\n\t", "\\r\\n\\t"],
    ["\u200b", "\\u200b"],
    ["\u200d", "\\u200d"],
    ["\u00ad", "\\u00ad"],
    ["\u2028", "\\u2028"],
    ["\u3164", "\\u3164"],
    ["\ufe0f", "\\ufe0f"],
    ["\ufeff", "\\ufeff"],
    ["\ud800", "\\ud800"],
    ["\u{e0041}", "\\u{e0041}"],
  ])("shows %j as an escape", (character, escape) => {
    expect(visibleText(character)).toBe(escape);
  });

  test("names a character by its code point", () => {
    expect(codePointOf("\u202e")).toBe("U+202E");
    expect(codePointOf("\u{e0041}")).toBe("U+E0041");
  });

  test("keeps an escape that was written apart from a character that was there", () => {
    expect(visiblePieces("\\u202e")).toEqual([{ text: "\\u202e", escaped: null }]);
  });
});
