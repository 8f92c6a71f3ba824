/**
 * Runs a checked scenario in a fresh pipeline: sets up, takes the steps one after the other, and reports each. Called
 * by the command line, the inspector and `hookyard/testing`, mostly through `runRead`, which starts that pipeline and stops it.
 *
 * An expectation that fails does not keep the steps after it from running. A step that cannot be done does.
 */

import type { ScenarioProblem, ScenarioReport, ScenarioStepResult } from "../../contract/scenarios.ts";
import type { JsonObject } from "../../domain/json.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import { defaultSeed, defaultStartAt, verbs, type Scenario } from "../file/scenario-schema.ts";
import { rawAt, type FileProblem } from "../file/yaml-places.ts";
import { stepPhrase } from "../report/phrases.ts";
import type { ScenarioPipeline, RunningPipeline, StartPipeline } from "./pipeline.ts";
import { Session } from "./session.ts";
import { setUp } from "./set-up.ts";
import { takeStep, type StepDone } from "./take-step.ts";
import { findUnreachable } from "./reachable.ts";

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
  session.requests.close();
  const { now } = await pipeline.call("clock.get", {});
  return { ...report, state: report.steps.every(({ state }) => state === "passed") ? "passed" : "failed", endedAt: now };
}

function resultOf(done: StepDone | null): Pick<ScenarioStepResult, "state" | "outcome" | "problem" | "expectations"> {
  if (done === null) return { state: "skipped", outcome: null, problem: null, expectations: [] };
  const { outcome, problem, expectations } = done;
  const passed = problem === null && expectations.every((one) => one.passed);
  return { state: passed ? "passed" : "failed", outcome, problem, expectations };
}

export type RunRead = Pick<RunOptions, "seed" | "file" | "onReport" | "onStep"> & {
  read: ReadScenario | { problems: FileProblem[] };
  start: StartPipeline;
  /** Ends the run; the promise then rejects. */
  signal?: AbortSignal;
  /** Called with the pipeline, which is then left running. */
  keep?: (pipeline: RunningPipeline) => void;
};

export async function runRead({ read, start, signal, keep, ...options }: RunRead): Promise<ScenarioReport> {
  if ("problems" in read) return unusableReport(read.problems, options);
  const { name } = read.scenario;
  const unreachable = await findUnreachable(read);
  if (unreachable.length > 0) return unusableReport(unreachable, { ...options, name });
  const pipeline = await start({ startAt: startTimeOf(read.scenario) });
  let kept = false;
  try {
    const report = await runScenario({ ...options, read, pipeline: signal === undefined ? pipeline : until(signal, pipeline) });
    if (keep !== undefined && report.state !== "unusable") {
      kept = true;
      keep(pipeline);
    }
    return report;
  } finally {
    if (!kept) await pipeline.stop();
  }
}

/** A call that is under way is not waited for, and an advance of the clock ends. */
function until(signal: AbortSignal, { call }: ScenarioPipeline): ScenarioPipeline {
  const aborted = new Promise<never>((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }),
  );
  aborted.catch(() => undefined);
  return {
    call: (name, input) => {
      signal.throwIfAborted();
      return Promise.race([call(name, input, signal), aborted]);
    },
  };
}

/** The report of a run before its first step. */
export function reportToBe({ read, ...options }: Pick<RunRead, "read" | "file" | "seed">): ScenarioReport {
  return "problems" in read ? unusableReport(read.problems, options) : firstReport({ ...options, read });
}
