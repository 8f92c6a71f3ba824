import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../domain/states.ts";
import { laneSizes, markPaths, marksSentence, placeMarks } from "./marks.ts";

const lane = (number: number, ...outcomes: Outcome[]) =>
  outcomes.map((outcome, place) => ({ lane: number, round: place + 1, outcome }));
const times = <Value>(n: number, value: Value): Value[] => Array.from({ length: n }, () => value);

describe("the small marks", () => {
  test("have a column per round and a lane per webhook, and the next round after those that go on", () => {
    const marks = [...lane(0, "tls_error"), ...lane(1, "http_error", "timeout")];
    const { places, lanes, columns } = placeMarks({ marks, next: true, sending: false });
    expect(places.at(-1)).toEqual({ kind: "next", lane: 1, column: 2 });
    expect([lanes, columns]).toEqual([2, 3]);
  });

  test("of more than eleven rounds are the first two, dots, and the last eight", () => {
    const { places, columns, dotsAt } = placeMarks({
      marks: lane(0, ...times(2, "timeout" as const), ...times(12, "http_error" as const)),
      next: true,
      sending: false,
    });
    expect(places.map(({ column }) => column)).toEqual([0, 1, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect([columns, dotsAt, places.at(-1)?.kind]).toEqual([11, 2, "next"]);
    expect(
      placeMarks({
        marks: lane(0, ...times(11, "http_error" as const)),
        next: false,
        sending: false,
      }).dotsAt,
    ).toBeNull();
  });

  test("show a half disc for what is under way: in the round of the lanes ahead, or in the next", () => {
    const one = placeMarks({
      marks: [...lane(0, "http_error", "http_error"), ...lane(1, "http_error")],
      next: false,
      sending: true,
    });
    expect(one.places.filter(({ kind }) => kind === "under_way")).toEqual([
      { kind: "under_way", lane: 1, column: 1 },
    ]);
    const both = placeMarks({
      marks: [...lane(0, "http_error"), ...lane(1, "timeout")],
      next: false,
      sending: true,
    });
    expect(
      both.places.filter(({ kind }) => kind === "under_way").map(({ column }) => column),
    ).toEqual([1, 1]);
    expect(placeMarks({ marks: [], next: false, sending: true }).places).toEqual([
      { kind: "under_way", lane: 0, column: 0 },
    ]);
  });

  test("fit a row of 28 px, as large as they can be seen, with up to five lanes", () => {
    for (let lanes = 1; lanes <= 5; lanes++) {
      const { size, lane: pitch } = laneSizes(lanes);
      expect((lanes - 1) * pitch + size).toBeLessThanOrEqual(27);
      expect(size).toBe(lanes <= 2 ? 7 : lanes === 3 ? 6.5 : 5);
    }
  });

  test("of more than five lanes are those that went on longest, in their order, and the number of the others", () => {
    const marks = [0, 1, 2, 3, 4, 5, 6].flatMap((number) =>
      number === 1 || number === 6
        ? lane(number, "http_error", "timeout")
        : lane(number, number === 5 ? "tls_error" : "success"),
    );
    const { places, lanes, others } = placeMarks({ marks, next: true, sending: false });
    expect([lanes, others]).toEqual([5, 2]);
    expect(places.filter(({ kind }) => kind === "timeout").map((place) => place.lane)).toEqual([
      1, 4,
    ]);
    expect(places.filter(({ kind }) => kind === "success").map((place) => place.lane)).toEqual([
      0, 2, 3,
    ]);
    expect(places.at(-1)).toEqual({ kind: "next", lane: 1, column: 2 });
  });

  test("are one path for each kind", () => {
    const marks = lane(0, ...times(3, "http_error" as const), "success");
    const { places } = placeMarks({ marks, next: false, sending: false });
    expect(
      markPaths(
        places.map(({ kind, column }) => ({ kind, x: column * 9, y: 0 })),
        7,
      ).map(({ kind }) => kind),
    ).toEqual(["http_error", "success"]);
  });

  test("have a sentence", () => {
    const marks = [...lane(0, "http_error", "http_error", "timeout"), ...lane(1, "tls_error")];
    expect(marksSentence({ marks, next: true, sending: false })).toBe(
      "webhook 1: http_error ×2, timeout; webhook 2: tls_error; next round scheduled",
    );
  });
});
