import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Step } from "./configuration.ts";
import { matches, Program, type MessageFacts, type Offer } from "./program.ts";

const nothing: MessageFacts = { type: null, messageId: null, event: null, userId: null };
const offer = (message: Partial<MessageFacts> = {}, draw: Offer["draw"] = () => 0.5): Offer => ({
  fits: (match) => matches(match, { ...nothing, ...message }),
  draw,
});
const track = offer({ type: "track", event: "Order Completed", userId: "u1" });
const identify = offer({ type: "identify", userId: "u1" });

function serveAll(program: Program, offers: Offer[]): (number | null)[] {
  return offers.map((each) => program.serve(each));
}
const times = (count: number, each = offer()): Offer[] => Array.from({ length: count }, () => each);

describe("a program", () => {
  const fourSteps: Step[] = [
    { do: "answer", status: 503, times: 3 },
    { do: "hang" },
    { do: "reset" },
    { do: "answer", status: 200 },
  ];

  test("goes from step to step and repeats the last one", () => {
    const program = new Program(fourSteps, "repeat-last");
    expect(serveAll(program, times(8))).toEqual([0, 0, 0, 1, 2, 3, 3, 3]);
    expect(program.position()).toEqual({ step: 3, served: 3, received: 8 });
  });

  test("starts over when it is told to", () => {
    const program = new Program(fourSteps, "start-over");
    expect(serveAll(program, times(8))).toEqual([0, 0, 0, 1, 2, 3, 0, 0]);
    expect(program.position()).toEqual({ step: 0, served: 2, received: 8 });
  });

  test("says before the first request which step is next", () => {
    expect(new Program(fourSteps, "repeat-last").position()).toEqual({
      step: 0,
      served: 0,
      received: 0,
    });
  });

  test("moves a step forward only by requests that match it", () => {
    const program = new Program(
      [{ do: "answer", status: 503, times: 2, match: { type: "track" } }, { do: "answer" }],
      "repeat-last",
    );
    expect(serveAll(program, [identify, track, identify])).toEqual([1, 0, 1]);
    expect(program.position()).toEqual({ step: 0, served: 1, received: 3 });
    expect(serveAll(program, [track, track])).toEqual([0, 1]);
  });

  test.each<[string, Step["match"], (number | null)[]]>([
    ["type", { type: "identify" }, [0, null]],
    ["event", { event: "Order Completed" }, [null, 0]],
    ["user", { userId: "u1" }, [0, 0]],
    ["all that is given together", { type: "identify", event: "Order Completed" }, [null, null]],
  ])("matches by %s", (_, match, expected) => {
    const program = new Program([{ do: "reset", match }], "repeat-last");
    expect(serveAll(program, [identify, track])).toEqual(expected);
  });

  test("counts a request that no step takes, and stays where it is", () => {
    const program = new Program([{ do: "reset", match: { type: "delete" } }], "start-over");
    expect(serveAll(program, times(3, track))).toEqual([null, null, null]);
    expect(program.position()).toEqual({ step: 0, served: 0, received: 3 });
  });

  test("waits for the step that has not been matched before it starts over", () => {
    const program = new Program(
      [{ do: "reset", match: { type: "identify" } }, { do: "answer" }],
      "start-over",
    );
    expect(serveAll(program, [track, track, identify, track])).toEqual([1, null, 0, 1]);
  });

  test("asks nothing of the message when no step has a match", () => {
    const program = new Program(fourSteps, "repeat-last");
    const unasked: Offer = {
      fits: () => {
        throw new Error("asked");
      },
      draw: () => 0,
    };
    expect(program.serve(unasked)).toBe(0);
  });

  test("a step with a chance takes its share for ever and passes the others on", () => {
    const flaky: Step[] = [{ do: "answer", status: 503, chance: 0.3 }, { do: "answer" }];
    const draws = [0.1, 0.3, 0.29, 0.9];
    for (const after of ["repeat-last", "start-over"] as const) {
      const program = new Program(flaky, after);
      const byOrder = offer({}, (_, nth) => draws[(nth - 1) % draws.length] ?? 1);
      expect(serveAll(program, times(8, byOrder))).toEqual([0, 1, 0, 1, 0, 1, 0, 1]);
    }
  });

  test("a step with a chance and a count ends with its count", () => {
    const program = new Program(
      [{ do: "reset", chance: 1, times: 2 }, { do: "answer" }],
      "repeat-last",
    );
    expect(serveAll(program, times(4))).toEqual([0, 0, 1, 1]);
  });

  test("draws by the step and by the number of the request since the last rewind", () => {
    const drawn: [number, number][] = [];
    const recording = offer({}, (step, nth) => {
      drawn.push([step, nth]);
      return 0.9;
    });
    const program = new Program(
      [{ do: "reset", chance: 0.5 }, { do: "close", chance: 0.5 }, { do: "answer" }],
      "repeat-last",
    );
    serveAll(program, times(2, recording));
    program.rewind();
    program.serve(recording);
    expect(drawn).toEqual([
      [0, 1],
      [1, 1],
      [0, 2],
      [1, 2],
      [0, 1],
      [1, 1],
    ]);
  });

  test("goes back to its first step when it is rewound", () => {
    const program = new Program(fourSteps, "repeat-last");
    serveAll(program, times(5));
    program.rewind();
    expect(program.position()).toEqual({ step: 0, served: 0, received: 0 });
    expect(program.serve(offer())).toBe(0);
  });

  test("starts new steps at their first and keeps count of what was received", () => {
    const program = new Program(fourSteps, "repeat-last");
    serveAll(program, times(5));
    program.replaceSteps([{ do: "garbage" }, { do: "answer" }]);
    expect(program.position()).toEqual({ step: 0, served: 0, received: 5 });
    expect(serveAll(program, times(3))).toEqual([0, 1, 1]);
  });

  test("serves each step exactly as often as it says, whatever comes between", () => {
    const kinds = fc.constantFrom(track, identify);
    fc.assert(
      fc.property(
        fc.array(kinds, { maxLength: 60 }),
        fc.integer({ min: 1, max: 20 }),
        (offers, count) => {
          const program = new Program(
            [{ do: "reset", times: count, match: { type: "track" } }, { do: "answer" }],
            "repeat-last",
          );
          const served = serveAll(program, offers);
          const tracks = offers.filter((each) => each === track).length;
          expect(served.filter((step) => step === 0)).toHaveLength(Math.min(count, tracks));
          expect(served.filter((step) => step === 1)).toHaveLength(
            offers.length - Math.min(count, tracks),
          );
        },
      ),
    );
  });
});
