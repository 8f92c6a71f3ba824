/** Where everything of the retry timeline lies, in px from the left end of its lanes. Pure; drawn by `timeline-plot.tsx`. */

import { calendarDate, clockTime } from "../../kit/words.ts";
import type { Course, CourseLane, Mark } from "./course.ts";
import { fractionOf, textPx, withRoom, type Label, type ScaleName } from "./scale.ts";

/** Nearer than this, marks would hide each other. */
const nearPx = 11;

/** Between the middles of two round numbers. */
const roundRoomPx = 13;

/** From the last mark of a lane that ended to its buffer: with a reason behind it, and without. */
const [reasonBufferPx, bufferPx] = [26, 12];

/** A reason that has less is told at the end of the lane's label instead. */
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
  lane: CourseLane;
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

type LayoutOptions = { course: Course; scale: ScaleName; width: number };

export function layoutOf({ course, scale, width }: LayoutOptions): TimelineLayout {
  const { startsAt, windowMs } = course;
  const xOf = (at: number): number => fractionOf(scale, at - startsAt, windowMs) * width;
  const columns = columnsOf(course, xOf);
  return {
    width,
    lanes: course.lanes.map((lane) => laneLayout(lane, course, xOf, width)),
    roundLines: columns.reduce<number[]>((lines, { x }) => (x - (lines.at(-1) ?? -nearPx) >= nearPx ? [...lines, x] : lines), []),
    rounds: withRoom(
      columns.filter(({ x, text, stays }) => stays || x + textPx(text) / 2 <= width),
      roundRoomPx,
    ),
  };
}

function columnsOf({ lanes }: Course, xOf: (at: number) => number): RoundLabel[] {
  const rounds = new Map<number, { at: number; isNext: boolean }>();
  for (const mark of lanes.flatMap(({ marks }) => marks)) {
    const known = rounds.get(mark.round);
    const isNext = mark.kind === "coming" && mark.next;
    rounds.set(mark.round, { at: Math.min(mark.at, known?.at ?? Infinity), isNext: isNext || known?.isNext === true });
  }
  return [...rounds]
    .sort(([a], [b]) => a - b)
    .map(([round, { at, isNext }], place) => ({ round, x: xOf(at), text: String(round), stays: place === 0 || isNext, isNext }));
}

function laneLayout(lane: CourseLane, course: Course, xOf: (at: number) => number, width: number): LaneLayout {
  const groups = (["attempt", "under_way", "coming"] as const).flatMap((kind) =>
    mergeNear(
      lane.marks.filter((mark) => mark.kind === kind).map((mark) => ({ mark, x: xOf(mark.at) })),
      leadOf,
    ),
  );
  const lastX = groups.reduce((most, { lead }) => (lead.mark.kind === "coming" ? most : Math.max(most, lead.x)), 0);
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
      height: lead.mark.kind === "attempt" ? Math.min(1, lead.mark.attempt.durationMs / course.ceilingMs) : 0,
    })),
    until,
    isLow: hasReason,
    noteWidth: hasReason && noteWidth >= noteRoomPx ? noteWidth : null,
  };
}

type Placed = { mark: Mark; x: number };

/**
 * The longest attempt, but a success is what its lane was about. Of coming rounds the next, whose time is certain, else the
 * last, which is the farthest from what has been.
 */
function leadOf(group: readonly Placed[]): Placed {
  const weight = ({ mark }: Placed): number => {
    if (mark.kind === "attempt") return mark.attempt.outcome === "success" ? Infinity : mark.attempt.durationMs;
    return mark.kind === "coming" && mark.next ? Infinity : mark.round;
  };
  return group.reduce((lead, each) => (weight(each) > weight(lead) ? each : lead));
}

/**
 * Neighbours that are too near become one, which lies where the one that leads it lies. One of several has its number at
 * the right, so that its neighbour there must be that much farther away. `items` go from left to right.
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
  now: { x: number; text: string; /** Of the line on which the flag stands. */ side: "left" | "right" } | null;
  /** What is said at the window's end; null when only the axis has room for it. */
  end: string | null;
};

/** The flag of now and the label of the window's end, which share a line. */
export function topOf({ course, scale, width, now }: LayoutOptions & { now: number | null }): TopLayout {
  const { startsAt, windowMs, isOver } = course;
  const endsAt = startsAt + windowMs;
  const isWithin = now !== null && now >= startsAt && (now <= endsAt || !isOver);
  const flag = isWithin ? `now ${clockTime(now)}` : "";
  const flagPx = textPx(flag) + 12;
  const x = isWithin ? fractionOf(scale, now - startsAt, windowMs) * width : 0;
  const side = x > width / 2 || x + flagPx > width ? "left" : "right";
  const taken = isWithin ? (side === "left" ? x : x + flagPx) : 0;
  const time = dayAndTime(endsAt, startsAt);
  const verb = now !== null && now > endsAt ? "ended" : "ends";
  const end = [`window ${verb} ${time}`, `${verb} ${time}`].find((text) => width - textPx(text) - 12 >= taken);
  return { now: isWithin ? { x, text: flag, side } : null, end: end ?? null };
}

/** With its weekday when that is another day than `beside`. */
export function dayAndTime(at: number, beside: number): string {
  const date = calendarDate(at);
  return date === calendarDate(beside) ? clockTime(at) : `${date.slice(0, 3)} ${clockTime(at)}`;
}
