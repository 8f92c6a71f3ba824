import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fractionOf, textPx, ticksBetween, withRoom } from "./scale.ts";

const second = 1000;
const hour = 3_600_000;
const windowMs = 4 * hour;

describe("the scale", () => {
  test("puts the log axis's times where ln(1 + t / 100 s) says", () => {
    const places = [0, 10, 300, 3600, 7200, 14_400].map((s) => Math.round(fractionOf("log", s * second, windowMs) * 1000) / 10);
    expect(places).toEqual([0, 1.9, 27.9, 72.6, 86.2, 100]);
  });

  test("is even when it is linear", () => {
    expect([0, 1, 2, 4].map((h) => fractionOf("linear", h * hour, windowMs))).toEqual([0, 0.25, 0.5, 1]);
  });

  test("never turns back and never leaves the axis", () => {
    const ms = fc.integer({ min: -hour, max: 3 * windowMs });
    fc.assert(
      fc.property(ms, ms, fc.constantFrom("log" as const, "linear" as const), (a, b, scale) => {
        const [before, after] = [fractionOf(scale, Math.min(a, b), windowMs), fractionOf(scale, Math.max(a, b), windowMs)];
        expect(before).toBeLessThanOrEqual(after);
        expect(before).toBeGreaterThanOrEqual(0);
        expect(after).toBeLessThanOrEqual(1);
      }),
    );
  });
});

describe("labels", () => {
  test("give way to those that stay, and those that stay to each other", () => {
    const labels = [
      { x: 0, text: "1", stays: true },
      { x: 5, text: "2", stays: true },
      { x: 20, text: "3", stays: false },
      { x: 40, text: "4", stays: false },
    ];
    expect(withRoom(labels, 13).map(({ x, text }) => [x, text])).toEqual([
      [0, "1"],
      [13, "2"],
      [40, "4"],
    ]);
  });

  test("of the axis are round times with room between them, in any width and window", () => {
    expect(ticksBetween("log", windowMs, 490, "15:50:57", "4 h").map(({ text }) => text)).toEqual(["5 m", "15 m", "1 h", "2 h"]);
    expect(ticksBetween("linear", windowMs, 490, "15:50:57", "4 h").map(({ text }) => text)).toEqual(["1 h", "2 h", "3 h"]);
    expect(ticksBetween("linear", 36 * hour, 490, "15:50:57", "1 d 12 h").map(({ text }) => text)).toEqual(["12 h", "1 d"]);
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 3000 }),
        fc.integer({ min: 1000, max: 200 * hour }),
        fc.constantFrom("log" as const, "linear" as const),
        (width, ms, scale) => {
          const ticks = ticksBetween(scale, ms, width, "15:50:57", "ends");
          for (const [place, { x, text }] of ticks.entries()) {
            expect(x - textPx(text) / 2).toBeGreaterThan(textPx("15:50:57"));
            expect(x).toBeLessThan(width - textPx("ends"));
            expect(x - (ticks[place - 1]?.x ?? -100)).toBeGreaterThanOrEqual(28);
          }
        },
      ),
    );
  });
});
