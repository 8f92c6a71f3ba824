/**
 * The axis of a retry timeline, from clock time to px and back: linear, logarithmic, or compact,
 * which has a column for each round and writes how long the gaps between them are. Pure.
 */

import { duration, span } from "../../kit/words.ts";

export type ScaleName = "log" | "linear" | "compact";

/** Clock times. */
export type Range = { from: number; to: number };

type Gap = { x: number; width: number; text: string };

export type Axis = Range & {
  scale: ScaleName;
  width: number;
  /** What lies outside of the range is at its nearer end. */
  xOf(at: number): number;
  timeAt(x: number): number;
  isWithin(at: number): boolean;
  /** Of the compact scale: the gaps that have room for their length. */
  gaps: readonly Gap[];
};

type AxisOptions = Range & {
  scale: ScaleName;
  width: number;
  /** Where the log scale begins: the first attempt, also when the range begins later. */
  origin: number;
  /** What the compact scale gives room to. */
  columns: readonly Column[];
};

/** A round far ahead gets the room of its mark alone. */
type Column = { at: number; isFar: boolean };

/** Keeps the first rounds apart without crushing the last hours. */
const bendMs = 100_000;

export function axisOf(options: AxisOptions): Axis {
  const { scale, from, to, width, origin } = options;
  if (scale === "compact") return compactAxis(options);
  const reach = (at: number): number =>
    scale === "linear" ? at : Math.log1p(Math.max(0, at - origin) / bendMs);
  const [first, last] = [reach(from), reach(to)];
  const length = last - first;
  return {
    scale,
    from,
    to,
    width,
    xOf: (at) => (length <= 0 ? 0 : clamp((reach(at) - first) / length) * width),
    timeAt: (x) => {
      const reached = first + clamp(width <= 0 ? 0 : x / width) * length;
      return scale === "linear" ? reached : origin + Math.expm1(reached) * bendMs;
    },
    isWithin: (at) => at >= from && at <= to,
    gaps: [],
  };
}

/** Attempts of one round start this close to each other: they share a column. */
const sameColumnMs = 50;

/** A column keeps this much, or its marks would hide each other. */
const columnPx = 14;

/** Around the length of a gap. */
const gapPx = 6;

function compactAxis({ scale, from, to, width, columns }: AxisOptions): Axis {
  const stops = [from];
  const far = new Set<number>();
  for (const { at, isFar } of columns.toSorted((a, b) => a.at - b.at)) {
    if (at - (stops.at(-1) ?? from) < sameColumnMs || at >= to) continue;
    stops.push(at);
    if (isFar) far.add(at);
  }
  stops.push(to);
  const gaps = stops.slice(1).map((at, place) => ({ from: stops[place] ?? from, to: at }));
  const wanted = gaps.map(({ from: begin, to: end }) =>
    far.has(end) || far.has(begin)
      ? columnPx
      : Math.max(columnPx, textPx(roughWords(end - begin)) + gapPx + 1),
  );
  const lengths = gaps.map(({ from: begin, to: end }) => end - begin);
  const px = sharesOf(fitting(wanted, lengths, width), width);
  const places = [0];
  for (const each of px) places.push((places.at(-1) ?? 0) + each);
  const within = (value: number, list: readonly number[]): number => {
    const place = list.findLastIndex((each) => each <= value);
    return Math.min(Math.max(place, 0), gaps.length - 1);
  };
  const between = (value: number, source: readonly number[], target: readonly number[]): number => {
    const place = within(value, source);
    const [begin = 0, end = 0] = [source[place], source[place + 1]];
    const [least = 0, most = 0] = [target[place], target[place + 1]];
    return least + (end > begin ? clamp((value - begin) / (end - begin)) : 0) * (most - least);
  };
  return {
    scale,
    from,
    to,
    width,
    xOf: (at) => between(at, stops, places),
    timeAt: (x) => between(x, places, stops),
    isWithin: (at) => at >= from && at <= to,
    gaps: gaps.flatMap(({ from: begin, to: end }, place): Gap[] => {
      const room = px[place] ?? 0;
      const text = [gapWords(end - begin), roughWords(end - begin)].find(
        (each) => textPx(each) + gapPx <= room,
      );
      return text === undefined ? [] : [{ x: places[place] ?? 0, width: room, text }];
    }),
  };
}

/** Where not all have room for their length, the shortest go without, so that others keep theirs. */
function fitting(
  wanted: readonly number[],
  lengths: readonly number[],
  width: number,
): readonly number[] {
  const given = [...wanted];
  let sum = given.reduce((all, each) => all + each, 0);
  const shortestFirst = lengths.map((_, place) => place);
  shortestFirst.sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  for (const place of shortestFirst) {
    if (sum <= width) break;
    sum -= (given[place] ?? columnPx) - columnPx;
    given[place] = columnPx;
  }
  return given;
}

/** Each gets what it wants and an equal part of the rest, or less than it wants in proportion. */
function sharesOf(wanted: readonly number[], width: number): number[] {
  const sum = wanted.reduce((all, each) => all + each, 0);
  const rest = width - sum;
  return rest >= 0
    ? wanted.map((each) => each + rest / wanted.length)
    : wanted.map((each) => (each / sum) * width);
}

const gapWords = (ms: number): string => (ms < 1000 ? duration(ms) : span(ms));

/** In one unit: `2.7 m`. */
function roughWords(ms: number): string {
  if (ms < second) return gapWords(ms);
  const [size, unit] =
    ms < minute ? [second, "s"] : ms < hour ? [minute, "m"] : ms < day ? [hour, "h"] : [day, "d"];
  const value = ms / size;
  return `${value < 10 ? Math.round(value * 10) / 10 : Math.round(value)} ${unit}`;
}

function clamp(fraction: number): number {
  return Math.min(1, Math.max(0, fraction));
}

/**
 * The width of a text of 11 px in the widest of the common faces: its digits, its spaces and stops,
 * its letters on average.
 */
export function textPx(text: string): number {
  let px = 0;
  for (const letter of text) px += /\d/.test(letter) ? 7 : /[ :.,]/.test(letter) ? 3.7 : 6.8;
  return px;
}

export type Label = {
  x: number;
  text: string;
  /** It is shown whatever its room. */ stays: boolean;
};

/**
 * Those labels that have room: at least `atLeast` px and the width of their own text from middle to
 * middle. Those that stay come first and give way to each other; the others follow from the left,
 * each where it does not come too near.
 */
export function withRoom<Each extends Label>(labels: readonly Each[], atLeast: number): Each[] {
  const room = (a: Label, b: Label): number =>
    Math.max(atLeast, (textPx(a.text) + textPx(b.text)) / 2 + 4);
  const kept: Each[] = [];
  for (const label of labels.filter(({ stays }) => stays)) {
    const before = kept.at(-1);
    const wanted =
      before === undefined ? label.x : Math.max(label.x, before.x + room(before, label));
    kept.push(wanted === label.x ? label : { ...label, x: wanted });
  }
  for (const label of labels) {
    if (!label.stays && kept.every((other) => Math.abs(other.x - label.x) >= room(other, label)))
      kept.push(label);
  }
  return kept.sort((a, b) => a.x - b.x);
}

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

/** On a log axis each of these is about as far from the next as the next from the one after. */
const logSteps = [
  10 * second,
  minute,
  5 * minute,
  15 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  day,
  2 * day,
  4 * day,
  8 * day,
];

const linearSteps = [
  100,
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

/** The round time after one: where an axis can end. */
export function roundTimeAfter(ms: number, atMost: number): number {
  return Math.min(atMost, logSteps.find((step) => step > ms * 1.05) ?? atMost);
}

/** As many on a linear axis as can be read at a glance. */
const maxSteps = 6;

/** Between the middles of two times below the axis. */
const axisRoomPx = 28;

type Tick = { x: number; text: string };

/** The times between the two ends of the axis, whose own labels are `first` and `last`. */
export function ticksBetween(axis: Axis, origin: number, first: string, last: string): Tick[] {
  const { scale, from, to, width, xOf } = axis;
  // The compact scale has the lengths of its gaps instead.
  if (scale === "compact") return [];
  const [begin, end] = [from - origin, to - origin];
  const linear = linearSteps.find((step) => (end - begin) / step <= maxSteps) ?? end - begin;
  const isEven = scale === "linear" || begin > 0;
  const times = isEven
    ? Array.from(
        { length: Math.ceil((end - begin) / linear) },
        (_, place) => (Math.floor(begin / linear) + place + 1) * linear,
      )
    : logSteps;
  const labels = times
    .filter((ms) => ms > begin && ms < end)
    .map((ms): Label => ({
      x: xOf(origin + ms),
      text: ms % second === 0 ? span(ms) : `${(ms / second).toFixed(1)} s`,
      stays: false,
    }));
  // The labels of the ends stand beside them, not around them.
  const ends: Label[] = [
    { x: textPx(first) / 2, text: first, stays: true },
    { x: width - textPx(last) / 2, text: last, stays: true },
  ];
  return withRoom([...ends, ...labels], axisRoomPx).filter(({ stays }) => !stays);
}
