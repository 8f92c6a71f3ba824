/** A report for the terminal. Marks and words carry everything; colour only repeats it. */

import type {
  ScenarioAttempt,
  ScenarioDifference,
  ScenarioExpectationResult,
  ScenarioReport,
  ScenarioStepResult,
} from "../../contract/scenarios.ts";
import { formatDuration, formatElapsed } from "../file/duration.ts";

export type Paint = {
  good(text: string): string;
  bad(text: string): string;
  faint(text: string): string;
  strong(text: string): string;
};

export const plainPaint: Paint = { good: same, bad: same, faint: same, strong: same };
export const colourPaint: Paint = {
  good: ansi(32),
  bad: ansi(31),
  faint: ansi(2),
  strong: ansi(1),
};

function same(text: string): string {
  return text;
}

function ansi(code: number): (text: string) => string {
  return (text) => `\u001b[${code}m${text}\u001b[0m`;
}

export function reportText(report: ScenarioReport, paint: Paint = plainPaint): string {
  const lines = [titleLine(report, paint)];
  if (report.state === "unusable")
    lines.push(
      ...report.problems.map(
        (problem) => `  ${paint.bad(placeText(report, problem))}  ${shown(problem.message)}`,
      ),
    );
  else for (const step of report.steps) lines.push(...stepLines(step, report, paint));
  return lines.join("\n");
}

function titleLine({ state, name, file, steps }: ScenarioReport, paint: Paint): string {
  const mark = state === "passed" ? paint.good("✓") : paint.bad("✗");
  const title = paint.strong(shown(name ?? file ?? "scenario"));
  const where = name === null || file === null ? "" : paint.faint(`  ${shown(file)}`);
  const word = state === "passed" ? "" : paint.bad(`  ${state}`);
  const silent =
    state === "passed" && !steps.some(({ expectations }) => expectations.length > 0)
      ? paint.faint("  expects nothing")
      : "";
  return `${mark} ${title}${word}${silent}${where}`;
}

function stepLines(step: ScenarioStepResult, report: ScenarioReport, paint: Paint): string[] {
  const time = paint.faint(formatElapsed(step.elapsedMs ?? 0));
  const name = step.name === null ? "" : `${shown(step.name)}: `;
  if (step.verb === "expect" && step.problem === null && step.state !== "skipped") {
    return step.expectations.flatMap((one) =>
      expectationLines(
        one,
        `  ${markOf(one.passed ? "passed" : "failed", paint)} ${time}  ${name}expect `,
        report,
        paint,
      ),
    );
  }
  const outcome = step.outcome === null ? "" : paint.faint(`  ${shown(step.outcome)}`);
  const lines = [`  ${markOf(step.state, paint)} ${time}  ${name}${shown(step.text)}${outcome}`];
  if (step.problem !== null)
    lines.push(`      ${paint.bad(placeText(report, step))}  ${shown(step.problem)}`);
  return lines;
}

function markOf(state: ScenarioStepResult["state"], paint: Paint): string {
  return state === "passed"
    ? paint.good("✓")
    : state === "failed"
      ? paint.bad("✗")
      : paint.faint("–");
}

function expectationLines(
  one: ScenarioExpectationResult,
  start: string,
  report: ScenarioReport,
  paint: Paint,
): string[] {
  const line = `${start}${shown(one.text)}`;
  if (one.passed) return [line];
  return [
    line,
    `      ${paint.bad(placeText(report, one))}`,
    ...failureLines(one, paint).map((each) => `      ${each}`),
  ];
}

/** What was expected, what there is, and the attempts behind it. */
export function failureLines(one: ScenarioExpectationResult, paint: Paint = plainPaint): string[] {
  return [
    `expected  ${paint.good(shown(one.expected))}`,
    `actual    ${paint.bad(shown(one.actual))}`,
    ...one.differences.flatMap((difference) => differenceLines(difference, paint)),
    ...(one.moreDifferences > 0 ? [`… and ${one.moreDifferences} more`] : []),
  ];
}

function differenceLines(
  { of, expected, actual, attempts, attemptsBefore }: ScenarioDifference,
  paint: Paint,
): string[] {
  const lines = [shown(of)];
  if (actual !== "" || expected !== "")
    lines.push(`  ${paint.bad(shown(actual))}${paint.faint(`, not ${shown(expected)}`)}`);
  if (attemptsBefore > 0) lines.push(paint.faint(`  … ${attemptsBefore} attempts before these`));
  const width = Math.max(0, ...attempts.map(({ webhook }) => shown(webhook).length));
  return [...lines, ...attempts.map((attempt) => `  ${attemptLine(attempt, width, paint)}`)];
}

function attemptLine(
  { elapsedMs, round, webhook, result, heldMs, error }: ScenarioAttempt,
  width: number,
  paint: Paint,
): string {
  const held = heldMs === null ? "" : ` after ${formatDuration(heldMs)}`;
  const why = error === null ? "" : paint.faint(`  ${shown(error)}`);
  return `${paint.faint(formatElapsed(elapsedMs))}  round ${String(round).padStart(2)}  ${shown(webhook).padEnd(width)}  ${result}${held}${why}`;
}

function placeText(
  { file }: ScenarioReport,
  { line, column }: { line: number; column: number },
): string {
  return `${file === null ? "" : `${shown(file)}:`}${line}:${column}`;
}

/**
 * Names and values come from files and from receivers: what a terminal would obey is shown as an
 * escape.
 */
export function shown(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** The same of a text of several lines. JSON stays the same JSON. */
export function shownLines(text: string): string {
  return text.split("\n").map(shown).join("\n");
}
