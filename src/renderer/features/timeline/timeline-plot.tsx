/** The drawn part of the retry timeline: lanes under what lies over them, as wide as there is room, walked with the arrows. */

import { useCallback, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useNow } from "../../stores/clock.ts";
import type { Course, Mark } from "./course.ts";
import { layoutOf, type TimelineLayout } from "./layout.ts";
import { markSentence } from "./mark-words.ts";
import type { ScaleName } from "./scale.ts";
import { TimelineFloat } from "./timeline-float.tsx";
import { firstPosition, groupAt, markAt, positionOf, walk, type MarkPosition } from "./timeline-keys.ts";
import { TimelineLane, type MarkEvents } from "./timeline-lane.tsx";
import { TimelineAxis, TimelineOver, TimelineRounds } from "./timeline-over.tsx";

/** Of the lanes, at the left for their numbers and at the right for the window's end: `--gut` and `--tail` of the kit. */
const [gutterPx, tailPx] = [40, 2];

type Props = {
  course: Course;
  scale: ScaleName;
  label: string;
  openAttempt: string | null;
  onOpenAttempt: (attemptId: string) => void;
};

export function TimelinePlot({ course, scale, label, openAttempt, onOpenAttempt }: Props) {
  const now = useNow();
  const root = useRef<HTMLDivElement>(null);
  const width = useWidth(root) - gutterPx - tailPx;
  const layout = useMemo(() => layoutOf({ course, scale, width }), [course, scale, width]);
  const marks = useMarks(layout, root, onOpenAttempt);
  const { shown, position, tabStop } = marks;
  const active = position === null ? null : markAt(layout.lanes, position);

  return (
    <div ref={root} className="timeline" role="group" aria-label={label} data-scale={scale} onKeyDown={marks.onKeyDown}>
      {width > 0 ? (
        <>
          <TimelineOver course={course} scale={scale} width={width} now={now} roundLines={layout.roundLines} />
          <div className="tl-top" />
          <TimelineRounds rounds={layout.rounds} />
          {layout.lanes.map((lane, place) => (
            <TimelineLane
              key={lane.lane.webhookId}
              layout={lane}
              ceilingMs={course.ceilingMs}
              tabStop={tabStop !== null && tabStop.lane === place ? tabStop.key : null}
              openAttempt={openAttempt}
              events={marks.events}
            />
          ))}
          <TimelineAxis course={course} scale={scale} width={width} now={now} />
          {shown === null ? null : (
            <TimelineFloat
              group={shown.group}
              active={shown.isHeld ? shown.group.marks.findIndex(({ round }) => round === position?.round) : -1}
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
        {shown?.isHeld === true && active !== null ? markSentence(active) : ""}
      </p>
    </div>
  );
}

/** Before the first paint, and whenever the room changes. */
function useWidth(root: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = root.current;
    if (element === null) return undefined;
    setWidth(Math.floor(element.clientWidth));
    const observer = new ResizeObserver(() => setWidth(Math.floor(element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, [root]);
  return width;
}

type Attention = { position: MarkPosition; by: "pointer" | "keys" };

/** Which mark the pointer or the keys are at, what is shown of it, and what opens it. */
function useMarks(layout: TimelineLayout, root: React.RefObject<HTMLElement | null>, onOpenAttempt: (attemptId: string) => void) {
  const { lanes } = layout;
  const [focused, setFocused] = useState<MarkPosition | null>(null);
  const [attention, setAttention] = useState<Attention | null>(null);
  const current = useRef({ lanes, focused, onOpenAttempt });
  current.current = { lanes, focused, onOpenAttempt };

  const open = useCallback((mark: Mark | null) => {
    if (mark?.kind === "attempt") current.current.onOpenAttempt(mark.attempt.id);
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
  const position = focused !== null && markAt(lanes, focused) !== null ? focused : firstPosition(lanes);
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
    tabStop: position === null || stopGroup === null ? null : { lane: position.lane, key: stopGroup.key },
    shown,
  };
}

/** The lower edge of a mark's lane within the timeline. */
function bottomOf(root: HTMLElement | null, key: string): number {
  const plot = root?.querySelector(`[data-mark="${key}"]`)?.closest(".tl-plot");
  if (root === null || plot === null || plot === undefined) return 0;
  return plot.getBoundingClientRect().bottom - root.getBoundingClientRect().top;
}
