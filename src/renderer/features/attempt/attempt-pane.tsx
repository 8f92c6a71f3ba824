/** The middle of the attempt view: the outcome in sentences, the phases, the request and the response. */

import type { ReactNode } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Sentence } from "../../kit/sentence.tsx";
import { clockTime, milliseconds } from "../../kit/words.ts";
import { outcomeSentences } from "./attempt-words.ts";
import { Phases } from "./phases.tsx";
import { RequestBytes, ResponseBytes } from "./recorded-bytes.tsx";
import type { Attempt, Delivery } from "./rounds.ts";
import type { DeliveryCourse } from "./use-course.ts";

type Props = { attempt: Attempt; delivery: Delivery; course: DeliveryCourse; onCopyCurl: () => void; onStep: (by: -1 | 1) => void };

export function AttemptPane({ attempt, delivery, course, onCopyCurl, onStep }: Props): ReactNode {
  return (
    <section className="pane attempt-centre" aria-label="Attempt">
      <div className="pane-body">
        <Outcome attempt={attempt} delivery={delivery} course={course} onStep={onStep} />
        <Phases attempt={attempt} deadlineMs={course.timeoutMs} />
        <RequestBytes attempt={attempt} onCopyCurl={onCopyCurl} />
        <ResponseBytes attempt={attempt} />
      </div>
    </section>
  );
}

function Outcome({ attempt, delivery, course, onStep }: Omit<Props, "onCopyCurl">) {
  const { outcome, round, webhookId, startedAt } = attempt;
  const at = Date.parse(startedAt);
  const { lead, rest } = outcomeSentences(attempt, delivery, (time) => clockTime(Date.parse(time)));
  const place = course.destination?.webhooks.findIndex(({ id }) => id === webhookId) ?? -1;
  const all = course.rounds.flatMap(({ attempts }) => attempts);
  const here = all.findIndex(({ id }) => id === attempt.id);
  return (
    <section className="section">
      <div className="attempt-outcome">
        <span className={`tone ${outcome}`}>
          <OutcomeGlyph outcome={outcome} big />
        </span>
        <h2 className={`tone ${outcome}`}>{outcome}</h2>
        <span className="muted clip">
          round {round}, {place === -1 ? "a webhook that was removed" : `webhook ${place + 1}`} of {course.name}
        </span>
        <span className="grow" />
        <code className="quiet">
          {clockTime(at)}
          {milliseconds(at)}
        </code>
        <IconButton small icon="back" label="Previous attempt" shortcut="[" disabled={here <= 0} onClick={() => onStep(-1)} />
        <IconButton small icon="forward" label="Next attempt" shortcut="]" disabled={here === all.length - 1} onClick={() => onStep(1)} />
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
