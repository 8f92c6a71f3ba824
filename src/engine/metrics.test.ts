import { expect, onTestFinished, test, vi } from "vitest";
import { outcomes, type Outcome } from "../domain/states.ts";
import { createMetrics } from "./metrics.ts";
import type { AttemptRecord } from "./ports.ts";

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
  const state = { mode: "real", speed: 1, trouble: false };
  const metrics = createMetrics({
    stats: () =>
      ({
        messages: { byState: { routed: 7, rejected: 2 } },
        deliveries: { byState: { queued: 3, sending: 4, delivered: 5 } },
      }) as never,
    clock: () => ({ now: 1500, ...state }) as never,
    hasTrouble: () => state.trouble,
    storeBytes: () => 4096,
    ...{ traces: null, version: "1.2.3" },
    ...options,
  });
  /** By name and labels. */
  const read = (): Map<string, string> =>
    new Map(
      metrics
        .text()
        .split("\n")
        .filter((line) => line !== "" && !line.startsWith("#"))
        .map((line) => [
          line.slice("hookyard_".length, line.lastIndexOf(" ")),
          line.slice(line.lastIndexOf(" ") + 1),
        ]),
    );
  return { metrics, state, read };
}

const attempts = (outcome: Outcome, ...durations: number[]): AttemptRecord[] =>
  durations.map((durationMs) => ({ outcome, durationMs }) as AttemptRecord);

test("a histogram counts an attempt in each bucket that it fits, and in none below it", () => {
  const { metrics, read } = startMetrics();
  metrics.attempted(attempts("success", 5, 5.1, 10_000, 10_001));
  metrics.attempted(attempts("timeout", 0, 2500));
  const buckets = [...read()].flatMap(([name, value]) => {
    const [, bound] = /^attempt_duration_seconds_bucket\{le="(.*)"\}$/.exec(name) ?? [];
    return bound === undefined ? [] : [[bound, Number(value)]];
  });
  expect(buckets).toEqual([
    ...[
      ["0.005", 2],
      ["0.01", 3],
      ["0.025", 3],
      ["0.05", 3],
      ["0.1", 3],
      ["0.25", 3],
      ["0.5", 3],
    ],
    ...[
      ["1", 3],
      ["2.5", 4],
      ["5", 4],
      ["10", 5],
      ["+Inf", 6],
    ],
  ]);
  expect(Number(read().get("attempt_duration_seconds_sum"))).toBeCloseTo(22.5111, 9);
  expect(read().get("attempt_duration_seconds_count")).toBe("6");
  expect([
    read().get('attempts_total{outcome="success"}'),
    read().get('attempts_total{outcome="timeout"}'),
    read().get('attempts_total{outcome="server_error"}') ?? "0",
  ]).toEqual(["4", "2", "0"]);
});

test("a start has every outcome and bucket, at 0, and no spans unless there are traces", () => {
  const { metrics, read, state } = startMetrics();
  const names = [...read().keys()];
  expect(names.filter((name) => name.startsWith("attempts_total"))).toHaveLength(outcomes.length);
  for (const [name, value] of read()) if (name.startsWith("attempt")) expect(value).toBe("0");
  expect(names.filter((name) => name.startsWith("spans"))).toEqual([]);
  metrics.committed(2);
  metrics.committed(3);
  expect(Object.fromEntries(read())).toMatchObject({
    ...{ messages_committed_total: "5", queue_depth: "7", clock_seconds: "1.5", clock_speed: "1" },
    ...{ store_bytes: "4096", store_trouble: "0", 'build_info{version="1.2.3"}': "1" },
    ...{ 'messages{state="rejected"}': "2", 'deliveries{state="sending"}': "4" },
  });
  Object.assign(state, { mode: "paused", speed: 60, trouble: true });
  expect([read().get("clock_speed"), read().get("store_trouble")]).toEqual(["0", "1"]);
  state.mode = "faster";
  expect(read().get("clock_speed")).toBe("60");
  const traced = startMetrics({ traces: () => ({ exported: 8, dropped: 9 }) });
  expect([
    traced.read().get("spans_exported_total"),
    traced.read().get("spans_dropped_total"),
  ]).toEqual(["8", "9"]);
});
