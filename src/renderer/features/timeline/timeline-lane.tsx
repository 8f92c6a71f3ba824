/** One webhook of the retry timeline: its label, its track, its marks. */

import {
  type CSSProperties,
  type FocusEvent,
  memo,
  type MouseEvent,
  type PointerEvent,
} from "react";
import { OutcomeGlyph, type OutcomeName, outcomeShapes } from "../../kit/glyph.tsx";
import { dayAndTime, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import {
  durationWords,
  groupSentence,
  outcomeWords,
  shortDuration,
  timeWords,
} from "./mark-words.ts";
import type { LaneLayout, MarkGroup } from "./timeline-layout.ts";
import type { Mark } from "./timeline-model.ts";

/** Answered by the plot for all its marks; each says its key. */
export type MarkEvents = {
  onClick(key: string, event: MouseEvent): void;
  onFocus(key: string, event: FocusEvent<HTMLElement>): void;
  onBlur(event: FocusEvent): void;
  onEnter(key: string, event: PointerEvent): void;
  onLeave(): void;
};

type Props = {
  layout: LaneLayout;
  ceilingMs: number;
  /** Of its timeline: times of another day carry it. */
  startsAt: number;
  /** The one mark of the timeline that the Tab key reaches, when it is in this lane. */
  tabStop: string | null;
  /** The round whose mark has a ring. */
  ringedRound: number | null;
  events: MarkEvents;
};

export const TimelineLane = memo(function TimelineLane({
  layout,
  ceilingMs,
  startsAt,
  tabStop,
  ringedRound,
  events,
}: Props) {
  const { lane, groups, until, hasBuffer, isLow, noteWidth } = layout;
  const { stop, summary } = lane;
  const reason = stop?.reason ?? null;
  const endText = noteWidth === null && reason !== null ? reason : summary.last;
  return (
    <div role="group" aria-label={`Webhook ${lane.number}, ${shortOf(lane.url)}`}>
      <div className="tl-label">
        <span className="num">{lane.number}</span>
        <code className="tl-url" title={lane.url.slice(0, 500)}>
          {shortOf(lane.url)}
        </code>
        <span className="end">
          {summary.attempts}
          {endText === "" ? null : (
            <span className={endText === reason ? "tl-last is-reason" : "tl-last"} title={endText}>
              {summary.attempts === "" ? "" : ", "}
              {endText}
            </span>
          )}
        </span>
      </div>
      <div
        className={[
          "tl-plot",
          isLow ? "stopped" : "",
          hasBuffer ? "tl-buffer" : "",
          stop?.tone ?? "",
        ]
          .filter(Boolean)
          .join(" ")}
        style={{ "--until": `${until}px` } as CSSProperties}
      >
        {isLow ? null : (
          <>
            <i className="limit" />
            <span className="limit-l">{ceilingMs / 1000} s</span>
          </>
        )}
        {groups.map((group) => (
          <MarkButton
            key={group.key}
            group={group}
            startsAt={startsAt}
            isTabStop={group.key === tabStop}
            isRinged={group.marks.some(({ round }) => round === ringedRound)}
            events={events}
          />
        ))}
        {reason === null || noteWidth === null ? null : (
          <span className="tl-note" style={{ maxWidth: noteWidth }}>
            {reason}
          </span>
        )}
      </div>
    </div>
  );
});

function MarkButton({
  group,
  startsAt,
  isTabStop,
  isRinged,
  events,
}: {
  group: MarkGroup;
  startsAt: number;
  isRinged: boolean;
  isTabStop: boolean;
  events: MarkEvents;
}) {
  const { key, lead, marks, x, height, numberAt } = group;
  const shape = shapeOf(lead);
  const isSimulated = lead.kind === "attempt" && lead.attempt.simulated;
  const names = [
    "att",
    shape,
    lead.kind === "coming" && lead.next ? "next" : "",
    lead.kind === "never" ? "never" : "",
    isSimulated ? "simulated" : "",
    isRinged ? "ringed" : "",
  ];
  return (
    <button
      type="button"
      className={names.filter(Boolean).join(" ")}
      style={{ "--x": `${x}px`, "--d": height } as CSSProperties}
      aria-label={groupSentence(group, startsAt)}
      aria-disabled={lead.kind === "attempt" ? undefined : true}
      data-mark={key}
      tabIndex={isTabStop ? 0 : -1}
      onClick={(event) => events.onClick(key, event)}
      onFocus={(event) => events.onFocus(key, event)}
      onBlur={events.onBlur}
      onPointerEnter={(event) => events.onEnter(key, event)}
      onPointerLeave={events.onLeave}
    >
      <svg className="glyph" viewBox="0 0 10 10" aria-hidden="true">
        {outcomeShapes[shape]}
      </svg>
      {marks.length > 1 ? (
        <b className={numberAt === "left" ? "many at-left" : "many"}>{marks.length}</b>
      ) : null}
    </button>
  );
}

function shapeOf(mark: Mark): OutcomeName {
  if (mark.kind === "attempt") return mark.attempt.outcome;
  return mark.kind === "never" ? "coming" : mark.kind;
}

/** Without its scheme, and never longer than a label can be: a URL may be of any length. */
function shortOf(url: string): string {
  return url.replace(/^https?:\/\//, "").slice(0, 200);
}

const widthPx = 264;

/** So many lines are read at once; the rest is in the Attempts tab. */
const maxLines = 12;

type FloatProps = {
  group: MarkGroup;
  startsAt: number;
  /** Which of several the keys are at. */
  active: number;
  /** Below the lane, in px from the top of the timeline. */
  top: number;
  /** Of the lanes, and of what is left of them. */
  width: number;
  gutter: number;
  /** Its lines can be clicked. */
  isHeld: boolean;
  onOpen: (mark: Mark) => void;
};

/**
 * What a mark says when the pointer or the focus is on it: one attempt, or the list of those that
 * lie too near.
 */
export function TimelineFloat({
  group,
  startsAt,
  active,
  top,
  width,
  gutter,
  isHeld,
  onOpen,
}: FloatProps) {
  const left = Math.max(0, Math.min(gutter + group.x - widthPx / 2, gutter + width - widthPx));
  const [only] = group.marks;
  // The lines around the active one.
  const from = Math.max(0, Math.min(active - maxLines / 2, group.marks.length - maxLines));
  return (
    <div
      className={isHeld ? "tl-float held" : "tl-float"}
      style={
        { "--left": `${left}px`, "--below": `${top}px`, "--w": `${widthPx}px` } as CSSProperties
      }
      aria-hidden="true"
    >
      {group.marks.length === 1 && only !== undefined ? (
        <One mark={only} startsAt={startsAt} />
      ) : (
        <>
          {group.marks.slice(from, from + maxLines).map((mark, place) => (
            <div
              key={mark.round}
              className={from + place === active && isHeld ? "tl-float-line here" : "tl-float-line"}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onOpen(mark)}
            >
              <span className="quiet">{mark.round}</span>
              <OutcomeGlyph outcome={shapeOf(mark)} />
              <span className="grow clip">{outcomeWords(mark)}</span>
              {mark.kind === "attempt" ? <span>{shortDuration(mark)}</span> : null}
              <code>{dayAndTime(mark.at, startsAt)}</code>
            </div>
          ))}
          {group.marks.length > maxLines ? (
            <p className="quiet">{group.marks.length - maxLines} more nearby</p>
          ) : null}
        </>
      )}
    </div>
  );
}

function One({ mark, startsAt }: { mark: Mark; startsAt: number }) {
  return (
    <>
      <div className="tl-float-head">
        <span
          className={`state ${shapeOf(mark)}${mark.kind === "coming" && mark.next ? " next" : ""}`}
        >
          <OutcomeGlyph outcome={shapeOf(mark)} />
          <b>{outcomeWords(mark)}</b>
        </span>
        <span className="quiet">round {mark.round}</span>
      </div>
      <div className="tl-float-facts">
        <code className={mark.kind === "coming" && mark.next ? "due" : undefined}>
          {timeWords(mark, startsAt)}
        </code>
        {mark.kind === "attempt" ? (
          <span>took {durationWords(mark)}</span>
        ) : (
          <Distance at={mark.at} />
        )}
      </div>
      {mark.kind === "attempt" && mark.attempt.error !== null ? (
        <p className="tl-float-error">{mark.attempt.error.message}</p>
      ) : null}
      {mark.kind === "coming" && !mark.next ? (
        <p className="quiet">If no webhook answers 2xx first.</p>
      ) : null}
    </>
  );
}

function Distance({ at }: { at: number }) {
  const now = useNow();
  if (now === null) return null;
  return <span>{at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`}</span>;
}
