import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { highestStatus, lowestStatus } from "../../domain/http-status.ts";
import { builtInProfiles, documented } from "../../domain/retry.ts";
import {
  parseDelays,
  parseStatuses,
  retriedWords,
  scheduleWords,
  statusesText,
} from "./retry-words.ts";

const words = Object.fromEntries(
  builtInProfiles.map((profile) => [profile.name, [scheduleWords(profile), retriedWords(profile)]]),
);

describe("a retry profile in words", () => {
  test("the documented one", () => {
    expect(words["documented"]).toEqual([
      "after 10 s, 20 s, 40 s, 80 s …, at most every 30 m, ±10 %",
      "5xx, timeouts, connection errors",
    ]);
  });

  test("one with a list, without jitter", () => {
    expect(words["svix"]).toEqual([
      "after 5 s, 5 m, 30 m, 2 h, 5 h, 10 h, 10 h",
      "1xx, 300-999, timeouts, connection errors",
    ]);
  });

  test("one that always waits as long, one that never sends again, one that retries nothing", () => {
    expect(
      scheduleWords({
        schedule: { kind: "exponential", firstMs: 60_000, factor: 1, capMs: 60_000 },
        jitter: 0,
      }),
    ).toBe("every 1 m");
    expect(scheduleWords({ schedule: { kind: "list", delaysMs: [] }, jitter: 0.1 })).toBe(
      "no retries",
    );
    expect(
      retriedWords({
        ...documented,
        retriedStatuses: [],
        retryTimeouts: false,
        retryConnectionErrors: false,
      }),
    ).toBe("nothing");
  });
});

describe("what is typed", () => {
  test("delays", () => {
    expect(parseDelays("10 s, 30 s,1 m, 0.5 h")).toEqual([10_000, 30_000, 60_000, 1_800_000]);
    expect(parseDelays("")).toEqual([]);
    expect(parseDelays("10 s, soon")).toBeNull();
  });

  test("statuses", () => {
    expect(parseStatuses("5xx, 429, 402 - 404")).toEqual([
      { from: 500, to: 599 },
      { from: 429, to: 429 },
      { from: 402, to: 404 },
    ]);
    expect(parseStatuses("50, 4xy")).toBeNull();
    expect(parseStatuses("099")).toBeNull();
  });

  test("ranges survive being printed and read", () => {
    const status = fc.integer({ min: lowestStatus, max: highestStatus });
    fc.assert(
      fc.property(fc.array(fc.record({ from: status, to: status })), (ranges) => {
        expect(parseStatuses(statusesText(ranges))).toEqual(ranges);
      }),
    );
  });
});
