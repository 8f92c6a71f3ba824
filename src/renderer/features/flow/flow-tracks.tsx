/** What lies under the names: the lines as links to their messages, the nodes, the sidings. */

import { memo } from "react";
import {
  type FlowDestination,
  type FlowLine,
  type FlowModel,
  linesOf,
  lineSentence,
} from "./flow-model.ts";
import { lineHref } from "./flow-places.ts";
import type { Drawing } from "./map-layout.ts";
import { pathOf } from "./route-path.ts";

type Shown = { model: FlowModel; drawing: Drawing; focus: string | null };

/** Width is rate, in five steps. */
function widthOf(perSecond: number): number {
  if (perSecond >= 500) return 9;
  if (perSecond >= 100) return 7;
  if (perSecond >= 10) return 6;
  return perSecond >= 1 ? 5 : 2.5;
}

/** Drawn once for a drawing: what lies under the lines. */
export function Ground({ drawing, model, focus }: Shown) {
  if (drawing.kind === "map")
    return drawing.feed === null ? null : (
      <g aria-hidden="true" className="flow-feed">
        <path d={pathOf(drawing.feed.points)} />
      </g>
    );
  const of = (destination: FlowDestination): number => widthOf(destination.perSecond);
  const isOn = (source: string | null, destination: string | null): boolean =>
    focus === null ||
    source === focus ||
    destination === focus ||
    model.destinations.some(
      ({ id, lines }) =>
        (id === destination && lines.some(({ from }) => from === focus)) ||
        (id === focus && lines.some(({ from }) => from === source)),
    );
  return (
    <g aria-hidden="true">
      {model.origins.map(({ id, perSecond }) => (
        <path
          key={id}
          className={isOn(id, null) ? "flow-track" : "flow-track off-focus"}
          data-lit={focus !== null && isOn(id, null) ? "" : undefined}
          d={pathOf(drawing.tracks.get(`column:${id}`) ?? [])}
          strokeWidth={widthOf(perSecond)}
        />
      ))}
      {model.destinations.map((destination) => (
        <path
          key={destination.id}
          className={isOn(null, destination.id) ? "flow-track" : "flow-track off-focus"}
          data-lit={focus !== null && isOn(null, destination.id) ? "" : undefined}
          d={pathOf(drawing.tracks.get(`row:${destination.id}`) ?? [])}
          strokeWidth={Math.min(6, of(destination))}
        />
      ))}
      {drawing.dots.map(({ source, destination, x, y }) => (
        <circle
          key={`${source} ${destination}`}
          className={
            focus === null || source === focus || destination === focus
              ? "flow-dot"
              : "flow-dot off-focus"
          }
          cx={x}
          cy={y}
          r={4}
        />
      ))}
    </g>
  );
}

export const isDimmed = ({ focus, drawing }: Shown, { from, to, state }: FlowLine): boolean =>
  drawing.kind === "loom" &&
  focus !== null &&
  from !== focus &&
  to !== focus &&
  state !== "failing" &&
  state !== "hanging";

export function sharingOf(model: FlowModel, drawing: Drawing): { track: string; width: number }[] {
  const own = linesOf(model)
    .filter(({ shares, perSecond }) => shares && perSecond > 0)
    .filter(({ state }) => state !== "failing" && state !== "hanging");
  if (drawing.kind === "map")
    return own.map(({ key, perSecond }) => ({ track: key, width: widthOf(perSecond) }));
  const columns = model.origins
    .filter(({ shares, perSecond }) => shares && perSecond > 0)
    .map(({ id, perSecond }) => ({ track: `column:${id}`, width: widthOf(perSecond) }));
  const rows = model.destinations
    .filter(({ lines }) => lines.some(({ shares, perSecond }) => shares && perSecond > 0))
    .map(({ id, perSecond }) => ({ track: `row:${id}`, width: Math.min(6, widthOf(perSecond)) }));
  const sends = own
    .filter(({ key }) => drawing.tracks.has(key))
    .map(({ key, perSecond }) => ({ track: key, width: widthOf(perSecond) }));
  return [...columns, ...rows, ...sends];
}

type TrackProps = {
  line: FlowLine;
  drawing: Drawing;
  isLit: boolean;
  isDimmed: boolean;
  isStill: boolean;
  onTip: (key: string | null) => void;
};

/** A line as a link to its messages. */
export const Track = memo(function Track(props: TrackProps) {
  const { line, drawing, isLit, isDimmed: dimmed, isStill, onTip } = props;
  const { key, state, outcome, perSecond, failedShare } = line;
  const track = drawing.tracks.get(key);
  const route = drawing.routes.get(key);
  // A line that came after the drawing was made has no place on it yet.
  if (route === undefined) return null;
  const width = widthOf(perSecond);
  const broken = state === "failing" || state === "hanging" ? state : "";
  const tone = outcome === null ? "" : ` ${outcome}`;
  return (
    <a
      href={lineHref(line)}
      className={`flow-edge ${broken}${tone}${isLit ? " lit" : ""}${dimmed ? " off-focus" : ""}`}
      aria-label={lineSentence(line)}
      data-line={key}
      tabIndex={-1}
      onPointerEnter={() => onTip(key)}
      onPointerLeave={() => onTip(null)}
      onFocus={() => onTip(key)}
      onBlur={() => onTip(null)}
    >
      {/* The last step gives a level line a height: without one it counts as hidden. */}
      <path className="hit" d={`${pathOf(route)}v1`} />
      {track === undefined ? null : (
        <>
          <path className={`flow-track ${state}`} d={pathOf(track)} strokeWidth={width} />
          {state === "failing" ? <path className="ties" d={tiesOf(track)} /> : null}
          {state === "partly" ? (
            <path
              className="part"
              d={pathOf(track)}
              strokeWidth={Math.max(2, width * failedShare)}
              transform={`translate(0 ${(width - Math.max(2, width * failedShare)) / 2})`}
            />
          ) : null}
          {isStill && perSecond > 0 ? <path className="still" d={pathOf(track)} /> : null}
        </>
      )}
    </a>
  );
});

/** Ties lie across the last, level part. */
const tiesOf = (track: readonly (readonly [number, number])[]): string => pathOf(track.slice(-2));

export function Sidings({ model, drawing }: Pick<Shown, "model" | "drawing">) {
  return (
    <g aria-hidden="true">
      {model.destinations.map(({ id, waiting }) => {
        const siding = drawing.sidings.get(id);
        return waiting === 0 || siding === undefined ? null : (
          <path key={id} className="flow-siding" d={pathOf(siding)} />
        );
      })}
    </g>
  );
}

export function Nodes({ drawing, lit }: { drawing: Drawing; lit: ReadonlySet<string> }) {
  const isLit = (key: string): boolean => [...lit].some((line) => line.split(">").includes(key));
  return (
    <svg className="flow-nodes" width={drawing.width} height={drawing.height} aria-hidden="true">
      {drawing.feed?.rings.map(([x, y]) => (
        <circle key={`${x} ${y}`} className="junction" cx={x} cy={y} r={3} />
      ))}
      {drawing.nodes.map(({ key, x, y, height }) => (
        <rect
          key={key}
          className={isLit(key) ? "lit" : undefined}
          x={x - 6}
          y={y - height / 2}
          width={12}
          height={height}
          rx={6}
        />
      ))}
    </svg>
  );
}
