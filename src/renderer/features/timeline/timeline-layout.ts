/**
 * Where everything of the retry timeline lies, in px from the left end of its lanes. Pure; drawn by
 * `timeline-plot.tsx`.
 */

import { clockTime, dayAndTime, span } from "../../kit/words.ts";
import type { Lane, Mark, Timeline } from "./timeline-model.ts";

/** Nearer than this, marks would hide each other. */
const nearPx = 11;

/** Between the middles of two round numbers. */
const roundRoomPx = 13;

/** From the last mark of a lane that ended to its buffer: with a reason behind it, and without. */
const [reasonBufferPx, bufferPx] = [26, 12];

/** A reason with less room is shown at the end of the lane's label. */
const noteRoomPx = 120;

export type MarkGroup = {
  /** Of its lane and its first round. */
  key: string;
  /** The one that stands for all. */
  lead: Mark;
  marks: Mark[];
  x: number;
  /** 0 to 1, the ceiling. */
  height: number;
  /** Of several: on which side of the mark their number has room. */
  numberAt: "left" | "right";
};

export type LaneLayout = {
  lane: Lane;
  groups: MarkGroup[];
  /** Where the track ends. */
  until: number;
  /** It ends before the window does. */
  hasBuffer: boolean;
  /** Not retried while others may be: it needs no height. */
  isLow: boolean;
  /** The reason has room behind the buffer, this much. */
  noteWidth: number | null;
};

export type RoundLabel = Label & { round: number; isNext: boolean };

export type TimelineLayout = {
  width: number;
  lanes: LaneLayout[];
  /** A thin line through all lanes for each round that has room. */
  roundLines: number[];
  rounds: RoundLabel[];
};

type LayoutOptions = { timeline: Timeline; scale: ScaleName; width: number };

export function layoutOf({ timeline, scale, width }: LayoutOptions): TimelineLayout {
  const { startsAt, windowMs } = timeline;
  const xOf = (at: number): number => fractionOf(scale, at - startsAt, windowMs) * width;
  const columns = columnsOf(timeline, xOf);
  return {
    width,
    lanes: timeline.lanes.map((lane) => laneLayout(lane, timeline, xOf, width)),
    roundLines: columns.reduce<number[]>(
      (lines, { x }) => (x - (lines.at(-1) ?? -nearPx) >= nearPx ? [...lines, x] : lines),
      [],
    ),
    rounds: withRoom(
      columns.filter(({ x, text, stays }) => stays || x + textPx(text) / 2 <= width),
      roundRoomPx,
    ),
  };
}

function columnsOf({ lanes }: Timeline, xOf: (at: number) => number): RoundLabel[] {
  const rounds = new Map<number, { at: number; isNext: boolean }>();
  for (const mark of lanes.flatMap(({ marks }) => marks)) {
    const known = rounds.get(mark.round);
    const isNext = mark.kind === "coming" && mark.next;
    rounds.set(mark.round, {
      at: Math.min(mark.at, known?.at ?? Infinity),
      isNext: isNext || known?.isNext === true,
    });
  }
  return [...rounds]
    .sort(([a], [b]) => a - b)
    .map(([round, { at, isNext }], place) => ({
      round,
      x: xOf(at),
      text: String(round),
      stays: place === 0 || isNext,
      isNext,
    }));
}

function laneLayout(
  lane: Lane,
  timeline: Timeline,
  xOf: (at: number) => number,
  width: number,
): LaneLayout {
  const groups = (["attempt", "under_way", "coming"] as const).flatMap((kind) =>
    mergeNear(
      lane.marks.filter((mark) => mark.kind === kind).map((mark) => ({ mark, x: xOf(mark.at) })),
      leadOf,
    ),
  );
  const lastX = groups.reduce(
    (most, { lead }) => (lead.mark.kind === "coming" ? most : Math.max(most, lead.x)),
    0,
  );
  const { stop } = lane;
  const hasReason = stop !== null && stop.reason !== null;
  const buffer = lastX + (hasReason ? reasonBufferPx : bufferPx);
  const end = hasReason
    ? buffer
    : stop !== null
      ? Math.max(buffer, xOf(stop.at))
      : lane.endsAt === null
        ? width
        : Math.max(lastX, xOf(lane.endsAt));
  const until = Math.min(width, end);
  const noteWidth = width - until - 14;
  return {
    lane,
    hasBuffer: stop !== null && until < width,
    groups: groups.map(({ lead, items }) => ({
      key: `${lane.number}:${items[0]?.mark.round ?? 0}`,
      lead: lead.mark,
      marks: items.map(({ mark }) => mark),
      x: lead.x,
      numberAt: lead.x + nearPx + textPx(String(items.length)) > width ? "left" : "right",
      height:
        lead.mark.kind === "attempt"
          ? Math.min(1, lead.mark.attempt.durationMs / timeline.ceilingMs)
          : 0,
    })),
    until,
    isLow: hasReason,
    noteWidth: hasReason && noteWidth >= noteRoomPx ? noteWidth : null,
  };
}

type Placed = { mark: Mark; x: number };

/**
 * The longest attempt, but a success is what its lane was about. Of coming rounds the next, whose
 * time is certain, else the last, which is the farthest from what has been.
 */
function leadOf(group: readonly Placed[]): Placed {
  const weight = ({ mark }: Placed): number => {
    if (mark.kind === "attempt")
      return mark.attempt.outcome === "success" ? Infinity : mark.attempt.durationMs;
    return mark.kind === "coming" && mark.next ? Infinity : mark.round;
  };
  return group.reduce((lead, each) => (weight(each) > weight(lead) ? each : lead));
}

/**
 * Neighbours that are too near become one, which lies where the one that leads it lies. One of
 * several has its number at the right, so that its neighbour there must be that much farther away.
 * `items` go from left to right.
 */
export function mergeNear<Item extends { x: number }>(
  items: readonly Item[],
  leadOf: (group: readonly Item[]) => Item,
): { lead: Item; items: Item[] }[] {
  const groups: { lead: Item; items: Item[] }[] = [];
  for (const item of items) {
    groups.push({ lead: item, items: [item] });
    for (;;) {
      const [left, right] = groups.slice(-2);
      if (left === undefined || right === undefined) break;
      const number = left.items.length > 1 ? textPx(String(left.items.length)) : 0;
      if (right.lead.x - left.lead.x >= nearPx + number) break;
      const merged = [...left.items, ...right.items];
      groups.splice(-2, 2, { lead: leadOf(merged), items: merged });
    }
  }
  return groups;
}

type TopLayout = {
  /** Null when now is not within the window. */
  now: {
    x: number;
    text: string;
    /** Of the line on which the flag stands. */ side: "left" | "right";
  } | null;
  /** The text at the window's end; null when only the axis has room for it. */
  end: string | null;
};

/** The flag of now and the label of the window's end, which share a line. */
export function topOf({
  timeline,
  scale,
  width,
  now,
}: LayoutOptions & { now: number | null }): TopLayout {
  const { startsAt, windowMs, isOver } = timeline;
  const endsAt = startsAt + windowMs;
  const isWithin = now !== null && now >= startsAt && (now <= endsAt || !isOver);
  const flag = isWithin ? `now ${clockTime(now)}` : "";
  const flagPx = textPx(flag) + 12;
  const x = isWithin ? fractionOf(scale, now - startsAt, windowMs) * width : 0;
  const side = x > width / 2 || x + flagPx > width ? "left" : "right";
  const taken = isWithin ? (side === "left" ? x : x + flagPx) : 0;
  const time = dayAndTime(endsAt, startsAt);
  const verb = now !== null && now > endsAt ? "ended" : "ends";
  const end = [`window ${verb} ${time}`, `${verb} ${time}`].find(
    (text) => width - textPx(text) - 12 >= taken,
  );
  return { now: isWithin ? { x, text: flag, side } : null, end: end ?? null };
}

export type ScaleName = "log" | "linear";

/** Keeps the first rounds apart without crushing the last hours. */
const bendMs = 100_000;

/** From 0, the first attempt, to 1, the window's end. */
export function fractionOf(scale: ScaleName, ms: number, windowMs: number): number {
  if (windowMs <= 0) return 0;
  const fraction =
    scale === "linear" ? ms / windowMs : Math.log1p(ms / bendMs) / Math.log1p(windowMs / bendMs);
  return Math.min(1, Math.max(0, ms <= 0 ? 0 : fraction));
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

/** As many on a linear axis as can be read at a glance. */
const maxSteps = 6;

/** Between the middles of two times below the axis. */
const axisRoomPx = 28;

type Tick = { x: number; text: string };

/** The times between the two ends of the axis, whose own labels are `first` and `last`. */
export function ticksBetween(
  scale: ScaleName,
  windowMs: number,
  width: number,
  first: string,
  last: string,
): Tick[] {
  const linear = linearSteps.find((step) => windowMs / step <= maxSteps) ?? windowMs;
  const times =
    scale === "log"
      ? logSteps
      : Array.from(
          { length: Math.ceil(windowMs / linear) - 1 },
          (_, place) => (place + 1) * linear,
        );
  const labels = times
    .filter((ms) => ms < windowMs)
    .map((ms): Label => ({
      x: fractionOf(scale, ms, windowMs) * width,
      text: span(ms),
      stays: false,
    }));
  // The labels of the ends stand beside them, not around them.
  const ends: Label[] = [
    { x: textPx(first) / 2, text: first, stays: true },
    { x: width - textPx(last) / 2, text: last, stays: true },
  ];
  return withRoom([...ends, ...labels], axisRoomPx).filter(({ stays }) => !stays);
}
