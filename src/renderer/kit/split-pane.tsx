/**
 * Two panes and a line between them that can be dragged, moved with the arrows, and put back with a
 * double click. The width is kept.
 */

import { Fragment, useRef, useState, type ReactNode } from "react";
import { readKept, writeKept } from "./kept.ts";

const stepPx = 16;

export function SplitPane({
  name,
  first,
  second,
  initial,
  min,
  max,
  label,
}: {
  /** Under which the width is kept. */
  name: string;
  first: ReactNode;
  second: ReactNode;
  /** Width of the second pane, as CSS, until it has been dragged. */
  initial: string;
  min: number;
  max: number;
  label: string;
}) {
  const key = `hookyard.split.${name}`;
  const [width, setWidth] = useState<number | null>(() => Number(readKept(key)) || null);
  const root = useRef<HTMLDivElement>(null);

  const keep = (next: number | null): void => {
    const limited = next === null ? null : Math.round(Math.min(max, Math.max(min, next)));
    setWidth(limited);
    writeKept(key, limited === null ? null : String(limited));
  };
  const current = (): number =>
    (root.current?.lastElementChild as HTMLElement | null)?.offsetWidth ?? min;

  return (
    <div
      ref={root}
      className="split"
      style={{
        gridTemplateColumns: `minmax(0, 1fr) 1px ${width === null ? initial : `min(${width}px, 70%)`}`,
      }}
    >
      <Fragment key="first">{first}</Fragment>
      <div
        className="divider"
        role="separator"
        aria-orientation="vertical"
        aria-label={label}
        aria-valuemin={min}
        aria-valuemax={max}
        aria-valuenow={width ?? min}
        tabIndex={0}
        onDoubleClick={() => keep(null)}
        onKeyDown={(event) => {
          const by = { ArrowLeft: stepPx, ArrowRight: -stepPx }[event.key];
          if (by === undefined) return;
          event.preventDefault();
          keep(current() + by);
        }}
        onPointerDown={(event) => {
          const { currentTarget, pointerId, clientX } = event;
          const start = current();
          currentTarget.setPointerCapture(pointerId);
          const move = (moved: PointerEvent): void => keep(start + clientX - moved.clientX);
          const end = (): void => {
            currentTarget.removeEventListener("pointermove", move);
            currentTarget.removeEventListener("pointerup", end);
          };
          currentTarget.addEventListener("pointermove", move);
          currentTarget.addEventListener("pointerup", end);
        }}
      />
      <Fragment key="second">{second}</Fragment>
    </div>
  );
}
