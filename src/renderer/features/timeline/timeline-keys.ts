/**
 * Where the arrows lead among the marks of the retry timeline: by round in a lane, by lane at about
 * the same time. Pure.
 */

import type { LaneLayout, MarkGroup } from "./timeline-layout.ts";
import type { Mark } from "./timeline-model.ts";

/** A mark by its lane and its place in it; marks that have merged are walked one by one. */
export type MarkPosition = { lane: number; round: number };

const marksOf = (lanes: readonly LaneLayout[], lane: number): Mark[] =>
  lanes[lane]?.groups.flatMap(({ marks }) => marks) ?? [];

export function groupAt(
  lanes: readonly LaneLayout[],
  { lane, round }: MarkPosition,
): MarkGroup | null {
  return (
    lanes[lane]?.groups.find(({ marks }) => marks.some((mark) => mark.round === round)) ?? null
  );
}

export function markAt(lanes: readonly LaneLayout[], { lane, round }: MarkPosition): Mark | null {
  return marksOf(lanes, lane).find((mark) => mark.round === round) ?? null;
}

export function positionOf(lanes: readonly LaneLayout[], key: string): MarkPosition | null {
  for (const [lane, { groups }] of lanes.entries()) {
    const group = groups.find((each) => each.key === key);
    if (group !== undefined) return { lane, round: group.lead.round };
  }
  return null;
}

/** The newest attempt of the first lane that has one: where the Tab key arrives. */
export function firstPosition(lanes: readonly LaneLayout[]): MarkPosition | null {
  for (const lane of lanes.keys()) {
    const marks = marksOf(lanes, lane);
    const mark = marks.findLast(({ kind }) => kind === "attempt") ?? marks[0];
    if (mark !== undefined) return { lane, round: mark.round };
  }
  return null;
}

/** Null for a key that does not walk, and at an end. */
export function walk(
  lanes: readonly LaneLayout[],
  from: MarkPosition,
  key: string,
): MarkPosition | null {
  const marks = marksOf(lanes, from.lane);
  const place = marks.findIndex(({ round }) => round === from.round);
  const inLane = (mark: Mark | undefined): MarkPosition | null =>
    mark === undefined ? null : { lane: from.lane, round: mark.round };
  switch (key) {
    case "ArrowRight":
      return inLane(marks[place + 1]);
    case "ArrowLeft":
      return place <= 0 ? null : inLane(marks[place - 1]);
    case "Home":
      return inLane(marks[0]);
    case "End":
      return inLane(marks.at(-1));
    case "ArrowDown":
      return toLane(lanes, from, 1);
    case "ArrowUp":
      return toLane(lanes, from, -1);
    default:
      return null;
  }
}

function toLane(lanes: readonly LaneLayout[], from: MarkPosition, by: 1 | -1): MarkPosition | null {
  for (let lane = from.lane + by; lane >= 0 && lane < lanes.length; lane += by) {
    const marks = marksOf(lanes, lane);
    const [first] = marks;
    if (first === undefined) continue;
    const nearest = marks.reduce(
      (best, mark) =>
        Math.abs(mark.round - from.round) < Math.abs(best.round - from.round) ? mark : best,
      first,
    );
    return { lane, round: nearest.round };
  }
  return null;
}
