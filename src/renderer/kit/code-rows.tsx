/**
 * What the trees and the bytes of a code view are made of: rows of text from outside, of which only
 * those near the screen exist.
 */

import { memo, type ReactNode, useEffect, useRef, useState } from "react";
import { codePointOf, visiblePieces } from "./visible-text.ts";

/** Text with its unseen characters drawn as escapes. Right-to-left text turns nothing around it. */
export const Visible = memo(function Visible({ text, kind }: { text: string; kind?: string }) {
  const pieces = visiblePieces(text);
  return (
    <bdi className={kind}>
      {pieces.map((piece, place) =>
        piece.escaped === null ? (
          piece.text
        ) : (
          <span
            // oxlint-disable-next-line react/no-array-index-key -- pieces have nothing but their place
            key={place}
            className={/[\r\n\t]/.test(piece.escaped) ? "eol" : "esc"}
            title={codePointOf(piece.escaped)}
          >
            {piece.text}
          </span>
        ),
      )}
    </bdi>
  );
});

export function CodeLine({
  gutter,
  children,
  look,
  depth,
}: {
  gutter?: ReactNode;
  children: ReactNode;
  look?: string | undefined;
  depth?: number;
}) {
  return (
    <div className={look === undefined ? "l" : `l ${look}`}>
      <i>{gutter}</i>
      <span style={depth === undefined ? undefined : ({ "--depth": depth } as React.CSSProperties)}>
        {children}
      </span>
    </div>
  );
}

/** So many rows exist or do not exist together. */
const chunkRows = 50;
const rowPx = 18;
/** Rows this far from the visible part exist already. */
const margin = "600px 0px";

export function Rows({ count, row }: { count: number; row: (place: number) => ReactNode }) {
  const range = (from: number, to: number): ReactNode[] =>
    Array.from({ length: to - from }, (_, place) => row(from + place));
  if (count <= 2 * chunkRows) return range(0, count);
  return Array.from({ length: Math.ceil(count / chunkRows) }, (_, chunk) => {
    const from = chunk * chunkRows;
    const to = Math.min(count, from + chunkRows);
    return (
      <Chunk key={from} rows={to - from}>
        {() => range(from, to)}
      </Chunk>
    );
  });
}

function Chunk({ rows, children }: { rows: number; children: () => ReactNode }) {
  const element = useRef<HTMLDivElement>(null);
  const [isNear, setNear] = useState(false);
  /** Rows wrap, so their height is known only when they have been there. */
  const height = useRef(rows * rowPx);

  useEffect(() => {
    const chunk = element.current;
    if (chunk === null) return undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        if (entry === undefined) return;
        if (!entry.isIntersecting && chunk.childElementCount > 0)
          height.current = entry.boundingClientRect.height;
        setNear(entry.isIntersecting);
      },
      { root: scrollerOf(chunk), rootMargin: margin },
    );
    observer.observe(chunk);
    return () => observer.disconnect();
  }, []);

  return (
    <div ref={element} style={isNear ? undefined : { height: height.current }}>
      {isNear ? children() : null}
    </div>
  );
}

function scrollerOf(element: HTMLElement): HTMLElement | null {
  for (let around = element.parentElement; around !== null; around = around.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(around).overflowY)) return around;
  }
  return null;
}

/** The width of an element in characters of the code view's face; 0 until it is known. */
export function useColumns(): { ref: React.RefObject<HTMLDivElement | null>; columns: number } {
  const ref = useRef<HTMLDivElement>(null);
  const [columns, setColumns] = useState(0);
  useEffect(() => {
    const element = ref.current;
    if (element === null) return undefined;
    const observer = new ResizeObserver(([entry]) =>
      setColumns(Math.floor((entry?.contentRect.width ?? 0) / characterPx)),
    );
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, columns };
}

/** The widest common face, DejaVu Sans Mono, at 12 px. */
const characterPx = 7.23;

/** A sentence of ours; what stands in backticks is spelled as the API or a message spells it. */
export function Sentence({ text }: { text: string }) {
  return text.split("`").map((part, place) =>
    place % 2 === 0 ? (
      part
    ) : (
      // oxlint-disable-next-line react/no-array-index-key -- parts have nothing but their place
      <code key={place}>
        <Visible text={part} />
      </code>
    ),
  );
}
