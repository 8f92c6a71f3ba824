/** What a mark says when the pointer or the focus is on it: one attempt, or the list of those that lie too near. */

import type { CSSProperties } from "react";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { clockTime, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import type { Mark } from "./course.ts";
import type { MarkGroup } from "./layout.ts";
import { durationWords, outcomeWords, shortDuration, timeWords } from "./mark-words.ts";
import { shapeOf } from "./timeline-lane.tsx";

const widthPx = 264;

/** So many lines are read at once; the rest is in the Attempts tab. */
const mostLines = 12;

type Props = {
  group: MarkGroup;
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

export function TimelineFloat({ group, active, top, width, gutter, isHeld, onOpen }: Props) {
  const left = Math.max(0, Math.min(gutter + group.x - widthPx / 2, gutter + width - widthPx));
  const [only] = group.marks;
  // The lines around the active one.
  const from = Math.max(0, Math.min(active - mostLines / 2, group.marks.length - mostLines));
  return (
    <div
      className={isHeld ? "tl-float held" : "tl-float"}
      style={{ "--left": `${left}px`, "--below": `${top}px`, "--w": `${widthPx}px` } as CSSProperties}
      aria-hidden="true"
    >
      {group.marks.length === 1 && only !== undefined ? (
        <One mark={only} />
      ) : (
        <>
          {group.marks.slice(from, from + mostLines).map((mark, place) => (
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
              <code>{clockTime(mark.at)}</code>
            </div>
          ))}
          {group.marks.length > mostLines ? <p className="quiet">{group.marks.length - mostLines} more are too near</p> : null}
        </>
      )}
    </div>
  );
}

function One({ mark }: { mark: Mark }) {
  return (
    <>
      <div className="tl-float-head">
        <span className={`state ${shapeOf(mark)}${mark.kind === "coming" && mark.next ? " next" : ""}`}>
          <OutcomeGlyph outcome={shapeOf(mark)} />
          <b>{outcomeWords(mark)}</b>
        </span>
        <span className="quiet">round {mark.round}</span>
      </div>
      <div className="tl-float-facts">
        <code className={mark.kind === "coming" && mark.next ? "due" : undefined}>{timeWords(mark)}</code>
        {mark.kind === "attempt" ? <span>took {durationWords(mark)}</span> : <Distance at={mark.at} />}
      </div>
      {mark.kind === "attempt" && mark.attempt.error !== null ? <p className="tl-float-error">{mark.attempt.error.message}</p> : null}
      {mark.kind === "coming" && !mark.next ? <p className="quiet">If no webhook answers 2xx before.</p> : null}
    </>
  );
}

function Distance({ at }: { at: number }) {
  const now = useNow();
  if (now === null) return null;
  return <span>{at >= now ? `in ${span(at - now)}` : `${span(now - at)} ago`}</span>;
}
