import { expect, test } from "vitest";
import type { IngestFault, Source } from "../../domain/configuration.ts";
import { createFaults } from "./ingest-server.ts";

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
function met(faults: IngestFault[], count: number, seed = 1): string[] {
  const faultOf = createFaults(() => seed);
  const source = sourceWith(faults);
  return Array.from({ length: count }, () => {
    const { delayMs, end } = faultOf(source);
    return `${end === null ? "-" : end.do === "cut" ? "cut" : (end.status ?? 500)}${delayMs === 0 ? "" : `+${delayMs}`}`;
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
