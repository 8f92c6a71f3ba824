import fc from "fast-check";
import { expect, test } from "vitest";
import { decimalOf, dividedBy, numberOf, plus, zero } from "./decimal.ts";

const sum = (values: readonly number[]): number => numberOf(values.map(decimalOf).reduce(plus, zero));
const average = (values: readonly number[]): number => dividedBy(values.map(decimalOf).reduce(plus, zero), values.length);
const finite = fc.double({ noNaN: true, noDefaultInfinity: true });

test.each<[number[], number, number]>([
  [[0.1, 0.2], 0.3, 0.15],
  [[19.99, 19.99, 19.99], 59.97, 19.99],
  [[0.1, 0.2, 0.3], 0.6, 0.2],
  [[1, 2], 3, 1.5],
  [[1, 1, 0], 2, 2 / 3],
  [[-1, -1, 0], -2, -2 / 3],
  [[1e21, 1, -1e21], 1, 1 / 3],
  [[5e-324, 5e-324], 1e-323, 5e-324],
  [[1.7e308, 1.7e308], Infinity, 1.7e308],
  [[0], 0, 0],
])("of %j the sum is %d and the average %d", (values, expectedSum, expectedAverage) => {
  expect(sum(values)).toBe(expectedSum);
  expect(average(values)).toBe(expectedAverage);
});

test("a number is its own sum and average", () => {
  fc.assert(
    fc.property(finite, fc.integer({ min: 1, max: 9 }), (value, count) => {
      expect(sum([value])).toBe(value + 0);
      expect(average(Array.from({ length: count }, () => value))).toBe(value + 0);
    }),
  );
});

test("the order of the numbers says nothing", () => {
  fc.assert(
    fc.property(fc.array(finite, { minLength: 1, maxLength: 6 }), (values) => {
      expect(sum(values)).toBe(sum(values.toReversed()));
    }),
  );
});

test("cents add up as whole numbers do", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 1, maxLength: 30 }), (cents) => {
      const total = cents.reduce((all, one) => all + one, 0);
      expect(sum(cents.map((one) => one / 100))).toBe(total / 100 + 0);
    }),
  );
});

test("a quotient is the number nearest to it", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.integer({ min: 1, max: 1_000_000 }), (dividend, divisor) => {
      expect(dividedBy(decimalOf(dividend), divisor)).toBe(dividend / divisor + 0);
    }),
    { numRuns: 1000 },
  );
});
