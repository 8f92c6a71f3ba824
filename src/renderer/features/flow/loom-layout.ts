/**
 * Many sources or destinations: sources fold down into columns, destinations are rows, and a dot
 * joins them. The outermost source of the list is the outermost column, so that corners nest. What
 * needs attention stands first and has more room.
 */

import {
  lineKey,
  sum,
  type FlowDestination,
  type FlowModel,
  type LineState,
} from "./flow-model.ts";
import { ordered, type Drawing, type LabelPlace, type Room, type MapNode } from "./map-layout.ts";
import type { Point } from "./route-path.ts";

const listTop = 46;
const columnGap = 22;
/** Roomy, and where not everything would fit. */
const rows = { source: 23, big: 44, small: 24 };
const tightRows = { source: 20, big: 38, small: 20 };

export const needsAttention = (state: LineState): boolean =>
  state === "failing" || state === "hanging" || state === "partly";

/** Over twelve that need no attention, those that are alike share a row. */
const mostRows = 12;
const maxEnds = 8;
const groupMark = "group:";

export const isGroup = (id: string): boolean => id.startsWith(groupMark);

/** Destinations with the same sources whose names begin alike become one row with their number. */
export function grouped(model: FlowModel): FlowModel {
  const calm = model.destinations.filter(({ state }) => !needsAttention(state));
  if (calm.length <= mostRows) return model;
  const alike = new Map<string, FlowDestination[]>();
  const keyOf = ({ name, enabled, lines }: FlowDestination): string =>
    JSON.stringify([name.split(/\s/)[0], enabled, lines.map(({ from }) => from).toSorted()]);
  for (const each of calm) alike.set(keyOf(each), [...(alike.get(keyOf(each)) ?? []), each]);
  const destinations = model.destinations.flatMap((each): FlowDestination[] => {
    const members = calm.includes(each) ? (alike.get(keyOf(each)) ?? []) : [];
    if (members.length < 2) return [each];
    return members[0] === each ? [groupOf(each, members)] : [];
  });
  return { ...model, destinations };
}

function groupOf(first: FlowDestination, members: readonly FlowDestination[]): FlowDestination {
  const id = groupMark + first.id;
  const name = `${members.length} ${first.name.split(/\s/)[0]}`;
  const sumOf = (of: (each: FlowDestination) => number): number => sum(members.map(of));
  return {
    ...first,
    id,
    name,
    members,
    perSecond: sumOf(({ perSecond }) => perSecond),
    count: sumOf(({ count }) => count),
    queued: sumOf(({ queued }) => queued),
    waiting: sumOf(({ waiting }) => waiting),
    lines: first.lines.map((line) => {
      const own = members.flatMap(({ lines }) => lines.filter(({ from }) => from === line.from));
      return {
        ...line,
        key: lineKey(line.from, id),
        to: id,
        toName: name,
        words: "",
        perSecond: sum(own.map(({ perSecond }) => perSecond)),
        count: sum(own.map(({ count }) => count)),
      };
    }),
    webhooks: members.flatMap(({ webhooks }) => webhooks).slice(0, maxEnds),
  };
}

/** `attention` has the destinations of the first group: the caller decides when a row moves. */
export function loomLayout(model: FlowModel, room: Room, attention: ReadonlySet<string>): Drawing {
  const frame = frameOf(model, room, attention);
  const { width, node, origins, size, inOrder, tracks, routes, nodes, labels, dots } = frame;
  const headings: Drawing["columns"][number][] = [
    { words: "Sources", count: origins.length, x: 24, y: 14 },
  ];
  const troubled = inOrder.filter(({ id }) => attention.has(id));
  const calm = inOrder.filter(({ id }) => !attention.has(id));
  let y = listTop + origins.length * size.source + 26;
  if (troubled.length > 0) {
    headings.push({ words: "Need attention", count: troubled.length, x: node + 14, y: y - 22 });
    y += 22;
    for (const destination of troubled) {
      drawRow(frame, destination, y, true);
      y += size.big;
    }
    y += 16;
  }
  if (calm.length > 0) {
    headings.push({
      words: troubled.length > 0 ? "Others" : "Destinations",
      count: calm.length,
      x: node + 14,
      y: y - 22,
    });
    y += 4;
    const spare = room.height - y - calm.length * size.small - 20;
    const pitch = size.small + Math.max(0, Math.min(6, spare / calm.length));
    for (const destination of calm) {
      drawRow(frame, destination, y, false);
      y += pitch;
    }
  }
  for (const [place, id] of origins.entries()) drawColumn(frame, id, place);
  return {
    kind: "loom",
    width,
    height: Math.max(room.height, y + 12),
    tracks,
    routes,
    nodes,
    labels,
    sidings: new Map(),
    feed: null,
    dots,
    columns: headings,
  };
}

type Frame = ReturnType<typeof frameOf>;

/** The columns and the sizes of rows, before any row is drawn. */
function frameOf(model: FlowModel, room: Room, attention: ReadonlySet<string>) {
  const inOrder = ordered(model).destinations.flatMap((id) =>
    model.destinations.filter((destination) => destination.id === id),
  );
  const origins = model.origins
    .toSorted((a, b) => (a.kind === b.kind ? 0 : a.kind === "source" ? -1 : 1))
    .map(({ id }) => id);
  const width = Math.max(room.width, 740);
  const nameWidth = width < 1000 ? 150 : 168;
  const columns = 24 + nameWidth + 26;
  const gap = Math.min(columnGap, (width * 0.3) / Math.max(1, origins.length));
  const columnX = new Map(
    origins.map((id, place) => [id, columns + (origins.length - 1 - place) * gap + 14]),
  );
  const needed =
    listTop +
    origins.length * rows.source +
    attention.size * rows.big +
    (inOrder.length - attention.size) * rows.small +
    100;
  return {
    inOrder,
    origins,
    width,
    nameWidth,
    columns,
    columnX,
    node: columns + origins.length * gap + 36,
    end: width - 28,
    size: needed > room.height ? tightRows : rows,
    /** Where the column of each source ends. */
    lowest: new Map<string, number>(),
    tracks: new Map<string, readonly Point[]>(),
    routes: new Map<string, readonly Point[]>(),
    labels: new Map<string, LabelPlace>(),
    nodes: [] as MapNode[],
    dots: [] as Drawing["dots"][number][],
  };
}

/** A destination: its dots on the columns of its sources, and its webhooks at the right. */
function drawRow(
  frame: Frame,
  { id, lines, webhooks, members = [] }: FlowDestination,
  y: number,
  isBig: boolean,
): void {
  const { origins, columns, columnX, node, end, size, lowest } = frame;
  const { tracks, routes, labels, nodes, dots } = frame;
  const froms = origins.filter((origin) => lines.some(({ from }) => from === origin));
  const xs = froms.map((from) => columnX.get(from) as number);
  if (xs.length > 0)
    tracks.set(`row:${id}`, [
      [Math.min(...xs), y],
      [node, y],
    ]);
  for (const from of froms) {
    const x = columnX.get(from) as number;
    dots.push({ source: from, destination: id, x, y });
    lowest.set(from, Math.max(lowest.get(from) ?? 0, y));
    const sourceY = listTop + origins.indexOf(from) * size.source;
    for (const each of [id, ...members.map((member) => member.id)])
      routes.set(lineKey(from, each), [
        [columns, sourceY],
        [x, sourceY],
        [x, y],
        [node, y],
      ]);
  }
  nodes.push({ key: id, x: node, y, height: 12 });
  const from = isBig ? node : node + Math.min(300, (end - node) * 0.42);
  const slots = Math.max(1, webhooks.length);
  for (const [nth, webhook] of webhooks.entries()) {
    const to = end - (slots - 1 - nth) * 14;
    tracks.set(webhook.line.key, [
      [nth === 0 ? from : end - (slots - nth) * 14 + 8, y],
      [to, y],
    ]);
    routes.set(webhook.line.key, [
      [node, y],
      [to, y],
    ]);
    labels.set(webhook.id, { key: webhook.id, x: to - 8, y: y - 8, width: 16, below: y });
  }
  labels.set(id, {
    key: id,
    x: node + 14,
    y: isBig ? y - 26 : y - 9,
    width: (isBig ? end : from) - node - 18,
    below: y,
  });
}

/** A source, and its column down to its last destination. */
function drawColumn(
  { columns, columnX, size, lowest, nameWidth, tracks, labels }: Frame,
  id: string,
  place: number,
): void {
  const x = columnX.get(id) as number;
  const sourceY = listTop + place * size.source;
  const to = lowest.get(id);
  tracks.set(
    `column:${id}`,
    to === undefined
      ? [
          [columns, sourceY],
          [columns + 16, sourceY],
        ]
      : [
          [columns, sourceY],
          [x, sourceY],
          [x, to],
        ],
  );
  labels.set(id, { key: id, x: 24, y: sourceY - 11, width: nameWidth, below: sourceY });
}
