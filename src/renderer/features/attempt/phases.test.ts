import { describe, expect, test } from "vitest";
import type { Attempt } from "../timeline/timeline-model.ts";
import { anAttempt } from "./attempt.fixture.ts";
import { waterfall } from "./phases.tsx";

const bars = (changes: Partial<Attempt>) =>
  waterfall(anAttempt(changes), 5000).bars.map(({ phase, state, fromMs, toMs }) => [
    phase,
    state,
    fromMs,
    toMs,
  ]);

describe("the phases of an attempt", () => {
  test("follow one another", () => {
    expect(bars({})).toEqual([
      ["dns", "done", 0, 2],
      ["connect", "done", 2, 11],
      ["tls", "done", 11, 42],
      ["sent", "done", 42, 43],
      ["firstByte", "done", 43, 140],
      ["done", "done", 140, 142],
    ]);
  });

  test("leave out what plain HTTP and addresses do not need", () => {
    expect(
      bars({
        webhookUrl: "http://127.0.0.1/",
        phases: { connect: 1, sent: 2, firstByte: 3, done: 4 },
      }).map(([phase]) => phase),
    ).toEqual(["connect", "sent", "firstByte", "done"]);
  });

  test("of a kept connection begin with the request", () => {
    expect(bars({ phases: { sent: 1, firstByte: 3, done: 4 } })).toEqual([
      ["connect", "kept", 0, 0],
      ["tls", "kept", 0, 0],
      ["sent", "done", 0, 1],
      ["firstByte", "done", 1, 3],
      ["done", "done", 3, 4],
    ]);
  });

  test("show what was going on when the time was over", () => {
    expect(
      bars({
        outcome: "timeout",
        durationMs: 5000,
        phases: { connect: 1, tls: 5, sent: 6, firstByte: 400 },
      }).slice(-2),
    ).toEqual([
      ["firstByte", "done", 6, 400],
      ["done", "open", 400, 5000],
    ]);
    expect(
      bars({ outcome: "timeout", durationMs: 5000, phases: { connect: 1, tls: 5, sent: 6 } }).slice(
        -2,
      ),
    ).toEqual([
      ["firstByte", "open", 6, 5000],
      ["done", "never", 6, 6],
    ]);
  });

  test("end with the phase that failed", () => {
    expect(bars({ outcome: "connection_error", durationMs: 3, phases: {} })).toEqual([
      ["connect", "open", 0, 3],
      ["tls", "never", 0, 0],
      ["sent", "never", 0, 0],
      ["firstByte", "never", 0, 0],
      ["done", "never", 0, 0],
    ]);
    expect(
      bars({ outcome: "tls_error", durationMs: 38, phases: { dns: 1, connect: 3 } }).slice(1, 4),
    ).toEqual([
      ["connect", "done", 1, 3],
      ["tls", "open", 3, 38],
      ["sent", "never", 3, 3],
    ]);
  });

  test("stand on an axis that shows the deadline and what goes beyond it", () => {
    expect(waterfall(anAttempt(), 5000)).toMatchObject({
      axisMs: 6000,
      ticks: [0, 1000, 2000, 3000, 4000],
    });
    expect(waterfall(anAttempt(), 15_000).ticks).toEqual([0, 5000, 10_000]);
    expect(waterfall(anAttempt({ durationMs: 10_000 }), 5000).axisMs).toBe(12_000);
  });
});
