/** The path that a message took, from the request to its deliveries. */

import { useMemo } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Sentence, Visible } from "../../kit/code-rows.tsx";
import { IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { visibleText } from "../../kit/visible-text.ts";
import { dayAndTime, milliseconds, span } from "../../kit/words.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { messageHref } from "./places.ts";
import { whyNotDelivered } from "./state-words.ts";
import { type TraceStep, traceSteps } from "./trace-steps.ts";

type Message = AnswerOf<"messages.get">;

export function Trace({
  message,
  names,
  library,
  filled,
}: {
  message: Message;
  names: ReadonlyMap<string, string>;
  library: string | null;
  filled: string | null;
}) {
  const steps = useMemo(
    () => traceSteps({ message, names, library, filled }),
    [message, names, library, filled],
  );
  const receivedAt = Date.parse(message.receivedAt);
  const clock = useClock();
  return (
    <section className="section">
      <div className="section-head">
        <h3>Trace</h3>
        <span className="grow" />
        <code className="quiet clip" title={visibleText(message.messageId.slice(0, 300))}>
          <Visible text={message.messageId.slice(0, 300)} />
        </code>
        <IconButton
          small
          icon="copy"
          label="Copy the messageId"
          onClick={() => void copyText(message.messageId, "the messageId")}
        />
      </div>
      <ol className="trace">
        {steps.map((step) => (
          <li
            key={step.id}
            className={step.isBranch ? "branch" : undefined}
            title={visibleText(
              [step.strong ?? "", step.code ?? "", step.text, step.title ?? ""]
                .filter((part) => part !== "")
                .join(" "),
            ).slice(0, 600)}
          >
            {step.glyph === "warning" ? <WarningGlyph /> : <StateGlyph state={step.glyph} />}
            <span className="name">{step.name}</span>
            <StepText step={step} message={message} />
            <span className="at">
              {step.name === "received"
                ? dayAndTime(receivedAt, clock === undefined ? receivedAt : nowOf(clock)) +
                  milliseconds(receivedAt)
                : step.sinceMs === null
                  ? ""
                  : `+${since(step.sinceMs)}`}
            </span>
          </li>
        ))}
      </ol>
    </section>
  );
}

const since = (ms: number): string => (ms < 1000 ? `${ms} ms` : span(ms));

function StepText({
  step: { strong, code, text, glyph },
  message: { duplicateOf, replayOf },
}: {
  step: TraceStep;
  message: Message;
}) {
  if (glyph === "warning") {
    return (
      <span>
        <Sentence text={text} />
      </span>
    );
  }
  if (glyph === "rejected") {
    return (
      <span className="said">
        {text} <span className="reason">{code}</span>
      </span>
    );
  }
  const origin = glyph === "duplicate" ? duplicateOf : glyph === "checked" ? replayOf : null;
  return (
    <span className="said">
      {strong === null ? null : (
        <span className="strong">
          <Visible text={strong} />
        </span>
      )}
      {code === null ? null : strong === null ? (
        <code>
          <Visible text={code} />
        </code>
      ) : (
        <span className="reason"> {code}</span>
      )}
      {code === null || text === "" ? null : ", "}
      <Visible text={text} />
      {origin === null ? null : (
        <>
          {" "}
          <a className="link" href={messageHref(origin)}>
            {" "}
            open{" "}
          </a>
        </>
      )}
    </span>
  );
}

function WarningGlyph() {
  return (
    <svg className="glyph waiting" viewBox="0 0 12 12" aria-hidden="true">
      <path
        d="M6 1.2l5.2 9.6H.8z"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.4"
        strokeLinejoin="round"
      />
      <path d="M6 4.6v2.6M6 8.9v.1" stroke="currentColor" strokeWidth="1.4" strokeLinecap="round" />
    </svg>
  );
}

/** Why a message has no delivery, in place of its timeline. */
export function WhyNot({ message }: { message: AnswerOf<"messages.get"> }) {
  const why = whyNotDelivered(message);
  if (why === null) return null;
  const { state, duplicateOf } = message;
  return (
    <section className="section">
      <div className="section-head">
        <h3>Why it was not delivered</h3>
        <span className="grow" />
        <code className="quiet">{why.reason}</code>
      </div>
      <div className={state === "rejected" ? "verdict bad" : "verdict"}>
        <StateGlyph state={state} />
        <div>
          {why.sentences.map((sentence) => (
            <p key={sentence}>
              <Sentence text={sentence} />
            </p>
          ))}
          {duplicateOf === null ? null : (
            <p>
              <a className="link" href={messageHref(duplicateOf)}>
                Open the original
              </a>
            </p>
          )}
        </div>
      </div>
    </section>
  );
}
