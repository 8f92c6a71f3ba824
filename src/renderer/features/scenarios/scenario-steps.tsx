/**
 * What came of each step of a scenario: a track of steps on the scenario's clock, each with its
 * expectations under it.
 */

import type {
  ScenarioDifference,
  ScenarioExpectationResult,
  ScenarioProblem,
  ScenarioReport,
  ScenarioStepResult,
} from "../../../contract/scenarios.ts";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { attemptWords, elapsedWords, glyphs, isGood } from "./scenario-words.ts";
import { some } from "../../kit/words.ts";

/** Shows a line of the file. */
type ToLine = (line: number) => void;

export function ScenarioSteps({ report, toLine }: { report: ScenarioReport; toLine: ToLine }) {
  if (report.problems.length > 0) return <Problems problems={report.problems} toLine={toLine} />;
  const { steps, stepsLeftOut = 0 } = report;
  return (
    <>
      <ol className="scenario-steps" aria-label="Steps">
        {steps.map((step, place) => (
          <Step key={step.line} step={step} number={place + 1} toLine={toLine} />
        ))}
      </ol>
      {stepsLeftOut === 0 ? null : (
        <p className="muted">{some(stepsLeftOut, "further step")}: hookyard run shows them all.</p>
      )}
    </>
  );
}

function LineLink({ line, toLine }: { line: number; toLine: ToLine }) {
  return (
    <button
      type="button"
      className="line-link"
      title={`Show line ${line} of the file`}
      onClick={() => toLine(line)}
    >
      line {line}
    </button>
  );
}

function Step({
  step,
  number,
  toLine,
}: {
  step: ScenarioStepResult;
  number: number;
  toLine: ToLine;
}) {
  const { state, name, text, elapsedMs, outcome, problem, expectations, line } = step;
  return (
    <li className={`scenario-step ${state}`}>
      <span className="step-number" aria-hidden="true">
        {number}
      </span>
      <div className="step-line">
        <span className={`state ${glyphs[state]}`}>
          <StateGlyph state={glyphs[state]} />
          {state}
        </span>
        <span className="step-what isolate">
          {name === null ? null : <b className="isolate">{name}</b>}
          {name !== null && text === step.verb ? null : (
            <code className={name === null ? "" : "muted"}>{text}</code>
          )}
        </span>
        <span className="step-at">{elapsedMs === null ? "" : elapsedWords(elapsedMs)}</span>
        <LineLink line={line} toLine={toLine} />
      </div>
      {outcome === null ? null : <p className="step-outcome muted isolate">{outcome}</p>}
      {problem === null ? null : <p className="step-problem isolate">{problem}</p>}
      {expectations.length === 0 ? null : (
        <ul className="expectations" aria-label={`Expectations of step ${number}`}>
          {expectations.map((expectation) => (
            <Expectation
              key={`${expectation.line}:${expectation.column}`}
              expectation={expectation}
              toLine={toLine}
            />
          ))}
        </ul>
      )}
    </li>
  );
}

function Expectation({
  expectation,
  toLine,
}: {
  expectation: ScenarioExpectationResult;
  toLine: ToLine;
}) {
  const { passed, text, line, expected, actual, differences, moreDifferences } = expectation;
  return (
    <li className={passed ? "expectation passed" : "expectation failed"}>
      <div className="expectation-line">
        <span className={passed ? "tone delivered" : "tone failed"}>
          <StateGlyph state={passed ? "checked" : "failed"} />
          <span className="sr">{passed ? "passed:" : "failed:"}</span>
        </span>
        <span className="isolate">{text}</span>
        <LineLink line={line} toLine={toLine} />
      </div>
      {passed ? null : (
        <>
          <Against expected={expected} actual={actual} />
          {differences.map((difference) => (
            <Difference key={difference.of} difference={difference} />
          ))}
          {moreDifferences > 0 ? (
            <p className="quiet">and {moreDifferences} more that differ</p>
          ) : null}
        </>
      )}
    </li>
  );
}

function Against({ expected, actual }: { expected: string; actual: string }) {
  if (expected === "" && actual === "") return null;
  return (
    <dl className="against">
      <dt>expected</dt>
      <dd className="isolate">{expected}</dd>
      <dt>actual</dt>
      <dd className="actual isolate">{actual}</dd>
    </dl>
  );
}

/** Folded together, for a hundred deliveries may differ in the same way. */
function Difference({
  difference: { of, expected, actual, attempts, attemptsBefore },
}: {
  difference: ScenarioDifference;
}) {
  const made = attempts.length + attemptsBefore;
  return (
    <details className="difference">
      <summary>
        <span className="isolate">{of}</span>
        <span className="quiet">
          {made === 0 ? "no attempt" : `${made} ${made === 1 ? "attempt" : "attempts"}`}
        </span>
      </summary>
      <Against expected={expected} actual={actual} />
      {attemptsBefore > 0 ? (
        <p className="quiet">{some(attemptsBefore, "attempt")} before these</p>
      ) : null}
      <ol aria-label="Attempts">
        {attempts.map((attempt, place) => (
          // oxlint-disable-next-line react/no-array-index-key -- a round may hold two attempts at one webhook's URL
          <li key={place}>
            <span className="step-at">{elapsedWords(attempt.elapsedMs)}</span>
            <OutcomeGlyph outcome={outcomeOf(attempt)} />
            <span className="isolate">{attemptWords(attempt)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

const outcomes = ["timeout", "connection_error", "tls_error"] as const;

function outcomeOf(attempt: ScenarioDifference["attempts"][number]) {
  return isGood(attempt)
    ? "success"
    : (outcomes.find((outcome) => outcome === attempt.result) ?? "http_error");
}

export function Problems({
  problems,
  toLine,
}: {
  problems: readonly ScenarioProblem[];
  toLine: ToLine;
}) {
  return (
    <ul className="scenario-problems" aria-label="Problems in the file">
      {problems.map(({ line, column, message }) => (
        <li key={`${line}:${column}:${message}`}>
          <StateGlyph state="failed" />
          <button
            type="button"
            className="line-link"
            title={`Show line ${line} of the file`}
            onClick={() => toLine(line)}
          >
            line {line}, column {column}
          </button>
          <span className="isolate">{message}</span>
        </li>
      ))}
    </ul>
  );
}
