/**
 * The list of messages: as many rows as fit, wherever it is scrolled, and the keys that move
 * through it.
 */

import {
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
} from "react";
import { useListFocus } from "../../kit/focus.ts";
import { RowSpace, rowsMovedBy, useRowList } from "../../kit/row-list.tsx";
import { useNow } from "../../stores/clock.ts";
import { useKeys } from "../../stores/keys.ts";
import { usePresenter } from "../../stores/presenter.ts";
import { lineId, MessageLine } from "./message-line.tsx";
import type { MessageRows } from "./message-rows.ts";
import { dayOf, untilWords } from "./row-words.ts";

type MessageListProps = {
  rows: MessageRows;
  selected: string | null;
  /** Several that were selected together. */
  marked: ReadonlySet<string>;
  onMark: (ids: ReadonlySet<string>) => void;
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
const headPx = 24;

/** `--row` of the design. */
const rowHeights = { page: 28, presenter: 40 };

export function MessageList({
  rows,
  selected,
  marked,
  onMark,
  onSelect,
  onPress,
  sourceName,
  scrollTop,
  grid,
  nothing,
}: MessageListProps) {
  const now = useNow();
  const isPresenting = usePresenter(({ isOn }) => isOn);
  const list = useRowList({
    grid,
    count: rows.count(),
    rowPx: isPresenting ? rowHeights.presenter : rowHeights.page,
    headPx,
    startTop: scrollTop.current,
    onTop: (top) => (scrollTop.current = top),
  });
  const { first, last } = list;
  const selectedAt = selected === null ? null : rows.positionOf(selected);
  const isFollowing = rows.following();
  useLayoutEffect(() => {
    list.scrollTo(isFollowing ? 0 : list.top());
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- when it follows again, and for the rows of another filter
  }, [rows, isFollowing]);
  useListFocus(() => grid.current?.focus());
  const marks = useMarks({ rows, selectedAt, marked, onMark });
  const onMoverKey = useMoves({ rows, list, selectedAt, onSelect, marks });

  const lines: ReactNode[] = [];
  for (let position = first; position <= last; position += 1) {
    const row = rows.rowAt(position);
    lines.push(
      <MessageLine
        key={position}
        row={row}
        position={position}
        isSelected={
          row !== undefined && (marked.size > 0 ? marked.has(row.id) : row.id === selected)
        }
        isCurrent={row !== undefined && row.id === selected}
        source={row === undefined ? "" : sourceName(row.sourceId)}
        day={row === undefined ? null : dayOf(Date.parse(row.receivedAt), now)}
        until={row === undefined ? "" : untilWords(row.nextAttemptAt, now)}
      />,
    );
  }
  const isSelectedShown =
    selected !== null &&
    selectedAt !== null &&
    selectedAt >= first &&
    selectedAt <= last &&
    rows.rowAt(selectedAt) !== undefined;

  return (
    <div
      ref={grid}
      className="list-body"
      role="grid"
      aria-label="Messages, newest first"
      aria-multiselectable="true"
      aria-rowcount={rows.count() + 1}
      aria-activedescendant={isSelectedShown ? lineId(selected) : undefined}
      tabIndex={0}
      onKeyDown={onMoverKey}
      onScroll={(event) => {
        if (list.onScroll(event) && event.currentTarget.scrollTop > 0) rows.pause();
      }}
      onMouseDown={(event) => {
        if (!event.shiftKey) return;
        // Not a selection of text.
        event.preventDefault();
        event.currentTarget.focus();
      }}
      onClick={(event) => {
        const line = (event.target as HTMLElement).closest<HTMLElement>("[data-position]");
        const row = line === null ? undefined : rows.rowAt(Number(line.dataset["position"]));
        if (row === undefined) return;
        rows.pause();
        const position = Number(line?.dataset["position"]);
        if (event.shiftKey) marks.extendTo(position);
        else if (event.ctrlKey || event.metaKey) marks.toggle(position);
        else {
          marks.clear();
          return onPress(row.id);
        }
        onSelect(row.id);
      }}
    >
      {head}
      {rows.count() === 0 ? (
        <div role="row">
          <div role="gridcell">{rows.loaded() ? nothing : null}</div>
        </div>
      ) : (
        <RowSpace list={list}>{lines}</RowSpace>
      )}
    </div>
  );
}

const head = (
  <div className="row head" role="row" aria-rowindex={1}>
    <span role="columnheader">received ↓</span>
    <span role="columnheader" className="type-cell">
      type
    </span>
    <span role="columnheader">event, user</span>
    <span role="columnheader" className="src">
      source
    </span>
    <span role="columnheader">state</span>
    <span role="columnheader" className="att-cell">
      attempts
    </span>
    <span role="columnheader" className="right next-cell">
      next round
    </span>
  </div>
);

/** More are not selected together; a filter names as many as there are. */
const maxMarked = 1000;

type Marks = {
  /** All from where the selection began. */
  extendTo: (position: number) => void;
  toggle: (position: number) => void;
  clear: () => void;
};

type MarksProps = Pick<MessageListProps, "rows" | "marked" | "onMark"> & {
  selectedAt: number | null;
};

/** Several rows: a range grows from its first one, single ones are added and taken away. */
function useMarks({ rows, selectedAt, marked, onMark }: MarksProps): Marks {
  /** Where a range begins, while any are marked. */
  const start = useRef<string | null>(null);
  const idsBetween = (a: number, b: number): string[] => {
    const ids: string[] = [];
    for (let at = Math.min(a, b); at <= Math.max(a, b) && ids.length < maxMarked; at += 1) {
      const id = rows.idAt(at);
      if (id !== null) ids.push(id);
    }
    return ids;
  };
  return {
    extendTo(position) {
      if (marked.size === 0) start.current = null;
      const known = start.current === null ? null : rows.positionOf(start.current);
      const from = known ?? selectedAt ?? position;
      start.current = rows.idAt(from);
      onMark(new Set(idsBetween(from, position)));
    },
    toggle(position) {
      const id = rows.idAt(position);
      if (id === null) return;
      // The row that the keys stand on is the first of them.
      const isFirst = marked.size === 0 && selectedAt !== null && selectedAt !== position;
      const next = new Set([...marked, ...(isFirst ? idsBetween(selectedAt, selectedAt) : [])]);
      if (!next.delete(id) && next.size < maxMarked) next.add(id);
      start.current = id;
      onMark(next);
    },
    clear() {
      if (marked.size > 0) onMark(new Set());
    },
  };
}

type MovesProps = {
  rows: MessageRows;
  list: ReturnType<typeof useRowList>;
  selectedAt: number | null;
  onSelect: (id: string) => void;
  marks: Marks;
};

/**
 * Reads the rows in view, and moves the selection with the keys, also to a row that is still being
 * read.
 */
function useMoves({ rows, list, selectedAt, onSelect, marks }: MovesProps) {
  const isPlaced = useRef(false);
  const awaited = useRef<number | null>(null);
  const { first, last, viewport } = list;
  const count = rows.count();

  // After each rendering: the rows in view are requested, and the first rendering may scroll.
  useLayoutEffect(() => {
    if (viewport === 0) return;
    if (!isPlaced.current && rows.loaded()) {
      isPlaced.current = true;
      if (selectedAt !== null && selectedAt > last && selectedAt < count) {
        rows.pause();
        list.centre(selectedAt);
      }
    }
    rows.look(first, Math.max(first, last));
    const row = awaited.current === null ? undefined : rows.rowAt(awaited.current);
    if (row === undefined) return;
    awaited.current = null;
    onSelect(row.id);
  });

  const moveTo = (wanted: number, extend: boolean): void => {
    if (count === 0) return;
    const position = Math.min(count - 1, Math.max(0, wanted));
    rows.pause();
    list.reveal(position);
    if (extend) marks.extendTo(position);
    else marks.clear();
    const row = rows.rowAt(position);
    awaited.current = row === undefined ? position : null;
    if (row !== undefined) onSelect(row.id);
  };
  /** From the selected row where it can be seen, else from the first that can. */
  const moveBy = (by: number, extend = false): void => {
    const at =
      awaited.current ??
      (selectedAt !== null && selectedAt >= first && selectedAt <= last ? selectedAt : null);
    moveTo(at === null ? first : at + by, extend);
  };
  const onMoverKey = (event: KeyboardEvent | globalThis.KeyboardEvent): void => {
    const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
    const by = rowsMovedBy({ key, ctrlKey, metaKey, altKey, shiftKey: false }, list.pageRows);
    if (by === undefined) return;
    event.preventDefault();
    if (Number.isFinite(by)) moveBy(by, shiftKey);
    else moveTo(by, shiftKey);
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
  useKeys({
    j: () => moveBy(1),
    k: () => moveBy(-1),
    J: () => moveBy(1, true),
    K: () => moveBy(-1, true),
    x() {
      rows.pause();
      marks.toggle(selectedAt ?? first);
    },
    f: () => rows.follow(),
  });
  return onMoverKey;
}
