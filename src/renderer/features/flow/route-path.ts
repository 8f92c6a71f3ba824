/**
 * The geometry of the map: lines that run level, upright or at 45°, with rounded corners; and how
 * far along such a line a mark is.
 */

export type Point = readonly [x: number, y: number];

const cornerRadius = 12;

/**
 * From a point to another further right: level, then at 45°, then level. `turnFrom` is the first x
 * at which it may leave its level, `turnTo` the last one at which it must be on the other. Where 45°
 * is not steep enough, an upright piece lies between two halves of it.
 */
export function octilinear(
  from: Point,
  to: Point,
  {
    turnFrom,
    turnTo,
    late = true,
  }: {
    turnFrom: number;
    turnTo: number;
    /** Changes its level just before the end, else just after the start. */
    late?: boolean;
  },
): Point[] {
  const dy = to[1] - from[1];
  if (Math.abs(dy) < 0.5) return [from, [to[0], from[1]]];
  const room = Math.max(8, turnTo - turnFrom);
  const rise = Math.abs(dy);
  if (rise <= room) {
    const start = late ? turnTo - rise : turnFrom;
    return [from, [start, from[1]], [start + rise, to[1]], to];
  }
  const half = Math.min(room / 2, 28);
  const upright = late ? turnTo - half : turnFrom + half;
  const sign = Math.sign(dy);
  return [
    from,
    [upright - half, from[1]],
    [upright, from[1] + sign * half],
    [upright, to[1] - sign * half],
    [upright + half, to[1]],
    to,
  ];
}

/** How much of a corner's two sides its rounding takes. */
function cut(before: Point, corner: Point, after: Point): number {
  const one = Math.hypot(corner[0] - before[0], corner[1] - before[1]);
  const other = Math.hypot(after[0] - corner[0], after[1] - corner[1]);
  return Math.min(cornerRadius, one / 2, other / 2);
}

function towards(from: Point, to: Point, by: number): Point {
  const length = Math.hypot(to[0] - from[0], to[1] - from[1]);
  if (length === 0) return from;
  return [from[0] + ((to[0] - from[0]) * by) / length, from[1] + ((to[1] - from[1]) * by) / length];
}

const near = (value: number): number => Math.round(value * 10) / 10;

/** For SVG and for a canvas. */
export function pathOf(points: readonly Point[]): string {
  const [first, ...rest] = points;
  if (first === undefined) return "";
  let path = `M${near(first[0])} ${near(first[1])}`;
  for (const [place, point] of rest.entries()) {
    const before = points[place] as Point;
    const after = points[place + 2];
    if (after === undefined) {
      path += `L${near(point[0])} ${near(point[1])}`;
      continue;
    }
    const by = cut(before, point, after);
    const [x1, y1] = towards(point, before, by);
    const [x2, y2] = towards(point, after, by);
    path += `L${near(x1)} ${near(y1)}Q${near(point[0])} ${near(point[1])} ${near(x2)} ${near(y2)}`;
  }
  return path;
}

/** A line flattened to short straight pieces, with the way to each. */
export type Way = { points: readonly Point[]; lengths: readonly number[]; length: number };

export function wayOf(points: readonly Point[]): Way {
  const flat: Point[] = [];
  for (const [place, point] of points.entries()) {
    const before = points[place - 1];
    const after = points[place + 1];
    if (before === undefined || after === undefined) {
      flat.push(point);
      continue;
    }
    const by = cut(before, point, after);
    const start = towards(point, before, by);
    const end = towards(point, after, by);
    for (let step = 0; step <= 4; step += 1) {
      const t = step / 4;
      const curve = (axis: 0 | 1): number =>
        (1 - t) ** 2 * start[axis] + 2 * t * (1 - t) * point[axis] + t ** 2 * end[axis];
      flat.push([curve(0), curve(1)]);
    }
  }
  let length = 0;
  const lengths = flat.map((point, place) => {
    const before = flat[place - 1] ?? point;
    length += Math.hypot(point[0] - before[0], point[1] - before[1]);
    return length;
  });
  return { points: flat, lengths, length };
}

export type Position = { x: number; y: number; angle: number };

/** After so many pixels; before the start and beyond the end it is there. */
export function positionOn({ points, lengths, length }: Way, pixels: number): Position {
  const at = Math.min(length, Math.max(0, pixels));
  let place = 1;
  while (place < points.length - 1 && (lengths[place] as number) < at) place += 1;
  const before = points[place - 1] as Point;
  const after = points[place] ?? before;
  const piece = (lengths[place] ?? 0) - (lengths[place - 1] ?? 0);
  const share = piece === 0 ? 0 : (at - (lengths[place - 1] as number)) / piece;
  return {
    x: before[0] + (after[0] - before[0]) * share,
    y: before[1] + (after[1] - before[1]) * share,
    angle: Math.atan2(after[1] - before[1], after[0] - before[0]),
  };
}
