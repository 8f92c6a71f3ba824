import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { durationText, parseDuration } from "./duration-text.ts";

describe("durations as text", () => {
  test.each([
    [0, "0 s"],
    [85, "85 ms"],
    [5100, "5.1 s"],
    [90_000, "90 s"],
    [120_000, "2 m"],
    [14_400_000, "4 h"],
    [172_800_000, "48 h"],
    [259_200_000, "3 d"],
    [604_800_000, "7 d"],
  ])("%i ms is %s", (ms, text) => {
    expect(durationText(ms)).toBe(text);
  });

  test("whatever is printed can be typed again", () => {
    fc.assert(fc.property(fc.nat(10_000_000_000), (ms) => parseDuration(durationText(ms)) === ms));
  });

  test.each([
    ["5.1s", 5100],
    ["5.1", 5100],
    ["1 m 30 s", 90_000],
    ["2 min", 120_000],
    [" 4H ", 14_400_000],
  ])("%s is read as %i ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each(["", "soon", "5 x", "1 2", "-3 s", "5 s ago"])("%j is no duration", (text) => {
    expect(parseDuration(text)).toBeNull();
  });

  test("a bare number takes the unit that the field has", () => {
    expect(parseDuration("10", "m")).toBe(600_000);
  });
});
