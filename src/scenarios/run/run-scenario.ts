/**
 * Runs a checked scenario in a fresh pipeline: sets up, takes the steps one after the other, and reports each. Asked by
 * the command line and by the inspector; the caller starts the pipeline and stops it.
 *
 * An expectation that fails does not keep the steps after it from running. A step that cannot be done does.
 */

import type { ScenarioProblem, ScenarioReport, ScenarioStepResult } from "../../contract/scenarios.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import { defaultSeed, defaultStartAt, verbs, type Scenario } from "../file/scenario-schema.ts";
import { rawAt } from "../file/yaml-places.ts";
import { stepPhrase } from "../report/phrases.ts";
import type { ScenarioPipeline } from "./pipeline.ts";
import { Session } from "./session.ts";
import { setUp } from "./set-up.ts";
import { takeStep, type StepDone } from "./take-step.ts";

export type RunOptions = {
  read: ReadScenario;
  pipeline: ScenarioPipeline;
  /** In place of the file's. */
  seed?: number | undefined;
  file?: string | undefined;
  /** Told of the report as far as it is, whenever a step begins and when it is over. */
  onReport?: ((report: ScenarioReport) => void) | undefined;
  /** Told of every step when it is over. */
  onStep?: ((step: ScenarioStepResult) => void) | undefined;
};

export function startTimeOf({ startAt }: Scenario): number {
  return Date.parse(startAt ?? defaultStartAt);
}

export function unusableReport(
  problems: ScenarioProblem[],
  { name = null, file = null, seed }: { name?: string | null; file?: string | null; seed?: number | undefined },
): ScenarioReport {
  const startedAt = new Date(defaultStartAt).toISOString();
  return {
    file,
    name,
    description: null,
    state: "unusable",
    seed: seed ?? defaultSeed,
    startedAt,
    endedAt: startedAt,
    steps: [],
    problems,
  };
}

/** Every step still to come. */
export function firstReport({ read, seed, file }: Pick<RunOptions, "read" | "seed" | "file">): ScenarioReport {
  const { scenario, file: places } = read;
  const startedAt = new Date(startTimeOf(scenario)).toISOString();
  return {
    file: file ?? null,
    name: scenario.name,
    description: scenario.description ?? null,
    state: "running",
    seed: seed ?? scenario.seed ?? defaultSeed,
    startedAt,
    endedAt: startedAt,
    steps: scenario.steps.map((step, index) => {
      const verb = verbs.find((one) => one in step) ?? "expect";
      return {
        ...places.placeOf(["steps", index]),
        verb,
        text: stepPhrase(verb, rawAt(read.file, ["steps", index]) as JsonObject),
        name: step.name ?? null,
        state: "waiting",
        elapsedMs: null,
        outcome: null,
        problem: null,
        expectations: [],
      };
    }),
    problems: [],
  };
}

export async function runScenario({ read, pipeline, seed, file, onReport, onStep }: RunOptions): Promise<ScenarioReport> {
  const { scenario } = read;
  let report = firstReport({ read, seed, file });
  const session = await Session.start(pipeline, { ...scenario.settings, seed: report.seed });
  const problem = await setUp(session, read);
  if (problem !== null) return unusableReport([problem], { name: scenario.name, file: report.file, seed: report.seed });

  let broken = false;
  const reportSteps = (steps: ScenarioStepResult[]): void => {
    report = { ...report, steps };
    onReport?.(report);
  };
  for (const index of scenario.steps.keys()) {
    const about = report.steps[index];
    if (about === undefined) break;
    reportSteps(report.steps.with(index, { ...about, state: "running" }));
    const done: StepDone | null = broken ? null : await takeStep(read, session, index);
    broken ||= done?.broken ?? false;
    const result = { ...about, ...resultOf(done), elapsedMs: await session.elapsed() };
    reportSteps(report.steps.with(index, result));
    onStep?.(result);
  }
  const { now } = await pipeline.call("clock.get", {});
  return { ...report, state: report.steps.every(({ state }) => state === "passed") ? "passed" : "failed", endedAt: now };
}

function resultOf(done: StepDone | null): Pick<ScenarioStepResult, "state" | "outcome" | "problem" | "expectations"> {
  if (done === null) return { state: "skipped", outcome: null, problem: null, expectations: [] };
  const { outcome, problem, expectations } = done;
  const passed = problem === null && expectations.every((one) => one.passed);
  return { state: passed ? "passed" : "failed", outcome, problem, expectations };
}
