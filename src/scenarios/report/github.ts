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

/** GitHub refuses a summary of more than 1 MiB, and says so with an error. */
const maxBytes = 900_000;
const restInLog = "<p>The rest is in the log.</p>";

/** Markdown. What comes from files and receivers is in it as text. Failures are in it whole, or not. */
export function stepSummary(reports: readonly ScenarioReport[]): string {
  let left = maxBytes;
  const fits = (part: string): boolean => {
    const bytes = Buffer.byteLength(`${part}\n\n`);
    if (bytes > left) return false;
    left -= bytes;
    return true;
  };
  const passed = reports.filter(({ state }) => state === "passed").length;
  const rows = reports.map(
    ({ state, name, file }) =>
      `| ${state === "passed" ? "✓" : "✗"} ${state} | ${escaped(shown(name ?? ""))} | ${escaped(shown(file ?? ""))} |`,
  );
  const keptRows = rows.filter(fits);
  const failures = reports
    .filter(({ state }) => state !== "passed")
    .map((report) => {
      const title = escaped(shown(report.name ?? report.file ?? "scenario"));
      const frame = [`<details open><summary>${title}</summary>`, restInLog, "</details>"];
      if (!fits(frame.join("\n\n"))) return null;
      const marks = marksOf(report).map(
        ({ line, message }) => `<p>line ${line}</p>\n<pre>${escaped(message)}</pre>`,
      );
      const kept = marks.filter(fits);
      const [begin, rest, end] = frame;
      return [begin, ...kept, ...(kept.length < marks.length ? [rest] : []), end].join("\n\n");
    });
  const isWhole = keptRows.length === rows.length && !failures.includes(null);
  const text = [
    `### Hookyard: ${passed} of ${reports.length} scenarios passed`,
    ["| result | scenario | file |", "| --- | --- | --- |", ...keptRows].join("\n"),
    ...failures.filter((failure) => failure !== null),
    ...(isWhole ? [] : [restInLog]),
  ].join("\n\n");
  return `${text}\n\n`;
}

function escaped(text: string): string {
  return shown(text.replaceAll("\n", "\u0000"))
    .replaceAll("\\u0000", "\n")
    .replaceAll(/[&<>|`*_[\]@#\\]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
