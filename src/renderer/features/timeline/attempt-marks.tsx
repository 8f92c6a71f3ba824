/**
 * The attempts of a message in a row of a list: a column per round, a lane per webhook. A list
 * renders thousands of them a minute, so a whole one is an SVG of a path per kind of mark, and is
 * drawn again only when its marks have changed.
 */

import { memo } from "react";
import {
  laneSizes,
  markPaths,
  marksSentence,
  placeMarks,
  type Mark,
  type PlacedMark,
} from "./marks.ts";

type Props = {
  /** `marks` of a message in `messages.list`. */
  marks: readonly Mark[];
  /** Whether a next round has a time. */
  next: boolean;
  /** Whether a round is in progress. */
  sending: boolean;
};

/** Of a digit and its share of the space before it: a narrow cell must not cut the number. */
const digitWidth = 10;

export const AttemptMarks = memo(function AttemptMarks({ marks, next, sending }: Props) {
  if (marks.length === 0 && !next && !sending) return null;
  const { places, lanes, columns, dotsAt, others } = placeMarks({ marks, next, sending });
  const { size, column, lane } = laneSizes(lanes);
  const height = (lanes - 1) * lane + size;
  const more = others === 0 ? "" : `+${others}`;
  return (
    <svg
      className="spark"
      width={columns * column + more.length * digitWidth}
      height={height}
      role="img"
      aria-label={marksSentence({ marks, next, sending })}
    >
      <MarkPaths
        marks={places.map((each) => ({
          kind: each.kind,
          x: each.column * column,
          y: each.lane * lane,
        }))}
        size={size}
      />
      {dotsAt === null ? null : (
        <path
          className="quiet"
          d={`M${dotsAt * column + size / 2} ${size / 2}m-2.7 0h1m1.4 0h1m1.4 0h1`}
          stroke="currentColor"
          strokeWidth="1.3"
        />
      )}
      {more === "" ? null : (
        <text className="quiet" x={columns * column + 3} y={height / 2 + 4}>
          {more}
        </text>
      )}
    </svg>
  );
}, same);

type PathsProps = {
  marks: readonly PlacedMark[];
  size: number;
  /** What rounds that are to come are filled with. */
  hollow?: string;
};

/** A path for each kind. */
export function MarkPaths({ marks, size, hollow = "none" }: PathsProps) {
  return markPaths(marks, size).map(({ kind, d, lines }) => (
    <path
      key={kind}
      className={`${kind === "next" ? "coming next" : kind} tone`}
      d={d}
      fill={lines === 0 ? "currentColor" : kind === "next" || kind === "coming" ? hollow : "none"}
      stroke={lines > 0 ? "currentColor" : undefined}
      strokeWidth={lines > 0 ? lines : undefined}
    />
  ));
}

function same(before: Props, after: Props): boolean {
  if (
    before.next !== after.next ||
    before.sending !== after.sending ||
    before.marks.length !== after.marks.length
  )
    return false;
  return before.marks.every((mark, place) => {
    const other = after.marks[place];
    return (
      other !== undefined &&
      mark.lane === other.lane &&
      mark.round === other.round &&
      mark.outcome === other.outcome
    );
  });
}
