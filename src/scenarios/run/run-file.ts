/** A scenario that was read to its report: its receivers looked for, run in a pipeline that is started for it. */

import type { ScenarioReport } from "../../contract/scenarios.ts";
import type { ReadScenario } from "../file/read-scenario.ts";
import type { FileProblem } from "../file/yaml-places.ts";
import type { RunOptions } from "./run-scenario.ts";
import { firstReport, runScenario, startTimeOf, unusableReport } from "./run-scenario.ts";
import type { RunningPipeline, ScenarioPipeline, StartPipeline } from "./pipeline.ts";
import { findUnreachable } from "./reachable.ts";

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
