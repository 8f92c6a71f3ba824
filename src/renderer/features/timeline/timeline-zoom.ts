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

type Zoom = { whole: Range; range: Range | null; around: number | null };

/**
 * What `+`, `-` and `0` lead to: half of the range, twice of it, and null for all of it. Undefined
 * for another key, and where nothing would change.
 */
export function zoomed(
  { key, ctrlKey, metaKey, altKey }: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">,
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

/** A drag over the lanes. Esc drops it. */
export function useBrush({
  root,
  gutterPx,
  axis,
  onRange,
}: {
  root: RefObject<HTMLElement | null>;
  gutterPx: number;
  axis: Axis;
  onRange: (range: Range) => void;
}): { band: Band | null; onPointerDown: (event: PointerEvent) => void } {
  const [band, setBand] = useState<Band | null>(null);
  const latest = useRef({ axis, onRange });
  latest.current = { axis, onRange };
  const drop = useRef<() => void>(() => undefined);
  useEffect(() => () => drop.current(), []);

  const onPointerDown = (event: PointerEvent): void => {
    const target = event.target as Element;
    const left = root.current?.getBoundingClientRect().left;
    if (event.button !== 0 || left === undefined || target.closest(".tl-float") !== null) return;
    const placeOf = (clientX: number): number =>
      Math.min(latest.current.axis.width, Math.max(0, clientX - left - gutterPx));
    const from = placeOf(event.clientX);
    let to = from;
    const end = new AbortController();
    const { signal } = end;
    drop.current = () => {
      end.abort();
      setBand(null);
    };
    const onMove = (moved: globalThis.PointerEvent): void => {
      to = placeOf(moved.clientX);
      const width = Math.abs(to - from);
      setBand(width < leastPx ? null : { left: Math.min(from, to), width });
    };
    const onUp = (): void => {
      drop.current();
      if (Math.abs(to - from) < leastPx) return;
      const { timeAt } = latest.current.axis;
      const [first, last] = [timeAt(Math.min(from, to)), timeAt(Math.max(from, to))];
      latest.current.onRange({ from: first, to: Math.max(last, first + leastMs) });
    };
    const onKey = (pressed: globalThis.KeyboardEvent): void => {
      if (pressed.key !== "Escape") return;
      pressed.stopPropagation();
      drop.current();
    };
    // A drag over text would select it; a mark takes its focus.
    if (target.closest("button") === null) event.preventDefault();
    window.addEventListener("pointermove", onMove, { signal });
    window.addEventListener("pointerup", onUp, { signal });
    window.addEventListener("pointercancel", () => drop.current(), { signal });
    window.addEventListener("keydown", onKey, { signal, capture: true });
  };
  return { band, onPointerDown };
}
