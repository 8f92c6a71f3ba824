import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scrollTopFor, windowOf, type ListSize } from "./row-window.ts";

const rowPx = 28;
const size = (count: number, viewport: number): ListSize => ({ count, rowPx, viewport });

describe("the rows that a list shows", () => {
  test("a short list shows all of its rows", () => {
    expect(windowOf(0, size(3, 700))).toEqual({ space: 3 * rowPx, first: 0, last: 2, shift: 0 });
  });

  test("an empty list shows none", () => {
    expect(windowOf(0, size(0, 700))).toMatchObject({ space: 0, first: 0, last: -1 });
  });

  test("a row that is cut at the top is still shown, shifted up", () => {
    expect(windowOf(rowPx * 10 + 5, size(1000, rowPx * 4))).toMatchObject({
      first: 10,
      last: 14,
      shift: -5,
    });
  });

  test("the end of any list can be reached, and nothing beyond it is shown", () => {
    const sizes = fc.record({
      rowPx: fc.constantFrom(20, 28),
      count: fc.integer({ min: 1, max: 20_000_000 }),
      viewport: fc.integer({ min: 100, max: 2000 }),
    });
    fc.assert(
      fc.property(sizes, (size) => {
        const { space } = windowOf(0, size);
        const end = windowOf(Math.max(0, space - size.viewport), size);
        expect(end.last).toBe(size.count - 1);
        expect(windowOf(1e9, size).last).toBe(size.count - 1);
        expect(end.first).toBeGreaterThanOrEqual(0);
      }),
    );
  });

  test("a row can be brought into view wherever it is", () => {
    const places = fc.record({
      count: fc.integer({ min: 1, max: 5_000_000 }),
      viewport: fc.integer({ min: 100, max: 2000 }),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      from: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(places, ({ count, viewport, at, from }) => {
        const size = { count, viewport, rowPx };
        const position = Math.floor(at * (count - 1));
        const { space } = windowOf(0, size);
        const scrollTop = scrollTopFor(position, from * Math.max(0, space - viewport), size);
        const shown = windowOf(scrollTop, size);
        expect(shown.first).toBeLessThanOrEqual(position);
        expect(shown.last).toBeGreaterThanOrEqual(position);
        expect(scrollTopFor(position, scrollTop, size)).toBeCloseTo(scrollTop, 3);
      }),
    );
  });
});
