/**
 * Reports as JUnit XML, for CI: a test suite for each file, a test case for each step. Elements,
 * attributes and their order are those that the schemas of Ant's and of Jenkins' JUnit both accept.
 */

import type {
  ScenarioExpectationResult,
  ScenarioReport,
  ScenarioStepResult,
} from "../../contract/scenarios.ts";
import { plainPaint, reportText } from "./text.ts";

export type TimedReport = {
  report: ScenarioReport;
  /** Wall time. */
  startedAt: number;
  durationMs: number;
  /** Of each step. */
  stepsMs: readonly number[];
};

export function junitXml(reports: readonly TimedReport[], hostname: string): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${reports.map((one, index) => suite(one, index, hostname)).join("")}</testsuites>\n`;
}

function suite(
  { report, startedAt, durationMs, stepsMs }: TimedReport,
  id: number,
  hostname: string,
): string {
  const name = report.name ?? report.file ?? "scenario";
  const cases =
    report.state === "unusable"
      ? [unusableCase(report, name)]
      : report.steps.map((step, index) => stepCase(step, index, report, stepsMs[index] ?? 0));
  const failed = report.steps.filter(
    ({ state, problem }) => state === "failed" && problem === null,
  ).length;
  const errors =
    report.state === "unusable" ? 1 : report.steps.filter(({ problem }) => problem !== null).length;
  const attributes = {
    package: report.file ?? "",
    id,
    name,
    timestamp: new Date(startedAt).toISOString().slice(0, 19),
    hostname: hostname === "" ? "localhost" : hostname,
    tests: cases.length,
    failures: failed,
    errors,
    skipped: report.steps.filter(({ state }) => state === "skipped").length,
    time: seconds(durationMs),
  };
  const properties = element(
    "properties",
    {},
    element("property", { name: "seed", value: report.seed }) +
      element("property", { name: "startedAt", value: report.startedAt }),
  );
  const texts =
    element("system-out", {}, escaped(reportText(report, plainPaint))) +
    element("system-err", {}, "");
  return element("testsuite", attributes, properties + cases.join("") + texts);
}

function unusableCase(report: ScenarioReport, name: string): string {
  const lines = report.problems.map(
    ({ line, column, message }) => `${report.file ?? ""}:${line}:${column}  ${message}`,
  );
  const error = element(
    "error",
    { message: report.problems[0]?.message ?? "The file is unusable.", type: "unusable" },
    escaped(lines.join("\n")),
  );
  return element("testcase", { name: "the file", classname: name, time: seconds(0) }, error);
}

function stepCase(
  step: ScenarioStepResult,
  index: number,
  report: ScenarioReport,
  ms: number,
): string {
  const title =
    step.name ??
    (step.verb === "expect"
      ? `expect ${step.expectations.map(({ text }) => text).join("; ")}`
      : step.text);
  const attributes = {
    name: `${index + 1}. ${title}`,
    classname: report.name ?? "scenario",
    time: seconds(ms),
  };
  return element("testcase", attributes, outcomeOf(step, report));
}

function outcomeOf(step: ScenarioStepResult, report: ScenarioReport): string {
  if (step.problem !== null)
    return element(
      "error",
      { message: step.problem, type: "step" },
      escaped(`${report.file ?? ""}:${step.line}:${step.column}  ${step.problem}`),
    );
  if (step.state === "skipped")
    return element("skipped", { message: "An earlier step could not run." });
  const failed = step.expectations.filter(({ passed }) => !passed);
  if (failed.length === 0) return "";
  const text = reportText({ ...report, steps: [{ ...step, expectations: failed }] }, plainPaint);
  return element(
    "failure",
    { message: failed.map(messageOf).join("; "), type: "expectation" },
    escaped(text),
  );
}

function messageOf({ text, expected, actual }: ScenarioExpectationResult): string {
  return `${text}: expected ${expected}, actual ${actual}`;
}

export function seconds(ms: number): string {
  return (ms / 1000).toFixed(3);
}

export function element(
  name: string,
  attributes: Record<string, string | number>,
  content?: string,
): string {
  const list = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${escaped(String(value)).replace(/\s/g, " ")}"`,
  );
  if (content === undefined) return `<${name}${list.join("")}/>\n`;
  return `<${name}${list.join("")}>${content}</${name}>\n`;
}

/**
 * XML has no way to write most control characters and lone halves of surrogate pairs, not even
 * escaped.
 */
export function escaped(text: string): string {
  return text
    .toWellFormed()
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}
