import { expect, test } from "vitest";
import { isHalfTyped, isoOf, periodOf, steadyTime } from "./funnel-period.ts";

const now = Date.parse("2026-11-27T10:20:30.400Z");
const own = (from: string, to: string) => ({ choice: "own" as const, from, to });

test("the last hour goes with the clock, by the minute", () => {
  const hour = { choice: "hour" as const, from: "", to: "" };
  const sinceAt = (at: number) => periodOf(hour, steadyTime(at, 1)).since;
  expect(sinceAt(now)).toBe("2026-11-27T09:20:00.000Z");
  expect(sinceAt(now + 29_000)).toBe("2026-11-27T09:20:00.000Z");
  expect(sinceAt(now + 30_000)).toBe("2026-11-27T09:21:00.000Z");
  expect(periodOf({ ...hour, choice: "day" }, now).since).toBe("2026-11-26T10:20:30.400Z");
  expect(isoOf(steadyTime(now + 300_000, 600))).toBe("2026-11-27T10:20:00.000Z");
});

test("a year that is being typed is no limit yet", () => {
  const from = "2026-11-27T10:00:00";
  expect(periodOf(own(from, ""), now)).toEqual({ since: isoOf(Date.parse(from)) });
  for (const half of ["12026-01-01T00:00:00", "275760-01-01T00:00:00"]) {
    expect(periodOf(own(half, half), now)).toEqual({});
    expect(isHalfTyped(own(from, half))).toBe(true);
  }
  expect(isHalfTyped(own(from, ""))).toBe(false);
  expect(isHalfTyped({ ...own("12026-01-01T00:00", ""), choice: "all" })).toBe(false);
});
