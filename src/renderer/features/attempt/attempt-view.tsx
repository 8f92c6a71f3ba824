/**
 * One attempt: how it ended and why, its phases, its bytes both ways, and its signature, beside all attempts of its
 * delivery. Its place is `#/live/<message>/attempts/<attempt>`.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Choice } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { curlOfAttempt } from "../details/copy-as.ts";
import { DeliveryButtons, useDeliveryActions } from "../details/delivery-actions.tsx";
import { MessageTitle } from "../details/message-title.tsx";
import { attemptHref, goTo, messageHref } from "../details/places.ts";
import { canRetry } from "../details/state-words.ts";
import { AttemptPane } from "./attempt-pane.tsx";
import { AttemptsNav } from "./attempts-nav.tsx";
import { neighbour, type Attempt, type Delivery, type Message } from "./rounds.ts";
import { SignaturePanel } from "./signature-panel.tsx";
import { useCourse } from "./use-course.ts";
import "./attempt.css";

export function AttemptView({ messageId, attemptId }: { messageId: string; attemptId: string }) {
  const { answer: message, error } = useLive("messages.get", { id: messageId });
  const delivery = message?.deliveries.find(({ attempts }) => attempts.some(({ id }) => id === attemptId));
  const attempt = delivery?.attempts.find(({ id }) => id === attemptId);
  useKeys({ Escape: () => goTo(messageHref(messageId)) });

  if (message === undefined || delivery === undefined || attempt === undefined) {
    if (message === undefined && error === null) return null;
    return (
      <section className="empty">
        <h1>{message === undefined ? "The message is not there" : "The attempt is not there"}</h1>
        <ProblemText error={error} />
        <p className="muted">
          {message === undefined ? "It may have been cleared. " : "It is not on record for this message. "}
          <a className="link" href={message === undefined ? "#/live" : messageHref(messageId)}>
            Back to Live
          </a>
        </p>
      </section>
    );
  }
  return <Shown message={message} delivery={delivery} attempt={attempt} />;
}

type ShownProps = { message: Message; delivery: Delivery; attempt: Attempt };

function Shown({ message, delivery, attempt }: ShownProps) {
  const course = useCourse(delivery);
  const [narrow, setNarrow] = useState<"bytes" | "signature">("bytes");
  const go = (by: -1 | 1): void => {
    const next = neighbour(course.rounds, attempt.id, by);
    if (next !== undefined) goTo(attemptHref(message.id, next.id));
  };
  const copyCurl = (): void => void copyText(curlOfAttempt(attempt), "the cURL command");
  const actions = useDeliveryActions();
  const retry = (): void => {
    if (canRetry(delivery)) actions.retry(delivery);
  };
  useKeys({ "[": () => go(-1), "]": () => go(1), c: copyCurl, r: retry });

  return (
    <>
      <Crumb message={message} delivery={delivery} narrow={narrow} onNarrow={setNarrow} actions={actions} />
      <ProblemText error={actions.refusalOf(delivery)} />
      <div className="attempt-split" data-narrow={narrow}>
        <AttemptsNav messageId={message.id} course={course} current={attempt.id} />
        <SplitPane
          name="attempt"
          label="Width of the signature"
          initial="420px"
          min={360}
          max={640}
          first={<AttemptPane attempt={attempt} delivery={delivery} course={course} onCopyCurl={copyCurl} onStep={go} />}
          second={
            <section className="pane attempt-signature" aria-label="Signature">
              <div className="pane-body">
                <h2 className="sr">Signature of the attempt</h2>
                <SignaturePanel attempt={attempt} destinationId={delivery.destinationId} name={course.name} />
              </div>
            </section>
          }
        />
      </div>
    </>
  );
}

type CrumbProps = {
  message: AnswerOf<"messages.get">;
  delivery: Delivery;
  narrow: "bytes" | "signature";
  onNarrow: (narrow: "bytes" | "signature") => void;
  actions: ReturnType<typeof useDeliveryActions>;
};

function Crumb({ message, delivery, narrow, onNarrow, actions }: CrumbProps) {
  const { state } = delivery;
  return (
    <header className="attempt-crumb">
      <a className="btn quiet small" href={messageHref(message.id)} title="Back to Live (Esc)" aria-keyshortcuts="Escape">
        <Icon name="back" />
        Live
      </a>
      <MessageTitle message={message} level="h1" />
      <span className={`state strong tone ${state}`}>
        <StateGlyph state={state} />
        {state}
      </span>
      <span className="grow" />
      <Choice
        small
        name="crumb-choice"
        label="Show"
        value={narrow}
        options={[
          { value: "bytes", label: "bytes" },
          { value: "signature", label: "signature" },
        ]}
        onChange={onNarrow}
      />
      <nav className="crumb-parts" aria-label="Parts of the message">
        <a href={messageHref(message.id)}>Trace</a>
        <a href={messageHref(message.id, "payload")}>Payload</a>
        <a href={messageHref(message.id, "raw")}>Raw</a>
        <a href={messageHref(message.id, "attempts")} aria-current="true">
          Attempts<span className="n">{delivery.attempts.length}</span>
        </a>
      </nav>
      <span className="crumb-rule" />
      <DeliveryButtons delivery={delivery} actions={actions} isPrimary />
    </header>
  );
}
