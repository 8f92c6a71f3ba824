/** Which part of a retry timeline is shown: chosen by a brush over its lanes, or by keys. */

import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import type { Axis, Range } from "./timeline-axis.ts";

/** Closer than this nothing can be told apart any more. */
const leastMs = 500;

/** A shorter drag is a click. */
const leastPx = 6;

export type ZoomKey = Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">;

type Zoom = { whole: Range; range: Range | null; around: number | null };

/**
 * What `+`, `-` and `0` lead to: half of the range, twice of it, and null for all of it. Undefined
 * for another key, and where nothing would change.
 */
export function zoomed(
  { key, ctrlKey, metaKey, altKey }: ZoomKey,
  { whole, range, around }: Zoom,
): Range | null | undefined {
  if (ctrlKey || metaKey || altKey || !["+", "=", "-", "0"].includes(key)) return undefined;
  if (key === "0") return range === null ? undefined : null;
  const { from, to } = range ?? whole;
  const middle = around ?? (from + to) / 2;
  const length = (to - from) * (key === "-" ? 2 : 0.5);
  if (length < leastMs) return undefined;
  return within(whole, { from: middle - length / 2, to: middle + length / 2 });
}

/** Null when it is all of it. */
function within(whole: Range, { from, to }: Range): Range | null {
  const length = Math.max(leastMs, to - from);
  if (length >= whole.to - whole.from) return null;
  const begin = Math.min(Math.max(from, whole.from), whole.to - length);
  return { from: begin, to: begin + length };
}

type Band = { left: number; width: number };

/** From the time that was pressed, which stays where the axis moves it, to the pointer. */
type Drag = { from: number; x: number };

/** A drag over the lanes. Esc drops it. */
export function useBrush({
  root,
  gutterPx,
  axis,
  whole,
  onRange,
}: {
  root: RefObject<HTMLElement | null>;
  gutterPx: number;
  axis: Axis;
  whole: Range;
  onRange: (range: Range | null) => void;
}): { band: Band | null; onPointerDown: (event: PointerEvent) => void } {
  const [drag, setDrag] = useState<Drag | null>(null);
  const latest = useRef({ axis, whole, onRange });
  latest.current = { axis, whole, onRange };
  const drop = useRef<() => void>(() => undefined);
  useEffect(() => () => drop.current(), []);

  const onPointerDown = (event: PointerEvent): void => {
    const target = event.target as Element;
    const left = root.current?.getBoundingClientRect().left;
    if (event.button !== 0 || !event.isPrimary) return;
    if (left === undefined || target.closest(".tl-float") !== null) return;
    drop.current();
    const placeOf = (clientX: number): number =>
      Math.min(latest.current.axis.width, Math.max(0, clientX - left - gutterPx));
    const from = latest.current.axis.timeAt(placeOf(event.clientX));
    let x = placeOf(event.clientX);
    const end = new AbortController();
    const { signal } = end;
    drop.current = () => {
      end.abort();
      setDrag(null);
    };
    const onMove = (moved: globalThis.PointerEvent): void => {
      // The button went up where the page does not see it.
      if (moved.buttons === 0) return drop.current();
      x = placeOf(moved.clientX);
      setDrag({ from, x });
    };
    const onUp = (): void => {
      drop.current();
      const { axis: axisNow, whole: wholeNow, onRange: choose } = latest.current;
      if (bandOf(axisNow, { from, x }) === null) return;
      window.addEventListener("click", dropClick, { capture: true, once: true });
      window.setTimeout(() => window.removeEventListener("click", dropClick, { capture: true }));
      const to = axisNow.timeAt(x);
      choose(within(wholeNow, { from: Math.min(from, to), to: Math.max(from, to) }));
    };
    const onKey = (pressed: globalThis.KeyboardEvent): void => {
      if (pressed.key !== "Escape") return;
      pressed.stopPropagation();
      drop.current();
    };
    window.addEventListener("pointermove", onMove, { signal });
    window.addEventListener("pointerup", onUp, { signal });
    window.addEventListener("pointercancel", () => drop.current(), { signal });
    window.addEventListener("keydown", onKey, { signal, capture: true });
  };
  return { band: drag === null ? null : bandOf(axis, drag), onPointerDown };
}

/** A drag that begins and ends on one mark does not press it. */
function dropClick(event: MouseEvent): void {
  event.stopPropagation();
  event.preventDefault();
}

/** Null for a click. */
function bandOf(axis: Axis, { from, x }: Drag): Band | null {
  const begin = axis.xOf(from);
  const width = Math.abs(x - begin);
  return width < leastPx ? null : { left: Math.min(begin, x), width };
}
