import { expect, test } from "vitest";
import type { IngestFault, Source } from "../../domain/configuration.ts";
import { createFaults } from "./ingest-faults.ts";

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
