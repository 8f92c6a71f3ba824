/**
 * Flow: everything that is configured as one map, with what moves on it. The place is `#/flow`,
 * `#/flow/<message>` with a message beside it, and `#/flow?focus=<id>` on a loom.
 */

import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { SplitPane } from "../../kit/split-pane.tsx";
import { count } from "../../kit/words.ts";
import { useOffer } from "../../stores/commands.ts";
import { useKeys } from "../../stores/keys.ts";
import { useFeed, useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { usePresenter } from "../../stores/presenter.ts";
import type { Marks } from "./flow-canvas.tsx";
import { FlowBar, type Shape } from "./flow-bar.tsx";
import { FlowCard } from "./flow-card.tsx";
import { FlowStart } from "./flow-start.tsx";
import { FlowList } from "./flow-list.tsx";
import { FlowMap } from "./flow-map.tsx";
import { type FlowAnswer, type FlowModel, lineKey, newestOn } from "./flow-model.ts";
import { FlowPanel } from "./flow-panel.tsx";
import { grouped, isGroup, loomLayout, needsAttention } from "./loom-layout.ts";
import { type Drawing, isMany, mapLayout, type Room } from "./map-layout.ts";
import { useFlow } from "./use-flow.ts";
import "./flow.css";
import "./flow-map.css";
import { readKept, writeKept } from "../../kit/kept.ts";

const shapeKey = "hookyard.flow.shape";

export function FlowView() {
  const { path, query, change } = usePlace();
  const { flow, model, error } = useFlow();
  const marks = useRef<Marks | null>(null);
  const onMarks = useCallback((next: Marks | null) => {
    marks.current = next;
  }, []);
  const selected = path[0] ?? null;
  const { answer: message, error: messageError } = useLive(
    "messages.get",
    selected === null ? null : { id: selected },
  );
  const total = useLive("stats.get", {}).answer?.messages.total;
  const focus = query["focus"] ?? null;
  const { shape, choose } = useShape();
  const { held, hold, holdOne, close } = useHeldMessage(flow);

  if (model === undefined || flow === undefined)
    return (
      <section className="flow" aria-label="Flow">
        <h1 className="sr">Flow</h1>
        <ProblemText error={error} />
      </section>
    );
  const map = (
    <MapArea
      model={model}
      flow={flow}
      // The flow may know the first message before the statistics do: the map grows once.
      isEmpty={total === 0 && flow.sources.every((source) => source.count === 0)}
      lit={litBy(message)}
      held={held}
      onHold={hold}
      marks={marks}
      onMarks={onMarks}
      focus={focus}
      onFocus={(id) => change({ query: { focus: id === focus ? null : id } })}
    />
  );
  const main = shape === "list" ? <FlowList model={model} /> : map;
  return (
    <section className="flow" aria-label="Flow">
      <FlowBar
        model={model}
        shape={shape}
        onShape={choose}
        onFind={(id) => change({ query: { focus: id } })}
      />
      <ProblemText error={error} />
      {selected === null ? (
        <div className="flow-main">{main}</div>
      ) : (
        <SplitPane
          name="flow"
          label="Width of the message"
          initial="clamp(300px, 26%, 360px)"
          min={280}
          max={640}
          first={<div className="flow-main">{main}</div>}
          second={
            <FlowPanel
              id={selected}
              message={message}
              error={messageError}
              destinations={model.destinations}
              isHeld={held === selected}
              onHold={holdOne}
              onClose={close}
            />
          }
        />
      )}
    </section>
  );
}

function useShape() {
  const [shape, setShape] = useState<Shape>(() => (readKept(shapeKey) === "list" ? "list" : "map"));
  const choose = (next: Shape): void => {
    setShape(next);
    writeKept(shapeKey, next);
  };
  const [toMap, toList] = [() => choose("map"), () => choose("list")];
  useKeys({ m: toMap, l: toList });
  useOffer("Flow", [
    { id: "flow.map", label: "Flow as a map", icon: "flow", shortcut: "m", run: toMap },
    { id: "flow.list", label: "Flow as a list", icon: "list", shortcut: "l", run: toList },
  ]);
  return { shape, choose };
}

/** The message whose marks stand still on the map, while others move. */
function useHeldMessage(flow: FlowAnswer | undefined) {
  const { path, query, go, change } = usePlace();
  const [held, setHeld] = useState<string | null>(null);
  const selected = path[0] ?? null;
  const hold = (id: string): void => {
    setHeld(id);
    go({ view: "flow", path: [id] });
  };
  /** False: there is nothing to close. */
  const close = (): boolean => {
    const hasFocus = (query["focus"] ?? null) !== null;
    setHeld(null);
    if (selected !== null) go({ view: "flow" });
    else if (hasFocus) change({ query: { focus: null } });
    return held !== null || selected !== null || hasFocus;
  };
  const holdOne = (): void => {
    if (held !== null) return setHeld(null);
    if (selected !== null) return setHeld(selected);
    const line = (document.activeElement as HTMLElement | null)?.dataset["line"];
    const id = line === undefined || flow === undefined ? null : newestOn(flow, line);
    if (id !== null) hold(id);
  };
  useKeys({ h: holdOne, Escape: close });
  return { held, hold, holdOne, close };
}

/** The lines that a message went along. */
function litBy(message: AnswerOf<"messages.get"> | undefined): ReadonlySet<string> {
  if (message === undefined) return new Set();
  return new Set(
    message.deliveries.flatMap(({ destinationId, attempts }) => [
      lineKey(message.sourceId, destinationId),
      ...attempts.map(({ webhookId }) => lineKey(destinationId, webhookId)),
    ]),
  );
}

type AreaProps = {
  model: FlowModel;
  flow: FlowAnswer;
  isEmpty: boolean;
  lit: ReadonlySet<string>;
  held: string | null;
  onHold: (id: string) => void;
  marks: RefObject<Marks | null>;
  onMarks: (marks: Marks | null) => void;
  focus: string | null;
  onFocus: (id: string) => void;
};

function MapArea({ model: each, flow, isEmpty, ...map }: AreaProps) {
  const area = useRef<HTMLDivElement>(null);
  const room = useRoom(area);
  const [groups, setGroups] = useState(true);
  useKeys({ g: () => setGroups(!groups) });
  // What is looked at alone, or on the way, has a row of its own.
  const groupedModel = useMemo(() => (isMany(each) ? grouped(each) : each), [each]);
  const isOpen = !groups || map.lit.size > 0 || map.focus !== null;
  const model = isOpen ? each : groupedModel;
  const drawing = useDrawing(model, isEmpty ? { ...room, height: 260 } : room);
  const isLost = useFeed((feed) => feed.lostAt !== null);
  const isStill = useReducedMotion();
  const focused = [...model.destinations, ...model.origins].find(({ id }) => id === map.focus);
  useRovingStart(area, drawing);
  return (
    <>
      <div
        ref={area}
        className={`flow-area${isLost ? " lost" : ""}${isEmpty ? " empty-flow" : ""}`}
      >
        {drawing === null ? null : (
          <FlowMap
            model={model}
            flow={flow}
            drawing={drawing}
            isStill={isStill}
            {...map}
            onFocus={(id) => (isGroup(id) ? setGroups(false) : map.onFocus(id))}
          />
        )}
        {drawing?.kind === "loom" && focused === undefined ? <Totals model={model} /> : null}
        {drawing?.kind === "loom" && focused !== undefined && map.focus !== null ? (
          <FlowCard model={model} id={map.focus} onClose={() => map.onFocus(focused.id)} />
        ) : null}
        {isEmpty ? <FlowStart /> : null}
      </div>
      {isEmpty ? null : (
        <Legend isLoom={drawing?.kind === "loom"} hasGroups={groupedModel !== each} />
      )}
    </>
  );
}

function Totals({ model: { origins, destinations } }: { model: FlowModel }) {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, n) => total + n, 0);
  const lines = destinations.flatMap(({ webhooks }) => webhooks.map(({ line }) => line));
  const out = sum(lines.map(({ perSecond }) => perSecond));
  const failed = sum(lines.map(({ perSecond, failedShare }) => perSecond * failedShare));
  const percent = out === 0 ? 0 : (failed / out) * 100;
  const waiting = sum(destinations.map((destination) => destination.waiting));
  const rate = (n: number): string => count(n >= 100 ? Math.round(n) : Math.round(n * 10) / 10);
  return (
    <div className="flow-totals">
      <p>
        <b>{rate(sum(origins.map(({ perSecond }) => perSecond)))}</b>
        <span>messages/s in</span>
      </p>
      <p>
        <b>{rate(out)}</b>
        <span>attempts/s out</span>
      </p>
      <p className={percent > 0 ? "failed" : undefined}>
        <b>{percent === 0 ? 0 : percent < 0.1 ? "< 0.1" : percent.toFixed(1)} %</b>
        <span>fail</span>
      </p>
      <p className={waiting > 0 ? "waiting" : undefined}>
        <b>{count(waiting)}</b>
        <span>waiting</span>
      </p>
    </div>
  );
}

function Legend({ isLoom, hasGroups }: { isLoom: boolean; hasGroups: boolean }) {
  return (
    <footer className="flow-legend" aria-hidden="true">
      {isLoom ? (
        <span>a dot joins a source to a destination: no dot, no route</span>
      ) : (
        <span>
          <svg viewBox="0 0 30 12">
            <path className="flow-feed-key" d="M0 6h30" />
          </svg>
          profiles follow
        </span>
      )}
      {[1, 10, 100].map((rate) => (
        <span key={rate} className="opt">
          <svg viewBox="0 0 30 12">
            <path
              className="flow-track"
              d="M0 6h30"
              strokeWidth={rate === 1 ? 2.5 : rate === 10 ? 6 : 7}
            />
          </svg>
          {rate}/s
        </span>
      ))}
      <span className="opt">
        <svg viewBox="0 0 30 12">
          <path className="flow-track" d="M0 6h30" strokeWidth="7" />
          <path className="flow-share-key" d="M0 6h30" />
        </svg>
        over 40/s: shares
      </span>
      <span className="http_error">
        <svg viewBox="0 0 30 12">
          <path className="flow-track failing" d="M0 6h30" strokeWidth="5" />
          <path className="ties" d="M0 6h30" />
        </svg>
        fails
      </span>
      <span className="grow" />
      {hasGroups ? (
        <span>
          <kbd>g</kbd> opens, closes groups
        </span>
      ) : null}
      <span className="opt">
        <kbd>←</kbd>
        <kbd>→</kbd>
        <kbd>↑</kbd>
        <kbd>↓</kbd> walk the lines
      </span>
    </footer>
  );
}

function useRoom(area: { current: HTMLElement | null }): Room {
  const [room, setRoom] = useState<Room>({ width: 0, height: 0 });
  useEffect(() => {
    const element = area.current;
    if (element === null) return undefined;
    const measure = (): void =>
      setRoom({ width: element.clientWidth, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, [area]);
  return room;
}

/** A row moves to the other group when it has been in its new state for this long. */
const settledMs = 10_000;

/** Laid out again only when the configuration or the room changes, or a row changes its group. */
function useDrawing(model: FlowModel, { width, height }: Room): Drawing | null {
  const letterPx = usePresenter(({ isOn }) => (isOn ? 12 : 9));
  const groups = useRef(new Map<string, { isIn: boolean; since: number | null }>());
  const now = window.performance.now();
  for (const { id, state } of model.destinations) {
    const isIn = needsAttention(state);
    const known = groups.current.get(id);
    if (known === undefined) groups.current.set(id, { isIn, since: null });
    else if (known.isIn === isIn) known.since = null;
    else if (known.since === null) known.since = now;
    else if (now - known.since > settledMs) groups.current.set(id, { isIn, since: null });
  }
  const attention = model.destinations.flatMap(({ id }) =>
    groups.current.get(id)?.isIn === true ? [id] : [],
  );
  const key = JSON.stringify([
    model.origins.map(({ id, name, kind }) => [id, name, kind]),
    model.destinations.map(({ id, name, webhooks, lines }) => [
      id,
      name,
      webhooks.map((webhook) => webhook.id),
      lines.map((line) => line.from),
    ]),
    isMany(model) ? attention : [],
  ]);
  return useMemo(
    () =>
      width === 0
        ? null
        : isMany(model)
          ? loomLayout(model, { width, height }, new Set(attention))
          : mapLayout(model, { width, height, letterPx }),
    // oxlint-disable-next-line react-hooks/exhaustive-deps -- the key stands for all of the model that has a place
    [key, width, height, letterPx],
  );
}

function useReducedMotion(): boolean {
  const query = useMemo(() => window.matchMedia("(prefers-reduced-motion: reduce)"), []);
  const [isReduced, set] = useState(query.matches);
  useEffect(() => {
    const changed = (): void => set(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [query]);
  return isReduced;
}

/** One stop for Tab: the first link of the map, or the one that the arrows went to. */
function useRovingStart(area: { current: HTMLElement | null }, drawing: Drawing | null): void {
  useEffect(() => {
    const element = area.current;
    if (element === null || drawing === null) return undefined;
    const set = (to: Element | null): void => {
      for (const each of element.querySelectorAll(
        "[data-node][tabindex='0'],[data-line][tabindex='0']",
      ))
        each.setAttribute("tabindex", "-1");
      to?.setAttribute("tabindex", "0");
    };
    const focused = (event: FocusEvent): void => {
      const link = (event.target as Element | null)?.closest("[data-node],[data-line]") ?? null;
      if (link !== null) set(link);
    };
    set(element.querySelector("[data-node]"));
    element.addEventListener("focusin", focused);
    return () => element.removeEventListener("focusin", focused);
  }, [area, drawing]);
}
