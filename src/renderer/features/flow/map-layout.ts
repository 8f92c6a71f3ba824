/**
 * Where everything stands on the map: sources at the left, profiles and audiences in a band along
 * the top, destinations, webhooks at the right. It follows from the configuration and the room
 * alone, so that traffic moves nothing. Many sources or destinations are a loom instead, see
 * `loom-layout.ts`.
 */

import { lineKey, type FlowModel } from "./flow-model.ts";
import { octilinear, type Point } from "./route-path.ts";

export type Room = {
  width: number;
  height: number;
  /** Of a name; larger in presenter mode. */
  letterPx?: number;
};

/** A ring or a capsule over the ends of lines; its place is its middle. */
export type MapNode = { key: string; x: number; y: number; height: number };

/** The upper left corner of a name, and the room that it has. */
export type LabelPlace = { key: string; x: number; y: number; width: number; below: number };

export type Drawing = {
  kind: "map" | "loom";
  width: number;
  height: number;
  /** What is drawn, by the key of its line; a loom draws parts that lines share. */
  tracks: ReadonlyMap<string, readonly Point[]>;
  /** The way of a mark along each line. */
  routes: ReadonlyMap<string, readonly Point[]>;
  nodes: readonly MapNode[];
  labels: ReadonlyMap<string, LabelPlace>;
  /** Above the lines to a destination's webhooks, where its retries wait. */
  sidings: ReadonlyMap<string, readonly Point[]>;
  /** Only on a map: how profiles follow, and the rings where they leave a source's lines. */
  feed: { points: readonly Point[]; rings: readonly Point[] } | null;
  /** Only on a loom: where a source's column meets a destination's row. */
  dots: readonly { source: string; destination: string; x: number; y: number }[];
  columns: readonly { words: string; count: number; x: number; y: number }[];
};

const laneGap = 14;
const firstSlot = 106;
const furtherSlot = 74;
const sourceGap = 78;
const bandTop = 70;
const bandGap = 52;

/** The order in which lines cross least: by the mean place of the neighbours, ties by name. */
export function ordered({ origins, destinations }: FlowModel): {
  origins: string[];
  destinations: string[];
} {
  const byName = <Named extends { name: string }>(all: readonly Named[]): Named[] =>
    all.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  let sources = byName(origins).map(({ id }) => id);
  let ends = byName(destinations).map(({ id }) => id);
  const linked = destinations.flatMap(({ id, lines }) =>
    lines.map(({ from }) => [from, id] as const),
  );
  const mean = (places: readonly number[]): number =>
    places.length === 0 ? Infinity : places.reduce((sum, each) => sum + each, 0) / places.length;
  const sortBy = (ids: string[], placeOf: (id: string) => number): string[] =>
    ids
      .map((id, place) => ({ id, place, at: placeOf(id) }))
      .toSorted((a, b) => a.at - b.at || a.place - b.place)
      .map(({ id }) => id);
  for (let turn = 0; turn < 3; turn += 1) {
    ends = sortBy(ends, (id) =>
      mean(linked.filter(([, to]) => to === id).map(([from]) => sources.indexOf(from))),
    );
    sources = sortBy(sources, (id) =>
      mean(linked.filter(([from]) => from === id).map(([, to]) => ends.indexOf(to))),
    );
  }
  return { origins: sources, destinations: ends };
}

/** From here on a map has more lines than the eye can follow. */
export function isMany({ origins, destinations }: FlowModel): boolean {
  const people = origins.filter(({ kind }) => kind !== "source").length;
  return origins.length - people > 5 || destinations.length > 8 || people > 4;
}

export function mapLayout(model: FlowModel, room: Room): Drawing {
  const plan = planOf(model, room);
  const { width, x, sources, people, destinations, nodes, tracks, labels, bottom } = plan;
  drawOrigins(plan);
  const sidings = drawDestinations(plan);
  const lowest = Math.max(0, ...nodes.map(({ y, height }) => y + height / 2));
  const counts = model.destinations.reduce((sum, { webhooks }) => sum + webhooks.length, 0);
  return {
    kind: "map",
    width,
    height: Math.max(room.height, bottom + 24, lowest + 48),
    tracks,
    routes: tracks,
    nodes: [...nodes, { key: "profiles", x: x.profiles, y: bandTop, height: 12 }],
    labels: labels.set("profiles", {
      key: "profiles",
      x: x.profiles - 6,
      y: bandTop - 28,
      width: x.audience - x.profiles - 8,
      below: bandTop + 8,
    }),
    sidings,
    feed: feedOf(plan),
    dots: [],
    columns: [
      { words: "Sources", count: sources.length, x: x.source - 6, y: 12 },
      { words: "Profiles, audiences", count: people.length, x: x.profiles - 6, y: 12 },
      { words: "Destinations", count: destinations.length, x: x.destination - 6, y: 12 },
      { words: "Webhooks", count: counts, x: x.webhook + 4, y: 12 },
    ],
  };
}

type Plan = ReturnType<typeof planOf>;

/** Where everything stands; the lines between are drawn by others. */
function planOf(model: FlowModel, room: Room) {
  const order = ordered(model);
  const isPerson = new Set(
    model.origins.filter(({ kind }) => kind !== "source").map(({ id }) => id),
  );
  const sources = order.origins.filter((id) => !isPerson.has(id));
  const people = order.origins.filter((id) => isPerson.has(id));
  const destinations = order.destinations.flatMap((id) =>
    model.destinations.filter((destination) => destination.id === id),
  );
  const width = Math.max(room.width, 660);
  const isNarrow = width < 900;
  const longest = Math.max(0, ...destinations.map(({ name }) => name.length));
  const x = columnsIn(width, isNarrow, 46 + longest * (room.letterPx ?? 9));
  const band = people.length === 0 ? bandTop : bandTop + bandGap * (people.length - 1);
  const top = people.length === 0 ? 58 : band + 16;
  const { middle, webhookY, bottom } = destinationHeights(destinations, top, room);

  const incoming = (id: string): string[] =>
    order.origins
      .filter((origin) => linkedTo(model, id, origin))
      .toSorted((a, b) => Number(isPerson.has(b)) - Number(isPerson.has(a)));
  const arrivalY = (origin: string, id: string): number =>
    laneY(middle.get(id) as number, incoming(id), origin);
  const outgoing = (origin: string): string[] =>
    destinations.filter(({ id }) => linkedTo(model, id, origin)).map(({ id }) => id);
  const originPoint = new Map<string, Point>();
  for (const [place, id] of people.entries())
    originPoint.set(id, [x.audience, bandTop + bandGap * place]);
  for (const [id, y] of sourceHeights({
    sources,
    outgoing,
    arrivalY,
    destinations: destinations.map(({ id }) => id),
    top: band + 76,
    bottom: Math.max(bottom, room.height) - 50,
  }))
    originPoint.set(id, [x.source, y]);
  return {
    width,
    x,
    bottom,
    origins: order.origins,
    sources,
    people,
    isPerson,
    destinations,
    middle,
    webhookY,
    originPoint,
    incoming,
    outgoing,
    arrivalY,
    tracks: new Map<string, readonly Point[]>(),
    labels: new Map<string, LabelPlace>(),
    nodes: [] as MapNode[],
  };
}

/** The height of each webhook, and of each destination in the middle of its own. */
function destinationHeights(destinations: FlowModel["destinations"], top: number, room: Room) {
  const webhookY = new Map<string, number>();
  const middle = new Map<string, number>();
  const slots = destinations.map(({ webhooks }) =>
    Math.max(firstSlot, firstSlot + furtherSlot * (webhooks.length - 1)),
  );
  const total = slots.reduce((sum, each) => sum + each, 0);
  const spare = Math.max(0, room.height - top - total - 24) / Math.max(1, destinations.length);
  let bottom = top;
  for (const [place, { id, webhooks }] of destinations.entries()) {
    const start = bottom + Math.min(spare, 90) / 2;
    const ys = webhooks.map((webhook, nth) => {
      const y = start + 82 + nth * furtherSlot;
      webhookY.set(webhook.id, y);
      return y;
    });
    middle.set(id, ys.length === 0 ? start + 60 : ((ys[0] as number) + (ys.at(-1) as number)) / 2);
    bottom += (slots[place] as number) + Math.min(spare, 90);
  }
  return { webhookY, middle, bottom };
}

/** Sources and people, with their lines to destinations. */
function drawOrigins(plan: Plan): void {
  const { x, originPoint, isPerson, incoming, outgoing, arrivalY, tracks, nodes, labels } = plan;
  for (const id of plan.origins) {
    const [ox, oy] = originPoint.get(id) as Point;
    const ways = outgoing(id);
    for (const [nth, to] of ways.entries()) {
      const lanes = incoming(to);
      const fromY = laneY(oy, ways, to);
      const toY = arrivalY(id, to);
      const fromAbove = toY > fromY;
      const lane = lanes.indexOf(id);
      const stagger = (fromAbove ? lane : lanes.length - 1 - lane) * 9;
      tracks.set(
        lineKey(id, to),
        octilinear([ox, fromY], [x.destination, toY], {
          turnFrom: isPerson.has(id) ? x.audience + 92 : x.riser + 24 + nth * 6,
          turnTo: x.destination - 16 - stagger,
        }),
      );
    }
    nodes.push({ key: id, x: ox, y: oy, height: spanOf(ways.length) });
    const above = (spanOf(ways.length) - 12) / 2;
    labels.set(id, {
      key: id,
      x: ox + 10,
      y: oy - above - 27,
      width: isPerson.has(id)
        ? Math.max(108, x.destination - x.audience - 130)
        : x.riser - x.source - 22,
      below: oy + above + 7,
    });
  }
}

/** Destinations, with their lines to webhooks. Returns where their retries wait. */
function drawDestinations(plan: Plan): Map<string, readonly Point[]> {
  const { x, middle, webhookY, incoming, tracks, nodes, labels } = plan;
  const sidings = new Map<string, readonly Point[]>();
  for (const { id, webhooks } of plan.destinations) {
    const y = middle.get(id) as number;
    const ids = webhooks.map((webhook) => webhook.id);
    const lanes = Math.max(incoming(id).length, ids.length, 1);
    const above = (spanOf(ids.length) - 12) / 2;
    nodes.push({ key: id, x: x.destination, y, height: spanOf(lanes) });
    labels.set(id, {
      key: id,
      x: x.destination + 13,
      y: y - above - 27,
      width: x.bend - x.destination - 18,
      below: y + above + 7,
    });
    for (const [nth, webhook] of ids.entries()) {
      const toY = webhookY.get(webhook) as number;
      const fromY = laneY(y, ids, webhook);
      const outside = toY < fromY ? nth : ids.length - 1 - nth;
      tracks.set(
        lineKey(id, webhook),
        octilinear([x.destination, fromY], [x.end, toY], {
          turnFrom: x.bend + outside * 8,
          turnTo: x.webhook - 2,
          late: false,
        }),
      );
      labels.set(webhook, {
        key: webhook,
        x: x.webhook + 4,
        y: toY - 23,
        width: x.end - x.webhook - 6,
        below: toY + 7,
      });
    }
    const first = webhookY.get(ids[0] ?? "");
    if (first !== undefined)
      sidings.set(id, [
        [x.webhook - 6, first],
        [x.webhook + 36, first - 42],
        [x.end - 62, first - 42],
        [x.end - 20, first],
      ]);
  }
  return sidings;
}

function columnsIn(width: number, isNarrow: boolean, name: number) {
  const riser = isNarrow ? 142 : 178;
  const destination = Math.round(width * (isNarrow ? 0.5 : 0.52));
  const bend = destination + Math.max(96, Math.min(isNarrow ? 120 : 200, name));
  return {
    source: 22,
    riser,
    profiles: riser + 32,
    audience: riser + (isNarrow ? 98 : 124),
    destination,
    bend,
    webhook: bend + (isNarrow ? 34 : 56),
    end: width - 28,
  };
}

const linkedTo = (model: FlowModel, destination: string, origin: string): boolean =>
  model.destinations.some(
    ({ id, lines }) => id === destination && lines.some(({ from }) => from === origin),
  );

/** Of one among parallel lines around a middle. */
function laneY(centre: number, lanes: readonly string[], one: string): number {
  return centre + (lanes.indexOf(one) - (lanes.length - 1) / 2) * laneGap;
}

const spanOf = (lanes: number): number => 12 + Math.max(0, lanes - 1) * laneGap;

type HeightOptions = {
  sources: readonly string[];
  destinations: readonly string[];
  outgoing: (source: string) => string[];
  arrivalY: (source: string, destination: string) => number;
  top: number;
  bottom: number;
};

/** Each source at the height at which the line to its nearest destination is straight. */
function sourceHeights({
  sources,
  destinations,
  outgoing,
  arrivalY,
  top,
  bottom,
}: HeightOptions): [string, number][] {
  const share = (place: number, of: readonly string[]): number =>
    of.length < 2 ? 0.5 : place / (of.length - 1);
  const wanted = sources.map((id, place) => {
    const ways = outgoing(id);
    const nearest = ways.toSorted(
      (a, b) =>
        Math.abs(share(destinations.indexOf(a), destinations) - share(place, sources)) -
        Math.abs(share(destinations.indexOf(b), destinations) - share(place, sources)),
    )[0];
    if (nearest === undefined) return top + place * sourceGap;
    return arrivalY(id, nearest) - laneY(0, ways, nearest);
  });
  const ys: number[] = [];
  for (const y of wanted) {
    const above = ys.at(-1);
    ys.push(Math.max(y, above === undefined ? top : above + sourceGap));
  }
  for (let place = ys.length - 1; place >= 0; place -= 1) {
    const limit = place === ys.length - 1 ? bottom : (ys[place + 1] as number) - sourceGap;
    ys[place] = Math.max(top + place * 40, Math.min(ys[place] as number, limit));
  }
  return sources.map((id, place) => [id, ys[place] as number]);
}

/** The dotted line by which profiles learn of every message. */
function feedOf({ sources, people, originPoint, outgoing, x }: Plan): Drawing["feed"] {
  const points = sources.map((id) => originPoint.get(id) as Point);
  const lowest = points.reduce((most, [, y]) => Math.max(most, y), bandTop + 60);
  const rings = sources.flatMap((id) => {
    const [, y] = originPoint.get(id) as Point;
    const ways = outgoing(id);
    return ways.length === 0
      ? [[x.riser, y] as const]
      : ways.map((to) => [x.riser, laneY(y, ways, to)] as const);
  });
  return {
    points: [
      [x.riser, lowest],
      [x.riser, bandTop + 26],
      [x.riser + 26, bandTop],
      [people.length === 0 ? x.profiles : x.audience, bandTop],
      ...(people.length < 2
        ? []
        : ([[x.audience, bandTop + bandGap * (people.length - 1)]] as const)),
    ],
    rings,
  };
}
