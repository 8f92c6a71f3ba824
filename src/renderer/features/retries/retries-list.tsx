/** All lanes together under one axis of clock time, as many of them at a time as the window shows. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useLayoutEffect, useMemo, useRef, useState, type CSSProperties } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { builtInProfiles } from "../../../domain/retry.ts";
import type { DeliveryState } from "../../../domain/states.ts";
import { clockTime } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import type { ScaleName } from "../timeline/scale.ts";
import { labelsAround, nowX, type AroundNow } from "./around-now.ts";
import { useRowDetails, type DeliveryRow } from "./delivery-rows.ts";
import { RetryRow } from "./retry-row.tsx";

const rowPx = 20;
const headPx = 26;

/** Rows beyond the edges, ready for a turn of the wheel. */
const marginRows = 10;

const [hour, farthest] = [3_600_000, 30 * 86_400_000];

type Props = {
  rows: readonly DeliveryRow[];
  state: DeliveryState;
  scale: ScaleName;
  destinations: AnswerOf<"destinations.list">["items"];
  profiles: AnswerOf<"retryProfiles.list">["items"];
  settings: AnswerOf<"settings.get">;
  onOpen: (row: DeliveryRow) => void;
  onRetry: (row: DeliveryRow) => void;
};

export function RetriesList({ rows, state, scale, destinations, profiles, settings, onOpen, onRetry }: Props) {
  const now = useNow() ?? 0;
  const body = useRef<HTMLDivElement>(null);
  const axisCell = useRef<HTMLSpanElement>(null);
  const width = useWidth(axisCell);
  const [activeId, setActiveId] = useState<string | null>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => body.current,
    estimateSize: () => rowPx,
    overscan: marginRows,
    scrollMargin: headPx,
    scrollPaddingStart: headPx,
  });
  const items = virtual.getVirtualItems();
  const shown = useMemo(() => items.flatMap(({ index }) => rows[index] ?? []), [items, rows]);
  const details = useRowDetails(shown);
  const surroundings = useMemo(() => whereTo(destinations, profiles), [destinations, profiles]);
  const thisHour = Math.floor(now / hour) * hour;
  const axis = useMemo(
    () => axisOf({ rows, state, scale, width, now: thisHour, longest: surroundings.longest }),
    [rows, state, scale, width, thisHour, surroundings],
  );

  const place = Math.max(
    0,
    rows.findIndex(({ id }) => id === activeId),
  );
  const active = rows[place];
  const move = (to: number): void => {
    const next = Math.min(rows.length - 1, Math.max(0, to));
    setActiveId(rows[next]?.id ?? null);
    virtual.scrollToIndex(next);
  };
  const page = Math.max(1, Math.floor((body.current?.clientHeight ?? 0) / rowPx) - 2);
  const steps: Record<string, number> = {
    j: 1,
    k: -1,
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page,
    PageUp: -page,
    Home: -rows.length,
    End: rows.length,
  };
  const step = (key: string): void => move(activeId === null ? 0 : place + (steps[key] ?? 0));
  useKeys({
    j: () => step("j"),
    k: () => step("k"),
    Enter: () => {
      if (active !== undefined && activeId !== null) onOpen(active);
    },
    r: () => {
      if (active !== undefined && activeId !== null) onRetry(active);
    },
  });

  const middle = nowX(axis);
  const nowText = `now ${clockTime(now)}`;
  const labels = useMemo(() => labelsAround(axis, "· now 00:00:00 ·"), [axis]);
  return (
    <div
      ref={body}
      className="retries-body"
      role="grid"
      tabIndex={0}
      aria-label={state === "waiting" ? "Deliveries that are waiting, by due time" : `Deliveries that are ${state}, newest first`}
      aria-rowcount={rows.length + 1}
      aria-activedescendant={activeId === null || active === undefined ? undefined : `retry-${active.id}`}
      onFocus={() => setActiveId((before) => before ?? rows[0]?.id ?? null)}
      onKeyDown={(event) => {
        if (!(event.key in steps) || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        step(event.key);
      }}
    >
      <div className="retries-head retries-columns" role="row" aria-rowindex={1}>
        <span role="columnheader">{state === "waiting" ? "due" : "reason"}</span>
        <span role="columnheader">event, user</span>
        <span role="columnheader">destination</span>
        <span role="columnheader" ref={axisCell} className="retries-axis" aria-label="attempts and coming rounds around now">
          {labels.map(({ x, text }) => (
            <i key={text} style={{ left: x }}>
              {text}
            </i>
          ))}
          <b className={middle >= width ? "at-end" : undefined} style={{ left: middle }}>
            {nowText}
          </b>
        </span>
        <span role="columnheader" className="right">
          rounds
        </span>
      </div>
      <div className="retries-rows" role="rowgroup" style={{ height: virtual.getTotalSize() }}>
        <div className="retries-over retries-columns" aria-hidden="true" style={{ "--now": `${middle}px` } as CSSProperties}>
          <div className="retries-over-lane">
            {axis.futureMs > 0 ? <div className="retries-future" /> : null}
            <div className="retries-now" />
          </div>
        </div>
        {items.map(({ index, start }) => {
          const row = rows[index];
          if (row === undefined) return null;
          const { name, profile } = surroundings.of(row.destinationId);
          return (
            <RetryRow
              key={row.id}
              id={`retry-${row.id}`}
              top={start - headPx}
              place={index}
              row={row}
              details={details.get(row.id)}
              destination={name}
              profile={profile}
              isActive={row.id === activeId}
              onOpen={onOpen}
              axis={axis}
              now={now}
              seed={settings.seed}
              jitter={settings.jitter}
            />
          );
        })}
      </div>
    </div>
  );
}

/** The name and the retry profile of each destination, and the longest window of all. */
function whereTo(destinations: Props["destinations"], profiles: Props["profiles"]) {
  const documented = builtInProfiles.find(({ name }) => name === "documented");
  if (documented === undefined) throw new Error("the documented retry profile is missing");
  const known = new Map(
    destinations.map(({ id, name, retryProfile }) => [
      id,
      { name, profile: profiles.find((each) => each.name === retryProfile) ?? documented },
    ]),
  );
  return {
    longest: [...known.values()].reduce((most, { profile }) => Math.max(most, profile.windowMs), hour),
    of: (id: string) => known.get(id) ?? { name: "deleted", profile: documented },
  };
}

type AxisOptions = { rows: readonly DeliveryRow[]; state: DeliveryState; scale: ScaleName; width: number; now: number; longest: number };

/** Waiting ones have a past and a future as long as the longest window; linear, the hour that matters. Settled ones have a past. */
function axisOf({ rows, state, scale, width, now, longest }: AxisOptions): AroundNow {
  if (state === "waiting") {
    const side = scale === "linear" ? hour : longest;
    return { scale, width, pastMs: side, futureMs: side };
  }
  const oldest = rows.reduce((least, { createdAt }) => Math.min(least, Date.parse(createdAt)), now);
  return { scale, width, pastMs: Math.min(farthest, now - oldest + hour), futureMs: 0 };
}

function useWidth(element: React.RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const { current } = element;
    if (current === null) return undefined;
    setWidth(current.clientWidth);
    const observer = new ResizeObserver(() => setWidth(current.clientWidth));
    observer.observe(current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}
