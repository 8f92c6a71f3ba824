import { describe, expect, test } from "vitest";
import type { Outcome } from "../../../domain/states.ts";
import type { FlowAnswer } from "./flow-model.ts";
import { markSpeed, MovingMarks } from "./moving-marks.ts";
import { wayOf } from "./route-path.ts";

const message = { id: "msg_1", sourceId: "src_1", destinationIds: ["dst_1"], agoMs: 0 };
const attempt = {
  messageId: "msg_1",
  destinationId: "dst_1",
  webhookId: "whk_1",
  round: 1,
  outcome: "success" as Outcome,
  agoMs: 0,
};

function answer(moving: Partial<FlowAnswer["moving"]>): FlowAnswer {
  return {
    since: "2026-11-22T12:00:00.000Z",
    sources: [],
    lines: [],
    webhooks: [],
    waiting: [],
    moving: { messages: [], attempts: [], ...moving },
  };
}

/** Two lines of 100 pixels, which take a second each. */
function marks(): MovingMarks {
  const made = new MovingMarks();
  made.setWays(
    new Map([
      [
        "src_1>dst_1",
        wayOf([
          [0, 0],
          [100, 0],
        ]),
      ],
      [
        "dst_1>whk_1",
        wayOf([
          [100, 0],
          [200, 0],
        ]),
      ],
    ]),
  );
  return made;
}

const shown = (made: MovingMarks, now: number) =>
  made.at(now).map(({ x, shows }) => [Math.round(x), shows]);

describe("a mark", () => {
  test("replays a message a second after its record: to the destination, to the webhook, its outcome", () => {
    const made = marks();
    made.add(answer({ messages: [message], attempts: [attempt] }), 0, 100);
    expect(shown(made, 999)).toEqual([]);
    expect(shown(made, 1500)).toEqual([[50, "moves"]]);
    expect(shown(made, 2100)).toEqual([[100, "moves"]]);
    expect(shown(made, 2620)).toEqual([[150, "moves"]]);
    expect(shown(made, 3200)).toEqual([[200, "success"]]);
    expect(shown(made, 3900)).toEqual([]);
    expect(made.at(9000)).toEqual([]);
    expect(made.isEmpty).toBe(true);
  });

  test("goes on to the webhook where it arrived, when its attempt is known only then", () => {
    const made = marks();
    made.add(answer({ messages: [message] }), 0, 100);
    expect(shown(made, 2300)).toEqual([]);
    made.add(answer({ attempts: [{ ...attempt, agoMs: 0 }] }), 2400, 100);
    expect(shown(made, 2900)).toEqual([[150, "moves"]]);
  });

  test("is there once, however many answers name it", () => {
    const made = marks();
    made.add(answer({ messages: [message] }), 0, 100);
    made.add(answer({ messages: [{ ...message, agoMs: 250 }] }), 250, 100);
    expect(shown(made, 1500)).toEqual([[50, "moves"]]);
  });

  test("of a retry starts at its destination", () => {
    const made = marks();
    made.add(answer({ attempts: [{ ...attempt, round: 2, outcome: "http_error" }] }), 0, 100);
    expect(shown(made, 1500)).toEqual([[150, "moves"]]);
    expect(shown(made, 2100)).toEqual([[200, "http_error"]]);
  });

  test("waits in front of a webhook until its attempt has ended, and goes when nobody knows of it", () => {
    const made = marks();
    const inFlight = { ...attempt, outcome: null };
    made.add(answer({ attempts: [inFlight] }), 0, 100);
    expect(shown(made, 5000)).toEqual([[188, "waits"]]);
    made.add(answer({ attempts: [{ ...attempt, outcome: "timeout" }] }), 5000, 100);
    expect(shown(made, 5000)).toEqual([[200, "timeout"]]);
    made.add(answer({ attempts: [{ ...inFlight, messageId: "msg_2" }] }), 6000, 100);
    made.add(answer({}), 6500, 100);
    expect(shown(made, 9000)).toEqual([]);
  });

  test("that is held stands, while the others pass", () => {
    const made = marks();
    made.add(answer({ messages: [message, { ...message, id: "msg_2" }] }), 0, 100);
    made.hold("msg_1", 1300);
    expect(shown(made, 1700)).toEqual([
      [30, "moves"],
      [70, "moves"],
    ]);
    made.release();
    expect(shown(made, 1700)).toEqual([
      [70, "moves"],
      [70, "moves"],
    ]);
  });

  test("on a line that is gone disappears", () => {
    const made = marks();
    made.add(answer({ messages: [message] }), 0, 100);
    made.setWays(new Map());
    expect(shown(made, 1500)).toEqual([]);
    expect(made.isEmpty).toBe(true);
  });

  test("goes faster with the clock, but never sixty times", () => {
    expect([markSpeed("real", 1), markSpeed("faster", 10), markSpeed("faster", 600)]).toEqual([
      150, 190, 270,
    ]);
  });
});
