/** One row of the list of messages, drawn again only when what it shows has changed. */

import { memo } from "react";
import { OutcomeGlyph, State } from "../../kit/glyph.tsx";
import { calendarDate, clockTime, dayAndTime, milliseconds } from "../../kit/words.ts";
import { AttemptMarks } from "../timeline/attempt-marks.tsx";
import type { MessageRow } from "./cached-rows.ts";
import {
  lastFailure,
  rejectionWords,
  rowSentence,
  shortened,
  subjectOf,
  userOf,
  violationWords,
} from "./row-words.ts";

type MessageLineProps = {
  /** Undefined: it is being read. */
  row: MessageRow | undefined;
  position: number;
  isSelected: boolean;
  /** The keys stand on it. */
  isCurrent: boolean;
  source: string;
  day: string | null;
  until: string;
};

export const lineId = (id: string): string => `line-${id}`;

export const MessageLine = memo(function MessageLine({
  row,
  position,
  isSelected,
  isCurrent,
  source,
  day,
  until,
}: MessageLineProps) {
  if (row === undefined)
    return (
      <div
        className="row"
        role="row"
        aria-rowindex={position + 2}
        aria-busy="true"
        data-position={position}
      />
    );
  const at = Date.parse(row.receivedAt);
  return (
    <div
      className={isCurrent ? "row current" : "row"}
      role="row"
      id={lineId(row.id)}
      aria-rowindex={position + 2}
      aria-selected={isSelected}
      aria-label={rowSentence({ row, source, day, until })}
      data-position={position}
    >
      <span
        role="gridcell"
        className="mono"
        title={`${calendarDate(at)} ${clockTime(at)}${milliseconds(at)}`}
      >
        {day === null ? (
          <>
            {clockTime(at)}
            <span className="ms">{milliseconds(at)}</span>
          </>
        ) : (
          <>
            {day}
            <span className="ms"> {clockTime(at).slice(0, 5)}</span>
          </>
        )}
      </span>
      <span role="gridcell" className="type-cell">
        <span className="badge">{row.type ?? "?"}</span>
      </span>
      <What row={row} />
      <span role="gridcell" className="muted src">
        {source}
      </span>
      <StateCell row={row} />
      <span role="gridcell" className="att-cell">
        {row.state === "filtered" ? (
          <code className="quiet">{row.reason}</code>
        ) : row.state === "rejected" && subjectOf(row) !== null ? (
          <em className="tone rejected">{rejectionWords(row.reason)}</em>
        ) : (
          <AttemptMarks
            marks={row.marks}
            next={row.nextAttemptAt !== null}
            sending={row.state === "sending"}
          />
        )}
      </span>
      <span
        role="gridcell"
        className="right due next-cell"
        title={
          row.nextAttemptAt === null
            ? undefined
            : `next round at ${dayAndTime(Date.parse(row.nextAttemptAt), at)}`
        }
      >
        {until}
      </span>
    </div>
  );
});

function What({ row }: { row: MessageRow }) {
  const user = userOf(row);
  const subject = subjectOf(row);
  return (
    <span role="gridcell" className="what">
      {subject !== null ? (
        <bdi className="strong">{shortened(subject)}</bdi>
      ) : row.state === "rejected" ? (
        <em className="tone rejected">{rejectionWords(row.reason)}</em>
      ) : null}
      {user === null ? null : (
        <code>
          <bdi>{shortened(user)}</bdi>
        </code>
      )}
    </span>
  );
}

function StateCell({ row }: { row: MessageRow }) {
  const last = lastFailure(row);
  return (
    <span role="gridcell" className="state-cell">
      <State state={row.state} />
      {last === null ? null : (
        <span className={`last tone ${last.outcome}`} title={last.words}>
          {last.outcome === "http_error" ? (
            last.words
          ) : (
            <>
              <OutcomeGlyph outcome={last.outcome} />
              <span className="last-words">{last.words}</span>
            </>
          )}
        </span>
      )}
      {row.plan === "violations" ? (
        <span className="last tone waiting" title={violationWords(row.violations)}>
          plan
        </span>
      ) : null}
    </span>
  );
}
