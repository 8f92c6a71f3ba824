/**
 * The map or the loom: lines and stations as SVG, names and figures as links over it, and between
 * the two the canvas on which messages move. Every line and every station is a link with a sentence
 * as its name; the arrows go to the next one in their direction.
 */

import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  type RefObject,
  useRef,
  useState,
} from "react";
import { OutcomeGlyph, StateGlyph } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { clockTime, count, some } from "../../kit/words.ts";
import { FlowCanvas, type Marks } from "./flow-canvas.tsx";
import {
  type FlowAnswer,
  type FlowDestination,
  type FlowLine,
  type FlowModel,
  type FlowWebhook,
  linesOf,
  lineSentence,
  type Origin,
  rateWords,
} from "./flow-model.ts";
import type { Drawing, LabelPlace } from "./map-layout.ts";
import { pathOf } from "./route-path.ts";

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

/** Width is rate, in five steps. */
export function widthOf(perSecond: number): number {
  if (perSecond >= 500) return 9;
  if (perSecond >= 100) return 7;
  if (perSecond >= 10) return 6;
  return perSecond >= 1 ? 5 : 2.5;
}

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
  const pressMark = (event: PointerEvent | React.MouseEvent): void => {
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
      <Stations drawing={drawing} lit={lit} />
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

/** Drawn once for a drawing: what lies under the lines. */
function Ground({ drawing, model, focus }: MapProps) {
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

const isDimmed = ({ focus, drawing }: MapProps, { from, to, state }: FlowLine): boolean =>
  drawing.kind === "loom" &&
  focus !== null &&
  from !== focus &&
  to !== focus &&
  state !== "failing" &&
  state !== "hanging";

function sharingOf(model: FlowModel, drawing: Drawing): { track: string; width: number }[] {
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
const Track = memo(function Track(props: TrackProps) {
  const { line, drawing, isLit, isDimmed: dimmed, isStill, onTip } = props;
  const { key, state, outcome, perSecond, failedShare, href } = line;
  const track = drawing.tracks.get(key);
  const d = pathOf(drawing.routes.get(key) ?? []);
  const width = widthOf(perSecond);
  const broken = state === "failing" || state === "hanging" ? state : "";
  const tone = outcome === null ? "" : ` ${outcome}`;
  return (
    <a
      href={href}
      className={`flow-edge ${broken}${tone}${isLit ? " lit" : ""}${dimmed ? " off-focus" : ""}`}
      aria-label={lineSentence(line)}
      data-line={key}
      tabIndex={-1}
      onPointerEnter={() => onTip(key)}
      onPointerLeave={() => onTip(null)}
      onFocus={() => onTip(key)}
      onBlur={() => onTip(null)}
    >
      <path className="hit" d={d} />
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

function Sidings({ model, drawing }: Pick<MapProps, "model" | "drawing">) {
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

function Stations({ drawing, lit }: Pick<MapProps, "drawing" | "lit">) {
  const isLit = (key: string): boolean => [...lit].some((line) => line.split(">").includes(key));
  return (
    <svg className="flow-stations" width={drawing.width} height={drawing.height} aria-hidden="true">
      {drawing.feed?.rings.map(([x, y]) => (
        <circle key={`${x} ${y}`} className="junction" cx={x} cy={y} r={3} />
      ))}
      {drawing.stations.map(({ key, x, y, height }) => (
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

function Names(props: MapProps) {
  const { model, drawing } = props;
  const at = (key: string): LabelPlace | undefined => drawing.labels.get(key);
  const profiles = at("profiles");
  return (
    <>
      {model.origins.map((origin) => (
        <OriginName key={origin.id} origin={origin} place={at(origin.id)} map={props} />
      ))}
      {profiles === undefined ? null : (
        <a
          className="flow-name low"
          href="#/profiles"
          tabIndex={-1}
          data-node=""
          style={{ left: profiles.x, top: profiles.y, maxWidth: profiles.width }}
        >
          <span className="nm">
            <Icon name="profiles" />
            <b>Profiles</b>
          </span>
        </a>
      )}
      {model.destinations.map((destination) => (
        <DestinationName
          key={destination.id}
          destination={destination}
          place={at(destination.id)}
          map={props}
        />
      ))}
      {model.destinations.flatMap((destination) =>
        destination.webhooks.map((webhook, nth) => (
          <WebhookName
            key={webhook.id}
            webhook={webhook}
            destination={destination}
            isFirst={nth === 0}
            place={at(webhook.id)}
            drawing={drawing}
          />
        )),
      )}
    </>
  );
}

const icons = { source: "sources", audience: "audiences", trait: "profiles" } as const;

type Placed = { place: LabelPlace | undefined };

function OriginName({ origin, place, map }: Placed & { origin: Origin; map: MapProps }) {
  if (place === undefined) return null;
  const { id, kind, name, href, perSecond, count: n, size } = origin;
  const sentence = [
    `${name}: ${perSecond === 0 ? "nothing moves" : `${perSecond} a second`}`,
    some(n, "message"),
    size === null ? "" : `${some(size, "user")} in`,
  ]
    .filter((part) => part !== "")
    .join(", ");
  if (map.drawing.kind === "loom")
    return (
      <LoomName id={id} place={place} sentence={sentence} map={map} kind="source">
        <b>{name}</b>
        <span>{rateWords(perSecond)}</span>
      </LoomName>
    );
  return (
    <NodeName place={place} href={href} sentence={sentence} look={kind === "source" ? "" : "low"}>
      <span className="nm">
        <Icon name={icons[kind]} />
        <b>{name}</b>
      </span>
      <span className="fig" style={{ top: place.below - place.y }}>
        {size === null ? null : (
          <>
            <b>{count(size)}</b> in
          </>
        )}
        {perSecond > 0 ? <b>{rateWords(perSecond)}</b> : null}
        {n > 0 || size === null ? <i>{count(n)}</i> : null}
      </span>
    </NodeName>
  );
}

function DestinationName({
  destination,
  place,
  map,
}: Placed & { destination: FlowDestination; map: MapProps }) {
  if (place === undefined) return null;
  const { id, name, href, enabled, perSecond, count: n, waiting, state, webhooks } = destination;
  const sentence = [
    `${name}: ${perSecond === 0 ? "nothing moves" : `${perSecond} a second`}`,
    some(n, "message"),
    enabled ? "" : "disabled",
    waiting === 0 ? "" : `${count(waiting)} waiting`,
    state === "failing" || state === "hanging" ? state : "",
  ]
    .filter((part) => part !== "")
    .join(", ");
  if (map.drawing.kind === "loom") {
    const bad = webhooks.find(({ line }) => line.outcome !== null);
    const isBig = place.below - place.y > 20;
    return (
      <LoomName
        id={id}
        place={place}
        sentence={sentence}
        map={map}
        kind={isBig ? "destination big" : "destination"}
      >
        <b>{name}</b>
        <span>{rateWords(perSecond)}</span>
        {isBig && bad !== undefined ? (
          <>
            <code>{bad.host}</code>
            <em className={`tone ${bad.line.outcome}`}>{bad.line.words}</em>
          </>
        ) : null}
        {enabled ? null : <em>disabled</em>}
      </LoomName>
    );
  }
  return (
    <NodeName place={place} href={href} sentence={sentence}>
      <span className="nm">
        <Icon name="destinations" />
        <b>{name}</b>
      </span>
      <span className="fig" style={{ top: place.below - place.y }}>
        {perSecond > 0 ? <b>{rateWords(perSecond)}</b> : null}
        <i>{enabled ? count(n) : "disabled"}</i>
      </span>
    </NodeName>
  );
}

function WebhookName({
  webhook: { host, rest, url, line, last },
  destination,
  isFirst,
  place,
  drawing,
}: Placed & {
  webhook: FlowWebhook;
  destination: FlowDestination;
  isFirst: boolean;
  drawing: Drawing;
}) {
  if (place === undefined) return null;
  const sentence = [url, line.words].filter((part) => part !== "").join(": ");
  const latest = last.at(-1);
  const glyph = line.outcome ?? latest?.outcome ?? null;
  if (drawing.kind === "loom")
    return (
      <a
        className="flow-end"
        href={destination.href}
        aria-label={sentence}
        title={sentence}
        tabIndex={-1}
        data-node=""
        style={{ left: place.x, top: place.y }}
      >
        <OutcomeGlyph outcome={glyph ?? "coming"} />
      </a>
    );
  const isWaiting = isFirst && destination.waiting > 0;
  const shift = isWaiting ? 34 : 0;
  return (
    <>
      <NodeName
        place={{ ...place, x: place.x + shift, width: place.width - (isWaiting ? 96 : 0) }}
        href={destination.href}
        sentence={sentence}
        look="hook"
      >
        <span className="nm">
          <code>
            <b>{host}</b>
            {rest}
          </code>
        </span>
        <span className="fig" style={{ top: place.below - place.y }}>
          {isWaiting ? null : (
            <span className="last" aria-hidden="true">
              {last.map(({ outcome }, nth) => (
                // oxlint-disable-next-line react/no-array-index-key -- places in a row of ten
                <OutcomeGlyph key={nth} outcome={outcome} />
              ))}
            </span>
          )}
          <span className={line.outcome === null ? "calm" : `tone strong ${line.outcome}`}>
            {line.words}
          </span>
        </span>
      </NodeName>
      {glyph === null ? null : (
        <span
          className="flow-outcome"
          style={{ left: drawing.width - 22, top: place.y + 18 }}
          aria-hidden="true"
        >
          <OutcomeGlyph outcome={glyph} />
        </span>
      )}
      {isWaiting ? <Waiting destination={destination} drawing={drawing} /> : null}
    </>
  );
}

const maxGroups = 5;

/** The retries of a destination: groups by second, the next one nearest to the webhook. */
function Waiting({
  destination: { id, waiting, due },
  drawing,
}: {
  destination: FlowDestination;
  drawing: Drawing;
}) {
  const siding = drawing.sidings.get(id);
  const [, from, to] = siding ?? [];
  if (from === undefined || to === undefined) return null;
  const groups = dueGroups(due);
  const room = to[0] - from[0];
  const shown = groups.slice(0, Math.max(1, Math.min(maxGroups, Math.floor(room / 52))));
  const next = due[0];
  return (
    <div
      className="flow-waiting"
      style={{ left: from[0] - 34, top: from[1] - 38, width: room + 50 }}
      aria-hidden="true"
    >
      <p>
        <StateGlyph state="waiting" />
        <b>{count(waiting)} waiting</b>
        {next === undefined ? null : <span className="due">next {clockTime(next)}</span>}
      </p>
      <div className="groups">
        {shown.toReversed().map(({ at, size }, nth) => (
          <span key={at}>
            <span className="waiting">
              <StateGlyph state="waiting" />
            </span>
            {size > 1 || nth < shown.length - 1 ? <i>×{size}</i> : null}
          </span>
        ))}
      </div>
    </div>
  );
}

/** By second; by minute when the last one is more than five minutes away. */
export function dueGroups(due: readonly number[]): { at: number; size: number }[] {
  const [first] = due;
  const last = due.at(-1);
  if (first === undefined || last === undefined) return [];
  const step = last - first > 300_000 ? 60_000 : 1000;
  const groups = Map.groupBy(due, (at) => Math.floor(at / step));
  return [...groups.values()].map((all) => ({ at: all[0] as number, size: all.length }));
}

function NodeName({
  place,
  href,
  sentence,
  look = "",
  children,
}: {
  place: LabelPlace;
  href: string;
  sentence: string;
  look?: string;
  children: ReactNode;
}) {
  return (
    <a
      className={`flow-name ${look}`}
      href={href}
      aria-label={sentence}
      tabIndex={-1}
      data-node=""
      style={{ left: place.x, top: place.y, maxWidth: Math.max(40, place.width) }}
    >
      {children}
    </a>
  );
}

function LoomName({
  id,
  place,
  sentence,
  map: { focus, onFocus },
  kind,
  children,
}: {
  id: string;
  place: LabelPlace;
  sentence: string;
  map: MapProps;
  kind: string;
  children: ReactNode;
}) {
  return (
    <button
      type="button"
      className={`flow-row ${kind}`}
      aria-label={sentence}
      aria-pressed={focus === id}
      tabIndex={-1}
      data-node=""
      style={{ left: place.x, top: place.y, width: place.width }}
      onClick={() => onFocus(id)}
    >
      {children}
    </button>
  );
}

function Tip({ line, drawing }: { line: FlowLine; drawing: Drawing }) {
  const points = drawing.routes.get(line.key) ?? [];
  const [x, y] = points[Math.max(0, Math.floor((points.length - 1) / 2))] ?? [0, 0];
  const left = Math.min(drawing.width - 240, x + 14);
  return (
    <div
      className="flow-tip"
      style={{ left, top: Math.min(drawing.height - 84, y + 14) }}
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
