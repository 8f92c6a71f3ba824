import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { labelsAround, nowX, xAround, type AroundNow } from "./around-now.ts";

const hour = 3_600_000;
const axis = (changes: Partial<AroundNow> = {}): AroundNow => ({
  scale: "log",
  width: 600,
  pastMs: 4 * hour,
  futureMs: 4 * hour,
  ...changes,
});

describe("the axis around now", () => {
  test("has now in its middle, or at its end when nothing is to come", () => {
    expect(xAround(axis(), 0)).toBe(300);
    expect(nowX(axis({ futureMs: 0 }))).toBe(600);
    expect(xAround(axis({ futureMs: 0 }), -4 * hour)).toBe(0);
  });

  test("keeps apart what is due soon, and leaves out what is too far", () => {
    const [soon, later] = [xAround(axis(), 10_000), xAround(axis(), 20_000)];
    expect((later ?? 0) - (soon ?? 0)).toBeGreaterThan(7);
    expect(xAround(axis(), 5 * hour)).toBeNull();
    expect(xAround(axis({ futureMs: 0 }), 1)).toBeNull();
  });

  test("never turns back", () => {
    const ms = fc.integer({ min: -4 * hour, max: 4 * hour });
    fc.assert(
      fc.property(ms, ms, fc.constantFrom("log" as const, "linear" as const), (a, b, scale) => {
        expect(xAround(axis({ scale }), Math.min(a, b)) ?? NaN).toBeLessThanOrEqual(xAround(axis({ scale }), Math.max(a, b)) ?? NaN);
      }),
    );
  });

  test("has labels that do not touch, in order and on both sides", () => {
    const labels = labelsAround(axis(), "now 16:47:32");
    expect(labels.map(({ text }) => text)).toEqual(expect.arrayContaining(["−1 h", "+1 h"]));
    for (const [place, { x }] of labels.entries()) expect(x - (labels[place - 1]?.x ?? -40)).toBeGreaterThanOrEqual(40);
  });
});
