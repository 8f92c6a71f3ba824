import { expect, onTestFinished, test, vi } from "vitest";
import { readMetrics } from "../../test/telemetry/prometheus.ts";
import type { ClockState } from "./clock/clock.ts";
import { createMetrics } from "./metrics.ts";
import type { AttemptRecord, Stats } from "./ports.ts";

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

function startMetrics(options: Partial<Parameters<typeof createMetrics>[0]> = {}) {
  const stats = {
    messages: { byState: { queued: 1, delivered: 2 } },
    deliveries: { byState: { queued: 3, sending: 4, failed: 5 } },
  } as unknown as Stats;
  const clock = {
    now: 1_500,
    mode: "faster",
    speed: 60,
    nextDueAt: null,
    advance: null,
  } as ClockState;
  const metrics = createMetrics({
    ...{ stats: () => stats, clock: () => clock, hasTrouble: () => false, storeBytes: () => 77 },
    ...{ traces: null, version: "1.2.3", ...options },
  });
  return {
    ...metrics,
    /** The samples of a family, by their labels. */
    samples: (name: string) =>
      Object.fromEntries(readMetrics(metrics.text()).get(`hookyard_${name}`)?.samples ?? []),
    attempt(durationMs: number, outcome: AttemptRecord["outcome"] = "success") {
      metrics.attempted([{ outcome, durationMs } as AttemptRecord]);
    },
  };
}

test("the numbers are those of the store and the clock, and of what was committed and attempted", () => {
  const { samples, committed, attempt } = startMetrics();
  committed(2);
  committed(3);
  attempt(1);
  attempt(1);
  attempt(1, "timeout");
  expect(samples("build_info")).toEqual({ '{version="1.2.3"}': 1 });
  expect(samples("messages_committed_total")).toEqual({ "": 5 });
  expect(samples("messages")).toEqual({ '{state="queued"}': 1, '{state="delivered"}': 2 });
  expect(samples("deliveries")).toEqual({
    ...{ '{state="queued"}': 3, '{state="sending"}': 4, '{state="failed"}': 5 },
  });
  expect(samples("queue_depth")).toEqual({ "": 7 });
  expect(samples("attempts_total")).toEqual({
    ...{ '{outcome="success"}': 2, '{outcome="http_error"}': 0, '{outcome="timeout"}': 1 },
    ...{ '{outcome="connection_error"}': 0, '{outcome="tls_error"}': 0 },
  });
  expect(samples("clock_seconds")).toEqual({ "": 1.5 });
  expect(samples("clock_speed")).toEqual({ "": 60 });
  expect([samples("store_bytes"), samples("store_trouble")]).toEqual([{ "": 77 }, { "": 0 }]);
  const paused = {
    now: 0,
    mode: "paused",
    speed: 60,
    nextDueAt: null,
    advance: null,
  } as ClockState;
  const other = startMetrics({ clock: () => paused, hasTrouble: () => true });
  expect([other.samples("clock_speed"), other.samples("store_trouble")]).toEqual([
    { "": 0 },
    { "": 1 },
  ]);
});

test("what became of spans is there when traces are on", () => {
  expect(startMetrics().text()).not.toContain("spans");
  const { samples } = startMetrics({ traces: () => ({ exported: 8, dropped: 9 }) });
  expect([samples("spans_exported_total"), samples("spans_dropped_total")]).toEqual([
    { "": 8 },
    { "": 9 },
  ]);
});

test("a bucket has the attempts up to its bound, and the last one has all", () => {
  const { samples, attempt } = startMetrics();
  const bounds = ["0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10"];
  for (const [nth, bound] of bounds.entries())
    for (let count = 0; count <= nth; count += 1) attempt(Number(bound) * 1000);
  attempt(10_001);
  const upTo = (nth: number): number => ((nth + 1) * (nth + 2)) / 2;
  const { _sum, ...others } = samples("attempt_duration_seconds");
  expect(others).toEqual({
    ...Object.fromEntries(bounds.map((bound, nth) => [`_bucket{le="${bound}"}`, upTo(nth)])),
    '_bucket{le="+Inf"}': 67,
    _count: 67,
  });
  const sum = bounds.reduce((all, bound, nth) => all + (nth + 1) * Number(bound), 10.001);
  expect(_sum).toBeCloseTo(sum, 6);
});
