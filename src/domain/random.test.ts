import fc from "fast-check";
import { expect, test } from "vitest";
import { drawUnit } from "./random.ts";

const whole = fc.maxSafeInteger();

test("a draw is at least 0, less than 1 and the same for the same seed and keys", () => {
  fc.assert(
    fc.property(whole, fc.array(whole, { maxLength: 4 }), (seed, keys) => {
      const drawn = drawUnit(seed, ...keys);
      expect(drawn).toBeGreaterThanOrEqual(0);
      expect(drawn).toBeLessThan(1);
      expect(drawUnit(seed, ...keys)).toBe(drawn);
    }),
  );
});

test("neighbouring seeds, sequence numbers and rounds share no draw", () => {
  const draws = new Set<number>();
  for (let seed = 0; seed < 20; seed++) {
    for (let sequence = 0; sequence < 20; sequence++) {
      for (let round = 0; round < 20; round++) draws.add(drawUnit(seed, sequence, round));
    }
  }
  expect(draws.size).toBe(8000);
  expect(drawUnit(1, 2 ** 32)).not.toBe(drawUnit(1, 0));
  expect(drawUnit(1, 0)).not.toBe(drawUnit(1));
  expect(drawUnit(1, -1)).not.toBe(drawUnit(1, 2 ** 32 - 1));
});

test.each([
  ["seed", (n: number) => drawUnit(n, 7, 1)],
  ["sequence number", (n: number) => drawUnit(1, n, 1)],
  ["round", (n: number) => drawUnit(1, 7, n)],
])("draws along the %s are even and do not follow each other", (_, draw) => {
  const draws = Array.from({ length: 20_000 }, (__, n) => draw(n));
  const bins = new Array<number>(20).fill(0);
  let product = 0;
  for (const [n, drawn] of draws.entries()) {
    const bin = Math.floor(drawn * 20);
    bins[bin] = (bins[bin] ?? 0) + 1;
    product += (drawn - 0.5) * ((draws[n + 1] ?? 0.5) - 0.5);
  }
  // Six standard deviations of 1000 ± 31 in a bin, and of a correlation of 0 ± 0.007.
  for (const count of bins) expect(Math.abs(count - 1000)).toBeLessThan(186);
  expect(Math.abs((product * 12) / 20_000)).toBeLessThan(0.042);
});

test("a seed that somebody wrote down draws the same in every version", () => {
  expect([
    drawUnit(1),
    drawUnit(1, 2),
    drawUnit(2 ** 40 + 3, 2 ** 33 + 1, 7),
    drawUnit(-1, -5, 0),
  ]).toEqual([0.2339792557322954, 0.6803283494487262, 0.2561170931832931, 0.9316696961906762]);
});
