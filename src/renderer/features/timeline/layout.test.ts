import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { documented } from "../../../domain/retry.ts";
import { courseOf, type CourseOptions } from "./course.ts";
import { attemptOf, deliveryOf, startsAt, webhooks } from "./delivery.fixture.ts";
import { layoutOf, mergeNear, topOf } from "./layout.ts";
import { firstPosition, walk } from "./timeline-keys.ts";

const width = 490;
const second = 1000;
const hour = 3_600_000;

function layout(
  changes: Parameters<typeof deliveryOf>[0],
  more: Partial<CourseOptions> & { scale?: "log" | "linear"; width?: number } = {},
) {
  const course = courseOf({ delivery: deliveryOf(changes), webhooks, profile: documented, seed: 7, jitter: true, now: startsAt, ...more });
  return { course, ...layoutOf({ course, scale: more.scale ?? "log", width: more.width ?? width }) };
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
    const merged = mergeNear(items, (group) => group.reduce((lead, each) => (each.long > lead.long ? each : lead)));
    expect(merged.map(({ lead, items: inside }) => [lead.x, inside.length])).toEqual([
      [4, 3],
      [60, 1],
    ]);
  });

  test("no two marks of a lane lie less than 11 px apart, and none is lost", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ x: fc.double({ min: 0, max: 500, noNaN: true }), long: fc.nat(100) }), { maxLength: 60 }),
        (given) => {
          const items = given.toSorted((a, b) => a.x - b.x);
          const merged = mergeNear(items, (group) => group.reduce((lead, each) => (each.long > lead.long ? each : lead)));
          expect(merged.flatMap((group) => group.items)).toEqual(items);
          for (const [place, { lead }] of merged.entries()) {
            const before = merged[place - 1];
            if (before !== undefined) expect(lead.x - before.lead.x).toBeGreaterThanOrEqual(11);
          }
        },
      ),
    );
  });

  test("a success stands for those it has merged with, however short it was", () => {
    const { lanes } = layout({
      state: "delivered",
      attempts: [
        attemptOf({ round: 1, durationMs: 900 }),
        attemptOf({ round: 2, at: startsAt + 2 * second, outcome: "success", durationMs: 3 }),
      ],
    });
    expect(lanes[0]?.groups.map(({ lead, marks }) => [lead.round, marks.length])).toEqual([[2, 2]]);
  });
});

describe("tracks", () => {
  test("the track of a webhook that is not retried ends in a buffer in a low lane, with the reason behind it", () => {
    const [lane] = layout({ state: "waiting", attempts: [attemptOf({ outcome: "tls_error", retryable: false })] }).lanes;
    expect(lane).toMatchObject({ isLow: true, hasBuffer: true, until: 26 });
    expect(lane?.lane.stop?.reason).toBe("self-signed certificate, no request sent");
    expect(lane?.noteWidth).toBeGreaterThan(300);
  });

  test("a reason without room behind the buffer is left to the label", () => {
    const attempts = [attemptOf({ at: startsAt }), attemptOf({ round: 2, at: startsAt + 3.5 * hour, status: 410, retryable: false })];
    expect(layout({ state: "failed", attempts }).lanes[0]?.noteWidth).toBeNull();
  });

  test("a lane that goes on reaches the window's end, and everything stays within any width", () => {
    for (const scale of ["log", "linear"] as const) {
      for (const narrow of [258, 490, 2000]) {
        const { lanes, rounds, roundLines } = layout({ state: "waiting", attempts: [attemptOf({})] }, { scale, width: narrow });
        expect(lanes[0]?.until).toBe(narrow);
        const places = [...lanes.flatMap(({ groups }) => groups.map(({ x }) => x)), ...rounds.map(({ x }) => x), ...roundLines];
        expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
        expect(Math.max(...places)).toBeLessThanOrEqual(narrow);
      }
    }
  });
});

describe("labels", () => {
  test("the first and the next round keep their numbers, the others only where they have room", () => {
    const { rounds } = layout({ state: "waiting", rounds: 1, attempts: [attemptOf({})] }, { scale: "linear" });
    expect(rounds.slice(0, 2).map(({ round, isNext }) => [round, isNext])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(rounds.length).toBeLessThan(15);
    for (const [place, { x }] of rounds.entries()) expect(x - (rounds[place - 1]?.x ?? -13)).toBeGreaterThanOrEqual(11);
  });

  const { course } = layout({ state: "waiting", attempts: [attemptOf({})] });
  const top = (now: number, px = width) => topOf({ course, scale: "linear", width: px, now });

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
    const over = layout({ state: "expired", attempts: [attemptOf({})] }).course;
    expect(topOf({ course: over, scale: "log", width, now: startsAt + 5 * hour })).toMatchObject({
      now: null,
      end: expect.stringMatching(/^window ended /),
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
        attemptOf({ round, webhook, at: startsAt + (round - 1) * 10 * second, retryable: webhook === 1 || round === 1 }),
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
