/**
 * What the control API asks of scenarios: those that come with Hookyard, runs of any text, each in
 * a pipeline of its own beside the user's, and a text recorded from recent messages. YAML and its
 * reader are loaded on first use.
 */

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { HandlersOf } from "../contract/contract.ts";
import type { ReadyScenario, ScenarioProblem, ScenarioRunAnswer } from "../contract/scenarios.ts";
import { conflict, notFound, type Problem } from "../domain/problem.ts";
import type { ScenarioPipeline, StartPipeline } from "./run/pipeline.ts";
import { scenesOf } from "./story/scenes.ts";

/** Each is a whole pipeline with its own ports. */
const maxRunning = 4;

/** Runs that can still be read. */
const maxKept = 20;

type Scenarios = {
  handlers: HandlersOf<"scenarios" | "scenarioRuns">;
  /** The text of one that comes with Hookyard. */
  text(file: string): Promise<string | null>;
  /** Ends the running scenarios. */
  stop(): Promise<void>;
};

type Run = ScenarioRunAnswer & { end: AbortController; ended: Promise<void> };

type Options = {
  /** Of those that come with Hookyard; null when there are none. */
  directory: string | null;
  /** The pipeline that messages are recorded from. */
  own: ScenarioPipeline;
  start: StartPipeline;
  onChange: (runId: string) => void;
  report: (error: unknown) => void;
};

export function createScenarios(options: Options): Scenarios {
  const { directory, own, start } = options;
  const runs = createRuns(options);
  /** Pipelines that answer a call, beside those of runs. */
  let answering = 0;

  const tooMany = (): Problem | null =>
    runs.countRunning() + answering < maxRunning
      ? null
      : conflict(
          "too_many_runs",
          `${maxRunning} scenarios are running already. Wait until one of them ends, or stop one.`,
        );

  async function answered<Answer>(work: () => Promise<Answer>): Promise<Answer | Problem> {
    const refused = tooMany();
    if (refused !== null) return refused;
    answering += 1;
    try {
      return await work();
    } finally {
      answering -= 1;
    }
  }

  const handlers: Scenarios["handlers"] = {
    ...runs.handlers,
    "scenarios.list": async () => ({ items: directory === null ? [] : await readyIn(directory) }),
    "scenarios.check": ({ text }) => check(text),

    "scenarios.run": async ({ text, file, seed }) => {
      const { forServing, readScenario } = await import("./file/read-scenario.ts");
      const runner = await import("./run/run-scenario.ts");
      // Counted and started in one turn of the event loop.
      return tooMany() ?? runs.add({ read: readScenario(text, forServing), file, seed }, runner);
    },

    "scenarios.record": (input) =>
      answered(async () => {
        const { recordScenario } = await import("./record/record.ts");
        const { readWritten } = await import("./file/read-scenario.ts");
        const { runRead } = await import("./run/run-scenario.ts");
        return recordScenario({
          ...input,
          own,
          run: (scenario) => runRead({ read: readWritten(scenario), start }),
        });
      }),

    "scenarios.whatIf": (input) =>
      answered(async () => {
        const { whatIf } = await import("./what-if/what-if.ts");
        return whatIf({ ...input, own, start });
      }),
  };

  return {
    handlers,
    async text(file) {
      const all = directory === null ? [] : await readyIn(directory);
      return all.find((each) => each.file === file)?.text ?? null;
    },
    stop: runs.stop,
  };
}

type Runner = typeof import("./run/run-scenario.ts");

/** The runs that can still be read: those in progress, and the newest that have ended. */
function createRuns({ start, onChange, report }: Pick<Options, "start" | "onChange" | "report">) {
  /** Oldest first. */
  const runs = new Map<string, Run>();
  /** Also those that were deleted, until their pipeline has stopped. */
  const running = new Set<Run>();
  let next = 1;

  const answer = ({ id, report }: Run): ScenarioRunAnswer => ({
    id,
    report: reportWithin(report, { left: maxAnswerBytes }),
  });

  function forgetOld(): void {
    for (const { id, report } of runs.values()) {
      if (runs.size < maxKept) return;
      if (report.state !== "running") runs.delete(id);
    }
  }

  const handlers: HandlersOf<"scenarioRuns"> = {
    "scenarioRuns.list": () => {
      const room = { left: maxAnswerBytes };
      const newestFirst = [...runs.values()].toReversed();
      return {
        items: newestFirst.map(({ id, report }) => ({ id, report: reportWithin(report, room) })),
      };
    },
    "scenarioRuns.get": ({ id }) => {
      const run = runs.get(id);
      return run === undefined ? notFound("run", id) : answer(run);
    },
    "scenarioRuns.delete": ({ id }) => {
      const run = runs.get(id);
      if (run === undefined) return notFound("run", id);
      run.end.abort();
      runs.delete(id);
      onChange(id);
      return { id };
    },
  };

  return {
    handlers,
    countRunning: (): number => running.size,
    /** Starts one. */
    add(
      of: Pick<Parameters<Runner["runRead"]>[0], "read" | "file" | "seed">,
      { runRead, reportToBe }: Pick<Runner, "runRead" | "reportToBe">,
    ): ScenarioRunAnswer {
      forgetOld();
      const id = `run_${String(next).padStart(9, "0")}`;
      next += 1;
      const end = new AbortController();
      const run: Run = { id, report: reportToBe(of), end, ended: Promise.resolve() };
      const onReport = (report: Run["report"]): void => {
        run.report = report;
        onChange(id);
      };
      run.ended = runRead({ ...of, start, signal: end.signal, onReport })
        .then(onReport, (error: unknown) => {
          if (end.signal.aborted) return;
          report(error);
          const message = `The scenario could not be run: ${String(error)}`;
          const problems = [{ line: 1, column: 1, message }];
          onReport({ ...run.report, state: "unusable", problems });
        })
        .finally(() => running.delete(run));
      runs.set(id, run);
      running.add(run);
      onChange(id);
      return answer(run);
    },
    async stop(): Promise<void> {
      for (const { end } of running) end.abort();
      await Promise.all([...running].map(({ ended }) => ended));
    },
  };
}

/** An answer of 1 MB, less what is said of runs without steps. */
const maxAnswerBytes = 800_000;
const maxTitle = 1000;

/** The first steps: whole while more than half of the room is left, then without differences. */
function reportWithin(
  report: ScenarioRunAnswer["report"],
  room: { left: number },
): ScenarioRunAnswer["report"] {
  const sizeOf = (step: object): number => Buffer.byteLength(JSON.stringify(step)) + 1;
  const steps: typeof report.steps = [];
  for (const step of report.steps) {
    const isWhole = room.left - sizeOf(step) > maxAnswerBytes / 2;
    const next = isWhole ? step : withoutDifferences(step);
    const size = sizeOf(next);
    if (size > room.left) break;
    room.left -= size;
    steps.push(next);
  }
  return {
    ...report,
    name: report.name?.slice(0, maxTitle) ?? null,
    description: report.description?.slice(0, maxTitle) ?? null,
    steps,
    ...(steps.length === report.steps.length
      ? {}
      : { stepsLeftOut: report.steps.length - steps.length }),
  };
}

type Step = ScenarioRunAnswer["report"]["steps"][number];

function withoutDifferences({ expectations, ...step }: Step): Step {
  return {
    ...step,
    expectations: expectations.map(({ differences, moreDifferences, ...one }) => ({
      ...one,
      differences: [],
      moreDifferences: moreDifferences + differences.length,
    })),
  };
}

/**
 * Every page that opens asks for all of them. Each is read from its file, so that a changed one is
 * seen, but parsed only when its text is new.
 */
const lastReady = new Map<string, ReadyScenario>();

async function readyIn(directory: string): Promise<ReadyScenario[]> {
  const { readScenario } = await import("./file/read-scenario.ts");
  const files = (await readdir(directory)).filter((file) => file.endsWith(".yaml")).toSorted();
  return Promise.all(
    files.map(async (file) => {
      const path = join(directory, file);
      const text = await readFile(path, "utf8");
      const last = lastReady.get(path);
      if (last?.text === text) return last;
      const read = readScenario(text);
      if ("problems" in read) throw new Error(`${file}: ${read.problems[0]?.message}`);
      const ready: ReadyScenario = {
        file,
        name: read.scenario.name,
        description: read.scenario.description ?? null,
        text,
        scenes: scenesOf(read.scenario).length,
      };
      lastReady.set(path, ready);
      return ready;
    }),
  );
}

async function check(text: string): Promise<{ name: string | null; problems: ScenarioProblem[] }> {
  const { forServing, readScenario } = await import("./file/read-scenario.ts");
  const read = readScenario(text, forServing);
  return "problems" in read
    ? { name: null, problems: read.problems }
    : { name: read.scenario.name, problems: [] };
}
