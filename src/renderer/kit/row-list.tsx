/**
 * A long list of rows of one height, of which only those in view exist. Live and Retries use it;
 * what the rows are, and what the keys select, is theirs.
 */

import {
  useLayoutEffect,
  useReducer,
  useRef,
  useState,
  type ReactNode,
  type RefObject,
  type UIEvent,
} from "react";
import { flushSync } from "react-dom";
import { scrollTopFor, windowOf } from "./row-window.ts";

type RowListOptions = {
  grid: RefObject<HTMLElement | null>;
  count: number;
  rowPx: number;
  /** The height of the head, which stays over the rows. */
  headPx: number;
  /** Where the list starts, so that a list that is shown again is where it was. */
  startTop?: number;
  onTop?: (scrollTop: number) => void;
};

type RowList = ReturnType<typeof useRowList>;

export function useRowList({ grid, count, rowPx, headPx, startTop = 0, onTop }: RowListOptions) {
  const scrollTop = useRef(startTop);
  const [viewport, setViewport] = useState(0);
  const [, rerender] = useReducer((n: number) => n + 1, 0);
  const size = { count, rowPx, viewport };
  const { space, first, last, shift } = windowOf(scrollTop.current, size);

  useLayoutEffect(() => {
    const element = grid.current;
    if (element === null) return undefined;
    const measure = (): void => setViewport(Math.max(0, element.clientHeight - headPx));
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [grid, headPx]);

  const setTop = (top: number): void => {
    scrollTop.current = top;
    onTop?.(top);
  };
  const scrollTo = (top: number): void => {
    setTop(top);
    grid.current?.scrollTo({ top });
    rerender();
  };
  return {
    headPx,
    viewport,
    space,
    first,
    last,
    shift,
    top: (): number => scrollTop.current,
    /** Rows that a page key moves by. */
    pageRows: Math.max(1, Math.floor(viewport / rowPx) - 1),
    scrollTo,
    /** Scrolls as little as makes the row fully visible. */
    reveal: (position: number): void => scrollTo(scrollTopFor(position, scrollTop.current, size)),
    /** Scrolls so that the row is in the middle of the view. */
    centre: (position: number): void =>
      scrollTo(scrollTopFor(position + Math.floor((last - first) / 2), 0, size)),
    /** Returns whether the list has moved. */
    onScroll(event: UIEvent<HTMLElement>): boolean {
      const top = event.currentTarget.scrollTop;
      if (top === scrollTop.current) return false;
      setTop(top);
      // Within the frame that shows the scrolled list.
      flushSync(rerender);
      return true;
    },
  };
}

/** The rows in view, and the room of all of them. `over` lies over the rows. */
export function RowSpace({
  list,
  over,
  children,
}: {
  list: RowList;
  over?: ReactNode;
  children: ReactNode;
}) {
  const { headPx, space, viewport, shift } = list;
  return (
    <div className="row-space" role="rowgroup" style={{ height: space }}>
      <div
        className="row-window"
        role="presentation"
        style={{ top: headPx, height: Math.min(viewport, space) }}
      >
        {over}
        <div
          className="row-list"
          role="presentation"
          style={{ transform: `translateY(${shift}px)` }}
        >
          {children}
        </div>
      </div>
    </div>
  );
}

/** How far a key moves the selection; undefined for other keys. */
export function rowsMovedBy(
  event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">,
  pageRows: number,
): number | undefined {
  if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return undefined;
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: pageRows,
    PageUp: -pageRows,
    Home: -Infinity,
    End: Infinity,
  };
  return steps[event.key];
}
