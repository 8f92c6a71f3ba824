import { EventEmitter } from "node:events";
import { ServerResponse, type IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { IngestFault, Source } from "../../domain/configuration.ts";
import { nextTurn } from "../real-time.ts";
import { answerFaultOf, applyFault, createFaults } from "./ingest-faults.ts";

afterEach(() => void vi.useRealTimers());

function sourceWith(faults: IngestFault[]): Source {
  return {
    id: 1,
    name: "s",
    kind: "server",
    writeKey: "k",
    mode: "explain",
    deduplicate: true,
    correctClockSkew: false,
    faults,
    createdAt: 0,
  } as Source;
}

/**
 * What requests meet, one after the other: the status or kind of the end, and the delay where there
 * is one.
 */
function met(faults: IngestFault[], count: number, seed = 1, now = () => 0): string[] {
  const faultOf = createFaults(() => seed, now);
  const source = sourceWith(faults);
  return Array.from({ length: count }, () => {
    const { delayMs, answerDelayMs, end } = faultOf(source);
    const what = end === null ? "-" : end.do === "answer" ? (end.status ?? 500) : end.do;
    const late = answerDelayMs === 0 ? "" : `~${answerDelayMs}`;
    return `${what}${delayMs === 0 ? "" : `+${delayMs}`}${late}`;
  });
}

test.each<[string, IngestFault[], string]>([
  ["none", [], "- -"],
  ["one that never ends", [{ do: "answer", status: 503 }], "503 503 503"],
  [
    "some in a row",
    [
      { do: "answer", status: 503, times: 2 },
      { do: "cut", times: 1 },
    ],
    "503 503 cut - -",
  ],
  [
    "delays, which go with what ends",
    [
      { do: "delay", delayMs: 5, times: 2 },
      { do: "answer", delayMs: 7, times: 1 },
    ],
    "500+12 -+5 -",
  ],
  [
    "a delay behind the end is not met",
    [
      { do: "answer", times: 1 },
      { do: "delay", delayMs: 5, times: 1 },
    ],
    "500 -+5 -",
  ],
  [
    "a lost answer, and late ones",
    [
      { do: "delay-answer", delayMs: 9, times: 3 },
      { do: "lose-answer", delayMs: 5, times: 2 },
    ],
    "lose-answer+5~9 lose-answer+5~9 -~9 -",
  ],
  ["a limit", [{ do: "limit", perSecond: 2 }], "- - limit limit"],
  ["a limit for some requests", [{ do: "limit", perSecond: 1, times: 1 }], "- limit - -"],
  ["no times", [{ do: "cut", times: 0 }], "- -"],
  ["delays without a time", [{ do: "delay" }, { do: "delay-answer" }], "- -"],
  [
    "certain and impossible",
    [
      { do: "cut", chance: 0 },
      { do: "answer", chance: 1, times: 2 },
    ],
    "500 500 -",
  ],
])("%s", (_, faults, expected) => {
  expect(met(faults, expected.split(" ").length).join(" ")).toBe(expected);
});

test("a limit counts the requests in a second of the clock", () => {
  let at = 0;
  const every = (ms: number) => () => (at += ms);
  const faults: IngestFault[] = [{ do: "limit", perSecond: 2 }];
  expect(met(faults, 6, 1, every(400)).join(" ")).toBe("- - limit - - limit");
  expect(met(faults, 4, 1, every(500)).join(" ")).toBe("- - - -");
  const setBack = [9000, 9000, 9000, 100, 100, 100];
  expect(met(faults, 6, 1, () => setBack.shift() ?? 0).join(" ")).toBe("- - limit - - limit");
  expect(met([{ do: "limit", perSecond: 0 }], 2, 1, every(5000)).join(" ")).toBe("limit limit");
  const many = met([{ do: "limit" }], 1001);
  expect(many.indexOf("limit")).toBe(1000);
});

test("a share is about as large as it says, the same for a seed, and ends after its times", () => {
  const faults: IngestFault[] = [{ do: "cut", chance: 0.25 }];
  const cuts = met(faults, 4000).filter((each) => each === "cut").length;
  expect(cuts).toBeGreaterThan(900);
  expect(cuts).toBeLessThan(1100);
  expect(met(faults, 100)).toEqual(met(faults, 100));
  expect(met(faults, 100, 2)).not.toEqual(met(faults, 100));
  expect(
    met([{ do: "cut", chance: 0.5, times: 3 }], 200).filter((each) => each === "cut"),
  ).toHaveLength(3);
});

test("two shares of one source are drawn apart", () => {
  const both = met(
    [
      { do: "delay", delayMs: 1, chance: 0.5 },
      { do: "cut", chance: 0.5 },
    ],
    400,
  );
  expect(new Set(both)).toEqual(new Set(["-", "-+1", "cut", "cut+1"]));
});

describe("what a request meets", () => {
  function start(more: object = {}) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const ended: string[] = [];
    const socket = Object.assign(new EventEmitter(), {
      destroy: () => void ended.push("destroyed"),
      resetAndDestroy: () => void ended.push("reset"),
      ...more,
    }) as unknown as Socket;
    const response = new ServerResponse({ method: "POST" } as IncomingMessage);
    Object.assign(response, { socket });
    return {
      ...{ socket, response, ended },
      meet: (end: IngestFault | null, delayMs = 0, answerDelayMs = 0) =>
        applyFault(sourceWith([]), { delayMs, answerDelayMs, end }, socket, response),
      /** What is left of waiting. */
      left: () => [vi.getTimerCount(), socket.listenerCount("close")],
    };
  }

  test("is nothing, at once", async () => {
    const { meet, left, response } = start();
    const met = meet(null);
    expect(left()).toEqual([0, 0]);
    expect(await met).toBeNull();
    expect(answerFaultOf(response, () => {})).toBe(false);
  });

  test("is a delay, which ends with its time or with the client", async () => {
    const { meet, left, socket } = start();
    const least = meet(null, 1);
    expect(left()).toEqual([1, 1]);
    vi.advanceTimersByTime(1);
    await least;
    let isOver = false;
    const first = meet(null, 100).then(() => (isOver = true));
    vi.advanceTimersByTime(99);
    await nextTurn();
    expect([isOver, left()]).toEqual([false, [1, 1]]);
    vi.advanceTimersByTime(1);
    await first;
    expect(left()).toEqual([0, 0]);
    const second = meet({ do: "answer" }, 100);
    socket.emit("close");
    expect(await second).toMatchObject({ status: 500 });
    expect(left()).toEqual([0, 0]);
  });

  test("is a cut after the delay", async () => {
    const { meet, ended, response } = start();
    const met = meet({ do: "cut" }, 10, 10);
    await nextTurn();
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(10);
    expect([await met, ended]).toEqual(["cut", ["destroyed"]]);
    expect(answerFaultOf(response, () => {})).toBe(false);
  });

  test.for([
    [{}, "reset"],
    [{ encrypted: true }, "destroyed"],
  ] as const)("is an answer that is lost, on a socket with %j by being %s", async ([more, how]) => {
    const { meet, ended, response } = start(more);
    expect(await meet({ do: "lose-answer" }, 0, 30)).toBeNull();
    const send = vi.fn<() => void>();
    expect(answerFaultOf(response, send)).toBe(true);
    await nextTurn();
    expect(ended).toEqual([]);
    vi.advanceTimersByTime(30);
    await nextTurn();
    expect([ended, send.mock.calls.length]).toEqual([[how], 0]);
  });

  test("is an answer that comes later, once", async () => {
    const { meet, ended, response } = start();
    expect(await meet(null, 0, 30)).toBeNull();
    const send = vi.fn<() => void>();
    expect(answerFaultOf(response, send)).toBe(true);
    expect(answerFaultOf(response, send)).toBe(false);
    vi.advanceTimersByTime(29);
    await nextTurn();
    expect(send).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1);
    await nextTurn();
    expect([ended, send.mock.calls.length]).toEqual([[], 1]);
  });

  test("is no late answer on a connection that is gone", async () => {
    const { meet, response } = start();
    await meet(null, 0, 30);
    Object.assign(response, { socket: null });
    expect(answerFaultOf(response, () => {})).toBe(false);
  });

  test.for<[IngestFault, number, string, object]>([
    [{ do: "answer" }, 500, "a fault that answers 500.", {}],
    [{ do: "answer", status: 503, retryAfter: 7 }, 503, "answers 503.", { "retry-after": "7" }],
    [
      { do: "limit" },
      429,
      "limits it to 1000 requests a second.",
      { "retry-after": "1", "x-ratelimit-reset": "1" },
    ],
    [
      { do: "limit", perSecond: 5, retryAfter: 9 },
      429,
      "limits it to 5 requests a second.",
      { "retry-after": "9", "x-ratelimit-reset": "9" },
    ],
  ])(
    "is the answer of %j, whose headers a page may read",
    async ([fault, status, end, headers]) => {
      const plain = start();
      expect(await plain.meet(fault)).toMatchObject({
        status,
        message: expect.stringContaining(end) as string,
      });
      expect(plain.response.getHeaders()).toEqual(headers);
      const page = start();
      page.response.setHeader("Access-Control-Allow-Origin", "http://a");
      await page.meet(fault);
      const exposed = page.response.getHeader("Access-Control-Expose-Headers");
      const names = Object.keys(headers).join(", ");
      expect(exposed?.toString().toLowerCase()).toBe(names === "" ? undefined : names);
    },
  );
});
