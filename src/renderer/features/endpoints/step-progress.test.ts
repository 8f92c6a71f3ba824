import { describe, expect, test } from "vitest";
import { parseProgram } from "./program-text.ts";
import { progressOf } from "./step-progress.ts";

const progress = (text: string, step: number, served: number, recent: number[] = [], isWhole = true) =>
  progressOf(
    { steps: parseProgram(text).steps ?? [], after: "repeat-last", position: { step, served, received: recent.length } },
    recent.map((place) => ({ step: place })),
    isWhole,
  );

describe("what each step has served", () => {
  test("those before the next one are used up, those after it have served nothing", () => {
    expect(progress("503 ×3 → hang → reset ×2 → 200", 2, 1)).toEqual([
      { served: 3, of: 3 },
      { served: 1, of: 1 },
      { served: 1, of: 2 },
      { served: 0, of: null },
    ]);
  });

  test("behind a step that lets requests pass, the received requests tell", () => {
    expect(progress("503 30 % → 200", 0, 1, [1, 1, 0, 1])).toEqual([
      { served: 1, of: null },
      { served: 3, of: null },
    ]);
    expect(progress("reset for track → 500 ×5 → 200", 0, 0, [1, 1])[1]).toEqual({ served: 2, of: 5 });
  });

  test("and when not all of them are listed, nothing is claimed", () => {
    expect(progress("503 30 % → 200", 0, 1, [1], false)[1]).toEqual({ served: null, of: null });
  });
});
