/** Where times lie on an axis that begins with the first attempt and ends with the retry window, and which labels have room. Pure. */

import { span } from "../../kit/words.ts";

export type ScaleName = "log" | "linear";

/** Keeps the first rounds apart without crushing the last hours. */
const bendMs = 100_000;

/** From 0, the first attempt, to 1, the window's end. */
export function fractionOf(scale: ScaleName, ms: number, windowMs: number): number {
  if (windowMs <= 0) return 0;
  const fraction = scale === "linear" ? ms / windowMs : Math.log1p(ms / bendMs) / Math.log1p(windowMs / bendMs);
  return Math.min(1, Math.max(0, ms <= 0 ? 0 : fraction));
}

/** The width of a text of 11 px in the widest of the common faces: its digits, its spaces and stops, its letters on average. */
export function textPx(text: string): number {
  let px = 0;
  for (const letter of text) px += /\d/.test(letter) ? 7 : /[ :.,]/.test(letter) ? 3.7 : 6.8;
  return px;
}

export type Label = { x: number; text: string; /** It is shown whatever its room. */ stays: boolean };

/**
 * Those labels that have room: at least `atLeast` px and the width of their own text from middle to middle. Those that
 * stay come first and give way to each other; the others follow from the left, each where it does not come too near.
 */
export function withRoom<Each extends Label>(labels: readonly Each[], atLeast: number): Each[] {
  const room = (a: Label, b: Label): number => Math.max(atLeast, (textPx(a.text) + textPx(b.text)) / 2 + 4);
  const kept: Each[] = [];
  for (const label of labels.filter(({ stays }) => stays)) {
    const before = kept.at(-1);
    const wanted = before === undefined ? label.x : Math.max(label.x, before.x + room(before, label));
    kept.push(wanted === label.x ? label : { ...label, x: wanted });
  }
  for (const label of labels) {
    if (!label.stays && kept.every((other) => Math.abs(other.x - label.x) >= room(other, label))) kept.push(label);
  }
  return kept.sort((a, b) => a.x - b.x);
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

/** On a log axis each of these is about as far from the next as the next from the one after. */
const logSteps = [10 * second, minute, 5 * minute, 15 * minute, hour, 2 * hour, 4 * hour, 8 * hour, day, 2 * day, 4 * day, 8 * day];

const linearSteps = [
  second,
  5 * second,
  15 * second,
  minute,
  5 * minute,
  15 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  12 * hour,
  day,
  2 * day,
];

/** As many on a linear axis as can be taken in at a glance. */
const mostSteps = 6;

/** Between the middles of two times below the axis. */
const axisRoomPx = 28;

type Tick = { x: number; text: string };

/** The times between the two ends of the axis, whose own labels are `first` and `last`. */
export function ticksBetween(scale: ScaleName, windowMs: number, width: number, first: string, last: string): Tick[] {
  const linear = linearSteps.find((step) => windowMs / step <= mostSteps) ?? windowMs;
  const times = scale === "log" ? logSteps : Array.from({ length: Math.ceil(windowMs / linear) - 1 }, (_, place) => (place + 1) * linear);
  const labels = times
    .filter((ms) => ms < windowMs)
    .map((ms): Label => ({ x: fractionOf(scale, ms, windowMs) * width, text: span(ms), stays: false }));
  // The labels of the ends stand beside them, not around them.
  const ends: Label[] = [
    { x: textPx(first) / 2, text: first, stays: true },
    { x: width - textPx(last) / 2, text: last, stays: true },
  ];
  return withRoom([...ends, ...labels], axisRoomPx).filter(({ stays }) => !stays);
}
