/** Makes a number of calls at a pace of the clock. */

import type { Clock, ClockTimer } from "../clock/clock.ts";

export type Generator = { progress(): { count: number; made: number; perSecond: number }; stop(): void };

type GeneratorOptions = {
  clock: Clock;
  count: number;
  perSecond: number;
  /** Answers whether it was taken; a call that is refused ends it. */
  call: () => boolean;
  /** All are made, or one was refused. */
  ended: () => void;
};

export function startGenerator({ clock, count, perSecond, call, ended }: GeneratorOptions): Generator {
  const startedAt = clock.now();
  let timer: ClockTimer | null = null;
  let made = 0;
  const nextAt = (): number => startedAt + Math.ceil((made * 1000) / perSecond);

  function step(): void {
    for (; made < count && nextAt() <= clock.now(); made += 1) if (!call()) return ended();
    if (made === count) ended();
    else timer = clock.schedule(nextAt(), step, { background: true });
  }
  timer = clock.schedule(startedAt, step, { background: true });

  return { progress: () => ({ count, made, perSecond }), stop: () => timer?.cancel() };
}
