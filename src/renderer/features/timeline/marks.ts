/** Where the small marks of a message's attempts lie, and their paths. Pure. */

import type { Outcome } from "../../../domain/states.ts";

export type Mark = { lane: number; round: number; outcome: Outcome };
type MarkKind = Outcome | "under_way" | "next" | "coming";
type MarkPlace = { kind: MarkKind; lane: number; column: number };
type MarkSizes = { size: number; column: number; lane: number };

/** What fits the column of a list: beyond it, the first two rounds, dots, the last eight. */
const maxColumns = 11;
const firstColumns = 2;
const lastColumns = 8;

/**
 * A destination has no more webhooks, and a row no room for more: of a message that goes to many,
 * these, and how many others.
 */
const maxLanes = 5;

type Shown = { marks: readonly Mark[]; next: boolean; sending: boolean };

type Placed = {
  places: MarkPlace[];
  lanes: number;
  columns: number;
  dotsAt: number | null;
  others: number;
};

export function placeMarks(shown: Shown): Placed {
  const { marks } = shown;
  const all: { kind: MarkKind; lane: number; round: number }[] = marks.map(
    ({ lane, round, outcome }) => ({ kind: outcome, lane, round }),
  );
  if (shown.sending) all.push(...underWay(marks));
  if (shown.next) all.push(nextOf(marks));
  const rounds = all.reduce((most, { round }) => Math.max(most, round), 1);
  const rows = rowsOf(all);
  const skipped = rounds > maxColumns ? rounds - firstColumns - lastColumns : 0;
  const places: MarkPlace[] = [];
  for (const { kind, lane: number, round } of all) {
    const lane = rows.indexOf(number);
    if (lane === -1) continue;
    if (skipped === 0 || round <= firstColumns) places.push({ kind, lane, column: round - 1 });
    else if (round > rounds - lastColumns) places.push({ kind, lane, column: round - skipped });
  }
  const lanes = all.reduce((most, { lane }) => Math.max(most, lane + 1), 1);
  return {
    places,
    lanes: Math.min(lanes, maxLanes),
    columns: Math.min(rounds, maxColumns),
    dotsAt: skipped > 0 ? firstColumns : null,
    others: Math.max(0, lanes - maxLanes),
  };
}

/**
 * The lane that is drawn at each place: when there are too many, those that went on longest, for
 * they are the ones in trouble.
 */
function rowsOf(all: readonly { lane: number; round: number }[]): number[] {
  const last = new Map<number, number>();
  for (const { lane, round } of all) last.set(lane, Math.max(round, last.get(lane) ?? 0));
  const highest = Math.max(0, ...last.keys());
  if (highest < maxLanes) return Array.from({ length: highest + 1 }, (_, lane) => lane);
  return [...last.keys()]
    .sort((a, b) => (last.get(b) ?? 0) - (last.get(a) ?? 0) || a - b)
    .slice(0, maxLanes)
    .sort((a, b) => a - b);
}

/** The newest attempt of each lane that may still be tried again, as far as the outcome tells. */
function openLanes(marks: readonly Mark[]): Mark[] {
  const last = new Map<number, Mark>();
  for (const mark of marks)
    if (mark.round >= (last.get(mark.lane)?.round ?? 0)) last.set(mark.lane, mark);
  return [...last.values()].filter(
    ({ outcome }) => outcome !== "success" && outcome !== "tls_error",
  );
}

const lastRound = (marks: readonly Mark[]): number =>
  marks.reduce((most, { round }) => Math.max(most, round), 0);

/**
 * A lane that has no attempt of the newest round yet is in it; otherwise all are in the one after.
 */
function underWay(marks: readonly Mark[]): { kind: "under_way"; lane: number; round: number }[] {
  const round = lastRound(marks);
  const open = openLanes(marks);
  const behind = open.filter((mark) => mark.round === round - 1);
  if (behind.length > 0) return behind.map(({ lane }) => ({ kind: "under_way", lane, round }));
  const ahead = open.filter((mark) => mark.round === round);
  if (ahead.length > 0)
    return ahead.map(({ lane }) => ({ kind: "under_way", lane, round: round + 1 }));
  // Another delivery of the message, of which nothing is on record yet.
  return [
    {
      kind: "under_way",
      lane: marks.reduce((most, { lane }) => Math.max(most, lane + 1), 0),
      round: 1,
    },
  ];
}

function nextOf(marks: readonly Mark[]): { kind: "next"; lane: number; round: number } {
  const open = openLanes(marks).sort((a, b) => b.round - a.round || a.lane - b.lane)[0];
  return { kind: "next", lane: open?.lane ?? 0, round: (open?.round ?? lastRound(marks)) + 1 };
}

export function laneSizes(lanes: number): MarkSizes {
  if (lanes <= 2) return { size: 7, column: 9, lane: 10 };
  if (lanes === 3) return { size: 6.5, column: 9, lane: 8.5 };
  return { size: 5, column: 7, lane: lanes === 4 ? 6.5 : 5.5 };
}

type Draw = (x: number, y: number, size: number) => string;

const disc = (x: number, y: number, size: number, radius: number): string => {
  const r = radius * size;
  return `M${at(x + size / 2 - r)} ${at(y + size / 2)}a${at(r)} ${at(r)} 0 1 0 ${at(2 * r)} 0a${at(r)} ${at(r)} 0 1 0 ${at(-2 * r)} 0z`;
};

/**
 * The shapes of the kit, on a square of any size. Those with `lines` are drawn with a stroke that
 * wide, on a size of 10.
 */
const shapes: Record<MarkKind, { draw: Draw; lines: number }> = {
  success: { lines: 0, draw: (x, y, size) => disc(x, y, size, 0.45) },
  http_error: {
    lines: 0,
    draw: (x, y, size) =>
      `M${at(x + size * 0.08)} ${at(y + size * 0.08)}h${at(size * 0.84)}v${at(size * 0.84)}h${at(-size * 0.84)}z`,
  },
  timeout: {
    lines: 0,
    draw: (x, y, size) =>
      `M${at(x)} ${at(y + size * 0.06)}h${at(size)}v${at(size * 0.28)}h${at(-size * 0.36)}v${at(size * 0.6)}h${at(-size * 0.28)}v${at(-size * 0.6)}h${at(-size * 0.36)}z`,
  },
  connection_error: {
    lines: 2.2,
    draw: (x, y, size) => {
      const [from, way] = [size * 0.14, size * 0.72];
      return `M${at(x + from)} ${at(y + from)}l${at(way)} ${at(way)}m0 ${at(-way)}l${at(-way)} ${at(way)}`;
    },
  },
  tls_error: {
    lines: 0,
    draw: (x, y, size) =>
      `M${at(x + size / 2)} ${at(y)}l${at(size / 2)} ${at(size / 2)}l${at(-size / 2)} ${at(size / 2)}l${at(-size / 2)} ${at(-size / 2)}z`,
  },
  // A whole ring, and the right half of a disc in it: the inner line runs backwards, so that the
  // left half stays open.
  under_way: {
    lines: 0,
    draw: (x, y, size) => {
      const [r, inner, middle] = [size * 0.45, size * 0.32, y + size / 2];
      const centre = x + size / 2;
      return (
        `M${at(centre)} ${at(middle - r)}a${at(r)} ${at(r)} 0 1 1 0 ${at(2 * r)}a${at(r)} ${at(r)} 0 1 1 0 ${at(-2 * r)}z` +
        `M${at(centre)} ${at(middle - inner)}a${at(inner)} ${at(inner)} 0 0 0 0 ${at(2 * inner)}z`
      );
    },
  },
  next: { lines: 1.4, draw: (x, y, size) => disc(x, y, size, 0.34) },
  coming: { lines: 1.4, draw: (x, y, size) => disc(x, y, size, 0.34) },
};

function at(n: number): number {
  return Math.round(n * 100) / 100;
}

export type PlacedMark = { kind: MarkKind; x: number; y: number };

/** One path for all marks of a kind, and how wide its stroke is: 0 for one that is filled. */
export function markPaths(
  marks: readonly PlacedMark[],
  size: number,
): { kind: MarkKind; d: string; lines: number }[] {
  const paths = new Map<MarkKind, string>();
  for (const { kind, x, y } of marks)
    paths.set(kind, (paths.get(kind) ?? "") + shapes[kind].draw(x, y, size));
  return [...paths].map(([kind, d]) => ({ kind, d, lines: (shapes[kind].lines * size) / 10 }));
}

/** `webhook 1: http_error ×3, timeout; webhook 2: tls_error; next round scheduled`. */
export function marksSentence({ marks, next, sending }: Shown): string {
  const lanes = new Map<number, { outcome: Outcome; times: number }[]>();
  for (const { lane, outcome } of marks) {
    const runs = lanes.get(lane) ?? [];
    lanes.set(lane, runs);
    const run = runs.at(-1);
    if (run?.outcome === outcome) run.times += 1;
    else runs.push({ outcome, times: 1 });
  }
  const parts = [...lanes]
    .sort(([a], [b]) => a - b)
    .map(
      ([lane, runs]) =>
        `webhook ${lane + 1}: ${runs.map(({ outcome, times }) => (times > 1 ? `${outcome} ×${times}` : outcome)).join(", ")}`,
    );
  if (sending) parts.push("round in progress");
  if (next) parts.push("next round scheduled");
  return parts.join("; ");
}
