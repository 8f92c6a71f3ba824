/**
 * Runs a checked scenario in a fresh pipeline: sets up, takes the steps one after the other, and reports each. Asked by
 * the command line and by the inspector; whoever asks starts the pipeline and stops it.
 *
 * An expectation that fails does not keep the steps after it from running. A step that cannot be done does.
 */

import type { ScenarioExpectationResult, ScenarioProblem, ScenarioReport, ScenarioStepResult } from "../../contract/scenarios.ts";
import type { Json, JsonObject } from "../../domain/json.ts";
import { meet } from "../expect/meet.ts";
import type { Expectation } from "../file/expectation-schema.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import { defaultSeed, defaultStartAt, verbs, type Scenario, type ScenarioStep } from "../file/scenario-schema.ts";
import type { Path } from "../file/yaml-places.ts";
import { claimPhrase, stepPhrase } from "../report/phrases.ts";
import { createSteady, type Steady } from "../report/steady.ts";
import type { ScenarioPipeline } from "./pipeline.ts";
import { sendBody, sendMessages } from "./send.ts";
import { Session } from "./session.ts";
import { setUp } from "./set-up.ts";

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
        text: stepPhrase(verb, rawAt(read, ["steps", index]) as JsonObject),
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

  const run = new Run(read, session);
  const tell = (steps: ScenarioStepResult[]): void => {
    report = { ...report, steps };
    onReport?.(report);
  };
  for (const [index, step] of scenario.steps.entries()) {
    const about = report.steps[index];
    if (about === undefined) break;
    tell(report.steps.with(index, { ...about, state: "running" }));
    const result = { ...about, ...(await run.step(step, index)) };
    tell(report.steps.with(index, result));
    onStep?.(result);
  }
  const { now } = await pipeline.call("clock.get", {});
  return { ...report, state: report.steps.every(({ state }) => state === "passed") ? "passed" : "failed", endedAt: now };
}

/** As the file has it, where durations are still written as people write them. */
function rawAt({ file }: ReadScenario, path: Path): Json | undefined {
  let at: unknown = file.value;
  for (const key of path) at = (at as Record<string | number, unknown> | undefined)?.[key];
  return at as Json | undefined;
}

type Done = Pick<ScenarioStepResult, "outcome" | "problem" | "expectations">;
const nothing: Done = { outcome: null, problem: null, expectations: [] };

class Run {
  readonly #read: ReadScenario;
  readonly #session: Session;
  #broken = false;

  constructor(read: ReadScenario, session: Session) {
    this.#read = read;
    this.#session = session;
  }

  async step(step: ScenarioStep, index: number): Promise<Done & Pick<ScenarioStepResult, "state" | "elapsedMs">> {
    const done = this.#broken ? nothing : await this.#do(step, index);
    const passed = done.problem === null && done.expectations.every((one) => one.passed);
    return { ...done, state: done === nothing ? "skipped" : passed ? "passed" : "failed", elapsedMs: await this.#elapsed() };
  }

  async #do(step: ScenarioStep, index: number): Promise<Done> {
    try {
      return { ...nothing, ...(await this.#act(step, index)) };
    } catch (error) {
      // A broken scenario, or a pipeline that cannot do what is asked: in both cases what follows would mean nothing.
      this.#broken = true;
      const steady = await this.#steady();
      return { ...nothing, problem: steady(error instanceof Error ? error.message : String(error)) };
    }
  }

  async #act(step: ScenarioStep, index: number): Promise<Partial<Done>> {
    const session = this.#session;
    if ("send" in step) return sendMessages(session, step);
    if ("post" in step) return sendBody(session, step);
    if ("advance" in step) {
      const attempts = await session.advance(step.advance);
      return { outcome: attempts === 1 ? "1 attempt" : `${attempts} attempts` };
    }
    if ("change" in step) await session.act(() => session.change(step.change));
    if ("retry" in step) return { outcome: `${await session.act(() => session.withDeliveries("retry", step.retry))} taken up` };
    if ("cancel" in step) return { outcome: `${await session.act(() => session.withDeliveries("cancel", step.cancel))} cancelled` };
    if ("expect" in step) return { expectations: await this.#expectations(step.expect, ["steps", index, "expect"]) };
    return {};
  }

  async #expectations(expect: Expectation | Expectation[], path: Path): Promise<ScenarioExpectationResult[]> {
    if (!Array.isArray(expect)) return this.#expectation(expect, path);
    const results: ScenarioExpectationResult[] = [];
    for (const [index, one] of expect.entries()) results.push(...(await this.#expectation(one, [...path, index])));
    return results;
  }

  async #expectation(expectation: Expectation, path: Path): Promise<ScenarioExpectationResult[]> {
    const met = await meet(expectation, this.#session);
    const steady = await this.#steady();
    return met.map(({ subject, passed, expected, actual, differences, moreDifferences }) => ({
      ...this.#read.file.placeOfName([...path, subject]),
      text: claimPhrase(subject, rawAt(this.#read, [...path, subject])),
      passed,
      expected: steady(expected),
      actual: steady(actual),
      differences: differences.map((difference) => ({
        ...difference,
        of: steady(difference.of),
        expected: steady(difference.expected),
        actual: steady(difference.actual),
        attempts: difference.attempts.map((attempt) => ({ ...attempt, error: attempt.error === null ? null : steady(attempt.error) })),
      })),
      moreDifferences,
    }));
  }

  async #steady(): Promise<Steady> {
    const about = await this.#session.pipeline.call("about.get", {});
    return createSteady(about, await this.#session.history(), (id) => this.#session.isKnownId(id));
  }

  async #elapsed(): Promise<number> {
    const { now } = await this.#session.pipeline.call("clock.get", {});
    return Date.parse(now) - this.#session.startedAt;
  }
}
