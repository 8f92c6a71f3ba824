/** What became of the messages of a period, with reasons, and the way to send them again. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { SelectField, TextField } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count, dayAndTime, some } from "../../kit/words.ts";
import { nowOf, useClock } from "../../stores/clock.ts";
import { useLive } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { type JobWords, RetryAll } from "../retries/retry-all.tsx";
import type { Destination } from "./destination-draft.ts";

type Funnel = AnswerOf<"destinations.funnel">;

const hourMs = 3_600_000;
const choices = [
  { value: "all", label: "all messages" },
  { value: "hour", label: "the last hour" },
  { value: "day", label: "the last 24 hours" },
  { value: "own", label: "a period" },
] as const;
type Choice = (typeof choices)[number]["value"];
type Period = { since?: string; until?: string };

/** Of the clock. */
function periodOf(choice: Choice, from: string, to: string, now: number): Period {
  if (choice === "all") return {};
  if (choice !== "own") return { since: isoOf(now - (choice === "hour" ? hourMs : 24 * hourMs)) };
  return {
    ...(from === "" ? {} : { since: isoOf(Date.parse(from)) }),
    ...(to === "" ? {} : { until: isoOf(Date.parse(to)) }),
  };
}

const isoOf = (ms: number): string => new Date(ms).toISOString();

export function DestinationFunnel({ destination }: { destination: Destination }) {
  const { id, enabled } = destination;
  const clock = useClock();
  const [choice, setChoice] = useState<Choice>("all");
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  /** When the period was chosen: what is asked stays the same until another is. */
  const [chosenAt, setChosenAt] = useState(0);
  const period = periodOf(choice, from, to, chosenAt);
  const { answer, error } = useLive("destinations.funnel", { id, ...period });
  return (
    <div className="pane-body">
      <section className="section funnel-head" aria-label="Period">
        <SelectField
          aria-label="Messages that were received in"
          value={choice}
          options={choices}
          onChange={(next) => {
            setChosenAt(clock === undefined ? 0 : nowOf(clock));
            setChoice(next);
          }}
        />
        <span className="grow" />
        <SendAgain id={id} enabled={enabled} period={period} />
        {choice === "own" ? (
          <div className="funnel-period">
            <Moment label="From" value={from} onChange={setFrom} />
            <Moment label="Until" value={to} onChange={setTo} />
            <span className="quiet">of the clock</span>
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

function SendAgain({ id, enabled, period }: { id: string; enabled: boolean; period: Period }) {
  const clock = useClock();
  const { since = isoOf(0), until } = period;
  /** What is counted is what is sent, whatever arrives meanwhile. */
  const [end, setEnd] = useState<string | null>(null);
  const request = (dryRun: boolean) => {
    const now = clock === undefined ? 0 : nowOf(clock) + 1000;
    const last = until ?? (dryRun || end === null ? isoOf(now) : end);
    if (dryRun) setEnd(last);
    return call("destinations.sendAgain", { id, since, until: last, dryRun });
  };
  return (
    <RetryAll
      question={JSON.stringify([id, since, until])}
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
                    aria-label={`${reason}, message ${id}`}
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
