/**
 * One check: its sentence, how the requests went, the requests and answers, the effects, the usual
 * fix, and the scenario.
 */

import { useState, type ReactNode } from "react";
import type { CheckRequestAnswer, CheckResultAnswer } from "../../../contract/checks.ts";
import {
  adviceLanguages,
  type Advice,
  type AdviceLanguage,
  languageNames,
  fixes,
} from "../../../domain/advice.ts";
import { CodeLine, Sentence, Visible } from "../../kit/code-rows.tsx";
import { Button, Choice, IconButton, Kbd } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { saveFile } from "../../kit/save-file.ts";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { count, duration } from "../../kit/words.ts";
import { Time } from "../details/until.tsx";
import { answerOf, chosenRequests, nthTime, sentencesOf, sequenceOf } from "./check-words.ts";
import { SequencePicture } from "./sequence-picture.tsx";
import "./open-check.css";

export function OpenCheck({ result }: { result: CheckResultAnswer }) {
  const { id, verdict, requests, effects, advice, scenario } = result;
  const { first, rest } = sentencesOf(result);
  const { shown, others } = chosenRequests(result);
  const sequence = sequenceOf(result);
  const tokens = effects.map(({ token }) => token);
  const card = (nth: number): ReactNode => {
    const request = requests[nth];
    return request === undefined ? null : (
      <RequestCard key={nth} number={nth + 1} request={request} tokens={tokens} />
    );
  };
  return (
    <div className="open-check">
      <div className="head">
        <span className={`state ${verdict}`}>
          <StateGlyph state={verdict} />
          {verdict}
        </span>
        <code>{id}</code>
        <span className="grow" />
        <span className="muted">
          {requests.length === 1 ? "1 request" : `${requests.length} requests`}
        </span>
      </div>
      <h2 className="isolate">
        <Sentence text={first} />
      </h2>
      {rest === "" ? null : (
        <p className="why isolate">
          <Sentence text={rest} />
        </p>
      )}
      {sequence === null ? null : <SequencePicture sequence={sequence} />}
      <div className="pair">{shown.map(card)}</div>
      <Effects effects={effects} />
      {advice === null ? null : <MendCode advice={advice} />}
      {scenario === null ? null : <ScenarioText id={id} text={scenario} />}
      {others.length === 0 ? null : (
        <details className="others">
          <summary>
            {others.length === 1 ? "1 more request" : `${others.length} more requests`}
          </summary>
          <div className="pair">{others.map(card)}</div>
        </details>
      )}
    </div>
  );
}

/** Of a body in the page; the report has the whole. */
const maxShown = 3_000;

function RequestCard({
  number,
  request,
  tokens,
}: {
  number: number;
  request: CheckRequestAnswer;
  tokens: readonly string[];
}) {
  const { at, head, body, sentAs, durationMs, status, answerBody, error } = request;
  const { answer, outcome, isLost } = answerOf(request);
  const startedAt = Date.parse(at);
  const lines = head.trimEnd() === "" ? [] : head.trimEnd().split("\r\n");
  return (
    <div className="request">
      <p className="hh">
        <b>
          Request {number}
          {sentAs === null ? "" : `, ${sentAs}`}
        </b>
        <span className="mono quiet">
          <Time at={startedAt} column />
        </span>
      </p>
      <div className="code wrap plain" role="group" aria-label={`Request ${number}`} tabIndex={0}>
        {lines.map((line) => (
          <CodeLine key={line}>
            <Visible text={line} />
          </CodeLine>
        ))}
        <CodeLine>
          <Marked text={body.slice(0, maxShown)} tokens={tokens} />
          <Rest length={body.length} />
        </CodeLine>
      </div>
      <p className="ans">
        <span className={`state ${outcome}`}>
          <OutcomeGlyph outcome={outcome} />
          <b>{isLost ? (status ?? "no answer") : answer}</b>
        </span>
        <span className="muted isolate">
          {isLost
            ? (error ?? "Hookyard hung up before it read the answer")
            : `in ${duration(durationMs)}`}
        </span>
      </p>
      {answerBody === "" ? null : (
        <div
          className="code wrap plain answer"
          role="group"
          aria-label={`Answer ${number}`}
          tabIndex={0}
        >
          <CodeLine>
            <Marked text={answerBody.slice(0, maxShown)} tokens={tokens} />
            <Rest length={answerBody.length} />
          </CodeLine>
        </div>
      )}
    </div>
  );
}

function Rest({ length }: { length: number }) {
  return length <= maxShown ? null : (
    <span className="quiet">
      {" "}
      … and {count(length - maxShown)} more characters, in the exported report
    </span>
  );
}

/**
 * Text from outside, with the tokens marked, and the message ids that are made of them underlined.
 */
function Marked({ text, tokens }: { text: string; tokens: readonly string[] }) {
  if (tokens.length === 0) return <Visible text={text} />;
  const parts = text.split(new RegExp(`((?:chk-)?(?:${tokens.join("|")}))`));
  return parts.map((part, place) => {
    // Every other part is what was split at.
    // oxlint-disable react/no-array-index-key -- parts have nothing but their place
    if (place % 2 === 0) return <Visible key={place} text={part} />;
    if (!part.startsWith("chk-")) return <mark key={place}>{part}</mark>;
    return (
      <b key={place} className="same">
        chk-<mark>{part.slice(4)}</mark>
      </b>
    );
    // oxlint-enable react/no-array-index-key
  });
}

function Effects({ effects }: Pick<CheckResultAnswer, "effects">) {
  const wrong = effects.filter(({ wanted, found }) => found.length !== wanted);
  const [shown] = wrong.length > 0 ? wrong : effects;
  if (shown === undefined) return null;
  const { token, wanted, found } = shown;
  const more =
    wrong.length > 1
      ? `; ${wrong.length - 1} more ${wrong.length === 2 ? "message" : "messages"} not as expected`
      : "";
  return (
    <div className="effects">
      <p className="hh">
        <b>Effects afterwards</b>
        <span className="quiet">
          {found.length} with the token, {wanted} expected{more}
        </span>
      </p>
      <div className={found.length === wanted ? "found" : "found bad"}>
        {found.length === 0 ? (
          <p className="quiet">
            none with <mark>{token}</mark>
          </p>
        ) : (
          found.map((line, nth) => (
            // oxlint-disable-next-line react/no-array-index-key -- two effects may be equal, which is the point
            <p key={nth}>
              <span className="line">
                <Marked text={line} tokens={[token]} />
              </span>
              {found.length === wanted ? null : (
                <span className="nth">{wanted === 0 ? "done!" : nthTime(nth)}</span>
              )}
            </p>
          ))
        )}
      </div>
    </div>
  );
}

let lastLanguage: AdviceLanguage = "node";

function MendCode({ advice }: { advice: Advice }) {
  const [language, setLanguage] = useState(lastLanguage);
  const { title, code } = fixes[advice];
  const text = code(language);
  return (
    <section className="fix" aria-label="Fix it">
      <div className="section-head">
        <h3>Fix it: {title.charAt(0).toLowerCase() + title.slice(1)}</h3>
        <span className="grow" />
        <Choice
          small
          label="Language"
          value={language}
          options={adviceLanguages.map((value) => ({ value, label: languageNames[value] }))}
          onChange={(next) => {
            lastLanguage = next;
            setLanguage(next);
          }}
        />
        <IconButton
          small
          icon="copy"
          label="Copy the code"
          onClick={() => void copyText(text, "the code")}
        />
      </div>
      <pre className="code" tabIndex={0}>
        <SnippetText text={text} />
      </pre>
    </section>
  );
}

function ScenarioText({ id, text }: { id: string; text: string }) {
  return (
    <section className="fix" aria-label="Scenario">
      <div className="section-head">
        <h3>The scenario that shows it again</h3>
        <span className="grow" />
        <IconButton
          small
          icon="copy"
          label="Copy the scenario"
          onClick={() => void copyText(text, "the scenario")}
        />
        <IconButton
          small
          icon="save"
          label="Save the scenario as a file"
          onClick={() => saveFile(`${id}.yaml`, text)}
        />
      </div>
      <pre className="code scenario-text" tabIndex={0}>
        {text
          .slice(0, maxShown)
          .split("\n")
          .map((line, nth) => (
            // oxlint-disable-next-line react/no-array-index-key -- lines have nothing but their place
            <div key={nth}>
              <Visible text={line} />
            </div>
          ))}
        <Rest length={text.length} />
      </pre>
    </section>
  );
}

type CheckFootProps = {
  findings: readonly string[];
  open: string | undefined;
  onWalk: (by: 1 | -1) => void;
  onScenario: (() => void) | null;
  onAgain: (() => void) | null;
};

export function CheckFoot({ findings, open, onWalk, onScenario, onAgain }: CheckFootProps) {
  const at = findings.indexOf(open ?? "") + 1;
  const many = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return (
    <div className="check-foot">
      <Button
        look="primary"
        icon="scenarios"
        shortcut="r"
        disabled={onScenario === null}
        onClick={() => onScenario?.()}
      >
        Run this as a scenario
      </Button>
      <Button shortcut="a" disabled={onAgain === null} onClick={() => onAgain?.()}>
        Check again
      </Button>
      <span className="grow" />
      <button
        type="button"
        className="btn quiet"
        aria-label="Previous finding"
        aria-keyshortcuts="["
        disabled={findings.length === 0}
        onClick={() => onWalk(-1)}
      >
        <Icon name="back" small />
        <Kbd>[</Kbd>
      </button>
      <span className="muted">{at === 0 ? many : `${at} of ${many}`}</span>
      <button
        type="button"
        className="btn quiet"
        aria-label="Next finding"
        aria-keyshortcuts="]"
        disabled={findings.length === 0}
        onClick={() => onWalk(1)}
      >
        <Kbd>]</Kbd>
        <Icon name="forward" small />
      </button>
    </div>
  );
}
