/**
 * The retry timeline of a delivery, shown in the details of its message: one lane per webhook over
 * the retry window, from the record, and what is to come of it from its seeded schedule; or all
 * deliveries of the message over one axis. Changes nothing; opening an attempt is the caller's.
 */

import { useMemo, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph, type OutcomeName } from "../../kit/glyph.tsx";
import { usePlace } from "../../stores/place.ts";
import { ScaleChoice, timelineScales, useScale } from "./scale-choice.tsx";
import type { Range } from "./timeline-axis.ts";
import { wholeRange } from "./timeline-layout.ts";
import { TimelinePlot } from "./timeline-plot.tsx";
import { zoomed } from "./timeline-zoom.ts";
import { useTimeline, useTimelineParts } from "./use-timeline.ts";
import "./timeline.css";

type Message = AnswerOf<"messages.get">;
type Delivery = Message["deliveries"][number];

type Props = {
  message: Message;
  delivery: Delivery;
  /** With the attempt's id. */
  onOpenAttempt: (attemptId: string) => void;
};

const none: readonly Delivery[] = [];

export function RetryTimeline({ message, delivery, onOpenAttempt }: Props) {
  const scale = useScale(timelineScales);
  const [chosen, setChosen] = useState<{ of: string; window: number } | null>(null);
  const [hasKey, setHasKey] = useState(false);
  const [withAll, setWithAll] = useState(false);
  const { name, timeline, windows, windowIndex } = useTimeline(
    delivery,
    chosen?.of === delivery.id ? chosen.window : null,
  );
  const isSeveral = message.deliveries.length > 1;
  const showsAll = isSeveral && withAll;
  const all = useTimelineParts(showsAll ? message.deliveries : none);
  const one = useMemo(
    () => (timeline === null ? null : [{ key: delivery.id, name, timeline }]),
    [delivery.id, name, timeline],
  );
  const parts = showsAll ? all : one;
  const shownKey = `${parts?.map(({ key }) => key).join(" ")} ${windowIndex}`;
  const [zoom, setZoom] = useState<{ of: string; range: Range } | null>(null);
  const range = zoom?.of === shownKey ? zoom.range : null;
  const setRange = (next: Range | null): void =>
    setZoom(next === null ? null : { of: shownKey, range: next });
  const zoomBy = (key: "+" | "-"): void => {
    if (parts === null) return;
    const next = zoomed(
      { key, ctrlKey: false, metaKey: false, altKey: false },
      { whole: wholeRange(parts), range, around: null },
    );
    if (next !== undefined) setRange(next);
  };

  return (
    <section className="section tl-section">
      <div className="section-head">
        <h3>Retry timeline</h3>
        <span className="muted clip tl-name">{showsAll ? "all deliveries" : name}</span>
        <span className="grow" />
        {range === null ? null : (
          <Button small look="quiet" shortcut="0" onClick={() => setRange(null)}>
            Whole window
          </Button>
        )}
        {windows.length > 1 && !showsAll ? (
          <label className="tl-window quiet">
            window
            <select
              value={windowIndex}
              onChange={({ currentTarget }) =>
                setChosen({ of: delivery.id, window: Number(currentTarget.value) })
              }
              aria-label="Retry window"
            >
              {windows.map(({ firstRound }, place) => (
                <option key={firstRound} value={place}>
                  {place + 1} of {windows.length}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <ScaleChoice small offered={timelineScales} />
        <Menu
          trigger={<IconButton icon="more" label="More about the timeline" small />}
          items={[
            ...(isSeveral
              ? [
                  {
                    label: withAll ? "This delivery alone" : "All deliveries over each other",
                    icon: "show" as const,
                    onSelect: () => setWithAll(!withAll),
                  },
                ]
              : []),
            { label: "Zoom in", icon: "add", hint: "+, or drag", onSelect: () => zoomBy("+") },
            { label: "Zoom out", icon: "fewer", hint: "-", onSelect: () => zoomBy("-") },
            {
              label: hasKey ? "Hide the legend" : "Legend",
              icon: "show",
              onSelect: () => setHasKey(!hasKey),
            },
            {
              label: "All waiting deliveries",
              icon: "retries",
              hint: "Retries",
              onSelect: () => usePlace.getState().go({ view: "retries" }),
            },
          ]}
        />
      </div>
      {parts === null ? null : (
        <TimelinePlot
          parts={parts}
          scale={scale}
          range={range}
          onRange={setRange}
          label={`Retry timeline of ${(message.event ?? message.type ?? "a message").slice(0, 100)} at ${showsAll ? `${parts.length} destinations` : name.slice(0, 100)}. Use the arrow keys to move by round and by webhook, Enter to open the attempt, and plus, minus and 0 to zoom.`}
          onOpenAttempt={onOpenAttempt}
        />
      )}
      {hasKey ? <KeyOfShapes /> : null}
    </section>
  );
}

const shapes: readonly { outcome: OutcomeName; text: string; isNext?: boolean }[] = [
  { outcome: "success", text: "success" },
  { outcome: "http_error", text: "http_error" },
  { outcome: "timeout", text: "timeout" },
  { outcome: "connection_error", text: "connection_error" },
  { outcome: "tls_error", text: "tls_error" },
  { outcome: "under_way", text: "in progress" },
  { outcome: "coming", text: "next round", isNext: true },
  { outcome: "coming", text: "coming" },
];

function KeyOfShapes() {
  return (
    <ul className="tl-key" aria-label="Legend">
      {shapes.map(({ outcome, text, isNext }) => (
        <li key={text} className={isNext === true ? "coming next" : outcome}>
          <OutcomeGlyph outcome={outcome} />
          {text}
        </li>
      ))}
      <li>height: the duration, dashed for clock time</li>
    </ul>
  );
}
