/**
 * Results as GitHub Actions shows them: an annotation at the line of the file, and a summary of the
 * job. `hookyard run` prints them when it runs there.
 */

import type { ScenarioReport } from "../../contract/scenarios.ts";
import { failureLines, shown } from "./text.ts";

type Mark = { line: number; column: number; message: string };

/** Commands of the workflow, one a line. `pathOf` makes a file's path one of the repository. */
export function annotations(
  reports: readonly ScenarioReport[],
  pathOf: (file: string) => string,
): string[] {
  return reports.flatMap((report) =>
    marksOf(report).map(({ line, column, message }) => {
      const place = `file=${property(pathOf(report.file ?? ""))},line=${line},col=${column}`;
      const title = property(shown(report.name ?? report.file ?? "scenario"));
      return `::error ${place},title=${title}::${data(message)}`;
    }),
  );
}

function marksOf({ problems, steps }: ScenarioReport): Mark[] {
  return [
    ...problems.map(({ line, column, message }) => ({ line, column, message: shown(message) })),
    ...steps.flatMap((step) => [
      ...(step.problem === null || step.state === "skipped"
        ? []
        : [{ line: step.line, column: step.column, message: shown(step.problem) }]),
      ...step.expectations
        .filter(({ passed }) => !passed)
        .map((one) => ({
          line: one.line,
          column: one.column,
          message: [`expect ${shown(one.text)}`, ...failureLines(one)].join("\n"),
        })),
    ]),
  ];
}

function data(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

function property(text: string): string {
  return data(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
}

/** GitHub cuts a summary off at 1 MiB, and says so with an error. */
const maxLength = 900_000;

/** Markdown. What comes from files and receivers is in it as text. */
export function stepSummary(reports: readonly ScenarioReport[]): string {
  const passed = reports.filter(({ state }) => state === "passed").length;
  const rows = reports.map(
    ({ state, name, file }) =>
      `| ${state === "passed" ? "✓" : "✗"} ${state} | ${escaped(shown(name ?? ""))} | ${escaped(shown(file ?? ""))} |`,
  );
  const failures = reports
    .filter(({ state }) => state !== "passed")
    .map((report) =>
      [
        `<details open><summary>${escaped(shown(report.name ?? report.file ?? "scenario"))}</summary>`,
        ...marksOf(report).map(
          ({ line, message }) => `<p>line ${line}</p>\n<pre>${escaped(message)}</pre>`,
        ),
        "</details>",
      ].join("\n\n"),
    );
  const text = [
    `### Hookyard: ${passed} of ${reports.length} scenarios passed`,
    ["| result | scenario | file |", "| --- | --- | --- |", ...rows].join("\n"),
    ...failures,
  ].join("\n\n");
  return `${text.length > maxLength ? `${text.slice(0, maxLength)}\n\n…` : text}\n\n`;
}

function escaped(text: string): string {
  return shown(text.replaceAll("\n", "\u0000"))
    .replaceAll("\\u0000", "\n")
    .replaceAll(/[&<>|`*_[\]@#\\]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
