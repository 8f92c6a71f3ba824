/**
 * The one lane of a delivery among all that are waiting: a mark per round, what is to come, the
 * window's end. Pure.
 */

import { span } from "../../kit/words.ts";
import type { PlacedMark } from "../timeline/marks.ts";
import { type Label, type ScaleName, textPx, withRoom } from "../timeline/timeline-axis.ts";
import type { RoundMark } from "../timeline/timeline-model.ts";

type LaneDrawing = { track: string; end: string; marks: PlacedMark[] };

export const markPx = 7;
const laneMiddle = 10;

/** Nearer than this to a newer one, a mark would only blur it. */
const nearPx = 8;

/** From the last mark of a delivery that is over to its buffer. */
const bufferPx = 9;

type DrawOptions = {
  axis: NowAxis;
  now: number;
  marks: readonly RoundMark[];
  coming: readonly number[];
  startsAt: number | null;
  /** The window's end; null when the delivery is over. */
  endsAt: number | null;
};

export function drawLane({ axis, now, marks, coming, startsAt, endsAt }: DrawOptions): LaneDrawing {
  const placed: PlacedMark[] = [];
  const put = (kind: PlacedMark["kind"], x: number): void =>
    void placed.push({ kind, x: x - markPx / 2, y: laneMiddle - markPx / 2 });
  let nearest = Infinity;
  for (const { at, outcome } of marks.toReversed()) {
    const x = xAround(axis, at - now);
    if (x === null || nearest - x < nearPx) continue;
    nearest = x;
    put(outcome, x);
  }
  let last = -Infinity;
  for (const [place, at] of coming.entries()) {
    const x = xAround(axis, at - now);
    if (x === null || x - last < nearPx) continue;
    last = x;
    put(place === 0 ? "next" : "coming", x);
  }
  const begin = startsAt === null ? 0 : (xAround(axis, startsAt - now) ?? 0);
  const newest = marks.at(-1);
  const lastX = newest === undefined ? null : xAround(axis, newest.at - now);
  const over = lastX === null ? null : Math.min(axis.width, lastX + bufferPx);
  const end = endsAt === null ? over : xAround(axis, endsAt - now);
  const stop = end ?? (endsAt === null ? begin : axis.width);
  return {
    track: `M${round(begin)} ${laneMiddle}H${round(stop)}`,
    end: end === null ? "" : `M${round(end)} ${laneMiddle - 5}v10`,
    marks: placed,
  };
}

const round = (n: number): number => Math.round(n * 10) / 10;

/** Of the log axis: spreads what is due within a minute, and still shows the hours. */
const bendMs = 30_000;

/** Deliveries side by side have no rounds in common, so no compact scale. */
export const aroundScales = ["log", "linear"] as const satisfies readonly ScaleName[];
export type AroundScale = (typeof aroundScales)[number];

export type NowAxis = {
  scale: AroundScale;
  width: number;
  /** Of clock time, before and after now. A side of 0 has no room. */
  pastMs: number;
  futureMs: number;
};

const reach = (scale: AroundScale, ms: number): number =>
  scale === "linear" ? ms : Math.log1p(ms / bendMs);

/** The part of the axis that is the past: half, or all of it when nothing is to come. */
export function nowX({ width, futureMs }: NowAxis): number {
  return futureMs === 0 ? width : width / 2;
}

/** Null for what is farther away than the axis reaches. */
export function xAround(axis: NowAxis, sinceNowMs: number): number | null {
  const middle = nowX(axis);
  const [side, room] =
    sinceNowMs < 0 ? [axis.pastMs, middle] : [axis.futureMs, axis.width - middle];
  const away = Math.abs(sinceNowMs);
  if (away === 0) return middle;
  if (away > side || side === 0) return null;
  const px = (reach(axis.scale, away) / reach(axis.scale, side)) * room;
  return sinceNowMs < 0 ? middle - px : middle + px;
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];
const steps = {
  log: [
    10 * second,
    minute,
    5 * minute,
    15 * minute,
    hour,
    4 * hour,
    12 * hour,
    day,
    4 * day,
    10 * day,
    30 * day,
  ],
  linear: [15 * minute, 30 * minute, 45 * minute, hour],
} satisfies Record<AroundScale, number[]>;

/** The farthest first: what is near now gives way to now's own label. */
export function labelsAround(axis: NowAxis, nowText: string): Label[] {
  const now: Label = {
    x: Math.min(nowX(axis), axis.width - textPx(nowText) / 2),
    text: nowText,
    stays: true,
  };
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
