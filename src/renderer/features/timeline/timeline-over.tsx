/** What lies over all lanes of the retry timeline: the lines of the rounds, now, the hatch of what is to come, the window's end. */

import { memo, useMemo, type CSSProperties } from "react";
import { span } from "../../kit/words.ts";
import type { Course } from "./course.ts";
import { dayAndTime, topOf, type RoundLabel } from "./layout.ts";
import { ticksBetween, type ScaleName } from "./scale.ts";

type Props = { course: Course; scale: ScaleName; width: number; now: number | null; roundLines: readonly number[] };

export function TimelineOver({ course, scale, width, now, roundLines }: Props) {
  const { now: cursor, end } = topOf({ course, scale, width, now });
  return (
    <div className="tl-over" aria-hidden="true" style={{ "--now": `${cursor?.x ?? width}px` } as CSSProperties}>
      {course.isOver ? null : <div className="tl-future" />}
      <RoundLines lines={roundLines} />
      <div className="tl-end">{end === null ? null : <b>{end}</b>}</div>
      {cursor === null ? null : (
        <div className="tl-now">
          <b className={cursor.side === "right" ? "at-right" : undefined}>{cursor.text}</b>
        </div>
      )}
    </div>
  );
}

const RoundLines = memo(function RoundLines({ lines }: { lines: readonly number[] }) {
  return lines.map((x) => <i key={x} className="tl-round" style={{ "--x": `${x}px` } as CSSProperties} />);
});

export const TimelineRounds = memo(function TimelineRounds({ rounds }: { rounds: readonly RoundLabel[] }) {
  return (
    <div className="tl-rounds" aria-hidden="true">
      <span className="title">round</span>
      {rounds.map(({ round, x, isNext }) => (
        <span key={round} className={isNext ? "next" : undefined} style={{ "--x": `${x}px` } as CSSProperties}>
          {round}
        </span>
      ))}
    </div>
  );
});

export function TimelineAxis({ course, scale, width, now }: Omit<Props, "roundLines">) {
  const { startsAt, windowMs } = course;
  const endsAt = startsAt + windowMs;
  const start = dayAndTime(startsAt, now ?? startsAt);
  const end = topOf({ course, scale, width, now }).end === null ? dayAndTime(endsAt, startsAt) : span(windowMs);
  const ticks = useMemo(() => ticksBetween(scale, windowMs, width, start, end), [scale, windowMs, width, start, end]);
  return (
    <div className="tl-axis" aria-hidden="true">
      <span style={{ "--x": "0px" } as CSSProperties}>{start}</span>
      {ticks.map(({ x, text }) => (
        <span key={text} style={{ "--x": `${x}px` } as CSSProperties}>
          {text}
        </span>
      ))}
      <span style={{ "--x": `${width}px` } as CSSProperties}>{end}</span>
    </div>
  );
}
