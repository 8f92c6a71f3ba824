/**
 * The clock, the same on every view: its time, its modes, a step, an advance. Teal when it is not
 * real time.
 */

import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { Choice } from "../../kit/controls.tsx";
import { Icon } from "../../kit/icon.tsx";
import { Menu } from "../../kit/floats.tsx";
import { calendarDate, clockTime, dayAndTime, count, span } from "../../kit/words.ts";
import {
  advanceClock,
  advanceDurations,
  advanceToIdle,
  cancelAdvance,
  nowOf,
  setClock,
  stepClock,
  useClock,
  useNow,
  type AdvanceAnswer,
  type AdvanceDuration,
} from "../../stores/clock.ts";
import { useStory } from "../../stores/story.ts";

/**
 * Less is real time: two clocks in one machine are never the same to the millisecond.
 */
const sameMs = 1500;

const modes = [
  "real",
  { value: "faster 10", label: "×10" },
  { value: "faster 60", label: "×60" },
  { value: "faster 600", label: "×600" },
  {
    value: "paused",
    label: (
      <>
        <Icon name="pause" small />
        paused
      </>
    ),
  },
];

export function ClockBar() {
  const clock = useClock();
  const now = useNow();
  const isStory = useStory(({ story }) => story !== null);
  if (clock === undefined || now === null) return <div className="clockbar" />;

  const ahead = now - Date.now();
  // A story looks the same on every day.
  const distance = isStory
    ? "story time"
    : Math.abs(ahead) < sameMs
      ? "real time"
      : `${span(ahead)} ${ahead > 0 ? "ahead" : "behind"}`;
  const sentences = {
    real: "The clock runs in real time",
    paused: "The clock is paused",
    faster: `The clock runs ${clock.speed} times as fast as real time`,
  };
  return (
    <div className="clockbar" role="group" aria-label="The clock">
      <div className="clock" title={`${sentences[clock.mode]}: ${calendarDate(now)}, ${distance}`}>
        <time dateTime={new Date(now).toISOString()}>{clockTime(now)}</time>
        <small>
          <span>{calendarDate(now)}</span>
          <span>{distance}</span>
        </small>
      </div>
      <Choice
        label="Clock mode"
        name="modes"
        value={clock.mode === "faster" ? `faster ${clock.speed}` : clock.mode}
        options={modes}
        onChange={(value) => {
          const [name = "real", speed] = value.split(" ");
          void setClock(
            name as "real" | "faster" | "paused",
            speed === undefined ? undefined : Number(speed),
          );
        }}
      />
      <StepButton clock={clock} />
      <AdvanceButtons />
      {clock.advance === null ? null : <Advancing advance={clock.advance} />}
    </div>
  );
}

function StepButton({ clock }: { clock: NonNullable<ReturnType<typeof useClock>> }) {
  const due = clock.nextDueAt === null ? null : Date.parse(clock.nextDueAt);
  return (
    <button
      type="button"
      className="btn step"
      disabled={due === null}
      aria-keyshortcuts="."
      title={
        due === null
          ? "Nothing is due"
          : `Step to the next due time, in ${span(due - nowOf(clock))}`
      }
      onClick={() => void stepClock()}
    >
      <Icon name="step" />
      {due === null ? (
        <span>Nothing is due</span>
      ) : (
        <>
          <span className="wide">Step to next due</span>
          <b className="due">{dayAndTime(due, nowOf(clock))}</b>
          <kbd aria-hidden="true">.</kbd>
        </>
      )}
    </button>
  );
}

/** Advances by the duration that was chosen last. */
function AdvanceButtons() {
  const [by, setBy] = useState<AdvanceDuration>(advanceDurations[1]);
  return (
    <span className="split-btn">
      <button
        type="button"
        className="btn"
        title={`Advance the clock by ${by.label}`}
        onClick={() => void advanceClock(by.ms)}
      >
        <Icon name="advance" />
        <span className="wide">Advance</span> {by.label}
      </button>
      <Menu
        trigger={
          <button
            type="button"
            className="btn"
            aria-label="Advance by another duration, or until nothing is due"
          >
            <Icon name="down" small />
          </button>
        }
        items={[
          ...advanceDurations.map((each) => ({
            label: `Advance ${each.label}`,
            icon: "advance" as const,
            onSelect: () => {
              setBy(each);
              void advanceClock(each.ms);
            },
          })),
          "line",
          { label: "Run until nothing is due", icon: "step", onSelect: () => void advanceToIdle() },
        ]}
      />
    </span>
  );
}

/** Most advances are over before anybody could read about them. */
const momentMs = 300;

/** Below the bar, so that no button moves or loses the focus while the clock is on its way. */
function Advancing({
  advance: { from, to, now, attempts },
}: {
  advance: NonNullable<AdvanceAnswer>;
}) {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    const timer = window.setTimeout(() => setLasts(true), momentMs);
    return () => window.clearTimeout(timer);
  }, []);
  const panel = useRef<HTMLDivElement>(null);
  // Its button goes with it, and the focus back to what started it.
  useLayoutEffect(() => {
    const { current } = panel;
    return () => {
      if (current?.contains(document.activeElement) === true)
        current.parentElement?.querySelector<HTMLElement>(".split-btn button")?.focus();
    };
  }, [lasts]);
  if (!lasts) return null;
  const target = to === "idle" || to === "next-due" ? null : Date.parse(to);
  const gone = Date.parse(now) - Date.parse(from);
  const part = target === null ? null : (100 * gone) / Math.max(1, target - Date.parse(from));
  const words =
    target === null
      ? to === "idle"
        ? "Running until nothing is due"
        : "Stepping to the next due"
      : `Advancing to ${dayAndTime(target, Date.parse(from))}`;
  return (
    <div className="advancing" role="group" aria-label="Advance of the clock" ref={panel}>
      <p role="status">{words}</p>
      <p className="quiet">
        {gone > 0 ? `${span(gone)} so far` : "Waiting for requests to end"}, {count(attempts)}{" "}
        {attempts === 1 ? "attempt" : "attempts"}
      </p>
      {part === null ? null : (
        <div
          className="progress"
          role="progressbar"
          aria-label="Progress of the advance"
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(part)}
        >
          <i style={{ "--p": `${part}%` } as React.CSSProperties} />
        </div>
      )}
      <button type="button" className="btn" onClick={() => void cancelAdvance()}>
        Cancel
      </button>
    </div>
  );
}
