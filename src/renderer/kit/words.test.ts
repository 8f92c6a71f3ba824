import { expect, test } from "vitest";
import { bytes, dayAndTime, some } from "./words.ts";

const at = (day: number, month = 11): number => new Date(2026, month - 1, day, 6, 28, 7).getTime();

test.each([
  [at(22), "06:28:07"],
  [at(23), "Mon 06:28:07"],
  [at(21), "Sat 06:28:07"],
  [at(27), "Fri 06:28:07"],
  [at(28), "28 Nov 06:28:07"],
  [at(1, 12), "1 Dec 06:28:07"],
])("a time is written with its day when that is another", (ms, words) => {
  expect(dayAndTime(ms, at(22))).toBe(words);
});

test("a time is written with its day when one of several times beside it has another", () => {
  expect(dayAndTime(at(22), at(22), at(30))).toBe("22 Nov 06:28:07");
  expect(dayAndTime(at(22), at(22), at(22))).toBe("06:28:07");
});

test("a size is written in the greatest unit that it reaches", () => {
  expect([1, 1023, 1024, 1_048_576].map(bytes)).toEqual([
    "1 byte",
    "1,023 bytes",
    "1.0 KB",
    "1.0 MB",
  ]);
});

test("one is one", () => {
  expect([some(1, "message"), some(0, "message"), some(2_000, "delivery", "deliveries")]).toEqual([
    "1 message",
    "0 messages",
    "2,000 deliveries",
  ]);
});
