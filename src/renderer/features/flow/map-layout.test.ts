import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { flowModel, lineKey, type FlowModel } from "./flow-model.ts";
import { grouped, loomLayout } from "./loom-layout.ts";
import { isMany, mapLayout, ordered } from "./map-layout.ts";
import { octilinear, pathOf, positionOn, wayOf } from "./route-path.ts";

const time = "2026-11-22T12:00:00.000Z";

type Shape = { sources: number; audiences?: number; destinations: readonly number[][] };

/** Destinations are lists of the sources that they are connected to, each with one webhook. */
function modelOf({ sources, audiences = 0, destinations }: Shape): FlowModel {
  const ids = Array.from({ length: sources + audiences }, (_, nth) => `src_${nth}`);
  return flowModel(
    {
      sources: ids.map((id) => ({ id, name: `Source ${id}` }) as never),
      audiences: ids
        .slice(sources)
        .map((id) => ({ id: `aud_${id}`, name: `In ${id}`, sourceId: id, size: 2 }) as never),
      traits: [],
      destinations: destinations.map(
        (from, nth) =>
          ({
            id: `dst_${nth}`,
            name: `Destination ${nth}`,
            enabled: true,
            sourceIds: from.map((source) => ids[source] ?? ""),
            webhooks: [{ id: `whk_${nth}`, url: `http://127.0.0.1/${nth}`, headers: {} }],
            mappings: [],
          }) as never,
      ),
    },
    {
      since: time,
      sources: [],
      webhooks: [],
      waiting: [],
      moving: { messages: [], attempts: [] },
      lines: destinations.flatMap((from, nth) =>
        from.map((source) => ({
          sourceId: ids[source] ?? "",
          destinationId: `dst_${nth}`,
          count: 0,
          perSecond: 0,
          filtered: 0,
        })),
      ),
    },
    Date.parse(time),
  );
}

const room = { width: 1200, height: 700 };

describe("the map", () => {
  test("keeps a line straight where a source has one destination", () => {
    const { tracks } = mapLayout(modelOf({ sources: 2, destinations: [[0], [1]] }), room);
    for (const key of [lineKey("src_0", "dst_0"), lineKey("src_1", "dst_1")])
      expect(new Set(tracks.get(key)?.map(([, y]) => y)).size).toBe(1);
  });

  test("puts destinations in the order in which their lines cross least", () => {
    const crossed = modelOf({ sources: 3, destinations: [[2], [1], [0]] });
    expect(ordered(crossed).destinations).toEqual(["dst_2", "dst_1", "dst_0"]);
  });

  test("does not move when messages move", () => {
    const still = modelOf({
      sources: 3,
      audiences: 1,
      destinations: [
        [0, 1],
        [2, 3],
      ],
    });
    const busy: FlowModel = {
      ...still,
      origins: still.origins.map((origin) => ({ ...origin, perSecond: 900, count: 7 })),
      destinations: still.destinations.map((each) => ({ ...each, perSecond: 900, waiting: 5 })),
    };
    expect(mapLayout(busy, room)).toEqual(mapLayout(still, room));
  });

  test("becomes a loom from six sources or nine destinations on", () => {
    const all = (destinations: number) => Array.from({ length: destinations }, () => [0]);
    expect(isMany(modelOf({ sources: 5, destinations: all(8) }))).toBe(false);
    expect(isMany(modelOf({ sources: 6, destinations: all(1) }))).toBe(true);
    expect(isMany(modelOf({ sources: 1, destinations: all(9) }))).toBe(true);
  });
});

const anyShape = fc
  .record({ sources: fc.integer({ min: 0, max: 10 }), audiences: fc.integer({ min: 0, max: 3 }) })
  .chain(({ sources, audiences }) =>
    fc.record({
      sources: fc.constant(sources),
      audiences: fc.constant(audiences),
      destinations: fc.array(
        sources + audiences === 0
          ? fc.constant<number[]>([])
          : fc.uniqueArray(fc.integer({ min: 0, max: sources + audiences - 1 })),
        { maxLength: 20 },
      ),
    }),
  );

test("every line has its way and every name its place, inside the drawing, whatever is configured", () => {
  fc.assert(
    fc.property(anyShape, fc.integer({ min: 500, max: 2000 }), (shape, width) => {
      const model = modelOf(shape);
      const size = { width, height: 600 };
      for (const drawing of [mapLayout(model, size), loomLayout(model, size, new Set(["dst_0"]))]) {
        for (const { id, lines, webhooks } of model.destinations)
          for (const key of [
            ...lines.map((line) => line.key),
            ...webhooks.map(({ line }) => line.key),
          ])
            for (const [x, y] of drawing.routes.get(key) ?? [[Number.NaN, Number.NaN] as const]) {
              expect(x, `${key} of ${id}`).toBeGreaterThanOrEqual(0);
              expect(x).toBeLessThanOrEqual(drawing.width);
              expect(y).toBeGreaterThanOrEqual(0);
              expect(y).toBeLessThanOrEqual(drawing.height);
            }
        for (const { id } of [...model.origins, ...model.destinations])
          expect(drawing.labels.has(id)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test("rows of a loom have places of their own", () => {
  const model = modelOf({
    sources: 10,
    destinations: Array.from({ length: 20 }, (_, nth) => [nth % 10, (nth + 3) % 10]),
  });
  const { nodes, dots } = loomLayout(model, room, new Set(["dst_4", "dst_9"]));
  expect(new Set(nodes.map(({ y }) => y)).size).toBe(20);
  expect(dots).toHaveLength(40);
  const heights = nodes.map(({ key, y }) => ({ key, y })).toSorted((a, b) => a.y - b.y);
  expect(new Set(heights.slice(0, 2).map(({ key }) => key))).toEqual(new Set(["dst_4", "dst_9"]));
});

test("a row that several destinations share has the sum of their rates, without noise of the addition", () => {
  const many = modelOf({ sources: 1, destinations: Array.from({ length: 14 }, () => [0]) });
  const slow = many.destinations.map((each) => ({
    ...each,
    perSecond: 0.1,
    lines: each.lines.map((line) => ({ ...line, perSecond: 0.1 })),
  }));
  const { destinations } = grouped({ ...many, destinations: slow });
  expect(destinations.map(({ perSecond, lines }) => [perSecond, lines[0]?.perSecond])).toEqual([
    [1.4, 1.4],
  ]);
});

describe("a way", () => {
  test("runs level, upright or at 45°", () => {
    for (const dy of [-300, -40, 0, 40, 300]) {
      const points = octilinear([0, 0], [400, dy], { turnFrom: 100, turnTo: 200 });
      for (const [place, [x, y]] of points.entries()) {
        const before = points[place - 1];
        if (before === undefined) continue;
        const [wide, high] = [Math.abs(x - before[0]), Math.abs(y - before[1])];
        expect(wide < 1e-9 || high < 1e-9 || Math.abs(wide - high) < 1e-9, `${dy}`).toBe(true);
      }
      expect(points.at(-1)).toEqual([400, dy]);
    }
  });

  test("starts at its start, ends at its end, and goes on evenly", () => {
    const way = wayOf([
      [0, 0],
      [50, 0],
      [100, 50],
      [150, 50],
    ]);
    expect(positionOn(way, 0)).toMatchObject({ x: 0, y: 0, angle: 0 });
    expect(positionOn(way, 1e9)).toMatchObject({ x: 150, y: 50, angle: 0 });
    expect(positionOn(way, way.length / 2).x).toBeCloseTo(75);
    expect(pathOf([])).toBe("");
  });
});
