/** The list of messages: as many rows as fit, wherever it is scrolled, and the keys that move through it. */

import { useEffect, useLayoutEffect, useReducer, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import { flushSync } from "react-dom";
import { useNow } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import { MessageLine, lineId } from "./message-line.tsx";
import type { MessageRows } from "./message-rows.ts";
import { dayOf, untilWords } from "./row-words.ts";
import { scrollTopFor, windowOf } from "./row-window.ts";

type MessageListProps = {
  rows: MessageRows;
  selected: string | null;
  /** The keys have moved to it. */
  onSelect: (id: string) => void;
  onPress: (id: string) => void;
  sourceName: (id: string) => string;
  /** Kept by the view, so that the list comes back where it was. */
  scrollTop: RefObject<number>;
  grid: RefObject<HTMLDivElement | null>;
  /** In place of rows when there are none. */
  nothing: ReactNode;
};

/** The head of the table, which stands over the rows. */
const headHeight = 24;

export function MessageList({ rows, selected, onSelect, onPress, sourceName, scrollTop, grid, nothing }: MessageListProps) {
  const [viewport, setViewport] = useState(0);
  const [, drawAgain] = useReducer((n: number) => n + 1, 0);
  const isPlaced = useRef(false);
  /** The keys have moved to a row that is still being read. */
  const awaited = useRef<number | null>(null);
  const now = useNow();
  const isFollowing = rows.following();
  const size = { count: rows.count(), viewport };
  const { space, first, last, shift } = windowOf(scrollTop.current, size);
  const selectedAt = selected === null ? null : rows.positionOf(selected);

  useLayoutEffect(() => {
    const element = grid.current;
    if (element === null) return undefined;
    const measure = (): void => setViewport(Math.max(0, element.clientHeight - headHeight));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [grid]);

  const scrollTo = (top: number): void => {
    scrollTop.current = top;
    if (grid.current !== null) grid.current.scrollTop = top;
  };

  useLayoutEffect(() => {
    scrollTo(isFollowing ? 0 : scrollTop.current);
    drawAgain();
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- when it follows again, and for the rows of another filter
  }, [rows, isFollowing]);

  // oxlint-disable-next-line react-hooks/exhaustive-deps -- what is shown is looked at after each drawing, and only the first draws again
  useLayoutEffect(() => {
    if (viewport === 0) return;
    if (!isPlaced.current && rows.loaded()) {
      isPlaced.current = true;
      if (selectedAt !== null && selectedAt > last && selectedAt < size.count) {
        rows.hold();
        scrollTo(scrollTopFor(selectedAt + Math.floor((last - first) / 2), 0, size));
        drawAgain();
      }
    }
    rows.look(first, Math.max(first, last));
    const row = awaited.current === null ? undefined : rows.rowAt(awaited.current);
    if (row === undefined) return;
    awaited.current = null;
    onSelect(row.id);
  });

  const moveTo = (wanted: number): void => {
    if (size.count === 0) return;
    const position = Math.min(size.count - 1, Math.max(0, wanted));
    rows.hold();
    scrollTo(scrollTopFor(position, scrollTop.current, size));
    const row = rows.rowAt(position);
    awaited.current = row === undefined ? position : null;
    if (row === undefined) drawAgain();
    else onSelect(row.id);
  };
  /** From the selected row where it can be seen, else from the first that can. */
  const moveBy = (by: number): void => {
    const at = awaited.current ?? (selectedAt !== null && selectedAt >= first && selectedAt <= last ? selectedAt : null);
    moveTo(at === null ? first : at + by);
  };

  const movers: Record<string, () => void> = {
    ArrowDown: () => moveBy(1),
    ArrowUp: () => moveBy(-1),
    PageDown: () => moveBy(Math.max(1, last - first - 1)),
    PageUp: () => moveBy(-Math.max(1, last - first - 1)),
    Home: () => moveTo(0),
    End: () => moveTo(size.count - 1),
  };
  const onMoverKey = (event: KeyboardEvent | globalThis.KeyboardEvent): void => {
    const move = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey ? undefined : movers[event.key];
    if (move === undefined) return;
    event.preventDefault();
    move();
  };
  const latestMoverKey = useRef(onMoverKey);
  latestMoverKey.current = onMoverKey;
  // Nothing else wants the arrows while nothing has the focus.
  useEffect(() => {
    const listen = (event: globalThis.KeyboardEvent): void => {
      if (event.target === document.body && !event.defaultPrevented) latestMoverKey.current(event);
    };
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
  useKeys({ j: () => moveBy(1), k: () => moveBy(-1), f: () => rows.follow() });

  const lines: ReactNode[] = [];
  for (let position = first; position <= last; position += 1) {
    const row = rows.rowAt(position);
    lines.push(
      <MessageLine
        key={position}
        row={row}
        position={position}
        isSelected={row !== undefined && row.id === selected}
        source={row === undefined ? "" : sourceName(row.sourceId)}
        day={row === undefined ? null : dayOf(Date.parse(row.receivedAt), now)}
        until={row === undefined ? "" : untilWords(row.nextAttemptAt, now)}
      />,
    );
  }
  const isSelectedShown =
    selected !== null && selectedAt !== null && selectedAt >= first && selectedAt <= last && rows.rowAt(selectedAt) !== undefined;

  return (
    <div
      ref={grid}
      className="list-body"
      role="grid"
      aria-label="Messages, newest first"
      aria-rowcount={size.count + 1}
      aria-activedescendant={isSelectedShown ? lineId(selected) : undefined}
      tabIndex={0}
      onKeyDown={onMoverKey}
      onScroll={(event) => {
        const top = event.currentTarget.scrollTop;
        if (top === scrollTop.current) return;
        scrollTop.current = top;
        if (top > 0) rows.hold();
        // Within the frame that shows the scrolled list.
        flushSync(drawAgain);
      }}
      onClick={(event) => {
        const line = (event.target as HTMLElement).closest<HTMLElement>("[data-position]");
        const row = line === null ? undefined : rows.rowAt(Number(line.dataset["position"]));
        if (row === undefined) return;
        rows.hold();
        onPress(row.id);
      }}
    >
      <div className="row head" role="row" aria-rowindex={1}>
        <span role="columnheader">received ↓</span>
        <span role="columnheader">type</span>
        <span role="columnheader">event, user</span>
        <span role="columnheader" className="src">
          source
        </span>
        <span role="columnheader">state</span>
        <span role="columnheader">attempts</span>
        <span role="columnheader" className="right">
          next round
        </span>
      </div>
      {size.count === 0 ? (
        <div role="row">
          <div role="gridcell">{rows.loaded() ? nothing : null}</div>
        </div>
      ) : (
        <div className="live-space" role="rowgroup" style={{ height: space }}>
          <div className="live-window" role="presentation" style={{ height: Math.min(viewport, space) }}>
            <div className="live-rows" role="presentation" style={{ transform: `translateY(${shift}px)` }}>
              {lines}
            </div>
          </div>
        </div>
      )}
    </div>
  );
}
