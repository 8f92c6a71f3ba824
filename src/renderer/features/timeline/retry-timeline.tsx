/**
 * The retry timeline of a delivery, shown in the details of its message: one lane per webhook over the retry window, from
 * the record, and what is to come of it from its seeded schedule. Changes nothing; opening an attempt is the caller's.
 */

import { useMemo, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { profileOf } from "../../../domain/retry.ts";
import { IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph, type OutcomeName } from "../../kit/glyph.tsx";
import { useClock, nowOf } from "../../stores/clock.ts";
import { useDestination } from "../../stores/destination.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { courseOf, isUnstarted } from "./course.ts";
import { useScale } from "./kept-scale.ts";
import { ScaleChoice } from "./scale-choice.tsx";
import { TimelinePlot } from "./timeline-plot.tsx";
import { windowsOf } from "./windows.ts";
import "./timeline.css";

type Message = AnswerOf<"messages.get">;

type Props = {
  message: Message;
  delivery: Message["deliveries"][number];
  /** With the attempt's id. */
  onOpenAttempt: (attemptId: string) => void;
  /** The id of the attempt that is open beside it. */
  openAttempt?: string | null;
};

export function RetryTimeline({ message, delivery, onOpenAttempt, openAttempt = null }: Props) {
  const { destination, isDeleted } = useDestination(delivery.destinationId);
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const settings = useLive("settings.get", {}).answer;
  const clock = useClock();
  const { scale } = useScale();
  const [chosen, setChosen] = useState<number | null>(null);
  const [hasKey, setHasKey] = useState(false);

  const windows = useMemo(() => windowsOf(delivery), [delivery]);
  const windowPlace = Math.min(chosen ?? windows.length - 1, windows.length - 1);
  const profile = profileOf(profiles ?? [], destination?.retryProfile);
  const isReady = (destination !== undefined || isDeleted) && profiles !== undefined && settings !== undefined;
  // Only a delivery whose window has not begun moves with the clock as a whole.
  const beginning = isUnstarted(delivery) && clock !== undefined ? Math.floor(nowOf(clock) / 1000) * 1000 : 0;
  const course = useMemo(
    () =>
      isReady
        ? courseOf({
            delivery,
            webhooks: destination?.webhooks ?? [],
            profile,
            seed: settings.seed,
            jitter: settings.jitter,
            window: windows[windowPlace],
            now: beginning,
          })
        : null,
    [isReady, profile, settings, delivery, destination, windows, windowPlace, beginning],
  );
  const name = destination?.name ?? (isDeleted ? "a deleted destination" : "");

  return (
    <section className="section tl-section">
      <div className="section-head">
        <h3>Retry timeline</h3>
        <span className="muted clip tl-name">{name}</span>
        <span className="grow" />
        {windows.length > 1 ? (
          <label className="tl-window quiet">
            window
            <select value={windowPlace} onChange={(event) => setChosen(Number(event.currentTarget.value))} aria-label="Retry window">
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
            { label: hasKey ? "Hide the key of shapes" : "Key of shapes", icon: "show", onSelect: () => setHasKey(!hasKey) },
            {
              label: "All waiting deliveries",
              icon: "retries",
              hint: "Retries",
              onSelect: () => usePlace.getState().go({ view: "retries" }),
            },
          ]}
        />
      </div>
      {course === null ? null : (
        <TimelinePlot
          course={course}
          scale={scale}
          label={`Retry timeline of ${(message.event ?? message.type ?? "a message").slice(0, 100)} at ${name.slice(0, 100)}. Arrows walk by round and by webhook, Enter opens the attempt.`}
          openAttempt={openAttempt}
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
  { outcome: "under_way", text: "under way" },
  { outcome: "coming", text: "next round", isNext: true },
  { outcome: "coming", text: "coming" },
];

function KeyOfShapes() {
  return (
    <ul className="tl-key" aria-label="Key of shapes">
      {shapes.map(({ outcome, text, isNext }) => (
        <li key={text} className={isNext === true ? "coming next" : outcome}>
          <OutcomeGlyph outcome={outcome} />
          {text}
        </li>
      ))}
      <li>height: the duration, dashed when it is clock time</li>
    </ul>
  );
}
