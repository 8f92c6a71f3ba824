import { expect, test } from "vitest";
import { delayBefore, isRetried } from "./retry.ts";
import type { Outcome } from "./send.ts";

const now = Date.UTC(2026, 10, 21);
const answered = (status: number, retryAfter: string | null = null): Outcome => ({
  answer: { status, retryAfter, body: "" },
});
const never = (): number => 0;

test("what is tried again: no answer, 408, 429 and every 5xx", () => {
  expect(isRetried({ error: new Error("reset") })).toBe(true);
  const statuses = [
    301, 302, 400, 401, 403, 404, 408, 410, 413, 422, 429, 499, 500, 501, 502, 503, 504, 599,
  ];
  expect(statuses.filter((status) => isRetried(answered(status)))).toEqual([
    408, 429, 500, 501, 502, 503, 504, 599,
  ]);
});

test("the delays double up to ten seconds, and lose up to half at random", () => {
  const tries = [2, 3, 4, 5, 6, 7, 8, 9, 10];
  expect(tries.map((next) => delayBefore(next, answered(500), now, { random: never }))).toEqual([
    100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000,
  ]);
  expect(tries.map((next) => delayBefore(next, answered(500), now, { random: () => 1 }))).toEqual([
    50, 100, 200, 400, 800, 1600, 3200, 5000, 5000,
  ]);
});

test.each([
  ["120", 120_000],
  [" 2 ", 2000],
  ["0", 100],
  ["Sat, 21 Nov 2026 00:00:07 GMT", 7000],
  ["Fri, 20 Nov 2026 00:00:00 GMT", 100],
  ["999999999", 3_600_000],
  ["soon", 100],
  ["", 100],
  [null, 100],
])("Retry-After: %s", (retryAfter, delay) => {
  expect(delayBefore(2, answered(429, retryAfter), now, { random: never })).toBe(delay);
});

test("a delay of the program's own takes the place of the doubling one, unless it is no number", () => {
  const own = { random: never, retryAfter: (retries: number) => retries * 7 };
  expect([2, 3, 4].map((next) => delayBefore(next, answered(500), now, own))).toEqual([0, 7, 14]);
  expect(delayBefore(3, answered(429, "2"), now, own)).toBe(2000);
  const none = { random: never, retryAfter: () => Number.NaN };
  expect(delayBefore(3, answered(500), now, none)).toBe(200);
});
