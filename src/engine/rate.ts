/** How many of something there were in a second, over the last few seconds. */

import { monotonic } from "./wall.ts";

const windowSeconds = 5;

type Rate = { add(n: number): void; perSecond(): number };

export function createRate(): Rate {
  const slots = new Array<{ second: number; n: number }>(windowSeconds);
  const now = (): number => Math.floor(monotonic() / 1000);
  return {
    add(n) {
      const second = now();
      const slot = slots[second % windowSeconds];
      if (slot?.second === second) slot.n += n;
      else slots[second % windowSeconds] = { second, n };
    },
    perSecond() {
      const from = now() - windowSeconds;
      const sum = slots.reduce((total, slot) => (slot !== undefined && slot.second > from ? total + slot.n : total), 0);
      return Math.round((sum / windowSeconds) * 10) / 10;
    },
  };
}
