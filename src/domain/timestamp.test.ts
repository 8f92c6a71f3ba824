import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "./json.ts";
import { formatTimestamp, parseTimestamp } from "./timestamp.ts";

describe("a time is read", () => {
  test.each<[Json, string]>([
    ["2026-11-21T03:16:19+0000", "2026-11-21T03:16:19.000Z"],
    ["2026-11-21T03:16:19+0230", "2026-11-21T00:46:19.000Z"],
    ["2026-11-21T03:16:19-05:00", "2026-11-21T08:16:19.000Z"],
    ["2026-11-21T03:16:19+01", "2026-11-21T02:16:19.000Z"],
    ["2026-11-21T03:25:00.220458186Z", "2026-11-21T03:25:00.220Z"],
    ["2026-11-21T03:25:00.9999999999999Z", "2026-11-21T03:25:00.999Z"],
    [`2026-11-21T03:25:00.${"9".repeat(79)}Z`, "2026-11-21T03:25:00.999Z"],
    ["2026-11-21T03:25:00.5Z", "2026-11-21T03:25:00.500Z"],
    ["2026-11-21T03:25:00,25Z", "2026-11-21T03:25:00.250Z"],
    ["2026-11-21t03:25:00z", "2026-11-21T03:25:00.000Z"],
    ["2026-11-21 03:25:00.1 +0100", "2026-11-21T02:25:00.100Z"],
    ["2026-11-21T03:25Z", "2026-11-21T03:25:00.000Z"],
    ["2026-11-21T03:25:00", "2026-11-21T03:25:00.000Z"],
    ["2026-11-21", "2026-11-21T00:00:00.000Z"],
    ["2024-02-29", "2024-02-29T00:00:00.000Z"],
    ["2015-2-02T00:30:08.276Z", "2015-02-02T00:30:08.276Z"],
    ["2015-12-2T9:30:08Z", "2015-12-02T09:30:08.000Z"],
    ["2015-2-2", "2015-02-02T00:00:00.000Z"],
    ["20261121", "2026-11-21T00:00:00.000Z"],
    ["20150202T003008Z", "2015-02-02T00:30:08.000Z"],
    ["20150202T003008.276+0100", "2015-02-01T23:30:08.276Z"],
    ["20150202T0030", "2015-02-02T00:30:00.000Z"],
    ["2015-W06-1T00:30:08.276Z", "2015-02-02T00:30:08.276Z"],
    ["2015-W06", "2015-02-02T00:00:00.000Z"],
    ["2015W061T003008Z", "2015-02-02T00:30:08.000Z"],
    ["2009-W01-1", "2008-12-29T00:00:00.000Z"],
    ["2009-W53-7", "2010-01-03T00:00:00.000Z"],
    ["2015-033T00:30:08Z", "2015-02-02T00:30:08.000Z"],
    ["2024-366", "2024-12-31T00:00:00.000Z"],
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00.000Z"],
    ["1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z"],
    ["0050-01-01T00:00:00Z", "0050-01-01T00:00:00.000Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
    [1_795_231_500, "2026-11-21T03:25:00.000Z"],
    [1_795_231_500.123, "2026-11-21T03:25:00.123Z"],
    [67_534_345.534, "1972-02-21T15:32:25.534Z"],
    [1_795_231_500.122999, "2026-11-21T03:25:00.122Z"],
    [1_795_231_500_755, "2026-11-21T03:25:00.755Z"],
    [1_795_231_500_755.9, "2026-11-21T03:25:00.755Z"],
    ["1795231500", "2026-11-21T03:25:00.000Z"],
    ["1795231500755", "2026-11-21T03:25:00.755Z"],
    ["1795231500.5", "2026-11-21T03:25:00.500Z"],
    ["2000-02-29", "2000-02-29T00:00:00.000Z"],
    ["2026-12-31T23:59:59.001+23:59", "2026-12-31T00:00:59.001Z"],
    ["0000-01-01T00:00:00Z", "0000-01-01T00:00:00.000Z"],
    ["123456789", "1973-11-29T21:33:09.000Z"],
    ["-123456789", "1966-02-02T02:26:51.000Z"],
    [0, "1970-01-01T00:00:00.000Z"],
    [-1, "1969-12-31T23:59:59.000Z"],
    [99_999_999_999, "5138-11-16T09:46:39.000Z"],
    [100_000_000_000, "1973-03-03T09:46:40.000Z"],
  ])("from %j as %s", (value, expected) => {
    const time = parseTimestamp(value);
    expect(time).not.toBeNull();
    expect(formatTimestamp(time as number)).toBe(expected);
  });

  test.each<[Json | undefined]>([
    [undefined],
    [null],
    [true],
    [{}],
    [[]],
    [""],
    ["now"],
    ["2026"],
    ["12"],
    ["2026-02-30"],
    ["2025-02-29"],
    ["1900-02-29"],
    ["2100-02-29"],
    ["2024-02-30"],
    ["12345678"],
    ["2015-2-30"],
    ["2015-2-002"],
    ["2015-W00-1"],
    ["2015-W54-1"],
    ["2010-W53-1"],
    ["2015-W06-8"],
    ["2015-W6-1"],
    ["2015-000"],
    ["2015-366"],
    ["20150202T00:30"],
    ["20150202T3008"],
    ["2026-13-01"],
    ["2026-01-32"],
    ["2026-06-31"],
    ["2026-09-31"],
    ["2026-11-31"],
    ["2026-00-01"],
    ["2026-01-00"],
    ["2026-04-31T00:00:00Z"],
    ["2026-11-21T24:00:00Z"],
    ["2026-11-21T03:60:00Z"],
    ["2026-11-21T03:16:61Z"],
    ["2026-11-21T03:16:19+2400"],
    ["2026-11-21T03:16:19+0060"],
    ["2026-11-21T03:16:19 UTC"],
    ["2026-11-21T"],
    [" 2026-11-21"],
    ["2026-11-21\n"],
    ["Sat, 21 Nov 2026 03:16:19 GMT"],
    ["9999-12-31T23:59:59-01:00"],
    ["0000-01-01T00:00:00+01:00"],
    [1e400],
    [-1e400],
    [Number.NaN],
    [1e18],
    [1_795_231_500_755_000],
    ["9".repeat(400)],
    [`2026-11-21T03:25:00.${"9".repeat(80)}Z`],
    ["1e12"],
  ])("not from %j", (value) => {
    expect(parseTimestamp(value)).toBeNull();
  });

  test("back to itself from every time that is written", () => {
    const range = fc.integer({ min: Date.UTC(1, 0, 1), max: Date.UTC(9999, 11, 31) });
    fc.assert(
      fc.property(range, (time) => {
        expect(formatTimestamp(time)).toBe(new Date(time).toISOString());
        expect(parseTimestamp(new Date(time).toISOString())).toBe(time);
        // Beyond the next century the seconds of a double are too coarse.
        if (Math.abs(time) < 4e12) expect(parseTimestamp(time / 1000)).toBe(time);
        expect(parseTimestamp(formatTimestamp(time).replace("Z", "+0000").replace("T", " "))).toBe(
          time,
        );
      }),
    );
  });

  test("from the last day of every month, whole minutes and thousandths", () => {
    for (const [month, days] of [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31].entries()) {
      for (const ms of [0, 9, 10, 99, 100, 59_999, 60_000]) {
        const time = Date.UTC(2026, month, days, 23, 58, 9) + ms;
        expect(formatTimestamp(time)).toBe(new Date(time).toISOString());
        expect(parseTimestamp(formatTimestamp(time))).toBe(time);
      }
    }
  });

  test("or not, but never with an error, from any text and number", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.double(),
          fc.stringMatching(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?$/),
        ),
        (value) => {
          const time = parseTimestamp(value);
          if (time !== null)
            expect(formatTimestamp(time)).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
        },
      ),
    );
  });
});

test("the usual form is read as its other spellings, of times that exist and of others", () => {
  const digits = fc.tuple(
    ...[9999, 13, 32, 25, 61, 61, 999].map((max) => fc.integer({ min: 0, max })),
  );
  fc.assert(
    fc.property(digits, ([year, month, day, hour, minute, second, ms]) => {
      const two = (value: number | undefined): string => String(value).padStart(2, "0");
      const date = `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`;
      const text = `${date}T${two(hour)}:${two(minute)}:${two(second)}.${String(ms).padStart(3, "0")}`;
      expect(parseTimestamp(`${text}Z`)).toBe(parseTimestamp(`${text}+00:00`));
    }),
  );
});
