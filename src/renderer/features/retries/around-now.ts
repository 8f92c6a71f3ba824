/** Where times lie on an axis of clock time around now, which moves on under the marks. Pure. */

import { span } from "../../kit/words.ts";
import { textPx, withRoom, type Label, type ScaleName } from "../timeline/scale.ts";

/** Of the log axis: spreads what is due within a minute, and still shows the hours. */
const bendMs = 30_000;

export type AroundNow = {
  scale: ScaleName;
  width: number;
  /** Of clock time, before and after now. A side of 0 has no room. */
  pastMs: number;
  futureMs: number;
};

const reach = (scale: ScaleName, ms: number): number => (scale === "linear" ? ms : Math.log1p(ms / bendMs));

/** The part of the axis that is the past: half, or all of it when nothing is to come. */
export function nowX({ width, futureMs }: AroundNow): number {
  return futureMs === 0 ? width : width / 2;
}

/** Null for what is farther away than the axis reaches. */
export function xAround(axis: AroundNow, sinceNowMs: number): number | null {
  const middle = nowX(axis);
  const [side, room] = sinceNowMs < 0 ? [axis.pastMs, middle] : [axis.futureMs, axis.width - middle];
  const away = Math.abs(sinceNowMs);
  if (away === 0) return middle;
  if (away > side || side === 0) return null;
  const px = (reach(axis.scale, away) / reach(axis.scale, side)) * room;
  return sinceNowMs < 0 ? middle - px : middle + px;
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
const steps = {
  log: [10 * second, minute, 5 * minute, 15 * minute, hour, 4 * hour, 12 * hour, day, 4 * day, 10 * day, 30 * day],
  linear: [15 * minute, 30 * minute, 45 * minute, hour],
} satisfies Record<ScaleName, number[]>;

/** The farthest first: what is near now gives way to now's own label. */
export function labelsAround(axis: AroundNow, nowText: string): Label[] {
  const now: Label = { x: Math.min(nowX(axis), axis.width - textPx(nowText) / 2), text: nowText, stays: true };
  const labels = steps[axis.scale].toReversed().flatMap((ms) =>
    [-ms, ms].flatMap((away): Label[] => {
      const x = xAround(axis, away);
      const text = away < 0 ? `−${span(ms)}` : `+${span(ms)}`;
      const half = textPx(text) / 2;
      return x === null || x < half || x > axis.width - half ? [] : [{ x, text, stays: false }];
    }),
  );
  return withRoom([now, ...labels], 40).filter(({ stays }) => !stays);
}
