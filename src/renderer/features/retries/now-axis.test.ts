import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { startsAt } from "../timeline/delivery.fixture.ts";
import { type NowAxis, drawLane, labelsAround, nowX, xAround } from "./now-axis.ts";

const hour = 3_600_000;
const axis: NowAxis = { scale: "linear", width: 800, pastMs: hour, futureMs: hour };

describe("the lane of a delivery", () => {
  test("draws the newest of marks that lie on each other, and only what the axis reaches", () => {
    const marks = [-2 * hour, -2000, -1000].map((at, place) => ({
      round: place + 1,
      at: startsAt + at,
      outcome: (["timeout", "timeout", "http_error"] as const)[place] ?? "timeout",
    }));
    const coming = [10, 60, 120].map((minutes) => startsAt + minutes * 60_000);
    const drawing = drawLane({
      axis,
      now: startsAt,
      marks,
      coming,
      startsAt: startsAt - hour,
      endsAt: startsAt + 3 * hour,
    });
    expect(drawing.marks.map(({ kind }) => kind)).toEqual(["http_error", "next", "coming"]);
    expect(drawing.track).toBe("M0 10H800");
    expect(drawing.end).toBe("");
  });

  test("ends behind its last mark when it is over, and on the axis", () => {
    const lane = (sinceMs: number) =>
      drawLane({
        axis: { ...axis, futureMs: 0 },
        now: startsAt,
        marks: [{ round: 1, at: startsAt - sinceMs, outcome: "http_error" }],
        coming: [],
        startsAt: startsAt - hour,
        endsAt: null,
      });
    expect(lane(hour / 2)).toMatchObject({ track: "M0 10H409", end: "M409 5v10" });
    expect(lane(1000)).toMatchObject({ track: "M0 10H800", end: "M800 5v10" });
  });
});

const axisOf = (changes: Partial<NowAxis> = {}): NowAxis => ({
  scale: "log",
  width: 600,
  pastMs: 4 * hour,
  futureMs: 4 * hour,
  ...changes,
});

describe("the axisOf around now", () => {
  test("has now in its middle, or at its end when nothing is to come", () => {
    expect(xAround(axisOf(), 0)).toBe(300);
    expect(nowX(axisOf({ futureMs: 0 }))).toBe(600);
    expect(xAround(axisOf({ futureMs: 0 }), -4 * hour)).toBe(0);
  });

  test("keeps apart what is due soon, and leaves out what is too far", () => {
    const [soon, later] = [xAround(axisOf(), 10_000), xAround(axisOf(), 20_000)];
    expect((later ?? 0) - (soon ?? 0)).toBeGreaterThan(7);
    expect(xAround(axisOf(), 5 * hour)).toBeNull();
    expect(xAround(axisOf({ futureMs: 0 }), 1)).toBeNull();
  });

  test("never turns back", () => {
    const ms = fc.integer({ min: -4 * hour, max: 4 * hour });
    fc.assert(
      fc.property(ms, ms, fc.constantFrom("log" as const, "linear" as const), (a, b, scale) => {
        expect(xAround(axisOf({ scale }), Math.min(a, b)) ?? NaN).toBeLessThanOrEqual(
          xAround(axisOf({ scale }), Math.max(a, b)) ?? NaN,
        );
      }),
    );
  });

  test("has labels that do not touch, in order and on both sides", () => {
    const labels = labelsAround(axisOf(), "now 16:47:32");
    expect(labels.map(({ text }) => text)).toEqual(expect.arrayContaining(["−1 h", "+1 h"]));
    for (const [place, { x }] of labels.entries())
      expect(x - (labels[place - 1]?.x ?? -40)).toBeGreaterThanOrEqual(40);
  });
});
