/**
 * Two lanes of 32 bits, mixed as MurmurHash3 mixes them, so that neighbouring seeds and keys have
 * nothing in common.
 */

/** In [0, 1), the same for the same seed and keys. All are whole numbers. */
export function drawUnit(seed: number, ...keys: number[]): number {
  let high = 0x9e3779b9;
  let low = 0x85ebca6b;
  const take = (word: number): void => {
    high = finish(Math.imul(high ^ word, 0xcc9e2d51) + low);
    low = finish(Math.imul(low ^ word, 0x1b873593) ^ high);
  };
  take(seed | 0);
  take(Math.floor(seed / 2 ** 32) | 0);
  for (const key of keys) {
    take(key | 0);
    take(Math.floor(key / 2 ** 32) | 0);
  }
  return ((high >>> 5) * 2 ** 26 + (low >>> 6)) / 2 ** 53;
}

function finish(word: number): number {
  let mixed = word ^ (word >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return mixed ^ (mixed >>> 16);
}
