import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { stepActions, stepBehaviours } from "../../../domain/configuration.ts";
import { messageTypes } from "../../../domain/states.ts";
import {
  headerLines,
  keepExtras,
  parseHeaderLines,
  parseProgram,
  printProgram,
  type ProgramStep,
} from "./program-text.ts";
import { anyCharacter } from "../../../../test/support/any-character.ts";

const examples: [string, ProgramStep[]][] = [
  [
    "503 ×3 → hang 5.1 s → reset → 200",
    [
      { do: "answer", status: 503, times: 3 },
      { do: "hang", forMs: 5100 },
      { do: "reset" },
      { do: "answer", status: 200 },
    ],
  ],
  ["200 after 4.8 s", [{ do: "answer", status: 200, delayMs: 4800 }]],
  [
    "503 30 % → 200",
    [
      { do: "answer", status: 503, chance: 0.3 },
      { do: "answer", status: 200 },
    ],
  ],
  ["reset 50 % ×2 for track", [{ do: "reset", chance: 0.5, times: 2, match: { type: "track" } }]],
  [
    'close for event:"Order Completed" user:u_1',
    [{ do: "close", match: { event: "Order Completed", userId: "u_1" } }],
  ],
  [
    "drip over 20 s → redirect 308 → garbage → truncate 500",
    [
      { do: "drip", forMs: 20_000 },
      { do: "redirect", status: 308 },
      { do: "garbage" },
      { do: "truncate", status: 500 },
    ],
  ],
  ["hang", [{ do: "hang" }]],
  [
    "forward tamper body copies 3 together later 1.5 s status 503 after 2 s ×2 for track → forward lose answer as timeout → forward hold 4 seeded within 700 ms",
    [
      {
        do: "forward",
        tamper: "body",
        copies: 3,
        together: true,
        delayAfterMs: 1500,
        status: 503,
        delayMs: 2000,
        times: 2,
        match: { type: "track" },
      },
      { do: "forward", lose: "answer", loseAs: "timeout" },
      { do: "forward", hold: 4, order: "seeded", forMs: 700 },
    ],
  ],
  ["700", [{ do: "answer", status: 700 }]],
];

describe("a program as text", () => {
  test.each(examples)("%s", (text, steps) => {
    expect(printProgram(steps)).toBe(text);
    expect(parseProgram(text)).toEqual({ steps, problem: null });
  });

  test.each([
    ["503 x3 -> hang 5.1s -> RESET, 200", "503 ×3 → hang 5.1 s → reset → 200"],
    ["503×3→resetx2 →200", "503 ×3 → reset ×2 → 200"],
    ["answer 503 *2\n→ timeout => cut → 200", "503 ×2 → hang → truncate → 200"],
    ["→ 503 × 3 →", "503 ×3"],
    ["503 after 250ms 10% for type:page", "503 after 250 ms 10 % for page"],
    ["drip 4,096 B over 20 s", "drip 4,096 B over 20 s"],
  ])("%j is understood as %s", (typed, text) => {
    const parsed = parseProgram(typed);
    expect(parsed.problem).toBeNull();
    expect(printProgram(parsed.steps ?? [])).toBe(text);
  });

  test.each(stepActions.filter((action) => stepBehaviours[action].answers))(
    "%s takes a status",
    (action) => {
      const steps = [{ do: action, status: 503 }];
      expect(parseProgram(`${action} 503`)).toEqual({ steps, problem: null });
      expect(parseProgram(printProgram(steps))).toEqual({ steps, problem: null });
    },
  );

  test("bytes of a drip are made as many as were asked for", () => {
    expect(parseProgram("drip 4,096 B").steps?.[0]?.body?.length).toBe(4096);
  });

  test.each([
    ["", /at least one step/],
    ["503 → hnag", /“hnag” is not a step/],
    ["199", /“199” is not a step/],
    ["1000", /“1000” is not a step/],
    ["503 ×0", /not a number of requests/],
    ["hang soon", /“soon” is not understood/],
    ["200 after lunch", /not a time/],
    ["reset 130 %", /not a share/],
    ["reset for", /requires a message type/],
    ["constructor", /not a step/],
    ['503 "', /“"” is not understood/],
    ["forward lose all", /“lose all” is not understood. After forward come lose answer/],
    ["forward later soon", /“later soon” is not understood/],
  ])("%j is refused with a sentence", (text, sentence) => {
    expect(parseProgram(text).problem).toMatch(sentence);
  });

  const name = fc.string({ minLength: 1, unit: "grapheme" });
  const step: fc.Arbitrary<ProgramStep> = fc.record(
    {
      // A forward has words of its own.
      do: fc.constantFrom(...stepActions.filter((action) => action !== "forward")),
      status: fc.integer({ min: 300, max: 399 }),
      times: fc.integer({ min: 1, max: 9999 }),
      chance: fc.integer({ min: 0, max: 1000 }).map((n) => n / 1000),
      delayMs: fc.nat(86_400_000),
      forMs: fc.nat(86_400_000),
      match: fc.record(
        { type: fc.constantFrom(...messageTypes), event: name, userId: name },
        { requiredKeys: [] },
      ),
    },
    { requiredKeys: ["do"] },
  );

  test("what is printed is read as a program that prints the same", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 5 }), (steps) => {
        const text = printProgram(steps);
        const parsed = parseProgram(text);
        expect(parsed.problem).toBeNull();
        expect(printProgram(parsed.steps ?? [])).toBe(text);
      }),
    );
  });

  test("no text makes it throw", () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => parseProgram(text) !== null),
    );
  });
});

describe("typing a program that was there before", () => {
  const before: ProgramStep[] = [
    { do: "answer", status: 503, times: 3, body: "maintenance", headers: { "Retry-After": "5" } },
    { do: "answer", status: 200, body: "fine" },
  ];
  const typed = (text: string): ProgramStep[] => keepExtras(parseProgram(text).steps ?? [], before);

  test("steps that stay keep their headers and bodies, wherever they go", () => {
    expect(typed("200 → reset → 503 ×3")).toEqual([before[1], { do: "reset" }, before[0]]);
  });

  test("a step that changes keeps them while it still does the same", () => {
    expect(typed("500 ×2 → 200")).toEqual([
      { do: "answer", status: 500, times: 2, body: "maintenance", headers: { "Retry-After": "5" } },
      before[1],
    ]);
    expect(typed("reset → 200")).toEqual([{ do: "reset" }, before[1]]);
  });

  test.each([
    ["truncate 503 21 B ×3 → 200", '{"error":"beschäft"}'],
    ["truncate 500 ×2 → 200", '{"error":"beschäft"}'],
    ["truncate 503 8 B ×2 → 200", "........"],
  ])("a body that a line gives as its size stays while the size does: %s", (text, body) => {
    const sized: ProgramStep[] = [
      { do: "truncate", status: 503, times: 2, body: '{"error":"beschäft"}' },
      { do: "answer" },
    ];
    expect(printProgram(sized)).toBe("truncate 503 21 B ×2 → 200");
    const steps = keepExtras(parseProgram(text).steps ?? [], sized);
    expect(steps[0]?.body).toBe(body);
  });

  test("a forward keeps its receiver, and a new one has the receiver of the others", () => {
    const to = "http://127.0.0.1:8080/hook";
    const forwards: ProgramStep[] = [
      { do: "forward", to, status: 503, body: "busy" },
      { do: "answer" },
    ];
    const retyped = (text: string): ProgramStep[] =>
      keepExtras(parseProgram(text).steps ?? [], forwards);
    expect(retyped("forward status 500 → forward copies 2")).toEqual([
      { do: "forward", to, status: 500, body: "busy" },
      { do: "forward", to, copies: 2 },
    ]);
    const other = "http://127.0.0.1:8081/hook";
    const two: ProgramStep[] = [...forwards, { do: "forward", to: other }];
    expect(keepExtras([...two, { do: "forward" }], two).at(-1)).toEqual({
      do: "forward",
      to: other,
    });
    expect(keepExtras([{ do: "forward" }], before)).toEqual([
      { do: "forward", to: "http://127.0.0.1:3000/" },
    ]);
  });
});

describe("headers as lines", () => {
  test("are printed and read one a line, values with colons too", () => {
    const headers = { "Retry-After": "5", Location: "http://127.0.0.1:4710/next" };
    expect(headerLines(headers)).toBe("Retry-After: 5\nLocation: http://127.0.0.1:4710/next");
    expect(parseHeaderLines(`\n${headerLines(headers)}\r\n\n`)).toEqual({ headers, problem: null });
  });

  test.each([
    ["Retry-After 5", /is not a header/],
    [": 5", /is not a header/],
    ["A: 1\na: 2", /twice/],
  ])("%j is refused with a sentence", (text, sentence) => {
    expect(parseHeaderLines(text).problem).toMatch(sentence);
  });
});
