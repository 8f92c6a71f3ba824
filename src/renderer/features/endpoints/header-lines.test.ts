import { describe, expect, test } from "vitest";
import { headerLines, parseHeaderLines } from "./header-lines.ts";

describe("headers as lines", () => {
  test("are printed and read one a line, values with colons too", () => {
    const headers = { "Retry-After": "5", Location: "http://127.0.0.1:4710/next" };
    expect(headerLines(headers)).toBe("Retry-After: 5\nLocation: http://127.0.0.1:4710/next");
    expect(parseHeaderLines(`\n${headerLines(headers)}\r\n\n`)).toEqual({ headers, problem: null });
  });

  test.each([
    ["Retry-After 5", /is not a header/],
    [": 5", /is not a header/],
    ["A: 1\na: 2", /twice/],
  ])("%j is refused with a sentence", (text, sentence) => {
    expect(parseHeaderLines(text).problem).toMatch(sentence);
  });
});
