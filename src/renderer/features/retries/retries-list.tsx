/**
 * All lanes together under one axis of clock time, as many of them at a time as the window shows.
 */

import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { documented, profileOf } from "../../../domain/retry.ts";
import type { DeliveryState } from "../../../domain/states.ts";
import { useListFocus } from "../../kit/focus.ts";
import { RowSpace, rowsMovedBy, useRowList } from "../../kit/row-list.tsx";
import { useWidth } from "../../kit/use-width.ts";
import { clockTime } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import type { DeliveryRow, DeliveryRows } from "./delivery-rows.ts";
import { type NowAxis, labelsAround, nowX, type AroundScale } from "./now-axis.ts";
import { RetryRow } from "./retry-row.tsx";

const rowPx = 20;
const headPx = 26;

const [hour, farthest] = [3_600_000, 30 * 86_400_000];

type Props = {
  rows: DeliveryRows;
  state: DeliveryState;
  scale: AroundScale;
  destinations: AnswerOf<"destinations.list">["items"];
  profiles: AnswerOf<"retryProfiles.list">["items"];
  settings: AnswerOf<"settings.get">;
  onOpen: (row: DeliveryRow) => void;
  onRetry: (row: DeliveryRow) => void;
};

export function RetriesList({
  rows,
  state,
  scale,
  destinations,
  profiles,
  settings,
  onOpen,
  onRetry,
}: Props) {
  const now = useNow() ?? 0;
  const body = useRef<HTMLDivElement>(null);
  const axisCell = useRef<HTMLSpanElement>(null);
  const width = useWidth(axisCell);
  const count = rows.count();
  const list = useRowList({ grid: body, count, rowPx, headPx });
  const { first, last } = list;
  const targets = useMemo(() => targetsOf(destinations, profiles), [destinations, profiles]);
  const { longest } = targets;
  const axis = useAxis({ oldestAt: rows.oldestAt(), state, scale, width, now, longest });

  useEffect(() => rows.look(first, Math.max(first, last)), [rows, first, last]);

  useListFocus(() => body.current?.focus());
  const active = useActiveRow(rows, list, { Enter: onOpen, r: onRetry });
  const { place, activeId } = active;

  const lines: ReactNode[] = [];
  for (let position = first; position <= last; position += 1) {
    const row = rows.rowAt(position);
    if (row === undefined) {
      lines.push(<div key={position} className="retries-row" role="presentation" />);
      continue;
    }
    const { name, profile } = targets.of(row.destinationId);
    lines.push(
      <RetryRow
        key={row.id}
        id={`retry-${row.id}`}
        place={position}
        row={row}
        destination={name}
        profile={profile}
        isActive={row.id === activeId}
        onOpen={onOpen}
        axis={axis}
        now={now}
        seed={settings.seed}
        jitter={settings.jitter}
      />,
    );
  }
  return (
    <div
      ref={body}
      className="retries-body"
      role="grid"
      tabIndex={0}
      aria-label={
        state === "waiting"
          ? "Waiting deliveries, by due time"
          : `Deliveries that are ${state}, newest first`
      }
      aria-rowcount={count + 1}
      aria-activedescendant={
        activeId === null || place < first || place > last ? undefined : `retry-${activeId}`
      }
      onFocus={active.activate}
      onKeyDown={active.onKeyDown}
      onScroll={list.onScroll}
    >
      <Head
        title={state === "waiting" ? "due" : "reason"}
        axis={axis}
        axisCell={axisCell}
        now={now}
      />
      <RowSpace list={list} over={<NowLine axis={axis} />}>
        {lines}
      </RowSpace>
    </div>
  );
}

/**
 * The row that the keys act on: it stays the same while rows come and go, and when it has left, the
 * one that took its place is next.
 */
function useActiveRow(
  rows: DeliveryRows,
  list: ReturnType<typeof useRowList>,
  acts: Record<"Enter" | "r", (row: DeliveryRow) => void>,
) {
  /** Without an id, the row of that place is still being read. */
  const [active, setActive] = useState<{ place: number; id: string | null } | null>(null);
  const count = rows.count();
  const found = active === null || active.id === null ? null : rows.positionOf(active.id);
  const place = Math.min(Math.max(0, count - 1), found ?? active?.place ?? 0);
  const activeRow =
    active === null || (active.id !== null && found === null) ? undefined : rows.rowAt(place);
  const activeId = activeRow?.id ?? null;
  // A passive effect could come after the next key, and undo what that did.
  useLayoutEffect(() => {
    if (activeId !== null) setActive({ place, id: activeId });
  }, [place, activeId]);

  const at = (position: number) => ({ place: position, id: rows.rowAt(position)?.id ?? null });
  const move = (to: number): void => {
    const next = Math.min(count - 1, Math.max(0, to));
    setActive(at(next));
    if (next >= 0) list.reveal(next);
  };
  const moveBy = (by: number): void => {
    if (active === null) move(0);
    // The row has left: the one below it has taken its place.
    else move(place + (activeRow === undefined && active.id !== null && by > 0 ? by - 1 : by));
  };
  const actBy = (key: keyof typeof acts) => (): void => {
    if (activeRow !== undefined) acts[key](activeRow);
  };
  useKeys({ j: () => moveBy(1), k: () => moveBy(-1), Enter: actBy("Enter"), r: actBy("r") });
  return {
    place,
    activeId,
    activate: () => setActive((before) => before ?? at(list.first)),
    onKeyDown(event: KeyboardEvent): void {
      const by = rowsMovedBy(event, list.pageRows);
      if (by === undefined) return;
      event.preventDefault();
      moveBy(by);
    },
  };
}

function NowLine({ axis }: { axis: NowAxis }) {
  return (
    <div
      className="retries-over retries-columns"
      aria-hidden="true"
      style={{ "--now": `${nowX(axis)}px` } as CSSProperties}
    >
      <div className="retries-over-lane">
        {axis.futureMs > 0 ? <div className="retries-future" /> : null}
        <div className="retries-now" />
      </div>
    </div>
  );
}

type HeadProps = {
  title: string;
  axis: NowAxis;
  axisCell: RefObject<HTMLSpanElement | null>;
  now: number;
};

function Head({ title, axis, axisCell, now }: HeadProps) {
  const middle = nowX(axis);
  const labels = useMemo(() => labelsAround(axis, "· now 00:00:00 ·"), [axis]);
  return (
    <div className="retries-head retries-columns" role="row" aria-rowindex={1}>
      <span role="columnheader">{title}</span>
      <span role="columnheader">event, user</span>
      <span role="columnheader">destination</span>
      <span
        role="columnheader"
        ref={axisCell}
        className="retries-axis"
        aria-label="attempts and coming rounds around now"
      >
        {labels.map(({ x, text }) => (
          <i key={text} style={{ left: x }}>
            {text}
          </i>
        ))}
        <b className={middle >= axis.width ? "at-end" : undefined} style={{ left: middle }}>
          now {clockTime(now)}
        </b>
      </span>
      <span role="columnheader" className="right">
        rounds
      </span>
    </div>
  );
}

/** The name and the retry profile of each destination, and the longest window of all. */
function targetsOf(destinations: Props["destinations"], profiles: Props["profiles"]) {
  const known = new Map(
    destinations.map(({ id, name, retryProfile }) => [
      id,
      { name, profile: profileOf(profiles, retryProfile) },
    ]),
  );
  return {
    longest: [...known.values()].reduce(
      (most, { profile }) => Math.max(most, profile.windowMs),
      hour,
    ),
    of: (id: string) => known.get(id) ?? { name: "deleted", profile: documented },
  };
}

type AxisOptions = {
  oldestAt: number;
  state: DeliveryState;
  scale: AroundScale;
  width: number;
  now: number;
  longest: number;
};

/** It stays the same for an hour. */
function useAxis({ oldestAt, state, scale, width, now, longest }: AxisOptions): NowAxis {
  const thisHour = Math.floor(now / hour) * hour;
  return useMemo(
    () => axisOf({ oldestAt, state, scale, width, now: thisHour, longest }),
    [oldestAt, state, scale, width, thisHour, longest],
  );
}

/**
 * Waiting ones have a past and a future as long as the longest window; linear, the hour that
 * matters. Settled ones have a past.
 */
function axisOf({ oldestAt, state, scale, width, now, longest }: AxisOptions): NowAxis {
  if (state === "waiting") {
    const side = scale === "linear" ? hour : longest;
    return { scale, width, pastMs: side, futureMs: side };
  }
  return {
    scale,
    width,
    pastMs: Math.min(farthest, now - Math.min(now, oldestAt) + hour),
    futureMs: 0,
  };
}
