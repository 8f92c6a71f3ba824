/**
 * One attempt: how it ended and why, its phases, its bytes both ways, and its signature, beside all
 * attempts of its delivery. Its place is `#/live/<message>/attempts/<attempt>`.
 */

import { type ReactNode, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Sentence } from "../../kit/code-rows.tsx";
import { Choice, IconButton, Kbd } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { dayAndTime, milliseconds, some } from "../../kit/words.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { curlOfAttempt } from "../details/copy-as.ts";
import { DeliveryButtons, MessageTitle, useDeliveryActions } from "../details/message-head.tsx";
import { attemptHref, goTo, messageHref, whatIfHref } from "../details/places.ts";
import { canRetry } from "../details/state-words.ts";
import {
  type Attempt,
  type Delivery,
  type Message,
  neighbour,
} from "../timeline/timeline-model.ts";
import { type DeliveryTimeline, useTimeline } from "../timeline/use-timeline.ts";
import { useWholeAttempt } from "../details/left-out.ts";
import { outcomeSentences } from "./attempt-words.ts";
import { AttemptsNav } from "./attempts-nav.tsx";
import { Phases } from "./phases.tsx";
import { RequestBytes, ResponseBytes } from "./recorded-bytes.tsx";
import { SignaturePanel } from "./signature-panel.tsx";
import "./attempt.css";

export function AttemptView({ messageId, attemptId }: { messageId: string; attemptId: string }) {
  const { answer: message, error } = useLive("messages.get", { id: messageId });
  const delivery = message?.deliveries.find(({ attempts }) =>
    attempts.some(({ id }) => id === attemptId),
  );
  const attempt = delivery?.attempts.find(({ id }) => id === attemptId);
  useKeys({ Escape: () => goTo(messageHref(messageId)) });

  if (message === undefined || delivery === undefined || attempt === undefined) {
    if (message === undefined && error === null) return null;
    return (
      <section className="empty">
        <h1>{message === undefined ? "Message not found" : "Attempt not found"}</h1>
        <ProblemText error={error} />
        <p className="muted">
          {message === undefined
            ? "It may have been cleared. "
            : "The message has no attempt with this number. "}
          <a className="link" href={message === undefined ? "#/live" : messageHref(messageId)}>
            Back to Live
          </a>
        </p>
      </section>
    );
  }
  return <WithBytes message={message} delivery={delivery} attempt={attempt} />;
}

function WithBytes({ message, delivery, attempt }: ShownProps) {
  const whole = useWholeAttempt(delivery, attempt);
  return whole === undefined ? null : (
    <Shown message={message} delivery={delivery} attempt={whole} />
  );
}

type ShownProps = { message: Message; delivery: Delivery; attempt: Attempt };

function Shown({ message, delivery, attempt }: ShownProps) {
  const timeline = useTimeline(delivery);
  const [narrow, setNarrow] = useState<"bytes" | "signature">("bytes");
  const go = (by: -1 | 1): void => {
    const next = neighbour(timeline.rounds, attempt.id, by);
    if (next !== undefined) goTo(attemptHref(message.id, next.id));
  };
  const copyCurl = (): void => void copyText(curlOfAttempt(attempt), "the cURL command");
  const actions = useDeliveryActions();
  const retry = (): void => {
    if (canRetry(delivery)) actions.retry(delivery);
  };
  const whatIf = (): void => goTo(whatIfHref(message.id, attempt.id));
  useKeys({ "[": () => go(-1), "]": () => go(1), c: copyCurl, r: retry, w: whatIf });

  return (
    <>
      <Crumb
        message={message}
        delivery={delivery}
        narrow={narrow}
        onNarrow={setNarrow}
        actions={actions}
      />
      <ProblemText error={actions.refusalOf(delivery)} />
      <div className="attempt-split" data-narrow={narrow}>
        <AttemptsNav messageId={message.id} timeline={timeline} current={attempt.id} />
        <SplitPane
          name="attempt"
          label="Width of the signature"
          initial="420px"
          min={360}
          max={640}
          first={
            <AttemptPane
              messageId={message.id}
              attempt={attempt}
              delivery={delivery}
              timeline={timeline}
              onCopyCurl={copyCurl}
              onStep={go}
            />
          }
          second={
            <section className="pane attempt-signature" aria-label="Signature">
              <div className="pane-body">
                <h2 className="sr">Signature of the attempt</h2>
                <SignaturePanel
                  attempt={attempt}
                  signed={delivery.signed}
                  destinationId={delivery.destinationId}
                  name={timeline.name}
                />
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
      <a
        className="btn quiet small"
        href={messageHref(message.id)}
        title="Back to Live (Esc)"
        aria-keyshortcuts="Escape"
      >
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
        options={["bytes", "signature"]}
        onChange={onNarrow}
      />
      <nav className="crumb-parts" aria-label="Parts of the message">
        <a href={messageHref(message.id)}>Trace</a>
        <a href={messageHref(message.id, "payload")}>Payload</a>
        <a href={messageHref(message.id, "raw")}>Raw</a>
        <a href={messageHref(message.id, "attempts")} aria-current="true">
          Attempts <span className="n">{delivery.attempts.length}</span>
        </a>
      </nav>
      <span className="crumb-rule" />
      <DeliveryButtons delivery={delivery} actions={actions} isPrimary />
    </header>
  );
}

type Props = {
  messageId: string;
  attempt: Attempt;
  delivery: Delivery;
  timeline: DeliveryTimeline;
  onCopyCurl: () => void;
  onStep: (by: -1 | 1) => void;
};

/**
 * The middle of the attempt view: the outcome in sentences, the phases, the request and the
 * response.
 */
function AttemptPane({
  messageId,
  attempt,
  delivery,
  timeline,
  onCopyCurl,
  onStep,
}: Props): ReactNode {
  return (
    <section className="pane attempt-centre" aria-label="Attempt">
      <div className="pane-body">
        <Outcome
          messageId={messageId}
          attempt={attempt}
          delivery={delivery}
          timeline={timeline}
          onStep={onStep}
        />
        <Phases attempt={attempt} deadlineMs={timeline.timeoutMs} />
        <RequestBytes attempt={attempt} onCopyCurl={onCopyCurl} />
        <ResponseBytes attempt={attempt} />
      </div>
    </section>
  );
}

function Outcome({ messageId, attempt, delivery, timeline, onStep }: Omit<Props, "onCopyCurl">) {
  const { outcome, round, webhookId, startedAt } = attempt;
  const at = Date.parse(startedAt);
  const clock = useClock();
  const now = clock === undefined ? at : nowOf(clock);
  const { lead, rest } = outcomeSentences(attempt, delivery, (time) =>
    dayAndTime(Date.parse(time), now),
  );
  const { webhooks = [], mappings = [] } = timeline.destination ?? {};
  const place = webhooks.findIndex(({ id }) => id === webhookId);
  const mapping = mappings.find(({ id }) => id === webhookId);
  const inBatch = delivery.messages?.length ?? 0;
  const all = timeline.rounds.flatMap(({ attempts }) => attempts);
  const here = all.findIndex(({ id }) => id === attempt.id);
  return (
    <section className="section">
      <div className="attempt-outcome">
        <span className={`tone ${outcome}`}>
          <OutcomeGlyph outcome={outcome} big />
        </span>
        <h2 className={`tone ${outcome}`}>{outcome}</h2>
        <span className="muted clip">
          round {round},{" "}
          {mapping !== undefined
            ? `mapping ${mapping.name}`
            : place === -1
              ? "a removed webhook"
              : `webhook ${place + 1}`}{" "}
          of {timeline.name}
          {inBatch === 0 ? "" : `, a batch of ${some(inBatch, "message")}`}
        </span>
        <code className="quiet">
          {dayAndTime(at, now)}
          {milliseconds(at)}
        </code>
        <a
          className="btn small"
          href={whatIfHref(messageId, attempt.id)}
          aria-keyshortcuts="w"
          title="What if it had answered differently (w)"
        >
          What if …<Kbd>w</Kbd>
        </a>
        <IconButton
          small
          icon="back"
          label="Previous attempt"
          shortcut="["
          disabled={here <= 0}
          onClick={() => onStep(-1)}
        />
        <IconButton
          small
          icon="forward"
          label="Next attempt"
          shortcut="]"
          disabled={here === all.length - 1}
          onClick={() => onStep(1)}
        />
      </div>
      <p className="attempt-why">
        <span className="strong">
          <Sentence text={lead} />
        </span>{" "}
        <span className="muted">
          <Sentence text={rest.join(" ")} />
        </span>
      </p>
    </section>
  );
}
