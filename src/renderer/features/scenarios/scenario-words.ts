/** The words of a scenario and of what came of it. Pure. */

import type {
  ScenarioAttempt,
  ScenarioReport,
  ScenarioStepResult,
} from "../../../contract/scenarios.ts";
import type { StateName } from "../../kit/glyph.tsx";
import { span } from "../../kit/words.ts";

/**
 * What the file calls itself, read without knowing YAML: a file that is being typed has a name as
 * well.
 */
export function nameIn(text: string): string {
  const named = /^name:[ \t]*(\S.*?)[ \t]*$/m.exec(text)?.[1] ?? "";
  const bare = /^(["'])(.*)\1$/.exec(named)?.[2] ?? named;
  return bare === "" ? "unnamed" : bare;
}

/** `outage-of-90-minutes.yaml` */
export function fileNameIn(text: string): string {
  const words =
    nameIn(text)
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? [];
  return `${words.join("-").slice(0, 60).toWellFormed() || "scenario"}.yaml`;
}

/** Since the beginning, on the scenario's own clock. */
export function elapsedWords(elapsedMs: number): string {
  return elapsedMs < 1000 && elapsedMs > 0 ? `+${elapsedMs} ms` : `+${span(elapsedMs)}`;
}

type RunState = ScenarioReport["state"] | ScenarioStepResult["state"];

/** The shape and colour that say the same elsewhere. */
export const glyphs: Record<RunState, StateName> = {
  waiting: "queued",
  running: "sending",
  passed: "delivered",
  failed: "failed",
  skipped: "cancelled",
  unusable: "rejected",
};

/** `5 of 6 steps, 1 h 30 m of clock time` */
export function reportWords({ state, steps, startedAt, endedAt }: ScenarioReport): string {
  if (state === "unusable") return "The file cannot be run.";
  const done = steps.filter((step) => step.state === "passed").length;
  const clock = span(Date.parse(endedAt) - Date.parse(startedAt));
  const of = `${done} of ${steps.length} ${steps.length === 1 ? "step" : "steps"}`;
  return state === "running" ? of : `${of}, ${clock} of clock time`;
}

/** `round 2, Warehouse: 503` */
export function attemptWords({ round, webhook, result, heldMs, error }: ScenarioAttempt): string {
  const held = heldMs === null ? "" : `, held for ${span(heldMs)}`;
  return `round ${round}, ${webhook}: ${result}${held}${error === null ? "" : `. ${error}`}`;
}

export function isGood({ result }: ScenarioAttempt): boolean {
  return /^2\d\d$/.test(result);
}
