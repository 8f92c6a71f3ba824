import { describe, expect, test } from "vitest";
import { documented } from "../../../domain/retry.ts";
import { deliveryOf, startsAt, time } from "../timeline/delivery.fixture.ts";
import type { AroundNow } from "./around-now.ts";
import { comingOf, drawLane } from "./lane-marks.ts";

const hour = 3_600_000;
const axis: AroundNow = { scale: "linear", width: 800, pastMs: hour, futureMs: hour };

describe("the lane of a delivery", () => {
  test("goes on at the seeded times of its own window", () => {
    const marks = [1, 2, 3].map((round) => ({ round, at: startsAt + (round - 3) * hour, outcome: "http_error" as const }));
    const delivery = { ...deliveryOf({ state: "waiting", rounds: 3 }), firstAttemptAt: time(startsAt) };
    const [next, after] = comingOf({ delivery, marks, profile: documented, seed: 1, jitter: false });
    // The window began with round 3: the round after the next comes 20 s later, not 80.
    expect([next, after]).toEqual([startsAt + 10_000, startsAt + 30_000]);
  });

  test("draws the newest of marks that lie on each other, a path for each kind, and only what the axis reaches", () => {
    const marks = [-2 * hour, -2000, -1000].map((at, place) => ({
      round: place + 1,
      at: startsAt + at,
      outcome: (["timeout", "timeout", "http_error"] as const)[place] ?? "timeout",
    }));
    const coming = [10, 60, 120].map((minutes) => startsAt + minutes * 60_000);
    const drawing = drawLane({ axis, now: startsAt, marks, coming, startsAt: startsAt - hour, endsAt: startsAt + 3 * hour });
    expect(drawing.paths.map(({ kind }) => kind)).toEqual(["http_error", "next", "coming"]);
    expect(drawing.track).toBe("M0 10H800");
    expect(drawing.end).toBe("");
  });
});
