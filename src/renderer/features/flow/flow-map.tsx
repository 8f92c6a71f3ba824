/**
 * The map or the loom: lines and nodes as SVG, names and figures as links over it, and between
 * the two the canvas on which messages move. Every line and every node is a link with a sentence
 * as its name; the arrows go to the next one in their direction.
 */

import { type KeyboardEvent, type MouseEvent, type RefObject, useRef, useState } from "react";
import { count, some } from "../../kit/words.ts";
import { FlowCanvas, type Marks } from "./flow-canvas.tsx";
import {
  type FlowAnswer,
  type FlowLine,
  type FlowModel,
  linesOf,
  rateWords,
} from "./flow-model.ts";
import { Names } from "./flow-names.tsx";
import { Ground, isDimmed, sharingOf, Sidings, Nodes, Track } from "./flow-tracks.tsx";
import type { Drawing } from "./map-layout.ts";

type MapProps = {
  model: FlowModel;
  flow: FlowAnswer;
  drawing: Drawing;
  /** The lines of the selected message. */
  lit: ReadonlySet<string>;
  held: string | null;
  onHold: (messageId: string) => void;
  marks: RefObject<Marks | null>;
  onMarks: (marks: Marks | null) => void;
  /** On a loom: the source or destination that is looked at alone. */
  focus: string | null;
  onFocus: (id: string) => void;
  isStill: boolean;
};

export function FlowMap(props: MapProps) {
  const { model, flow, drawing, lit, held, onHold, marks, isStill } = props;
  const stage = useRef<HTMLDivElement>(null);
  const [tip, setTip] = useState<string | null>(null);
  const lines = linesOf(model);
  const sharing = isStill ? [] : sharingOf(model, drawing);
  const keys = sharing.map(({ track, width }) => `${track} ${width}`).join();
  const kept = useRef({ keys, sharing });
  if (kept.current.keys !== keys) kept.current = { keys, sharing };

  const place = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = stage.current?.getBoundingClientRect();
    return [event.clientX - (box?.left ?? 0), event.clientY - (box?.top ?? 0)];
  };
  const pressMark = (event: MouseEvent): void => {
    const messageId = marks.current?.markAt(...place(event)) ?? null;
    if (messageId === null) return;
    event.preventDefault();
    onHold(messageId);
  };
  const shownTip = lines.find(({ key }) => key === tip);

  return (
    <div
      ref={stage}
      className={`flow-map ${drawing.kind}${props.focus === null ? "" : " focused"}`}
      style={{ width: drawing.width, height: drawing.height }}
      role="group"
      aria-label="Map of the flow"
      onClickCapture={pressMark}
      onKeyDown={(event) => walk(event, stage.current)}
    >
      <svg className="flow-tracks" width={drawing.width} height={drawing.height}>
        <Ground {...props} />
        {lines.map((line) => (
          <Track
            key={line.key}
            line={line}
            drawing={drawing}
            isLit={lit.has(line.key)}
            isDimmed={isDimmed(props, line)}
            isStill={isStill}
            onTip={setTip}
          />
        ))}
        <Sidings model={model} drawing={drawing} />
      </svg>
      {isStill ? null : (
        <FlowCanvas
          drawing={drawing}
          flow={flow}
          sharing={kept.current.sharing}
          held={held}
          lit={lit}
          onMarks={props.onMarks}
        />
      )}
      <Nodes drawing={drawing} lit={lit} />
      {drawing.columns.map(({ words, count: n, x, y }) => (
        <p key={words} className="flow-column" style={{ left: x, top: y }}>
          {words} <b>{count(n)}</b>
        </p>
      ))}
      <Names {...props} />
      {shownTip === undefined ? null : <Tip line={shownTip} drawing={drawing} />}
    </div>
  );
}

function Tip({ line, drawing }: { line: FlowLine; drawing: Drawing }) {
  const points = drawing.routes.get(line.key) ?? [];
  const [x, y] = points[Math.max(0, Math.floor((points.length - 1) / 2))] ?? [0, 0];
  const left = Math.min(drawing.width - 240, x + 14);
  return (
    <div
      className="flow-tip"
      style={{ left, top: Math.min(drawing.height - 84, y + 26) }}
      aria-hidden="true"
    >
      <b>
        {line.fromName} → {line.toName}
      </b>
      <span>
        <b>{rateWords(line.perSecond) || "nothing moves"}</b>, {some(line.count, line.unit)}
        {line.words === "" ? "" : `, ${line.words}`}
      </span>
      <span className="quiet">
        <kbd>Enter</kbd> these messages <kbd>h</kbd> hold one
      </span>
    </div>
  );
}

const directions: Readonly<Record<string, readonly [x: number, y: number]>> = {
  ArrowRight: [1, 0],
  ArrowLeft: [-1, 0],
  ArrowDown: [0, 1],
  ArrowUp: [0, -1],
};

/** The arrows go to the nearest link in their direction. */
function walk(event: KeyboardEvent, stage: HTMLElement | null): void {
  const direction = directions[event.key];
  if (direction === undefined || stage === null) return;
  const all = [...stage.querySelectorAll<HTMLElement | SVGAElement>("[data-node],[data-line]")];
  const from = all.find((each) => each === document.activeElement);
  event.preventDefault();
  event.stopPropagation();
  if (from === undefined) return all[0]?.focus();
  const [x, y] = middleOf(from);
  const [dx, dy] = direction;
  const next = all
    .filter((each) => each !== from)
    .map((each) => {
      const [ax, ay] = middleOf(each);
      const along = (ax - x) * dx + (ay - y) * dy;
      const across = Math.abs((ax - x) * dy) + Math.abs((ay - y) * dx);
      return { each, along, far: along + across * 3 };
    })
    .filter(({ along }) => along > 3)
    .toSorted((a, b) => a.far - b.far)[0];
  next?.each.focus();
}

function middleOf(element: Element): [number, number] {
  const { left, top, width, height } = element.getBoundingClientRect();
  return [left + width / 2, top + height / 2];
}
