/**
 * The numbers of the pipeline: its rates, for the inspector, and all of them in Prometheus's text
 * format, for `/metrics` of the control port. `assembly.ts` passes on what was committed and
 * recorded; everything else is read when somebody asks.
 * No name or value comes from outside: labels are states, outcomes and types of ours.
 */

import { outcomes, type Outcome } from "../domain/states.ts";
import type { ClockState } from "./clock/clock.ts";
import type { AttemptRecord, Stats } from "./ports.ts";
import { monotonic } from "./real-time.ts";

/** In seconds; an attempt has five unless its retry profile says otherwise. */
const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

type Sample = { labels?: Record<string, string>; value: number; suffix?: string };

type TraceCounts = { exported: number; dropped: number };

type Metrics = {
  committed(messages: number): void;
  attempted(attempts: readonly AttemptRecord[]): void;
  rates(): { ingestedPerSecond: number; attemptsPerSecond: number };
  /** In the text format, version 0.0.4. */
  text(): string;
};

export function createMetrics({
  stats,
  clock,
  hasTrouble,
  storeBytes,
  traces,
  version,
}: {
  stats: () => Stats;
  clock: () => ClockState;
  hasTrouble: () => boolean;
  storeBytes: () => number;
  /** Null when traces are off. */
  traces: (() => TraceCounts) | null;
  version: string;
}): Metrics {
  let committed = 0;
  const ingested = createRate();
  const attempted = createRate();
  const byOutcome = new Map<Outcome, number>(outcomes.map((outcome) => [outcome, 0]));
  const durations = createDurations();

  return {
    committed(messages) {
      committed += messages;
      ingested.add(messages);
    },
    attempted(attempts) {
      attempted.add(attempts.length);
      for (const { outcome, durationMs } of attempts) {
        byOutcome.set(outcome, (byOutcome.get(outcome) ?? 0) + 1);
        durations.add(durationMs / 1000);
      }
    },
    rates: () => ({
      ingestedPerSecond: ingested.perSecond(),
      attemptsPerSecond: attempted.perSecond(),
    }),
    text() {
      const { messages, deliveries } = stats();
      const { now, mode, speed } = clock();
      const labelled = (label: string, counts: Record<string, number>): Sample[] =>
        Object.entries(counts).map(([name, value]) => ({ labels: { [label]: name }, value }));
      const { exported = 0, dropped = 0 } = traces?.() ?? {};
      const families = [
        family("build_info", "gauge", "The version that runs.", [
          { labels: { version }, value: 1 },
        ]),
        family(
          "messages_committed_total",
          "counter",
          "Messages stored since the start, rejected and duplicate ones included.",
          [{ value: committed }],
        ),
        family(
          "messages",
          "gauge",
          "Messages on record by state.",
          labelled("state", messages.byState),
        ),
        family(
          "deliveries",
          "gauge",
          "Deliveries on record by state.",
          labelled("state", deliveries.byState),
        ),
        family("queue_depth", "gauge", "Deliveries that are queued or being sent.", [
          { value: deliveries.byState.queued + deliveries.byState.sending },
        ]),
        family(
          "attempts_total",
          "counter",
          "Attempts recorded since the start by outcome.",
          labelled("outcome", Object.fromEntries(byOutcome)),
        ),
        family(
          "attempt_duration_seconds",
          "histogram",
          "How long attempts took; by the clock, while a test endpoint held them.",
          durations.samples(),
        ),
        family("clock_seconds", "gauge", "The time of the clock, in seconds since 1970.", [
          { value: now / 1000 },
        ]),
        family("clock_speed", "gauge", "Seconds of the clock in a second; 0 when it is paused.", [
          { value: mode === "paused" ? 0 : speed },
        ]),
        family("store_bytes", "gauge", "The size of the data.", [{ value: storeBytes() }]),
        family(
          "store_trouble",
          "gauge",
          "1 while the data file is damaged, missing or not written.",
          [{ value: hasTrouble() ? 1 : 0 }],
        ),
        ...(traces === null
          ? []
          : [
              family("spans_exported_total", "counter", "Spans that the collector accepted.", [
                { value: exported },
              ]),
              family("spans_dropped_total", "counter", "Spans that were not exported.", [
                { value: dropped },
              ]),
            ]),
      ];
      return families.join("");
    },
  };
}

const windowSeconds = 5;

type Rate = { add(n: number): void; perSecond(): number };

/** How many of something there were per second, over the last few seconds. */
function createRate(): Rate {
  const slots = new Array<{ second: number; n: number }>(windowSeconds);
  const now = (): number => Math.floor(monotonic() / 1000);
  return {
    add(n) {
      const second = now();
      const slot = slots[second % windowSeconds];
      if (slot?.second === second) slot.n += n;
      else slots[second % windowSeconds] = { second, n };
    },
    perSecond() {
      const from = now() - windowSeconds;
      const sum = slots.reduce(
        (total, slot) => (slot !== undefined && slot.second > from ? total + slot.n : total),
        0,
      );
      return Math.round((sum / windowSeconds) * 10) / 10;
    },
  };
}

/** A histogram of how long attempts took, in seconds. */
function createDurations() {
  const buckets = bounds.map(() => 0);
  let sum = 0;
  let count = 0;
  return {
    add(seconds: number): void {
      sum += seconds;
      count += 1;
      const bucket = bounds.findIndex((bound) => seconds <= bound);
      if (bucket !== -1) buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    },
    samples(): Sample[] {
      let upTo = 0;
      return [
        ...bounds.map((bound, at) => {
          upTo += buckets[at] ?? 0;
          return { suffix: "_bucket", labels: { le: String(bound) }, value: upTo };
        }),
        { suffix: "_bucket", labels: { le: "+Inf" }, value: count },
        { suffix: "_sum", value: sum },
        { suffix: "_count", value: count },
      ];
    },
  };
}

function family(
  name: string,
  type: "counter" | "gauge" | "histogram",
  help: string,
  samples: readonly Sample[],
): string {
  const full = `hookyard_${name}`;
  const lines = samples.map(({ suffix = "", labels = {}, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
    return `${full}${suffix}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${value}\n`;
  });
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n${lines.join("")}`;
}
