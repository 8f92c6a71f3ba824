/**
 * Runs a checked scenario in a fresh pipeline: sets up, takes the steps one after the other, and
 * reports each. Called by the command line, the inspector and `hookyard/testing`, mostly through
 * `runRead`, which starts that pipeline and stops it.
 *
 * An expectation that fails does not keep the steps after it from running. A step that cannot be
 * done does.
 */

import type {
  ScenarioProblem,
  ScenarioReport,
  ScenarioStepResult,
  ScenarioExpectationResult,
} from "../../contract/scenarios.ts";
import type { JsonObject } from "../../domain/json.ts";
import { nextTurn } from "../../engine/real-time.ts";
import {
  defaultSeed,
  defaultStartAt,
  verbs,
  type DeliveriesInput,
  type Scenario,
  type ReadScenario,
} from "../file/scenario-schema.ts";
import { rawAt, type FileProblem, type Path } from "../file/yaml-places.ts";
import { stepPhrase, claimPhrase } from "../report/phrases.ts";
import type { ScenarioPipeline, RunningPipeline, StartPipeline } from "./pipeline.ts";
import { pause } from "../../receiver/wire.ts";
import type { SeenDelivery } from "./deliveries.ts";
import type { Session } from "./session.ts";
import { startSession } from "./set-up.ts";
import { findUnreachable } from "./reachable.ts";
import { choosesDelivery } from "../expect/kinds.ts";
import { meet } from "../expect/meet.ts";
import type { Expectation } from "../file/expectation-schema.ts";
import type { AnswerOf } from "../../contract/contract.ts";
import { sendBody, sendMessages } from "./send.ts";
import type { History } from "./history.ts";

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
  /** Ends the run; the promise then rejects. */
  signal?: AbortSignal | null | undefined;
};

export function startTimeOf({ startAt }: Scenario): number {
  return Date.parse(startAt ?? defaultStartAt);
}

export function unusableReport(
  problems: ScenarioProblem[],
  {
    name = null,
    file = null,
    seed,
  }: { name?: string | null; file?: string | null; seed?: number | undefined },
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
export function firstReport({
  read,
  seed,
  file,
}: Pick<RunOptions, "read" | "seed" | "file">): ScenarioReport {
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

export async function runScenario({
  read,
  pipeline: whole,
  seed,
  file,
  onReport,
  onStep,
  signal = null,
}: RunOptions): Promise<ScenarioReport> {
  const { scenario } = read;
  const pipeline = untilAborted(signal, whole);
  let report = firstReport({ read, seed, file });
  const session = await startSession(pipeline, read, report.seed);
  if ("problem" in session) {
    const { name } = scenario;
    return unusableReport([session.problem], { name, file: report.file, seed: report.seed });
  }

  let broken = false;
  const reportSteps = (steps: ScenarioStepResult[]): void => {
    report = { ...report, steps };
    onReport?.(report);
  };
  try {
    for (const index of scenario.steps.keys()) {
      const about = report.steps[index];
      if (about === undefined) break;
      reportSteps(report.steps.with(index, { ...about, state: "running" }));
      const done: StepDone | null = broken ? null : await takeStep(read, session, index, signal);
      broken ||= done?.broken ?? false;
      const result = { ...about, ...resultOf(done), elapsedMs: await session.elapsed() };
      reportSteps(report.steps.with(index, result));
      onStep?.(result);
    }
  } finally {
    session.requests.close();
  }
  const { now } = await pipeline.call("clock.get", {});
  return {
    ...report,
    state: report.steps.every(({ state }) => state === "passed") ? "passed" : "failed",
    endedAt: now,
  };
}

/** All that went wrong, apart from expectations. */
export function problemsOf({ problems, steps }: ScenarioReport): string[] {
  return [
    ...problems.map(({ message }) => message),
    ...steps.flatMap(({ problem, text }, index) => {
      if (problem === null) return [];
      return steps[index + 1]?.state === "skipped"
        ? `The scenario stops at step ${index + 1}, ${text}: ${problem}`
        : problem;
    }),
  ];
}

function resultOf(
  done: StepDone | null,
): Pick<ScenarioStepResult, "state" | "outcome" | "problem" | "expectations"> {
  if (done === null) return { state: "skipped", outcome: null, problem: null, expectations: [] };
  const { outcome, problem, expectations } = done;
  const passed = problem === null && expectations.every((one) => one.passed);
  return { state: passed ? "passed" : "failed", outcome, problem, expectations };
}

export type RunRead = Pick<RunOptions, "seed" | "file" | "onReport" | "onStep" | "signal"> & {
  read: ReadScenario | { problems: FileProblem[] };
  start: StartPipeline;
  /** Called with the pipeline, which is then left running. */
  keep?: (pipeline: RunningPipeline) => void;
};

export async function runRead({ read, start, keep, ...options }: RunRead): Promise<ScenarioReport> {
  if ("problems" in read) return unusableReport(read.problems, options);
  const { name } = read.scenario;
  const unreachable = await unlessAborted(options.signal ?? null, () => findUnreachable(read));
  if (unreachable.length > 0) return unusableReport(unreachable, { ...options, name });
  const pipeline = await start({ startAt: startTimeOf(read.scenario) });
  let kept = false;
  try {
    const report = await runScenario({ ...options, read, pipeline });
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
export function untilAborted(
  signal: AbortSignal | null,
  whole: ScenarioPipeline,
): ScenarioPipeline {
  if (signal === null) return whole;
  return { call: (name, input) => unlessAborted(signal, () => whole.call(name, input, signal)) };
}

/**
 * Each listens by itself: a promise for all of them would keep every answer until the end of the
 * run.
 */
async function unlessAborted<Result>(
  signal: AbortSignal | null,
  run: () => Promise<Result>,
): Promise<Result> {
  if (signal === null) return run();
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason as Error);
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([run(), aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

/** The report of a run before its first step. */
export function reportToBe({
  read,
  ...options
}: Pick<RunRead, "read" | "file" | "seed">): ScenarioReport {
  return "problems" in read
    ? unusableReport(read.problems, options)
    : firstReport({ ...options, read });
}

export type StepDone = {
  outcome: string | null;
  problem: string | null;
  expectations: ScenarioExpectationResult[];
  /** It could not be done: later results would mean nothing. */
  broken: boolean;
};

const nothing: StepDone = { outcome: null, problem: null, expectations: [], broken: false };

/**
 * Does one step in a session; `hookyard/testing` calls it step by step. Rejects when the signal is
 * aborted, without waiting for somebody's receiver.
 */
export async function takeStep(
  read: ReadScenario,
  session: Session,
  index: number,
  signal: AbortSignal | null = null,
): Promise<StepDone> {
  // The calls of a step may all be answered at once, and others wait for their turn.
  await nextTurn();
  try {
    return {
      ...nothing,
      ...(await unlessAborted(signal, () => act(read, session, index, signal))),
    };
  } catch (error) {
    signal?.throwIfAborted();
    const steady = await steadyOf(session);
    return {
      ...nothing,
      broken: true,
      problem: steady(error instanceof Error ? error.message : String(error)),
    };
  }
}

async function act(
  read: ReadScenario,
  session: Session,
  index: number,
  signal: AbortSignal | null,
): Promise<Partial<StepDone>> {
  const step = read.scenario.steps[index];
  if (step === undefined) return {};
  if ("send" in step) return sendMessages(session, step);
  if ("post" in step) return sendBody(session, step);
  if ("advance" in step) {
    const attempts = await session.advance(step.advance);
    return { outcome: attempts === 1 ? "1 attempt" : `${attempts} attempts` };
  }
  if ("change" in step) await session.act(() => session.change(step.change));
  if ("create" in step) await session.act(() => session.create(step.create));
  if ("sync" in step) {
    const { entered, left } = await session.act(() => session.sync(step.sync));
    return { outcome: `${entered} entered, ${left} left` };
  }
  if ("delete" in step) {
    const { users, suppress = true } = Array.isArray(step.delete)
      ? { users: step.delete }
      : step.delete;
    const { messages } = await session.act(() => session.delete(users, suppress));
    return { outcome: messages === 1 ? "1 delete message" : `${messages} delete messages` };
  }
  if ("lift" in step) await session.act(() => session.lift(step.lift));
  if ("retry" in step)
    return { outcome: `${await changeDeliveries("retry", step.retry, step, session)} requeued` };
  if ("cancel" in step)
    return { outcome: `${await changeDeliveries("cancel", step.cancel, step, session)} cancelled` };
  // The receiver notices every millisecond between two of them, and the pipeline has no part in it.
  const series = {
    begins: !isPastPipeline(read.scenario.steps[index - 1]),
    ends: !isPastPipeline(read.scenario.steps[index + 1]),
  };
  if ("request" in step) return session.act(() => session.requests.take(step, signal), series);
  if ("command" in step) return session.act(() => session.requests.runCommand(step), series);
  if ("wait" in step) await session.act(() => pause(step.wait, signal), series);
  if ("expect" in step)
    return {
      expectations: await resultsOf(step.expect, {
        read,
        session,
        path: ["steps", index, "expect"],
      }),
    };
  return {};
}

function isPastPipeline(step: Scenario["steps"][number] | undefined): boolean {
  return step !== undefined && ("request" in step || "command" in step || "wait" in step);
}

function changeDeliveries(
  what: "retry" | "cancel",
  of: DeliveriesInput,
  { ifPossible = false }: { ifPossible?: boolean | undefined },
  session: Session,
): Promise<number> {
  const isChosen = (delivery: SeenDelivery) => choosesDelivery(of, delivery);
  return session.act(() => session.withDeliveries(what, isChosen, ifPossible));
}

type Place = { read: ReadScenario; session: Session; path: Path };

async function resultsOf(
  expect: Expectation | Expectation[],
  place: Place,
): Promise<ScenarioExpectationResult[]> {
  if (!Array.isArray(expect)) return resultsOfOne(expect, place);
  const results: ScenarioExpectationResult[] = [];
  for (const [index, one] of expect.entries())
    results.push(...(await resultsOfOne(one, { ...place, path: [...place.path, index] })));
  return results;
}

async function resultsOfOne(
  expectation: Expectation,
  { read: { file }, session, path }: Place,
): Promise<ScenarioExpectationResult[]> {
  const met = await meet(expectation, session);
  const steady = await steadyOf(session);
  return met.map(({ subject, passed, expected, actual, differences, moreDifferences }) => ({
    ...file.placeOfName([...path, subject]),
    text: claimPhrase(subject, rawAt(file, [...path, subject])),
    passed,
    expected: steady(expected),
    actual: steady(actual),
    differences: differences.map((difference) => ({
      ...difference,
      of: steady(difference.of),
      expected: steady(difference.expected),
      actual: steady(difference.actual),
      attempts: difference.attempts.map((attempt) => ({
        ...attempt,
        error: attempt.error === null ? null : steady(attempt.error),
      })),
    })),
    moreDifferences,
  }));
}

async function steadyOf(session: Session): Promise<Steady> {
  const about = await session.pipeline.call("about.get", {});
  return createSteady(about, await session.history(), (id) => session.isKnownId(id));
}

type Steady = (text: string) => string;

/** Characters of an id that somebody draws; a shorter one can be part of any word. */
const leastDrawn = 16;

function createSteady(
  about: AnswerOf<"about.get">,
  history: Pick<History, "messages">,
  isKnownId: (messageId: string) => boolean,
): Steady {
  const ports = [about.ingestUrl, about.endpointsUrl, about.endpointsTlsUrl].map(
    (url) => new URL(url).port,
  );
  const portPattern = new RegExp(`:(?:${ports.join("|")})(?!\\d)`, "g");
  return (text) => {
    let steady = text.replace(portPattern, "");
    for (const { ordinal, details } of history.messages) {
      const { messageId } = details;
      if (messageId.length < leastDrawn || !steady.includes(messageId) || isKnownId(messageId))
        continue;
      const whole = new RegExp(
        `(?<![\\p{L}\\p{N}])${RegExp.escape(messageId)}(?![\\p{L}\\p{N}])`,
        "gu",
      );
      steady = steady.replace(whole, `#${ordinal}`);
    }
    return steady;
  };
}
