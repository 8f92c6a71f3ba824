/**
 * Where everything of the retry timeline lies, in px from the left end of its lanes. Pure; drawn by
 * `timeline-plot.tsx`.
 */

import { dayAndTime } from "../../kit/words.ts";
import {
  type Axis,
  axisOf,
  type Label,
  type Range,
  type ScaleName,
  textPx,
  withRoom,
} from "./timeline-axis.ts";
import type { Lane, Mark, Timeline } from "./timeline-model.ts";

/** One or several timelines over one axis, the one above the other. */
export type TimelinePart = {
  key: string;
  name: string;
  /** What became of it. */
  note?: string;
  timeline: Timeline;
};

/** Nearer than this, marks would hide each other. */
const nearPx = 11;

/** Between the middles of two round numbers. */
const roundRoomPx = 13;

/** From the last mark of a lane that ended to its buffer: with a reason behind it, and without. */
const [reasonBufferPx, bufferPx] = [26, 12];

export type MarkGroup = {
  /** Of its part, its lane and its first round. */
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

type PartLayout = {
  part: TimelinePart;
  rounds: RoundLabel[];
  lanes: LaneLayout[];
};

export type TimelineLayout = {
  axis: Axis;
  parts: PartLayout[];
  /** Of all parts. */
  lanes: LaneLayout[];
  /** A thin line through all lanes for each round that has room. */
  roundLines: number[];
};

type LayoutOptions = {
  parts: readonly TimelinePart[];
  scale: ScaleName;
  width: number;
  /** The whole window when left out. */
  range?: Range | null | undefined;
};

/** From the first attempt to the end of the last window. */
export function wholeRange(parts: readonly TimelinePart[]): Range {
  const from = Math.min(...parts.map(({ timeline }) => timeline.startsAt));
  const to = Math.max(...parts.map(({ timeline }) => timeline.startsAt + timeline.windowMs));
  return { from, to };
}

export function layoutOf({ parts, scale, width, range }: LayoutOptions): TimelineLayout {
  const whole = wholeRange(parts);
  const columnsOfParts = parts.map(({ timeline }) => columnsOf(timeline));
  const axis = axisOf({
    scale,
    width,
    origin: whole.from,
    ...(range ?? whole),
    columns: [
      ...columnsOfParts.flat(),
      ...parts.flatMap(({ timeline }) =>
        timeline.lanes.flatMap(({ endsAt }) =>
          endsAt === null ? [] : [{ at: endsAt, isFar: false }],
        ),
      ),
    ],
  });
  const laidOut = parts.map((part, place): PartLayout => {
    const labels = (columnsOfParts[place] ?? [])
      .filter(({ at }) => axis.isWithin(at))
      .map(({ round, at, isNext }, index): RoundLabel => ({
        round,
        x: axis.xOf(at),
        text: String(round),
        stays: index === 0 || isNext,
        isNext,
      }));
    return {
      part,
      rounds: withRoom(
        labels.filter(({ x, text, stays }) => stays || x + textPx(text) / 2 <= width),
        roundRoomPx,
      ),
      lanes: part.timeline.lanes.map((lane) => laneLayout(lane, part, axis)),
    };
  });
  const places = columnsOfParts
    .flat()
    .filter(({ at }) => axis.isWithin(at))
    .map(({ at }) => axis.xOf(at))
    .toSorted((a, b) => a - b);
  return {
    axis,
    parts: laidOut,
    lanes: laidOut.flatMap(({ lanes }) => lanes),
    roundLines: places.reduce<number[]>(
      (lines, x) => (x - (lines.at(-1) ?? -nearPx) >= nearPx ? [...lines, x] : lines),
      [],
    ),
  };
}

type RoundColumn = { round: number; at: number; isNext: boolean; isFar: boolean };

function columnsOf({ lanes }: Timeline): RoundColumn[] {
  const rounds = new Map<number, RoundColumn>();
  for (const mark of lanes.flatMap(({ marks }) => marks)) {
    const { round, at } = mark;
    const known = rounds.get(round);
    const isNext = mark.kind === "coming" && mark.next;
    const isFar = mark.kind === "coming" && !mark.next;
    rounds.set(round, {
      round,
      at: Math.min(at, known?.at ?? Infinity),
      isNext: isNext || known?.isNext === true,
      isFar: isFar && known?.isFar !== false,
    });
  }
  return [...rounds.values()].sort((a, b) => a.round - b.round);
}

function laneLayout(lane: Lane, { key, timeline }: TimelinePart, axis: Axis): LaneLayout {
  const { width, xOf } = axis;
  const ofKind = (isComing: boolean) =>
    apart(
      mergeNear(
        lane.marks
          .filter((mark) => (mark.kind === "coming") === isComing && axis.isWithin(mark.at))
          .map((mark) => ({ mark, x: xOf(mark.at) })),
        leadOf,
        areAlike,
      ),
      width,
    );
  const groups = [...ofKind(false), ...ofKind(true)];
  const lastX = groups.reduce(
    (most, { lead, x }) => (lead.mark.kind === "coming" ? most : Math.max(most, x)),
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
    groups: groups.map(({ lead, items, x }) => ({
      key: `${key}:${lane.number}:${items[0]?.mark.round ?? 0}`,
      lead: lead.mark,
      marks: items.map(({ mark }) => mark),
      x,
      numberAt: x + nearPx + textPx(String(items.length)) > width ? "left" : "right",
      height:
        lead.mark.kind === "attempt"
          ? Math.min(1, lead.mark.attempt.durationMs / timeline.ceilingMs)
          : 0,
    })),
    until,
    isLow: hasReason,
    noteWidth: noteWidth >= textPx(stop?.reason ?? "") + 8 && hasReason ? noteWidth : null,
  };
}

type Placed = { mark: Mark; x: number };

/**
 * The longest attempt. Of coming rounds the next, whose time is certain, else the last, which is
 * the farthest from what has been.
 */
function leadOf(group: readonly Placed[]): Placed {
  const weight = ({ mark }: Placed): number => {
    if (mark.kind === "attempt") return mark.attempt.durationMs;
    return mark.kind === "coming" && mark.next ? Infinity : mark.round;
  };
  return group.reduce((lead, each) => (weight(each) > weight(lead) ? each : lead));
}

/** A failure and the success after it are two things, however near they are. */
function areAlike(a: Placed, b: Placed): boolean {
  const what = ({ mark }: Placed): string =>
    mark.kind === "attempt" && mark.attempt.outcome === "success" ? "success" : mark.kind;
  return what(a) === what(b);
}

type Group<Item> = { lead: Item; items: Item[] };

/**
 * Neighbours that are alike and too near become one, which lies where the one that leads it lies.
 * One of several has its number at the right, so that its neighbour there must be that much farther
 * away. `items` go from left to right.
 */
export function mergeNear<Item extends { x: number }>(
  items: readonly Item[],
  leadOf: (group: readonly Item[]) => Item,
  areAlike: (a: Item, b: Item) => boolean = () => true,
): Group<Item>[] {
  const groups: Group<Item>[] = [];
  for (const item of items) {
    groups.push({ lead: item, items: [item] });
    for (;;) {
      const [left, right] = groups.slice(-2);
      if (left === undefined || right === undefined || !areAlike(left.lead, right.lead)) break;
      if (right.lead.x - left.lead.x >= roomOf(left)) break;
      const merged = [...left.items, ...right.items];
      groups.splice(-2, 2, { lead: leadOf(merged), items: merged });
    }
  }
  return groups;
}

/** What a mark and its number take from its middle to that of the next. */
function roomOf({ items }: { items: readonly unknown[] }): number {
  return nearPx + (items.length > 1 ? textPx(String(items.length)) : 0);
}

/** Those that are still too near give way to the right, and at the end of the axis to the left. */
export function apart<Item extends { x: number }>(
  groups: readonly Group<Item>[],
  width: number,
): (Group<Item> & { x: number })[] {
  const placed = groups.map((group) => ({ ...group, x: group.lead.x }));
  for (const [place, group] of placed.entries()) {
    const before = placed[place - 1];
    if (before !== undefined) group.x = Math.max(group.x, before.x + roomOf(before));
  }
  for (const [place, group] of [...placed.entries()].toReversed()) {
    const after = placed[place + 1];
    const most = after === undefined ? Math.max(width, group.lead.x) : after.x - roomOf(group);
    group.x = Math.min(group.x, most);
  }
  return placed;
}

type TopLayout = {
  /** Null when now is not on the axis. */
  now: {
    x: number;
    text: string;
    /** Of the line on which the flag stands. */ side: "left" | "right";
  } | null;
  /** The end of the window lies at the end of the axis. */
  hasEnd: boolean;
  /** The text there; null when only the axis has room for it. */
  end: string | null;
};

/** The flag of now and the label of the window's end, which share a line. */
export function topOf({
  parts,
  axis,
  now,
}: {
  parts: readonly TimelinePart[];
  axis: Axis;
  now: number | null;
}): TopLayout {
  const whole = wholeRange(parts);
  const isOver = parts.every(({ timeline }) => timeline.isOver);
  const hasEnd = axis.to >= whole.to;
  const isWithin = now !== null && now >= axis.from && (now <= axis.to || (hasEnd && !isOver));
  const flag = isWithin ? `now ${dayAndTime(now, whole.from)}` : "";
  const flagPx = textPx(flag) + 12;
  const x = isWithin ? axis.xOf(now) : 0;
  const side = x > axis.width / 2 || x + flagPx > axis.width ? "left" : "right";
  const taken = isWithin ? (side === "left" ? x : x + flagPx) : 0;
  const time = dayAndTime(whole.to, whole.from);
  const verb = now !== null && now > whole.to ? "ended" : "ends";
  const end = [`window ${verb} ${time}`, `${verb} ${time}`].find(
    (text) => axis.width - textPx(text) - 12 >= taken,
  );
  return {
    now: isWithin ? { x, text: flag, side } : null,
    hasEnd,
    end: hasEnd ? (end ?? null) : null,
  };
}
