import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { documented } from "../../../domain/retry.ts";
import { attemptOf, deliveryOf, startsAt, webhooks } from "./delivery.fixture.ts";
import { firstPosition, walk } from "./timeline-keys.ts";
import { axisOf, textPx, ticksBetween, withRoom, type ScaleName } from "./timeline-axis.ts";
import { apart, layoutOf, mergeNear, topOf } from "./timeline-layout.ts";
import { timelineOf, type TimelineOptions } from "./timeline-model.ts";

const width = 490;
const second = 1000;
const hour = 3_600_000;

function layout(
  changes: Parameters<typeof deliveryOf>[0],
  more: Partial<TimelineOptions> & {
    scale?: ScaleName;
    width?: number;
    range?: { from: number; to: number };
  } = {},
) {
  const timeline = timelineOf({
    delivery: deliveryOf(changes),
    webhooks,
    profile: documented,
    seed: 7,
    jitter: true,
    now: startsAt,
    ...more,
  });
  const parts = [{ key: "one", name: "Billing", timeline }];
  const { scale = "log", width: px = width, range } = more;
  const whole = layoutOf({ parts, scale, width: px, range });
  return { timeline, ...whole, rounds: whole.parts[0]?.rounds ?? [] };
}

describe("marks", () => {
  test("an attempt is as high as it was long, and a timeout reaches the ceiling", () => {
    const { lanes } = layout({
      state: "waiting",
      attempts: [
        attemptOf({ round: 1, durationMs: 1250 }),
        attemptOf({ round: 2, at: startsAt + 60 * second, outcome: "timeout", durationMs: 5003 }),
      ],
    });
    const attempts = lanes[0]?.groups.filter(({ lead }) => lead.kind === "attempt");
    expect(attempts?.map(({ height }) => height)).toEqual([0.25, 1]);
  });

  test("neighbours that are too near become the longest of them, with its place and their number", () => {
    const items = [0, 4, 9, 60].map((x, place) => ({ x, long: [1, 9, 3, 1][place] ?? 0 }));
    const merged = mergeNear(items, (group) =>
      group.reduce((lead, each) => (each.long > lead.long ? each : lead)),
    );
    expect(merged.map(({ lead, items: inside }) => [lead.x, inside.length])).toEqual([
      [4, 3],
      [60, 1],
    ]);
  });

  test("no two marks of a lane lie less than 11 px apart, and none is lost", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            x: fc.double({ min: 0, max: 500, noNaN: true }),
            long: fc.nat(100),
            isSuccess: fc.boolean(),
          }),
          { maxLength: 20 },
        ),
        (given) => {
          const items = given.toSorted((a, b) => a.x - b.x);
          const merged = apart(
            mergeNear(
              items,
              (group) => group.reduce((lead, each) => (each.long > lead.long ? each : lead)),
              (a, b) => a.isSuccess === b.isSuccess,
            ),
            500,
          );
          expect(merged.flatMap((group) => group.items)).toEqual(items);
          for (const [place, { x, items: inside }] of merged.entries()) {
            const before = merged[place - 1];
            if (before !== undefined) expect(x - before.x).toBeGreaterThanOrEqual(11 - 1e-9);
            expect(new Set(inside.map(({ isSuccess }) => isSuccess)).size).toBe(1);
          }
        },
      ),
    );
  });

  test("a failure and the success after it are two marks, however near they are", () => {
    for (const scale of ["log", "linear", "compact"] as const) {
      const { lanes } = layout(
        {
          state: "delivered",
          attempts: [
            attemptOf({ round: 1, durationMs: 900 }),
            attemptOf({ round: 2, at: startsAt + 2 * second, outcome: "success", durationMs: 3 }),
          ],
        },
        { scale },
      );
      const groups = lanes[0]?.groups ?? [];
      expect(groups.map(({ lead, marks }) => [lead.round, marks.length])).toEqual([
        [1, 1],
        [2, 1],
      ]);
      expect((groups[1]?.x ?? 0) - (groups[0]?.x ?? 0)).toBeGreaterThanOrEqual(11);
    }
  });

  test("outside of the shown range are left out", () => {
    const { lanes, rounds } = layout(
      {
        state: "delivered",
        attempts: [
          attemptOf({ round: 1 }),
          attemptOf({ round: 2, at: startsAt + 10 * second }),
          attemptOf({ round: 3, at: startsAt + 40 * second, outcome: "success" }),
        ],
      },
      { range: { from: startsAt + 5 * second, to: startsAt + 60 * second } },
    );
    expect(lanes[0]?.groups.map(({ lead }) => lead.round)).toEqual([2, 3]);
    expect(rounds.map(({ round }) => round)).toEqual([2, 3]);
  });
});

describe("tracks", () => {
  test("the track of a webhook that is not retried ends in a buffer in a low lane, with the reason behind it", () => {
    const [lane] = layout({
      state: "waiting",
      attempts: [attemptOf({ outcome: "tls_error", retryable: false })],
    }).lanes;
    expect(lane).toMatchObject({ isLow: true, hasBuffer: true, until: 26 });
    expect(lane?.lane.stop?.reason).toBe("self-signed certificate, no request sent");
    expect(lane?.noteWidth).toBeGreaterThan(300);
  });

  test("a reason without room behind the buffer is left to the label", () => {
    const attempts = [
      attemptOf({ at: startsAt }),
      attemptOf({ round: 2, at: startsAt + 3.5 * hour, status: 410, retryable: false }),
    ];
    expect(layout({ state: "failed", attempts }).lanes[0]?.noteWidth).toBeNull();
  });

  test("a lane that goes on reaches the window's end, and everything stays within any width", () => {
    for (const scale of ["log", "linear", "compact"] as const) {
      for (const narrow of [258, 490, 2000]) {
        const { lanes, rounds, roundLines } = layout(
          { state: "waiting", attempts: [attemptOf({})] },
          { scale, width: narrow },
        );
        expect(lanes[0]?.until).toBe(narrow);
        const places = [
          ...lanes.flatMap(({ groups }) => groups.map(({ x }) => x)),
          ...rounds.map(({ x }) => x),
          ...roundLines,
        ];
        expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...places)).toBeLessThanOrEqual(narrow);
      }
    }
  });
});

describe("labels", () => {
  test("the first and the next round keep their numbers, the others only where they have room", () => {
    const { rounds } = layout(
      { state: "waiting", rounds: 1, attempts: [attemptOf({})] },
      { scale: "linear" },
    );
    expect(rounds.slice(0, 2).map(({ round, isNext }) => [round, isNext])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(rounds.length).toBeLessThan(15);
    for (const [place, { x }] of rounds.entries())
      expect(x - (rounds[place - 1]?.x ?? -13)).toBeGreaterThanOrEqual(11);
  });

  const one = layout({ state: "waiting", attempts: [attemptOf({})] }, { scale: "linear" });
  const top = (now: number) =>
    topOf({ parts: one.parts.map(({ part }) => part), axis: one.axis, now });

  test("now has its flag on the side of the past beyond the middle", () => {
    expect(top(startsAt + hour).now?.side).toBe("right");
    expect(top(startsAt + 3 * hour).now?.side).toBe("left");
  });

  test("the window's end says less the nearer now comes to it, and at last nothing", () => {
    expect(top(startsAt).end).toMatch(/^window ends /);
    expect(top(startsAt + 3 * hour).end).toMatch(/^ends /);
    expect(top(startsAt + 3.9 * hour).end).toBeNull();
  });

  test("now is gone from a window that is over", () => {
    const over = layout({ state: "expired", attempts: [attemptOf({})] });
    const parts = over.parts.map(({ part }) => part);
    expect(topOf({ parts, axis: over.axis, now: startsAt + 5 * hour })).toMatchObject({
      now: null,
      end: expect.stringMatching(/^window ended /),
    });
    const zoomed = layout(
      { state: "expired", attempts: [attemptOf({})] },
      { range: { from: startsAt, to: startsAt + hour } },
    );
    expect(topOf({ parts, axis: zoomed.axis, now: null })).toEqual({
      now: null,
      hasEnd: false,
      end: null,
    });
  });
});

describe("arrows", () => {
  const { lanes } = layout({
    state: "waiting",
    rounds: 2,
    nextAttemptAt: startsAt + 40 * second,
    attempts: [1, 2].flatMap((round) =>
      [1, 2].map((webhook) =>
        attemptOf({
          round,
          webhook,
          at: startsAt + (round - 1) * 10 * second,
          retryable: webhook === 1 || round === 1,
        }),
      ),
    ),
  });

  test("begin at the newest attempt and walk by round, also within marks that have merged", () => {
    expect(firstPosition(lanes)).toEqual({ lane: 0, round: 2 });
    expect(walk(lanes, { lane: 0, round: 2 }, "ArrowLeft")).toEqual({ lane: 0, round: 1 });
    expect(walk(lanes, { lane: 0, round: 1 }, "ArrowLeft")).toBeNull();
    expect(walk(lanes, { lane: 0, round: 2 }, "ArrowRight")).toEqual({ lane: 0, round: 3 });
  });

  test("lead to the nearest round of the next lane", () => {
    expect(walk(lanes, { lane: 0, round: 9 }, "ArrowDown")).toEqual({ lane: 1, round: 2 });
    expect(walk(lanes, { lane: 1, round: 2 }, "ArrowDown")).toBeNull();
  });
});

const windowMs = 4 * hour;
const axis = (scale: ScaleName, to = windowMs, px = width, from = 0) =>
  axisOf({
    scale,
    origin: startsAt,
    from: startsAt + from,
    to: startsAt + to,
    width: px,
    columns: [0, 10, 30, 70].map((s) => ({ at: startsAt + s * second, isFar: false })),
  });

describe("the scale", () => {
  test("puts the log axis's times where ln(1 + t / 100 s) says", () => {
    const { xOf } = axis("log", windowMs, 1000);
    const places = [0, 10, 300, 3600, 7200, 14_400].map((s) =>
      Math.round(xOf(startsAt + s * second)),
    );
    expect(places).toEqual([0, 19, 279, 726, 862, 1000]);
  });

  test("is even when it is linear", () => {
    const { xOf } = axis("linear", windowMs, 100);
    expect([0, 1, 2, 4].map((h) => xOf(startsAt + h * hour))).toEqual([0, 25, 50, 100]);
  });

  test("is compact: a column for each round, and the length of each gap between them", () => {
    const { gaps, xOf } = axis("compact", windowMs, 490);
    expect(gaps.map(({ text }) => text)).toEqual(["10 s", "20 s", "40 s", "3 h 58 m"]);
    expect(gaps.map(({ x }) => x)).toEqual([0, 10, 30, 70].map((s) => xOf(startsAt + s * second)));
    const narrow = axis("compact", windowMs, 140).gaps;
    expect(narrow.map(({ text }) => text)).not.toContain("3 h 58 m");
    // Not all of them have room: the longest keeps its length.
    expect(axis("compact", windowMs, 80).gaps.map(({ text }) => text)).toEqual(["4 h"]);
  });

  test("never turns back, never leaves the axis, and leads back to the time", () => {
    const ms = fc.integer({ min: -hour, max: 3 * windowMs });
    fc.assert(
      fc.property(
        ms,
        ms,
        fc.constantFrom("log" as const, "linear" as const, "compact" as const),
        fc.integer({ min: 0, max: hour }),
        (a, b, scale, from) => {
          const { xOf, timeAt } = axis(scale, windowMs, width, from);
          const [before, after] = [xOf(startsAt + Math.min(a, b)), xOf(startsAt + Math.max(a, b))];
          expect(before).toBeLessThanOrEqual(after);
          expect(before).toBeGreaterThanOrEqual(0);
          expect(after).toBeLessThanOrEqual(width);
          const inside = Math.min(windowMs, Math.max(from, a));
          expect(Math.abs(timeAt(xOf(startsAt + inside)) - startsAt - inside)).toBeLessThan(1);
        },
      ),
    );
  });
});

describe("labels", () => {
  test("give way to those that stay, and those that stay to each other", () => {
    const labels = [
      { x: 0, text: "1", stays: true },
      { x: 5, text: "2", stays: true },
      { x: 20, text: "3", stays: false },
      { x: 40, text: "4", stays: false },
    ];
    expect(withRoom(labels, 13).map(({ x, text }) => [x, text])).toEqual([
      [0, "1"],
      [13, "2"],
      [40, "4"],
    ]);
  });

  test("of the axis are round times with room between them, in any width and window", () => {
    const texts = (...[scale, to, from]: [ScaleName, number?, number?]) =>
      ticksBetween(axis(scale, to, width, from), startsAt, "15:50:57", "4 h").map(
        ({ text }) => text,
      );
    expect(texts("log")).toEqual(["5 m", "15 m", "1 h", "2 h"]);
    expect(texts("linear")).toEqual(["1 h", "2 h", "3 h"]);
    expect(texts("linear", 36 * hour)).toEqual(["12 h", "1 d"]);
    expect(texts("linear", 62 * second, 60 * second)).toEqual(["1 m 1 s"]);
    expect(texts("compact")).toEqual([]);
    fc.assert(
      fc.property(
        fc.integer({ min: 200, max: 3000 }),
        fc.integer({ min: 1000, max: 200 * hour }),
        fc.constantFrom("log" as const, "linear" as const),
        (px, ms, scale) => {
          const ticks = ticksBetween(axis(scale, ms, px), startsAt, "15:50:57", "ends");
          for (const [place, { x, text }] of ticks.entries()) {
            expect(x - textPx(text) / 2).toBeGreaterThan(textPx("15:50:57"));
            expect(x).toBeLessThan(px - textPx("ends"));
            expect(x - (ticks[place - 1]?.x ?? -100)).toBeGreaterThanOrEqual(28);
          }
        },
      ),
    );
  });
});
