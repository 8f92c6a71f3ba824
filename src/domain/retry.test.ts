import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cpuRatio } from "../../test/support/cpu-ratio.ts";
import type { RetryProfile } from "./configuration.ts";
import {
  builtInProfiles,
  documented,
  isRetryable,
  nextRoundAt,
  plannedRounds,
  profileOf,
  retryAfter,
  type RoundOptions,
} from "./retry.ts";
import type { Outcome } from "./states.ts";

const profile = (name: string): RetryProfile =>
  builtInProfiles.find((each) => each.name === name) as RetryProfile;
const start = Date.UTC(2026, 10, 21);
const first: RoundOptions = {
  profile: documented,
  round: 1,
  roundStartedAt: start,
  firstAttemptAt: start,
  seed: 1,
  sequence: 1,
  jitter: false,
};
const window = 4 * 3_600_000;

test("documented stands in for a profile that is not there", () => {
  expect(profileOf(builtInProfiles, "svix").name).toBe("svix");
  expect(profileOf(builtInProfiles, "gone")).toBe(documented);
  expect(profileOf([], undefined)).toBe(documented);
});

describe("what is retried", () => {
  const answers = (name: string): number[] =>
    Array.from({ length: 900 }, (_, index) => index + 100).filter((status) =>
      isRetryable(profile(name), "http_error", status),
    );
  const range = (from: number, to: number): number[] =>
    Array.from({ length: to - from + 1 }, (_, index) => from + index);

  test("by documented: every 5xx and nothing else", () => {
    expect(answers("documented")).toEqual(range(500, 599));
  });

  test("by hosted: some 4xx, and 5xx but two", () => {
    expect(answers("hosted")).toEqual([
      408,
      410,
      429,
      460,
      ...range(500, 599).filter((status) => status !== 501 && status !== 505),
    ]);
  });

  test("by standard-webhooks: all that is no success, except 410", () => {
    expect(answers("standard-webhooks")).not.toContain(410);
    expect(answers("standard-webhooks")).toEqual(expect.arrayContaining([302, 400, 429, 500]));
    expect(answers("standard-webhooks").some((status) => status >= 200 && status <= 299)).toBe(
      false,
    );
  });

  test.each(["svix", "convoy"])(
    "by %s: all that is no success, up to the last status there is",
    (name) => {
      expect(answers(name)).toEqual([...range(100, 199), ...range(300, 999)]);
    },
  );

  test.each<[Outcome, boolean]>([
    ["timeout", true],
    ["connection_error", true],
    ["tls_error", false],
    ["success", false],
  ])("every built-in profile on %s: %s", (outcome, retried) => {
    for (const each of builtInProfiles)
      expect(isRetryable(each, outcome, outcome === "success" ? 200 : null)).toBe(retried);
  });

  test("timeouts and connection errors only where the profile says so", () => {
    expect(isRetryable({ ...documented, retryTimeouts: false }, "timeout", null)).toBe(false);
    expect(
      isRetryable({ ...documented, retryConnectionErrors: false }, "connection_error", null),
    ).toBe(false);
  });
});

describe("the schedule of documented", () => {
  test("without jitter is 10 s, doubling, at most 30 min, for four hours", () => {
    const seconds = plannedRounds(first).map(
      (time, index, times) => (time - (times[index - 1] ?? start)) / 1000,
    );
    expect(seconds).toEqual([
      10, 20, 40, 80, 160, 320, 640, 1280, 1800, 1800, 1800, 1800, 1800, 1800,
    ]);
  });

  test("has an end exactly at the end of the window", () => {
    const last = { ...first, round: 20, roundStartedAt: start + window - 1_800_000 };
    expect(nextRoundAt(last)).toBe(start + window);
    expect(nextRoundAt({ ...last, roundStartedAt: last.roundStartedAt + 1 })).toBeNull();
    // The next whole second is beyond the window, the computed time is not.
    const roundStartedAt = last.roundStartedAt + 600;
    expect(nextRoundAt({ ...last, firstAttemptAt: start + 700, roundStartedAt })).toBe(
      start + window,
    );
  });

  test("comes out at a whole second, the nearest", () => {
    expect(nextRoundAt({ ...first, roundStartedAt: start + 499 })).toBe(start + 10_000);
    expect(nextRoundAt({ ...first, roundStartedAt: start + 500 })).toBe(start + 11_000);
  });

  const options = fc
    .record({
      round: fc.integer({ min: 1, max: 40 }),
      since: fc.integer({ min: 0, max: window }),
      offset: fc.integer({ min: 0, max: 999 }),
      seed: fc.integer(),
      sequence: fc.integer({ min: 1 }),
      jitter: fc.boolean(),
    })
    .map(({ since, offset, ...rest }): RoundOptions => ({
      ...first,
      ...rest,
      firstAttemptAt: start + offset,
      roundStartedAt: start + offset + since,
    }));

  test("stays within the jitter's bounds, on whole seconds, after the round and inside the window", () => {
    fc.assert(
      fc.property(options, (each) => {
        const next = nextRoundAt(each);
        const plain = Math.min(1_800_000, 10_000 * 2 ** (each.round - 1));
        const end = each.firstAttemptAt + window;
        if (next === null) {
          expect(each.roundStartedAt + plain * (each.jitter ? 1.1 : 1)).toBeGreaterThan(end - 1000);
          return;
        }
        const delay = next - each.roundStartedAt;
        expect(next % 1000).toBe(0);
        expect(delay).toBeGreaterThan(0);
        expect(next).toBeLessThanOrEqual(end);
        // At the end of the window the whole second may lie up to a second before the bound.
        const slack = each.jitter && next + 1000 <= end ? 0 : 1000;
        expect(delay).toBeGreaterThanOrEqual(plain * (each.jitter ? 0.9 : 1) - slack);
        expect(delay).toBeLessThanOrEqual(
          plain * (each.jitter ? 1.1 : 1) + (each.jitter ? 0 : 500),
        );
      }),
      { numRuns: 1000 },
    );
  });

  test("is the same for the same seed, and another for another seed or sequence number", () => {
    const seeded = { ...first, jitter: true };
    expect(plannedRounds(seeded)).toEqual(plannedRounds({ ...seeded }));
    expect(plannedRounds({ ...seeded, seed: 2 })).not.toEqual(plannedRounds(seeded));
    expect(plannedRounds({ ...seeded, sequence: 2 })).not.toEqual(plannedRounds(seeded));
  });

  test("plans what will come to pass, round by round", () => {
    const planned = plannedRounds({
      ...first,
      jitter: true,
      firstAttemptAt: start + 321,
      roundStartedAt: start + 321,
    });
    let roundStartedAt = start + 321;
    for (const [index, time] of planned.entries()) {
      const next = nextRoundAt({
        ...first,
        jitter: true,
        firstAttemptAt: start + 321,
        round: index + 1,
        roundStartedAt,
      });
      expect(next).toBe(time);
      roundStartedAt = time;
    }
    expect(planned.at(-1)).toBeLessThanOrEqual(start + 321 + window);
  });

  test("spreads the deliveries over the jitter's whole width", () => {
    const delays = Array.from(
      { length: 500 },
      (_, sequence) =>
        (nextRoundAt({ ...first, round: 5, jitter: true, sequence }) as number) - start,
    );
    expect(Math.min(...delays)).toBeLessThan(146_000);
    expect(Math.max(...delays)).toBeGreaterThan(174_000);
  });
});

describe("other schedules", () => {
  test.each([
    ["svix", [5, 300, 1800, 7200, 18_000, 36_000, 36_000]],
    ["convoy", [10, 30, 60, 180, 300, 600, 900]],
  ])("of %s end when their list is used up", (name, expected) => {
    const times = plannedRounds({ ...first, profile: profile(name) });
    expect(times.map((time, index) => (time - (times[index - 1] ?? start)) / 1000)).toEqual(
      expected,
    );
  });

  test("of standard-webhooks are what its specification recommends", () => {
    const times = plannedRounds({ ...first, profile: profile("standard-webhooks") });
    const hours = [5 / 3600, 5 / 60, 0.5, 2, 5, 10, 14, 20, 24];
    expect(times.map((time, index) => (time - (times[index - 1] ?? start)) / 3_600_000)).toEqual(
      hours,
    );
  });

  test.each([
    ["documented", 0.1, 4, 5],
    ["hosted", 0.1, 4, 5],
    ["svix", 0, 36, 15],
    ["convoy", 0, 2, 15],
    ["standard-webhooks", 0.1, 96, 15],
  ])(
    "of %s vary by %d, end after %d hours, and give an attempt %d seconds",
    (name, jitter, hours, seconds) => {
      expect(profile(name)).toMatchObject({
        jitter,
        windowMs: hours * 3_600_000,
        timeoutMs: seconds * 1000,
      });
    },
  );

  test("are planned for a thousand rounds at most", () => {
    const busy: RetryProfile = {
      ...documented,
      schedule: { kind: "exponential", firstMs: 1000, factor: 1, capMs: 1000 },
    };
    expect(plannedRounds({ ...first, profile: busy })).toHaveLength(1000);
  });

  test.each(builtInProfiles)("of $name have room for their list, late rounds included", (each) => {
    if (each.schedule.kind === "exponential") return;
    const longest = each.schedule.delaysMs.reduce(
      (sum, delay) => sum + delay * (1 + each.jitter) + each.timeoutMs,
      0,
    );
    expect(longest).toBeLessThan(each.windowMs);
  });

  test("never stand still, even with no delay at all", () => {
    const busy: RetryProfile = {
      ...documented,
      windowMs: 3000,
      schedule: { kind: "exponential", firstMs: 0, factor: 2, capMs: 0 },
    };
    expect(plannedRounds({ ...first, profile: busy })).toEqual([
      start + 1000,
      start + 2000,
      start + 3000,
    ]);
    expect(nextRoundAt({ ...first, profile: { ...busy, windowMs: 0 } })).toBeNull();
  });
});

describe("Retry-After", () => {
  const head = (...lines: string[]): string =>
    ["HTTP/1.1 503 Later", ...lines, "", ""].join("\r\n");
  test.each<[string[], number | null]>([
    [["Retry-After: 120"], start + 120_000],
    [["retry-after:\t7 "], start + 7000],
    [["Retry-After: 0"], start],
    [
      ["Date: Sat, 21 Nov 2026 03:16:19 GMT", "Retry-After: Sat, 21 Nov 2026 03:18:19 GMT"],
      start + 120_000,
    ],
    [["Retry-After: Sat, 21 Nov 2026 03:18:19 GMT"], null],
    [["Date: Sat, 21 Nov 2026 03:16:19 GMT", "Retry-After: Sat, 21 Nov 2026 03:16:18 GMT"], null],
    [["Retry-After: -1"], null],
    [["Retry-After: soon"], null],
    [["Retry-After: 1e3"], null],
    [["Retry-After: 2026-11-21"], null],
    [["X-Retry-After: 5"], null],
    [[`Retry-After: ${" ".repeat(60_000)}5${" ".repeat(60_000)}`], start + 5000],
    [[], null],
  ])("of %j", (lines, expected) => {
    expect(retryAfter(head(...lines), start)).toBe(expected);
  });

  test("with tens of thousands of spaces is read as quickly as one of as many letters", () => {
    const of = (padding: string) => () =>
      retryAfter(head(`Retry-After: a${padding.repeat(20_000)}b`), start);
    expect(cpuRatio(of(" "), of("x"))).toBeLessThan(50);
  });

  test("moves the next round when it asks for more than the schedule, within the window", () => {
    const at = (seconds: number): number | null =>
      nextRoundAt({ ...first, notBefore: start + seconds * 1000 });
    expect(at(3)).toBe(start + 10_000);
    expect(at(120.2)).toBe(start + 121_000);
    expect(at(4 * 3600)).toBe(start + window);
    expect(at(4 * 3600 + 1)).toBeNull();
    const firstAttemptAt = start + 700;
    expect(nextRoundAt({ ...first, firstAttemptAt, notBefore: start + window + 100 })).toBeNull();
  });
});
