import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createDenseOrder, createFoundOrder, type RowOrder } from "./cached-rows.ts";

/** What the API would answer from these numbers. */
function read(order: RowOrder, all: readonly number[], before: number, limit: number): void {
  const older = all.filter((number) => number < before).sort((a, b) => b - a);
  order.learn({ before, found: older.slice(0, limit), more: older.length > limit });
}

const shown = (order: RowOrder): (number | null)[] =>
  Array.from({ length: order.count() }, (_, position) => order.numberAt(position));

describe("the list of all messages", () => {
  test("a position is a number without reading anything", () => {
    const order = createDenseOrder({ top: 1_000_000, total: 1_000_000 });
    expect(order.count()).toBe(1_000_000);
    expect(order.numberAt(654_321)).toBe(345_679);
    expect(order.positionOf(345_679)).toBe(654_321);
    expect(order.numberAt(1_000_000)).toBeNull();
  });

  test("a gap that reading has shown moves what is older, and nothing newer", () => {
    const order = createDenseOrder({ top: 10, total: 6 });
    read(order, [10, 9, 8, 3, 2, 1], 9, 3);
    expect(order.numberAt(1)).toBe(9);
    expect(order.numberAt(3)).toBe(3);
    expect(order.positionOf(3)).toBe(3);
    expect(order.positionOf(5)).toBeNull();
  });

  test("it ends at the oldest message once that has been read", () => {
    const order = createDenseOrder({ top: 10, total: 10 });
    read(order, [10, 9, 8, 7], 8, 100);
    expect(shown(order)).toEqual([10, 9, 8, 7]);
  });

  test("it is empty when nothing is left", () => {
    const order = createDenseOrder({ top: 10, total: 10 });
    read(order, [], 11, 100);
    expect(shown(order)).toEqual([]);
  });

  test("messages that came after its top are not in it", () => {
    const order = createDenseOrder({ top: 10, total: 10 });
    order.learn({ before: 13, found: [12, 11, 10, 9], more: true });
    expect(order.numberAt(0)).toBe(10);
    expect(order.positionOf(12)).toBeNull();
  });

  test("a removed message leaves its place, the oldest too", () => {
    const order = createDenseOrder({ top: 4, total: 4 });
    read(order, [4, 3, 2, 1], 5, 100);
    order.drop(3);
    order.drop(1);
    expect(shown(order)).toEqual([4, 2]);
  });

  test("read in any order, it comes to exactly the messages there are", () => {
    const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 120 }), { minLength: 1 });
    fc.assert(
      fc.property(
        numbers,
        fc.array(fc.integer({ min: 1, max: 121 }), { maxLength: 6 }),
        (all, cursors) => {
          const top = Math.max(...all);
          const order = createDenseOrder({ top, total: all.length });
          for (const before of cursors) read(order, all, before, 7);
          for (let position = 0; position < order.count(); position += 1)
            read(order, all, (order.numberAt(position) ?? 0) + 1, 7);
          expect(shown(order)).toEqual(all.toSorted((a, b) => b - a));
          for (const [position, number] of shown(order).entries())
            expect(order.positionOf(number ?? 0)).toBe(position);
        },
      ),
    );
  });
});

describe("the list of what matches a filter", () => {
  test("it goes on where the reading goes on", () => {
    const order = createFoundOrder({ found: [90, 50], more: true });
    expect(order.count()).toBeGreaterThan(2);
    expect(order.numberAt(2)).toBeNull();
    order.learn({ before: 50, found: [40, 3], more: false });
    expect(shown(order)).toEqual([90, 50, 40, 3]);
    expect(order.positionOf(40)).toBe(2);
    expect(order.positionOf(41)).toBeNull();
  });

  test("what comes to match in the middle shifts nothing", () => {
    const order = createFoundOrder({ found: [90, 50], more: false });
    order.learn({ before: 91, found: [90, 70, 50], more: false });
    expect(shown(order)).toEqual([90, 50]);
  });

  test("an empty list can be continued", () => {
    const order = createFoundOrder({ found: [], more: false });
    expect(order.count()).toBe(0);
    order.drop(4);
    expect(order.count()).toBe(0);
  });
});
