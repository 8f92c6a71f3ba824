import { expect, onTestFinished, test, vi } from "vitest";
import { createMetrics } from "./metrics.ts";

const notRead = (): never => {
  throw new Error("Rates need nothing of the pipeline.");
};

test("a rate is the mean of five seconds, which forgets what is older", () => {
  const now = vi.spyOn(performance, "now").mockReturnValue(10_500);
  onTestFinished(() => now.mockRestore());
  const metrics = createMetrics({
    ...{ stats: notRead, clock: notRead, hasTrouble: notRead, storeBytes: notRead },
    ...{ traces: null, version: "0.0.0" },
  });
  const perSecond = (): number => metrics.rates().ingestedPerSecond;
  expect(perSecond()).toBe(0);
  metrics.committed(10);
  metrics.committed(5);
  expect(metrics.rates()).toEqual({ ingestedPerSecond: 3, attemptsPerSecond: 0 });
  const rates = [11_000, 14_999, 15_000, 16_000].map((at) => {
    now.mockReturnValue(at);
    metrics.committed(1);
    return perSecond();
  });
  expect(rates).toEqual([3.2, 3.4, 0.6, 0.6]);
  const after = [20_999, 21_000, 60_000].map((at) => {
    now.mockReturnValue(at);
    return perSecond();
  });
  expect(after).toEqual([0.2, 0, 0]);
});
