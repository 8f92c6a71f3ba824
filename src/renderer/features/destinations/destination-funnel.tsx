/** What became of the messages of a period, with reasons, and the way to send them again. */

import { useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { SelectField, TextField } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, dayAndTime, some } from "../../kit/words.ts";
import { nowOf, useClock, useNow } from "../../stores/clock.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { type JobWords, RetryAll } from "../retries/retry-all.tsx";
import type { Destination } from "./destination-draft.ts";
import {
  isHalfTyped,
  isoOf,
  periodChoices,
  type PeriodChoice,
  periodOf,
  steadyTime,
} from "./funnel-period.ts";

type Funnel = AnswerOf<"destinations.funnel">;

export function DestinationFunnel({ destination }: { destination: Destination }) {
  const { id, enabled } = destination;
  const clock = useClock();
  const now = useNow();
  const [chosen, setChosen] = useState<PeriodChoice>({ choice: "all", from: "", to: "" });
  const choose = (changes: Partial<PeriodChoice>): void => setChosen({ ...chosen, ...changes });
  const isHalf = isHalfTyped(chosen);
  const period = periodOf(chosen, steadyTime(now ?? 0, clock?.speed ?? 1));
  const { answer: newest, error } = useLive("destinations.funnel", { id, ...period });
  // The last answer of this choice stays until the next minute's is there.
  const last = useRef<{ chosen: PeriodChoice; answer: Funnel }>(undefined);
  if (newest !== undefined) last.current = { chosen, answer: newest };
  const answer = newest ?? (last.current?.chosen === chosen ? last.current.answer : undefined);
  return (
    <div className="pane-body">
      <section className="section funnel-head" aria-label="Period">
        <SelectField
          aria-label="Messages that were received in"
          value={chosen.choice}
          options={periodChoices}
          onChange={(choice) => choose({ choice })}
        />
        <span className="grow" />
        <SendAgain id={id} enabled={enabled && !isHalf} chosen={chosen} />
        {chosen.choice === "own" ? (
          <div className="funnel-period">
            <Moment label="From" value={chosen.from} onChange={(from) => choose({ from })} />
            <Moment label="Until" value={chosen.to} onChange={(to) => choose({ to })} />
            <span className="quiet">of the clock</span>
            {isHalf ? (
              <span className="labelled-error" role="alert">
                A year has four digits. Until it does, this time is no limit.
              </span>
            ) : null}
          </div>
        ) : null}
      </section>
      <ProblemText error={error} />
      {answer === undefined ? null : answer.received === 0 ? (
        <p className="nothing-delivered muted">
          {destination.sourceIds.length === 0
            ? "The destination has no source."
            : "Its sources received no message in this period."}
        </p>
      ) : (
        <Stages funnel={answer} />
      )}
    </div>
  );
}

function Moment({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange: (value: string) => void;
}) {
  return (
    <label>
      <span className="muted">{label}</span>
      <TextField
        type="datetime-local"
        step={1}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    </label>
  );
}

const words: JobWords = {
  counting: "Counting messages",
  question: (n) => `Send ${some(n, "message")} again?`,
  start: (n) => `Send ${n === null ? "" : count(n)} again`,
  running: (done, total) => `${count(done)} of ${count(total)} sent again`,
  cancelled: (done, total) => `Cancelled after ${count(done)} of ${count(total)}`,
  done: (n) => `${some(n, "message")} done`,
  progress: "Messages sent again",
  result: (retried, others) =>
    `${count(retried)} queued${others > 0 ? `, ${count(others)} kept back by today’s configuration` : ""}`,
};

type SendAgainProps = { id: string; enabled: boolean; chosen: PeriodChoice };

function SendAgain({ id, enabled, chosen }: SendAgainProps) {
  const clock = useClock();
  /** What is counted is what is sent, whatever arrives meanwhile. */
  const counted = useRef({ since: isoOf(0), until: isoOf(0) });
  const request = (dryRun: boolean) => {
    const now = clock === undefined ? 0 : nowOf(clock);
    if (dryRun)
      counted.current = { since: isoOf(0), until: isoOf(now + 1000), ...periodOf(chosen, now) };
    return call("destinations.sendAgain", { id, ...counted.current, dryRun });
  };
  return (
    <RetryAll
      question={JSON.stringify([id, chosen])}
      request={request}
      label="Send again"
      look="outlined"
      small
      disabled={!enabled || clock === undefined}
      words={words}
    >
      Messages of this period, oldest first, to this destination alone, with their own{" "}
      <code>messageId</code>s. Each becomes a new delivery; today’s filters and integrations decide.
    </RetryAll>
  );
}

const stages = [
  ["filteredAtSource", "filtered at source", "rejected"],
  ["filteredAtDestination", "filtered at destination", "filtered"],
  ["underWay", "in progress", "sending"],
  ["retrying", "retrying", "waiting"],
  ["delivered", "delivered", "delivered"],
  ["failed", "failed", "failed"],
  ["expired", "expired", "expired"],
  ["discarded", "discarded", "cancelled"],
] as const;

function Stages({ funnel }: { funnel: Funnel }) {
  const { received, isWhole, oldestAt } = funnel;
  const clock = useClock();
  const now = clock === undefined ? 0 : nowOf(clock);
  return (
    <>
      <ol className="section funnel" aria-label="Stages">
        <li>
          <div className="funnel-stage">
            <span className="state received">
              <StateGlyph state="received" />
            </span>
            <span className="strong">received</span>
            <span />
            <span className="right strong">{count(received)}</span>
            <span className="right quiet" />
          </div>
        </li>
        {stages.map(([name, title, state]) => (
          <Stage key={name} title={title} state={state} stage={funnel[name]} of={received} />
        ))}
      </ol>
      {isWhole || oldestAt === null ? null : (
        <p className="section muted">
          The newest {count(received)} messages, back to {dayAndTime(Date.parse(oldestAt), now)}.
          Choose a shorter period for earlier ones.
        </p>
      )}
    </>
  );
}

type StageProps = {
  title: string;
  state: (typeof stages)[number][2];
  stage: Funnel["delivered"];
  of: number;
};

function Stage({ title, state, stage, of }: StageProps) {
  const share = (100 * stage.count) / of;
  return (
    <li className={stage.count === 0 ? "none" : ""}>
      <div className="funnel-stage">
        <span className={`state ${state}`}>
          <StateGlyph state={state} />
        </span>
        <span className="clip">{title}</span>
        <span className={`funnel-bar tone ${state}`} aria-hidden="true">
          <i style={{ "--p": `${share}%` } as React.CSSProperties} />
        </span>
        <span className="right">{count(stage.count)}</span>
        <span className="right quiet">{stage.count === 0 ? "" : percent(share)}</span>
      </div>
      {stage.reasons.length === 0 ? null : (
        <ul className="funnel-reasons" aria-label={`Reasons of ${title}`}>
          {stage.reasons.map(({ reason, count: number, samples }) => (
            <li key={reason}>
              <code className="clip">{reason}</code>
              <span className="funnel-samples">
                {samples.map((id, place) => (
                  <a
                    key={id}
                    className="link muted"
                    href={hrefTo("live", id)}
                    title={`Open ${id}`}
                    aria-label={`${place + 1}: ${reason}, ${id}`}
                  >
                    {place + 1}
                  </a>
                ))}
              </span>
              <span className="right muted">{count(number)}</span>
              <span />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

const percent = (share: number): string =>
  share > 0 && share < 0.1 ? "< 0.1 %" : `${share < 10 ? share.toFixed(1) : Math.round(share)} %`;
