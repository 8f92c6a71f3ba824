/**
 * What `hookyard/testing` is: a whole pipeline for one test of vitest, jest or any other runner, in
 * memory, on free ports, its clock paused unless the test moves it. It can do what a scenario file
 * can, in the same words.
 */

export { ExpectationFailed, type Hookyard, type SendOptions, type Setup, start } from "./start.ts";
export { runFile } from "./start.ts";
export type { ScenarioReport } from "../contract/scenarios.ts";
