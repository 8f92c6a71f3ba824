/** The one lane of a delivery among all that are waiting: a mark per round, what is to come, the window's end. Pure. */

import type { DeliverySummaryAnswer } from "../../../contract/deliveries.ts";
import type { RetryProfile } from "../../../domain/configuration.ts";
import { deliveryIds } from "../../../domain/ids.ts";
import { plannedRounds } from "../../../domain/retry.ts";
import type { Outcome } from "../../../domain/states.ts";
import { span } from "../../kit/words.ts";
import { type MarkKind, markPath } from "../timeline/marks.ts";
import { type Label, type ScaleName, textPx, withRoom } from "../timeline/timeline-layout.ts";

export type RoundMark = { round: number; at: number; outcome: Outcome };

type ComingOptions = { delivery: DeliverySummaryAnswer; marks: readonly RoundMark[]; profile: RetryProfile; seed: number; jitter: boolean };

/** The next round, on record, and those after it at their seeded times. */
export function comingOf({ delivery, marks, profile, seed, jitter }: ComingOptions): number[] {
  if (delivery.nextAttemptAt === null) return [];
  const nextAt = Date.parse(delivery.nextAttemptAt);
  const firstAttemptAt = delivery.firstAttemptAt === null ? nextAt : Date.parse(delivery.firstAttemptAt);
  const firstRound = marks.find(({ at }) => at >= firstAttemptAt)?.round ?? 1;
  const sequence = deliveryIds.parse(delivery.id) ?? 0;
  const round = delivery.rounds + 1 - firstRound + 1;
  return [nextAt, ...plannedRounds({ profile, seed, jitter, sequence, round, roundStartedAt: nextAt, firstAttemptAt })];
}

export type LanePath = { kind: MarkKind | "coming"; d: string; lines: number };
type LaneDrawing = { track: string; end: string; paths: LanePath[] };

const size = 7;
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
  const paths = new Map<LanePath["kind"], LanePath>();
  const put = (kind: LanePath["kind"], x: number): void => {
    const { d, lines } = markPath(kind === "coming" ? "next" : kind, x - size / 2, laneMiddle - size / 2, size);
    const path = paths.get(kind) ?? { kind, d: "", lines };
    path.d += d;
    paths.set(kind, path);
  };
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
    paths: [...paths.values()],
  };
}

const round = (n: number): number => Math.round(n * 10) / 10;

/** Of the log axis: spreads what is due within a minute, and still shows the hours. */
const bendMs = 30_000;

export type NowAxis = {
  scale: ScaleName;
  width: number;
  /** Of clock time, before and after now. A side of 0 has no room. */
  pastMs: number;
  futureMs: number;
};

const reach = (scale: ScaleName, ms: number): number => (scale === "linear" ? ms : Math.log1p(ms / bendMs));

/** The part of the axis that is the past: half, or all of it when nothing is to come. */
export function nowX({ width, futureMs }: NowAxis): number {
  return futureMs === 0 ? width : width / 2;
}

/** Null for what is farther away than the axis reaches. */
export function xAround(axis: NowAxis, sinceNowMs: number): number | null {
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
export function labelsAround(axis: NowAxis, nowText: string): Label[] {
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
