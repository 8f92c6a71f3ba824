/** One delivery: when it is due, what it is, its lane around now. */

import { memo, useMemo } from "react";
import type { RetryProfile } from "../../../domain/configuration.ts";
import { StateGlyph } from "../../kit/glyph.tsx";
import { clockTime, dayAndTime, span } from "../../kit/words.ts";
import { MarkPaths } from "../timeline/attempt-marks.tsx";
import { comingOf, type RoundMark } from "../timeline/timeline-model.ts";
import type { DeliveryRow } from "./delivery-rows.ts";
import { drawLane, markPx, type NowAxis } from "./now-axis.ts";

/** What every row needs to know beside its delivery. */
type RowSurroundings = { axis: NowAxis; now: number; seed: number; jitter: boolean };

type Props = RowSurroundings & {
  id: string;
  place: number;
  row: DeliveryRow;
  destination: string;
  profile: RetryProfile;
  isActive: boolean;
  onOpen: (row: DeliveryRow) => void;
};

export const RetryRow = memo(function RetryRow({
  id,
  place,
  row,
  destination,
  profile,
  isActive,
  onOpen,
  axis,
  now,
  seed,
  jitter,
}: Props) {
  const marks = useMemo(
    () =>
      row.marks.map(({ round, startedAt, outcome }): RoundMark => ({
        round,
        at: Date.parse(startedAt),
        outcome,
      })),
    [row],
  );
  const coming = useMemo(
    () => comingOf({ delivery: row, marks, profile, seed, jitter }),
    [row, marks, profile, seed, jitter],
  );
  const endsAt = row.state === "waiting" ? parsed(row.windowEndsAt) : null;
  const drawing = drawLane({
    axis,
    now,
    marks,
    coming,
    startsAt: marks[0]?.at ?? parsed(row.firstAttemptAt),
    endsAt,
  });
  const due = parsed(row.nextAttemptAt);
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={place + 2}
      aria-selected={isActive}
      className="retries-row"
      onClick={() => onOpen(row)}
    >
      <span role="gridcell" className={`state ${row.state}`}>
        <StateGlyph state={row.state} />
        {due === null ? (
          <code className="quiet clip">{row.reason ?? row.state}</code>
        ) : (
          <>
            <span className="due">{dueWords(due, now)}</span>
            <span className="quiet">{due >= now ? `in ${span(due - now)}` : "due"}</span>
          </>
        )}
      </span>
      <span role="gridcell" className="retries-what">
        <span className="clip">{(row.event ?? row.type ?? "no type").slice(0, 200)}</span>
        <code className="clip">{(row.userId ?? row.anonymousId ?? "").slice(0, 200)}</code>
      </span>
      <span role="gridcell" className="clip muted retries-where">
        {destination.slice(0, 100)}
      </span>
      <span role="gridcell" className="retries-lane">
        <svg width={axis.width} height="20" role="img" aria-label={laneSentence(row, now)}>
          <path d={drawing.track} stroke="var(--line-strong)" strokeWidth="1" />
          {drawing.end === "" ? null : (
            <path d={drawing.end} stroke="var(--text-2)" strokeWidth="1.5" />
          )}
          <MarkPaths marks={drawing.marks} size={markPx} hollow="var(--bg)" />
        </svg>
      </span>
      <span role="gridcell" className="right muted">
        {row.rounds}
      </span>
    </div>
  );
});

/** The day of another day takes the room of the seconds. */
function dueWords(due: number, now: number): string {
  const time = dayAndTime(due, now);
  return time === clockTime(due) ? time : time.slice(0, -3);
}

const parsed = (time: string | null): number | null => (time === null ? null : Date.parse(time));

function laneSentence(row: DeliveryRow, now: number): string {
  const rounds = row.rounds === 1 ? "1 round" : `${row.rounds} rounds`;
  const last = row.marks.at(-1);
  return `${rounds}${last === undefined ? "" : `, the last ${last.outcome} at ${dayAndTime(Date.parse(last.startedAt), now)}`}`;
}
