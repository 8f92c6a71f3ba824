import { afterEach, expect, test, vi } from "vitest";
import { createRate } from "./rate.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

test("a rate is the mean of five seconds, which forgets what is older", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(10_500);
  const rate = createRate();
  expect(rate.perSecond()).toBe(0);
  rate.add(10);
  rate.add(5);
  expect(rate.perSecond()).toBe(3);
  const course = [11_000, 14_999, 15_000, 16_000].map((at) => {
    now.mockReturnValue(at);
    rate.add(1);
    return rate.perSecond();
  });
  expect(course).toEqual([3.2, 3.4, 0.6, 0.6]);
  now.mockReturnValue(60_000);
  expect(rate.perSecond()).toBe(0);
});
