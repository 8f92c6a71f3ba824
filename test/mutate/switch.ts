/**
 * What the tool, the worker and child processes agree on: where the state lies, and the function
 * that switched sources ask.
 */

import { readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Names of environment variables: the directory of the state, and the test that a child process was
 * started by.
 */
export const stateVariable = "HOOKYARD_MUTATE";
export const testVariable = "HOOKYARD_MUTATE_TEST";

export type Active = { file: string; n: number };
/** Without an active mutant, coverage is measured. */
type Run = { active: Active | null; files: readonly string[] };
export type Hits = Map<string, Set<number>>;

export function readRun(state: string): Run {
  return JSON.parse(readFileSync(join(state, "run.json"), "utf8")) as Run;
}

export function switchedPath(state: string, path: string): string {
  return join(state, "sources", path.replaceAll("/", "+"));
}

/** A mutant that is asked for so often is in a loop that does not end. */
const endless = 20_000_000;

export function setSwitch(
  active: Active | null,
  hits: Hits,
  onFirst?: (path: string, n: number) => void,
): void {
  const never = (): boolean => false;
  let asked = 0;
  const isActive = (n: number): boolean => {
    if (n !== active?.n) return false;
    asked += 1;
    if (asked > endless) throw new Error("The mutant is in a loop that does not end.");
    return true;
  };
  const mutationSwitch = (path: string): ((n: number) => boolean) => {
    if (active !== null) return active.file === path ? isActive : never;
    let reached = hits.get(path);
    if (reached === undefined) hits.set(path, (reached = new Set()));
    const mine = reached;
    return (n) => {
      if (mine.has(n)) return false;
      mine.add(n);
      onFirst?.(path, n);
      return false;
    };
  };
  Object.assign(globalThis, { mutationSwitch });
}
