/**
 * The drawn part of the retry timeline: lanes under what lies over them, as wide as there is room,
 * walked with the arrows.
 */

import {
  type CSSProperties,
  Fragment,
  type KeyboardEvent,
  memo,
  type ReactNode,
  useCallback,
  useMemo,
  useRef,
  useState,
} from "react";
import { useWidth } from "../../kit/use-width.ts";
import { dayAndTime, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import { markSentence } from "./mark-words.ts";
import { type Axis, type Range, type ScaleName, ticksBetween } from "./timeline-axis.ts";
import {
  firstPosition,
  groupAt,
  markAt,
  type MarkPosition,
  positionOf,
  walk,
} from "./timeline-keys.ts";
import { type MarkEvents, TimelineFloat, TimelineLane } from "./timeline-lane.tsx";
import {
  layoutOf,
  type RoundLabel,
  type TimelineLayout,
  type TimelinePart,
  topOf,
  wholeRange,
} from "./timeline-layout.ts";
import type { Mark } from "./timeline-model.ts";
import { useBrush, type ZoomKey, zoomed } from "./timeline-zoom.ts";

/**
 * Of the lanes, at the left for their numbers and at the right for the window's end: `--gut` and
 * `--tail` of the kit.
 */
const [gutterPx, tailPx] = [40, 2];

type Props = {
  /** Over one axis, the one above the other; several have their names. */
  parts: readonly TimelinePart[];
  scale: ScaleName;
  label: string;
  /** The part of the time that is shown; null for all of it. */
  range: Range | null;
  onRange: (range: Range | null) => void;
  onOpenAttempt: (attemptId: string, part: TimelinePart) => void;
  /** Drawn over all lanes, where the caller knows more of them. */
  over?: (axis: Axis) => ReactNode;
  /** Between the lanes and the times. */
  under?: (axis: Axis) => ReactNode;
  /** The mark that has a ring, in each part. */
  ringed?: { webhookId: string; round: number };
};

export function TimelinePlot({
  parts,
  scale,
  label,
  range,
  onRange,
  onOpenAttempt,
  over,
  under,
  ringed,
}: Props) {
  const now = useNow();
  const root = useRef<HTMLDivElement>(null);
  const width = useWidth(root) - gutterPx - tailPx;
  const layout = useMemo(
    () => layoutOf({ parts, scale, width, range }),
    [parts, scale, width, range],
  );
  const { axis } = layout;
  const whole = useMemo(() => wholeRange(parts), [parts]);
  const brush = useBrush({ root, gutterPx, axis, whole, onRange });
  const marks = useMarks(layout, root, onOpenAttempt);
  const { shown, position, tabStop } = marks;
  const active = position === null ? null : markAt(layout.lanes, position);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (!zoomByKey(event)) return marks.onKeyDown(event);
    event.preventDefault();
    event.stopPropagation();
  };
  const zoomByKey = (event: ZoomKey): boolean => {
    const next = zoomed(event, { whole, range, around: active?.at ?? null });
    if (next !== undefined) onRange(next);
    return next !== undefined;
  };
  // After a drag, the focus is elsewhere.
  useKeys({ "+": zoomByKey, "=": zoomByKey, "-": zoomByKey, "0": zoomByKey });

  return (
    <div
      ref={root}
      className="timeline"
      role="group"
      aria-label={label}
      data-scale={scale}
      onKeyDown={onKeyDown}
      onPointerDown={brush.onPointerDown}
    >
      {width > 0 ? (
        <>
          <TimelineOver parts={parts} axis={axis} now={now} roundLines={layout.roundLines} />
          {over?.(axis)}
          <div className="tl-top" />
          {layout.parts.map(({ part, rounds, lanes }) => (
            <Fragment key={part.key}>
              {parts.length === 1 ? null : (
                <h4 className="tl-part">
                  {part.name}
                  {part.note === undefined ? null : <span> {part.note}</span>}
                </h4>
              )}
              <TimelineRounds rounds={rounds} strong={ringed?.round ?? null} />
              {lanes.map((lane) => (
                <TimelineLane
                  key={lane.lane.webhookId}
                  layout={lane}
                  ceilingMs={part.timeline.ceilingMs}
                  startsAt={part.timeline.startsAt}
                  tabStop={
                    tabStop !== null && layout.lanes[tabStop.lane] === lane ? tabStop.key : null
                  }
                  ringedRound={ringed?.webhookId === lane.lane.webhookId ? ringed.round : null}
                  events={marks.events}
                />
              ))}
            </Fragment>
          ))}
          {under?.(axis)}
          {scale === "compact" ? <TimelineGaps axis={axis} /> : null}
          <TimelineAxis parts={parts} axis={axis} now={now} />
          {brush.band === null ? null : (
            <div
              className="tl-band"
              style={
                {
                  "--left": `${gutterPx + brush.band.left}px`,
                  "--w": `${brush.band.width}px`,
                } as CSSProperties
              }
            />
          )}
          {shown === null ? null : (
            <TimelineFloat
              group={shown.group}
              startsAt={whole.from}
              active={
                shown.isHeld
                  ? shown.group.marks.findIndex(({ round }) => round === position?.round)
                  : -1
              }
              top={shown.top}
              width={width}
              gutter={gutterPx}
              isHeld={shown.isHeld}
              onOpen={marks.open}
            />
          )}
        </>
      ) : null}
      <p className="sr" aria-live="polite">
        {shown?.isHeld === true && active !== null ? markSentence(active, whole.from) : ""}
      </p>
    </div>
  );
}

type Attention = { position: MarkPosition; by: "pointer" | "keys" };

/** Which mark the pointer or the keys are at, what is shown of it, and what opens it. */
function useMarks(
  layout: TimelineLayout,
  root: React.RefObject<HTMLElement | null>,
  onOpenAttempt: Props["onOpenAttempt"],
) {
  const { lanes, parts } = layout;
  const [focused, setFocused] = useState<MarkPosition | null>(null);
  const [attention, setAttention] = useState<Attention | null>(null);
  const current = useRef({ lanes, parts, focused, onOpenAttempt });
  current.current = { lanes, parts, focused, onOpenAttempt };

  const open = useCallback((mark: Mark | null) => {
    if (mark?.kind !== "attempt") return;
    const own = current.current.parts.find(({ lanes: all }) =>
      all.some(({ groups }) => groups.some(({ marks }) => marks.includes(mark))),
    );
    if (own !== undefined) current.current.onOpenAttempt(mark.attempt.id, own.part);
  }, []);

  const events = useMemo<MarkEvents>(
    () => ({
      onClick(key, event) {
        const position = positionOf(current.current.lanes, key);
        if (position === null) return;
        const group = groupAt(current.current.lanes, position);
        const isPress = event.detail > 0;
        // A press on several opens their list, in which each can be pressed.
        if (isPress && group !== null && group.marks.length > 1) {
          (event.currentTarget as HTMLElement).focus();
          setAttention({ position, by: "keys" });
          return;
        }
        const at = isPress ? position : (current.current.focused ?? position);
        open(markAt(current.current.lanes, at));
      },
      onFocus(key, event) {
        const { lanes, focused } = current.current;
        const isHere = focused !== null && groupAt(lanes, focused)?.key === key;
        const position = isHere ? focused : positionOf(lanes, key);
        if (position === null) return;
        setFocused(position);
        if (event.currentTarget.matches(":focus-visible")) setAttention({ position, by: "keys" });
      },
      onBlur: () => setAttention((before) => (before?.by === "keys" ? null : before)),
      onEnter(key, event) {
        const position = positionOf(current.current.lanes, key);
        if (position !== null && event.pointerType === "mouse")
          setAttention((before) => (before?.by === "keys" ? before : { position, by: "pointer" }));
      },
      onLeave: () => setAttention((before) => (before?.by === "pointer" ? null : before)),
    }),
    [open],
  );

  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && attention !== null) {
      event.preventDefault();
      event.stopPropagation();
      setAttention(null);
      return;
    }
    const from = focused ?? firstPosition(lanes);
    if (from === null || !/^(Arrow|Home$|End$)/.test(event.key)) return;
    event.preventDefault();
    const to = walk(lanes, from, event.key);
    const group = to === null ? null : groupAt(lanes, to);
    if (to === null || group === null) return;
    setFocused(to);
    setAttention({ position: to, by: "keys" });
    current.current.focused = to;
    root.current?.querySelector<HTMLElement>(`[data-mark="${group.key}"]`)?.focus();
  };

  // What was at the place may be gone by now: a webhook was removed, or the window is another one.
  const position =
    focused !== null && markAt(lanes, focused) !== null ? focused : firstPosition(lanes);
  const stopGroup = position === null ? null : groupAt(lanes, position);
  const shownGroup = attention === null ? null : groupAt(lanes, attention.position);
  const shown =
    attention === null || shownGroup === null
      ? null
      : {
          group: shownGroup,
          isHeld: attention.by === "keys" && shownGroup.marks.length > 1,
          top: bottomOf(root.current, shownGroup.key),
        };
  return {
    events,
    open,
    onKeyDown,
    position: attention?.by === "keys" ? attention.position : position,
    tabStop:
      position === null || stopGroup === null ? null : { lane: position.lane, key: stopGroup.key },
    shown,
  };
}

/** The lower edge of a mark's lane within the timeline. */
function bottomOf(root: HTMLElement | null, key: string): number {
  const plot = root?.querySelector(`[data-mark="${key}"]`)?.closest(".tl-plot");
  if (root === null || plot === null || plot === undefined) return 0;
  return plot.getBoundingClientRect().bottom - root.getBoundingClientRect().top;
}

type OverProps = {
  parts: readonly TimelinePart[];
  axis: Axis;
  now: number | null;
};

/**
 * What lies over all lanes of the retry timeline: the lines of the rounds, now, the hatch of what
 * is to come, the window's end.
 */
function TimelineOver({
  parts,
  axis,
  now,
  roundLines,
}: OverProps & { roundLines: readonly number[] }) {
  const { now: cursor, hasEnd, end } = topOf({ parts, axis, now });
  const isOver = parts.every(({ timeline }) => timeline.isOver);
  const isAhead = now !== null && now < axis.from;
  return (
    <div
      className="tl-over"
      aria-hidden="true"
      style={{ "--now": `${cursor?.x ?? (isAhead ? 0 : axis.width)}px` } as CSSProperties}
    >
      {isOver ? null : <div className="tl-future" />}
      <RoundLines lines={roundLines} />
      {hasEnd ? <div className="tl-end">{end === null ? null : <b>{end}</b>}</div> : null}
      {cursor === null ? null : (
        <div className="tl-now">
          <b className={cursor.side === "right" ? "at-right" : undefined}>{cursor.text}</b>
        </div>
      )}
    </div>
  );
}

const RoundLines = memo(function RoundLines({ lines }: { lines: readonly number[] }) {
  return lines.map((x) => (
    <i key={x} className="tl-round" style={{ "--x": `${x}px` } as CSSProperties} />
  ));
});

const TimelineRounds = memo(function TimelineRounds({
  rounds,
  strong,
}: {
  rounds: readonly RoundLabel[];
  strong: number | null;
}) {
  return (
    <div className="tl-rounds" aria-hidden="true">
      <span className="title">round</span>
      {rounds.map(({ round, x, isNext }) => (
        <span
          key={round}
          className={isNext ? "next" : round === strong ? "strong" : undefined}
          style={{ "--x": `${x}px` } as CSSProperties}
        >
          {round}
        </span>
      ))}
    </div>
  );
});

/** How long the gaps of the compact scale are. */
function TimelineGaps({ axis: { gaps } }: { axis: Axis }) {
  return (
    <div className="tl-gaps" aria-hidden="true">
      {gaps.map(({ x, width, text }) => (
        <span key={x} style={{ "--x": `${x}px`, "--w": `${width}px` } as CSSProperties}>
          {text}
        </span>
      ))}
    </div>
  );
}

function TimelineAxis({ parts, axis, now }: OverProps) {
  const { from, to, width } = axis;
  const origin = wholeRange(parts).from;
  const start = dayAndTime(from, now ?? from);
  const { hasEnd, end: endText } = topOf({ parts, axis, now });
  const end = hasEnd && endText !== null ? span(to - origin) : dayAndTime(to, from);
  const ticks = useMemo(() => ticksBetween(axis, origin, start, end), [axis, origin, start, end]);
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
