/** The report of a check for a terminal and for CI. `report-page.ts` has the one for a browser. */

import { element, escaped, seconds } from "../scenarios/report/junit.ts";
import { plainPaint, shown, type Paint } from "../scenarios/report/text.ts";
import { fixes } from "../domain/advice.ts";
import type { Verdict, CheckReport, CheckResult, CheckRequest } from "./outcome.ts";

const marks: Record<Verdict, string> = { pass: "✓", fail: "✗", warn: "!", skipped: "–" };
const width = 28;

/** One line for each check as it ends; a finding has its sentence below it. */
export function resultText(
  { id, verdict, brief, detail }: CheckResult,
  paint: Paint = plainPaint,
): string {
  const colour = { pass: paint.good, fail: paint.bad, warn: paint.strong, skipped: paint.faint }[
    verdict
  ];
  const line =
    `  ${colour(marks[verdict])} ${colour(verdict.padEnd(7))} ${id.padEnd(width)} ${verdict === "skipped" ? "" : paint.faint(shown(brief))}`.trimEnd();
  return verdict === "pass" ? line : `${line}\n${wrapped(shown(detail), 96, "              ")}`;
}

export function summaryText(
  { checks, score, durationMs, seed }: CheckReport,
  paint: Paint = plainPaint,
): string {
  const count = (verdict: Verdict): number =>
    checks.filter((one) => one.verdict === verdict).length;
  const parts = [
    paint.good(`${count("pass")} passed`),
    ...(count("fail") > 0 ? [paint.bad(`${count("fail")} failed`)] : []),
    ...(count("warn") > 0
      ? [paint.strong(`${count("warn")} ${count("warn") === 1 ? "warning" : "warnings"}`)]
      : []),
    ...(count("skipped") > 0 ? [paint.faint(`${count("skipped")} skipped`)] : []),
  ];
  return `${parts.join(", ")}  ${paint.faint(`score ${score} of 100, ${(durationMs / 1000).toFixed(1)} s, seed ${seed}`)}`;
}

/** A failed check with its requests and answers. */
export function proofText(
  { requests, effects, advice }: CheckResult,
  paint: Paint = plainPaint,
): string {
  const lines = provingOf({ requests, effects }).flatMap((request) => requestLines(request, paint));
  for (const { token, wanted, found } of effects
    .filter((one) => one.found.length !== one.wanted)
    .slice(0, 2))
    lines.push(
      `effects of ${token}: ${found.length}, expected ${wanted}`,
      ...found.slice(0, 4).map((line) => `  ${cut(shown(line), 140)}`),
    );
  if (advice !== null)
    lines.push(paint.faint(`Fix: ${fixes[advice].title}. The HTML report has the code.`));
  return lines.map((line) => `              ${line}`).join("\n");
}

/** So many requests of a finding fit below it. */
const maxProving = 3;

/** The requests of the message with a wrong effect, the last that failed, or the first. */
function provingOf({
  requests,
  effects,
}: Pick<CheckResult, "requests" | "effects">): CheckRequest[] {
  const wrong = effects.find((one) => one.found.length !== one.wanted);
  const ofWrong = requests.filter(({ body }) => wrong !== undefined && body.includes(wrong.token));
  if (ofWrong.length > 0) return ofWrong.slice(0, maxProving);
  const failed = requests.filter(isProof);
  return failed.length > 0 ? failed.slice(-maxProving) : requests.slice(0, maxProving);
}

/** A forged request proves something when it was accepted, any other when it was not. */
function isProof({ sentAs, status, error }: CheckRequest): boolean {
  const isForged = sentAs?.startsWith("signature ") === true && !sentAs.includes("restringified");
  const saidYes = status !== null && status >= 200 && status < 300;
  return isForged ? saidYes : !saidYes || error !== null;
}

function requestLines(
  { head, body, sentAs, status, answerBody, error, durationMs }: CheckRequest,
  paint: Paint,
): string[] {
  const [requestLine = ""] = head.split("\r\n");
  const how = sentAs === null ? "" : ` (${sentAs})`;
  const answer =
    error ?? (status === null ? "no answer read" : `${status} in ${Math.round(durationMs)} ms`);
  const text = answerBody === "" ? "" : `  ${cut(shown(answerBody), 100)}`;
  const answered = `< ${shown(answer)}${text}`;
  // Without a connection, nothing was sent.
  if (head === "") return [answered];
  return [
    paint.faint(`> ${shown(requestLine)}${how}`),
    paint.faint(`> ${cut(shown(body), 140)}`),
    answered,
  ];
}

export function checkJunit(
  { url, startedAt, durationMs, seed, checks }: CheckReport,
  hostname: string,
): string {
  const count = (verdict: Verdict): number =>
    checks.filter((one) => one.verdict === verdict).length;
  const attributes = {
    package: "hookyard check",
    id: 0,
    name: url,
    timestamp: startedAt.slice(0, 19),
    hostname: hostname === "" ? "localhost" : hostname,
    tests: checks.length,
    failures: count("fail"),
    errors: 0,
    skipped: count("skipped"),
    time: seconds(durationMs),
  };
  const properties = element("properties", {}, element("property", { name: "seed", value: seed }));
  const warnings = checks
    .filter(({ verdict }) => verdict === "warn")
    .map(({ id, detail }) => `${id}: ${detail}`);
  const texts =
    element("system-out", {}, escaped(warnings.join("\n"))) + element("system-err", {}, "");
  const suite = element(
    "testsuite",
    attributes,
    properties + checks.map(testCase).join("") + texts,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${suite}</testsuites>\n`;
}

function testCase(result: CheckResult): string {
  const { id, group, verdict, detail, requests } = result;
  const tookMs = requests.reduce((sum, { durationMs }) => sum + durationMs, 0);
  const inside =
    verdict === "skipped"
      ? element("skipped", { message: detail })
      : verdict === "fail"
        ? element(
            "failure",
            { message: detail, type: id },
            escaped(`${detail}\n\n${proofText(result)}`),
          )
        : "";
  return element(
    "testcase",
    { name: id, classname: `hookyard check.${group}`, time: seconds(tookMs) },
    inside,
  );
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}

function wrapped(text: string, columns: number, indent: string): string {
  const lines: string[] = [""];
  for (const word of text.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last !== "" && last.length + 1 + word.length > columns) lines.push(word);
    else lines[lines.length - 1] = last === "" ? word : `${last} ${word}`;
  }
  return lines.map((line) => indent + line).join("\n");
}
