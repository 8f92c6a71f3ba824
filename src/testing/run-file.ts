import { readFile } from "node:fs/promises";
import type { ScenarioReport } from "../contract/scenarios.ts";
import { readScenario } from "../scenarios/file/read-scenario.ts";
import { runRead } from "../scenarios/run/run-file.ts";
import { startPipeline } from "./pipeline.ts";

/** Runs a scenario file as `hookyard run` does, and answers its report, whatever came of it. */
export async function runFile(file: string, { seed }: { seed?: number } = {}): Promise<ScenarioReport> {
  return runRead({ read: readScenario(await readFile(file, "utf8")), file, seed, start: startPipeline });
}
