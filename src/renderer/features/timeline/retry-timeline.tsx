/**
 * The retry timeline of a delivery, shown in the details of its message: one lane per webhook over
 * the retry window, from the record, and what is to come of it from its seeded schedule. Changes
 * nothing; opening an attempt is the caller's.
 */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph, type OutcomeName } from "../../kit/glyph.tsx";
import { usePlace } from "../../stores/place.ts";
import { ScaleChoice, useScale } from "./scale-choice.tsx";
import { TimelinePlot } from "./timeline-plot.tsx";
import { useTimeline } from "./use-timeline.ts";
import "./timeline.css";

type Message = AnswerOf<"messages.get">;

type Props = {
  message: Message;
  delivery: Message["deliveries"][number];
  /** With the attempt's id. */
  onOpenAttempt: (attemptId: string) => void;
};

export function RetryTimeline({ message, delivery, onOpenAttempt }: Props) {
  const { scale } = useScale();
  const [chosen, setChosen] = useState<number | null>(null);
  const [hasKey, setHasKey] = useState(false);
  const { name, timeline, windows, windowIndex } = useTimeline(delivery, chosen);

  return (
    <section className="section tl-section">
      <div className="section-head">
        <h3>Retry timeline</h3>
        <span className="muted clip tl-name">{name}</span>
        <span className="grow" />
        {windows.length > 1 ? (
          <label className="tl-window quiet">
            window
            <select
              value={windowIndex}
              onChange={(event) => setChosen(Number(event.currentTarget.value))}
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
        <ScaleChoice small />
        <Menu
          trigger={<IconButton icon="more" label="More about the timeline" small />}
          items={[
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
      {timeline === null ? null : (
        <TimelinePlot
          timeline={timeline}
          scale={scale}
          label={`Retry timeline of ${(message.event ?? message.type ?? "a message").slice(0, 100)} at ${name.slice(0, 100)}. Use the arrow keys to move by round and by webhook, and Enter to open the attempt.`}
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
