/** One webhook of the retry timeline: its label, its track, its marks. */

import type { CSSProperties, FocusEvent, MouseEvent, PointerEvent } from "react";
import { memo } from "react";
import { outcomeShapes, type OutcomeName } from "../../kit/glyph.tsx";
import type { Mark } from "./course.ts";
import type { LaneLayout, MarkGroup } from "./layout.ts";
import { groupSentence } from "./mark-words.ts";

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
  /** The one mark of the timeline that the Tab key reaches, when it is in this lane. */
  tabStop: string | null;
  /** The attempt that is open elsewhere. */
  openAttempt: string | null;
  events: MarkEvents;
};

export const TimelineLane = memo(function TimelineLane({ layout, ceilingMs, tabStop, openAttempt, events }: Props) {
  const { lane, groups, until, hasBuffer, isLow, noteWidth } = layout;
  const { stop, summary } = lane;
  const reason = stop?.reason ?? null;
  const told = noteWidth === null && reason !== null ? reason : summary.last;
  return (
    <div role="group" aria-label={`Webhook ${lane.number}, ${shortOf(lane.url)}`}>
      <div className="tl-label">
        <span className="num">{lane.number}</span>
        <code className="tl-url" title={lane.url.slice(0, 500)}>
          {shortOf(lane.url)}
        </code>
        <span className="end clip">
          {summary.attempts}
          {told === "" ? null : (
            <span className={told === reason ? "tl-last is-reason" : "tl-last"} title={told}>
              {summary.attempts === "" ? "" : ", "}
              {told}
            </span>
          )}
        </span>
      </div>
      <div
        className={["tl-plot", isLow ? "stopped" : "", hasBuffer ? "tl-buffer" : "", stop?.tone ?? ""].filter(Boolean).join(" ")}
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
            isTabStop={group.key === tabStop}
            isOpen={openAttempt !== null && group.marks.some((mark) => mark.kind === "attempt" && mark.attempt.id === openAttempt)}
            events={events}
          />
        ))}
        {reason === null || noteWidth === null ? null : (
          <span className="tl-note clip" style={{ maxWidth: noteWidth }}>
            {reason}
          </span>
        )}
      </div>
    </div>
  );
});

function MarkButton({ group, isTabStop, isOpen, events }: { group: MarkGroup; isTabStop: boolean; isOpen: boolean; events: MarkEvents }) {
  const { key, lead, marks, x, height, numberAt } = group;
  const shape = shapeOf(lead);
  const isSimulated = lead.kind === "attempt" && lead.attempt.simulated;
  const names = ["att", shape, lead.kind === "coming" && lead.next ? "next" : "", isSimulated ? "simulated" : ""];
  return (
    <button
      type="button"
      className={names.filter(Boolean).join(" ")}
      style={{ "--x": `${x}px`, "--d": height } as CSSProperties}
      aria-label={groupSentence(group)}
      aria-current={isOpen ? "true" : undefined}
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
      {marks.length > 1 ? <b className={numberAt === "left" ? "many at-left" : "many"}>{marks.length}</b> : null}
    </button>
  );
}

export function shapeOf(mark: Mark): OutcomeName {
  return mark.kind === "attempt" ? mark.attempt.outcome : mark.kind;
}

/** Without its scheme, and never longer than a label can be: a URL may be of any length. */
function shortOf(url: string): string {
  return url.replace(/^https?:\/\//, "").slice(0, 200);
}
