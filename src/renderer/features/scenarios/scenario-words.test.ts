import { expect, test } from "vitest";
import type { ScenarioReport } from "../../../contract/scenarios.ts";
import { attemptWords, elapsedWords, fileNameIn, nameIn, reportWords } from "./scenario-words.ts";

test.each([
  [
    "name: An outage, and recovery\nsteps: []\n",
    "An outage, and recovery",
    "an-outage-and-recovery.yaml",
  ],
  ["# first\nname: 'Quoted: once'\n", "Quoted: once", "quoted-once.yaml"],
  ['name: "Ünïcode 日本"', "Ünïcode 日本", "ünïcode-日本.yaml"],
  ["steps: []", "unnamed", "unnamed.yaml"],
  ["name:   \n", "unnamed", "unnamed.yaml"],
  ["name: ../../etc", "../../etc", "etc.yaml"],
  ["name: '!!!'", "!!!", "scenario.yaml"],
])("the file %j is called %j and saved as %j", (text, name, file) => {
  expect(nameIn(text)).toBe(name);
  expect(fileNameIn(text)).toBe(file);
});

const report = (
  state: ScenarioReport["state"],
  states: readonly ("passed" | "failed" | "waiting")[],
): ScenarioReport => ({
  file: null,
  name: "one",
  description: null,
  state,
  seed: 1,
  startedAt: "2026-11-21T09:00:00.000Z",
  endedAt: "2026-11-21T10:30:00.000Z",
  steps: states.map((each, place) => ({
    line: place + 1,
    column: 1,
    verb: "send",
    text: "send",
    name: null,
    state: each,
    elapsedMs: 0,
    outcome: null,
    problem: null,
    expectations: [],
  })),
  problems: [],
});

test("a report says how far it came, and how long that was on the clock", () => {
  expect(reportWords(report("passed", ["passed", "passed"]))).toBe(
    "2 of 2 steps, 1 h 30 m of clock time",
  );
  expect(reportWords(report("failed", ["failed"]))).toBe("0 of 1 step, 1 h 30 m of clock time");
  expect(reportWords(report("running", ["passed", "waiting"]))).toBe("1 of 2 steps");
  expect(reportWords(report("unusable", []))).toBe("The file cannot be run.");
});

test("times and attempts are said in few words", () => {
  expect([0, 12, 11_000, 5_400_000].map(elapsedWords)).toEqual([
    "+0 s",
    "+12 ms",
    "+11 s",
    "+1 h 30 m",
  ]);
  const attempt = {
    elapsedMs: 0,
    round: 2,
    webhook: "Warehouse",
    result: "timeout",
    heldMs: 5000,
    error: "No response.",
  };
  expect(attemptWords(attempt)).toBe("round 2, Warehouse: timeout, held for 5 s. No response.");
});
