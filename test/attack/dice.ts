/** Draws from a seed: the same attacks each time, and other ones for another seed. */

export type Dice = {
  /** A whole number from 0 to `below` - 1. */
  roll(below: number): number;
  pick<Value>(from: readonly Value[]): Value;
  /** True so many times in a hundred. */
  percent(share: number): boolean;
};

/** The generator known as mulberry32. */
export function createDice(seed: number): Dice {
  let state = seed >>> 0;
  const unit = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const roll = (below: number): number => Math.floor(unit() * below);
  return {
    roll,
    pick: <Value>(from: readonly Value[]): Value => from[roll(from.length)] as Value,
    percent: (share) => unit() * 100 < share,
  };
}
