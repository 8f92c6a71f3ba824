/**
 * What a delivery would have become if this attempt had been answered differently: both timelines
 * over each other, what differs in words, and the scenario that was run for it. Its place is
 * `#/live/<message>/attempts/<attempt>/what-if`.
 */

import { type CSSProperties, useEffect, useMemo, useRef, useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { Button, IconButton, SelectField } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { errorOf } from "../../kit/use-action.ts";
import { some, span } from "../../kit/words.ts";
import { YamlCode } from "../../kit/yaml-code.tsx";
import { useKeys } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { MessageTitle } from "../details/message-head.tsx";
import { attemptHref, goTo, whatIfHref } from "../details/places.ts";
import { useOwnScenarios } from "../scenarios/own-scenarios.ts";
import { ScaleChoice, timelineScales, useScale } from "../timeline/scale-choice.tsx";
import { type Axis, type Range, roundTimeAfter, textPx } from "../timeline/timeline-axis.ts";
import type { TimelinePart } from "../timeline/timeline-layout.ts";
import type { Attempt, Delivery, Message, Timeline } from "../timeline/timeline-model.ts";
import { TimelinePlot } from "../timeline/timeline-plot.tsx";
import { useTimelineParts } from "../timeline/use-timeline.ts";
import { attemptWord, hostOf } from "./attempt-words.ts";
import "./what-if.css";

type WhatIf = AnswerOf<"scenarios.whatIf">;

/** By their names in the address. */
const answers: readonly { value: string; label: string }[] = [
  ...[
    "200 OK",
    "400 Bad Request",
    "401 Unauthorized",
    "404 Not Found",
    "410 Gone",
    "429 Too Many Requests",
    "500 Internal Server Error",
    "502 Bad Gateway",
    "503 Service Unavailable",
    "504 Gateway Timeout",
  ].map((label) => ({ value: label.slice(0, 3), label })),
  { value: "hang", label: "nothing in time" },
  { value: "reset", label: "a reset connection" },
];

/** Without a choice: a failure would have been a success, and a success a failure. */
function answerOf(attempt: Attempt, chosen: string | undefined): string {
  const known = answers.find(({ value }) => value === chosen);
  return known?.value ?? (attempt.outcome === "success" ? "503" : "200");
}

const inputOf = (answer: string): InputOf<"scenarios.whatIf">["answer"] =>
  answer === "hang" || answer === "reset" ? { do: answer } : { status: Number(answer) };

export function WhatIfView({ messageId, attemptId }: { messageId: string; attemptId: string }) {
  const { answer: message, error } = useLive("messages.get", { id: messageId });
  const delivery = message?.deliveries.find(({ attempts }) =>
    attempts.some(({ id }) => id === attemptId),
  );
  const attempt = delivery?.attempts.find(({ id }) => id === attemptId);
  useKeys({ Escape: () => goTo(attemptHref(messageId, attemptId)) });
  if (message === undefined || delivery === undefined || attempt === undefined)
    return message === undefined && error === null ? null : (
      <section className="empty">
        <h1>Attempt not found</h1>
        <ProblemText error={error} />
        <a className="link" href="#/live">
          Back to Live
        </a>
      </section>
    );
  return <Compared message={message} delivery={delivery} attempt={attempt} />;
}

type Result = { whatIf: WhatIf | null; error: Error | null; tookMs: number };

/** Asked again when the question changes, and by `again`. */
function useWhatIf(messageId: string, attemptId: string, answer: string) {
  const [runs, setRuns] = useState(0);
  const key = `${messageId} ${attemptId} ${answer} ${runs}`;
  const [result, setResult] = useState<(Result & { key: string }) | null>(null);
  useEffect(() => {
    let isWanted = true;
    const startedAt = window.performance.now();
    const keep = (given: Pick<Result, "whatIf" | "error">): void => {
      if (isWanted) setResult({ ...given, tookMs: window.performance.now() - startedAt, key });
    };
    call("scenarios.whatIf", { messageId, attemptId, answer: inputOf(answer) }).then(
      (whatIf) => keep({ whatIf, error: null }),
      (error: unknown) => keep({ whatIf: null, error: errorOf(error) }),
    );
    return () => {
      isWanted = false;
    };
  }, [key, messageId, attemptId, answer]);
  return {
    /** The last one stays until the next is there. */
    result,
    isRunning: result?.key !== key,
    again: () => setRuns((before) => before + 1),
  };
}

type ComparedProps = { message: Message; delivery: Delivery; attempt: Attempt };

function Compared({ message, delivery, attempt }: ComparedProps) {
  const chosen = usePlace((place) => place.query["answer"]);
  const answer = answerOf(attempt, chosen);
  const { result, isRunning, again } = useWhatIf(message.id, attempt.id, answer);
  const whatIf = result?.whatIf ?? null;
  const keep = (): void => {
    if (whatIf === null) return;
    const id = useOwnScenarios.getState().add(whatIf.text, whatIf.notes);
    usePlace.getState().go({ view: "scenarios", path: ["own", id] });
  };
  useKeys({ r: again, s: keep });
  const pane = useRef<HTMLElement>(null);
  useEffect(() => pane.current?.focus({ preventScroll: true }), []);
  return (
    <>
      <header className="attempt-crumb">
        <a
          className="btn quiet small"
          href={attemptHref(message.id, attempt.id)}
          title="Back to the attempt (Esc)"
          aria-keyshortcuts="Escape"
        >
          <Icon name="back" />
          Attempt
        </a>
        <MessageTitle message={message} level="h1" />
        <span className="grow" />
        <Button small shortcut="s" onClick={keep}>
          Keep as a scenario
        </Button>
        <Button small look="primary" shortcut="r" isBusy={isRunning} onClick={again}>
          Run again
        </Button>
      </header>
      <SplitPane
        name="what-if"
        label="Width of the scenario"
        initial="320px"
        min={240}
        max={640}
        first={
          <section className="pane what-if" aria-label="Both timelines" ref={pane} tabIndex={-1}>
            <Question message={message} delivery={delivery} attempt={attempt} answer={answer} />
            <div className="pane-body">
              <p className="sr" role="status">
                {isRunning ? "Running" : (whatIf?.differences[0]?.difference ?? "")}
              </p>
              <ProblemText error={result?.error ?? null} />
              {whatIf === null ? null : (
                <Comparison message={message} attempt={attempt} whatIf={whatIf} />
              )}
            </div>
          </section>
        }
        second={<ScenarioOf attempt={attempt} result={result} />}
      />
    </>
  );
}

function Question({ message, delivery, attempt, answer }: ComparedProps & { answer: string }) {
  const rounds = [...new Set(delivery.attempts.map(({ round }) => round))].toSorted(
    (a, b) => a - b,
  );
  const ofRound = delivery.attempts.filter(({ round }) => round === attempt.round);
  const go = (next: Attempt | undefined, with_ = answer): void =>
    goTo(whatIfHref(message.id, next?.id ?? attempt.id, with_));
  const inRound = (round: number): Attempt | undefined => {
    const own = delivery.attempts.filter((each) => each.round === round);
    return own.find(({ webhookId }) => webhookId === attempt.webhookId) ?? own[0];
  };
  return (
    <div className="what-if-question" role="group" aria-label="What if">
      <b className="strong">What if</b>
      <SelectField
        aria-label="Round"
        value={String(attempt.round)}
        options={rounds.map((round) => ({ value: String(round), label: `round ${round}` }))}
        onChange={(round) => go(inRound(Number(round)))}
      />
      <span className="muted">of</span>
      <SelectField
        aria-label="Webhook"
        value={attempt.id}
        options={ofRound.map(({ id, webhookUrl }) => ({
          value: id,
          label: `${hostOf(webhookUrl).name}${hostOf(webhookUrl).rest}`,
        }))}
        onChange={(id) => go(ofRound.find((each) => each.id === id))}
      />
      <span className="muted">had answered</span>
      <SelectField
        aria-label="Answer"
        value={answer}
        options={answers}
        onChange={(next) => go(attempt, next)}
      />
      <span className="muted">in place of</span>
      <span className={`state ${attempt.outcome}`}>
        <OutcomeGlyph outcome={attempt.outcome} />
        {attemptWord(attempt)}
      </span>
      <span className="grow" />
      <ScaleChoice small offered={timelineScales} />
    </div>
  );
}

/** All rounds of a delivery, whatever windows they were in. */
const allRounds = { firstRound: 1, lastRound: null, end: null };

function Comparison({
  message,
  attempt,
  whatIf,
}: {
  message: Message;
  attempt: Attempt;
  whatIf: WhatIf;
}) {
  const scale = useScale(timelineScales);
  const [zoom, setZoom] = useState<{ of: WhatIf; range: Range } | null>(null);
  const deliveries = useMemo(() => [whatIf.asItWas, whatIf.whatIf], [whatIf]);
  const timelines = useTimelineParts(deliveries, allRounds);
  const parts = useMemo(
    () => (timelines === null ? null : partsOf(timelines, whatIf, attempt)),
    [timelines, whatIf, attempt],
  );
  const { differences, notes } = whatIf;
  const whole = useMemo(() => (parts === null ? null : endOfBoth(parts)), [parts]);
  const at = Date.parse(attempt.startedAt);
  return (
    <>
      <section className="section what-if-plot">
        {parts === null ? null : (
          <TimelinePlot
            parts={parts}
            scale={scale}
            range={zoom?.of === whatIf ? zoom.range : whole}
            onRange={(range) => setZoom(range === null ? null : { of: whatIf, range })}
            label="As it was, and what if. Use the arrow keys to move by round and by webhook, and plus, minus and 0 to zoom."
            ringed={{ webhookId: attempt.webhookId, round: attempt.round }}
            onOpenAttempt={(id, { key }) => {
              if (key === "as it was") goTo(attemptHref(message.id, id));
            }}
            over={(axis) => <Divergence axis={axis} at={at} />}
            under={(axis) => <Between axis={axis} parts={parts} whatIf={whatIf} />}
          />
        )}
      </section>
      <table className="what-if-table" aria-label="What differs">
        <thead>
          <tr>
            <th scope="col">what</th>
            <th scope="col">as it was</th>
            <th scope="col">what if</th>
            <th scope="col">difference</th>
          </tr>
        </thead>
        <tbody>
          {differences.map(({ what, asItWas, whatIf: changed, difference, isLoss }) => (
            <tr key={what} className={isLoss ? "loss" : undefined}>
              <th scope="row">{what}</th>
              <td>{asItWas}</td>
              <td>{changed}</td>
              <td className={isLoss ? "strong" : "muted"}>{difference}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {notes.length === 0 ? null : (
        <ul className="what-if-notes" aria-label="Notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </>
  );
}

function Divergence({ axis, at }: { axis: Axis; at: number }) {
  if (!axis.isWithin(at)) return null;
  const x = axis.xOf(at);
  return (
    <div
      className={x > axis.width / 2 ? "tl-diverge at-left" : "tl-diverge"}
      style={{ "--x": `${x}px` } as CSSProperties}
      aria-hidden="true"
    >
      <b>differs from here on</b>
    </div>
  );
}

/** Beside the length of a bracket: its ends, and room around its words. */
const bracketPx = 24;

/** From the earlier end to the later one, with what lies between them. */
function Between({
  axis,
  parts,
  whatIf,
}: {
  axis: Axis;
  parts: readonly TimelinePart[];
  whatIf: WhatIf;
}) {
  const [was = null, changed = null] = parts.map(endOf);
  if (was === null || changed === null || Math.abs(changed - was) < 1000) return null;
  const fewer = whatIf.asItWas.attempts.length - whatIf.whatIf.attempts.length;
  const attempts =
    fewer === 0 ? "" : `, ${some(Math.abs(fewer), "attempt")} ${fewer > 0 ? "fewer" : "more"}`;
  const words = `${span(changed - was)} ${changed < was ? "earlier" : "later"}${attempts}`;
  const [from, to] = [axis.xOf(Math.min(was, changed)), axis.xOf(Math.max(was, changed))];
  const isInside = textPx(words) * 1.1 + bracketPx <= to - from;
  const side = isInside ? "inside" : to > axis.width / 2 ? "at-left" : "at-right";
  return (
    <div
      className={`tl-bracket ${side}`}
      style={{ "--x": `${from}px`, "--w": `${to - from}px` } as CSSProperties}
    >
      <b>{words}</b>
    </div>
  );
}

/** When it was over; null while it goes on. */
function endOf({ timeline: { lanes, isOver } }: TimelinePart): number | null {
  const ends = lanes.flatMap(({ endsAt }) => (endsAt === null ? [] : [endsAt]));
  return isOver && ends.length > 0 ? Math.max(...ends) : null;
}

function partsOf(
  [was, changed]: readonly TimelinePart[],
  { differences, name }: WhatIf,
  attempt: Attempt,
): TimelinePart[] {
  if (was === undefined || changed === undefined) return [];
  const [outcome] = differences;
  return [
    {
      key: "as it was",
      name: "As it was",
      note: outcome?.asItWas ?? "",
      timeline: withGhosts(was.timeline, changed.timeline, attempt.round),
    },
    {
      key: "what if",
      name: name.replace(/^What if/, "If"),
      note: outcome?.whatIf ?? "",
      timeline: withGhosts(changed.timeline, was.timeline, attempt.round),
    },
  ];
}

/** With a ghost where the other timeline has an attempt and this one has nothing. */
function withGhosts(own: Timeline, other: Timeline, after: number): Timeline {
  return {
    ...own,
    lanes: own.lanes.map((lane) => {
      const marks = other.lanes.find(({ webhookId }) => webhookId === lane.webhookId)?.marks ?? [];
      const ghosts = marks.flatMap(({ kind, round, at }) =>
        kind === "attempt" &&
        round >= after &&
        !lane.marks.some((each) => each.round === round && each.kind !== "coming")
          ? [{ kind: "never" as const, round, at }]
          : [],
      );
      return ghosts.length === 0
        ? lane
        : {
            ...lane,
            marks: [...lane.marks.filter(({ kind }) => kind !== "coming"), ...ghosts],
          };
    }),
  };
}

/** From the first attempt to the next round time after the later end. */
function endOfBoth(parts: readonly TimelinePart[]): Range {
  const from = Math.min(...parts.map(({ timeline }) => timeline.startsAt));
  const ends = parts.flatMap(({ timeline: { lanes } }) =>
    lanes.flatMap(({ marks, endsAt }) => [
      ...(endsAt === null ? [] : [endsAt]),
      ...marks.flatMap((mark) => (mark.kind === "coming" && !mark.next ? [] : [mark.at])),
    ]),
  );
  const windowMs = Math.max(...parts.map(({ timeline }) => timeline.windowMs));
  const length = Math.max(...ends, from + 1000) - from;
  return { from, to: from + Math.max(length, roundTimeAfter(length, windowMs)) };
}

function ScenarioOf({ attempt, result }: { attempt: Attempt; result: Result | null }) {
  const whatIf = result?.whatIf ?? null;
  const line = whatIf?.changedLine ?? null;
  return (
    <section className="pane what-if-file" aria-label="Scenario">
      <header className="pane-title">
        <h2>Scenario</h2>
        <span className="muted clip">
          {line === null ? "nothing changed" : "one answer changed"}
        </span>
        <span className="grow" />
        <IconButton
          icon="copy"
          small
          label="Copy the scenario"
          onClick={() => void copyText(whatIf?.text ?? "", "the scenario")}
        />
      </header>
      <YamlCode
        label="The scenario"
        text={whatIf?.text ?? ""}
        changed={line === null ? null : { line, note: `was ${attemptWord(attempt)}` }}
        onChange={null}
      />
      <footer className="what-if-foot">
        <p>
          Recorded from what led to this attempt. It ran in memory on its own clock: nothing was
          sent to your webhooks, and this workspace is unchanged.
        </p>
        <p className="quiet">
          {result === null ? "" : `${(result.tookMs / 1000).toFixed(2)} s of real time`}
        </p>
      </footer>
    </section>
  );
}
