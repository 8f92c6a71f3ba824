/**
 * One step on the track: what it does, for how many requests, how many it has served; its sentence
 * opens the rest.
 */

import type { DragEvent } from "react";
import { stepBehaviours } from "../../../domain/configuration.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { IconButton } from "../../kit/controls.tsx";
import { durationText } from "../../kit/duration-text.ts";
import { Menu } from "../../kit/floats.tsx";
import { Icon } from "../../kit/icon.tsx";
import { count, duration } from "../../kit/words.ts";
import { useClock } from "../../stores/clock.ts";
import { printMatch, printStep, type ProgramStep } from "./program-text.ts";
import { StepActionFields, StepDetails } from "./step-fields.tsx";
import { extrasWords, outcomeOf, type StepProgress, usualDripMs } from "./step-outcomes.ts";

type ProgramStepProps = {
  step: ProgramStep;
  place: number;
  isLast: boolean;
  isNext: boolean;
  /** It is the last one and serves for ever. */
  repeats: boolean;
  /** How many requests it serves, of each message or of all; null for any number. */
  times: number | null;
  progress: StepProgress;
  isOpen: boolean;
  canRemove: boolean;
  onOpen: () => void;
  onChange: (step: ProgramStep) => Promise<void>;
  onMove: (by: 1 | -1) => void;
  onDuplicate: () => void;
  onRemove: () => void;
  onDragStart: () => void;
  onDragEnd: () => void;
  /** Another step is being dragged and may be dropped here. */
  isTarget: boolean;
  onDrop: () => void;
};

export function ProgramStepRow(props: ProgramStepProps) {
  const {
    step,
    place,
    isLast,
    isNext,
    progress,
    isOpen,
    canRemove,
    onOpen,
    onChange,
    onMove,
    isTarget,
  } = props;
  const number = place + 1;
  const isServed = progress.of !== null && progress.served === progress.of;
  const detailsId = `step-${number}-details`;
  const name = ["pstep", isNext ? "next" : "", isServed ? "served" : "", isTarget ? "target" : ""]
    .filter(Boolean)
    .join(" ");
  const allowDrop = (event: DragEvent): void => {
    if (isTarget) event.preventDefault();
  };
  return (
    <li
      className={name}
      aria-label={`Step ${number}: ${printStep(step)}`}
      onDragOver={allowDrop}
      onDrop={props.onDrop}
    >
      <button
        type="button"
        className="grip"
        draggable
        title="Drag, or move with the arrow keys"
        aria-label={`Move step ${number}`}
        onDragStart={(event) => {
          event.dataTransfer.effectAllowed = "move";
          event.dataTransfer.setData("text/plain", printStep(step));
          props.onDragStart();
        }}
        onDragEnd={props.onDragEnd}
        onKeyDown={(event) => {
          const by = ({ ArrowUp: -1, ArrowDown: 1 } as const)[event.key];
          if (by === undefined) return;
          event.preventDefault();
          onMove(by);
          focusGrip(event.currentTarget, by);
        }}
      >
        <Icon name="grip" />
      </button>
      <span className="node">
        {isNext ? <b className="flag">next</b> : null}
        <b className="no">{number}</b>
      </span>
      <div className="fields">
        <StepActionFields step={step} number={number} onChange={onChange} />
      </div>
      <Requests {...props} />
      <Served progress={progress} />
      <Menu
        trigger={<IconButton icon="more" small label={`More for step ${number}`} />}
        items={[
          {
            label: isOpen
              ? "Close details"
              : step.do === "forward"
                ? "What happens on the way"
                : "Delay, share, match, headers, body",
            icon: "settings",
            onSelect: onOpen,
          },
          { label: "Duplicate", icon: "copy", onSelect: props.onDuplicate },
          { label: "Move up", icon: "up", disabled: place === 0, onSelect: () => onMove(-1) },
          { label: "Move down", icon: "down", disabled: isLast, onSelect: () => onMove(1) },
          "line",
          { label: "Remove", icon: "deletions", disabled: !canRemove, onSelect: props.onRemove },
        ]}
      />
      <button
        type="button"
        className="limit"
        aria-expanded={isOpen}
        aria-controls={detailsId}
        onClick={onOpen}
      >
        <StepSentence step={step} />
      </button>
      {isOpen ? (
        <div className="step-details" id={detailsId}>
          <StepDetails step={step} number={number} onChange={onChange} />
        </div>
      ) : null}
    </li>
  );
}

/** The focus stays with the step that was moved. */
function focusGrip(grip: HTMLElement, by: 1 | -1): void {
  const row = grip.closest("li");
  const other = by === 1 ? row?.nextElementSibling : row?.previousElementSibling;
  window.requestAnimationFrame(() => other?.querySelector<HTMLElement>(".grip")?.focus());
}

function Requests({ step, place, repeats, times, onChange }: ProgramStepProps) {
  const number = place + 1;
  if (repeats) {
    return (
      <span className="count quiet rest" title="The last step serves all remaining requests">
        the rest
      </span>
    );
  }
  const withTimes = (next: number | null): Promise<void> => {
    const { times: _, ...others } = step;
    return onChange(next === null ? others : { ...others, times: next });
  };
  const save = (next: number | null): void => void withTimes(next).catch(() => undefined);
  return (
    <span className="count">
      <IconButton
        icon="fewer"
        small
        label={`Fewer requests for step ${number}`}
        disabled={times === null || (times === 1 && step.chance === undefined)}
        onClick={() => save(times === null || times === 1 ? null : times - 1)}
      />
      <CommitField
        label={`Requests that step ${number} serves`}
        shown="hidden"
        name="times-field"
        small
        text={times === null ? "any" : `×${times}`}
        check={(text) => (readTimes(text) === undefined ? "Enter a number from 1." : null)}
        onCommit={(text) => withTimes(readTimes(text) ?? null)}
      />
      <IconButton
        icon="add"
        small
        label={`More requests for step ${number}`}
        onClick={() => save((times ?? 0) + 1)}
      />
    </span>
  );
}

/** Null for any number; undefined when it is none. */
function readTimes(text: string): number | null | undefined {
  const given = text.trim().replace(/^[×x*]\s*/i, "");
  if (given === "any") return null;
  return /^[1-9]\d{0,8}$/.test(given) ? Number(given) : undefined;
}

/** Up to this many are drawn one by one. */
const maxPips = 5;

function Served({ progress: { served, of } }: { progress: StepProgress }) {
  if (served === null) {
    return (
      <span className="served-n">
        <span className="quiet" title="More requests than are counted here">
          many
        </span>
      </span>
    );
  }
  if (of === null) return <span className="served-n quiet">{count(served)}</span>;
  return (
    <span className="served-n">
      {of <= maxPips ? (
        <span className="pips" aria-hidden="true">
          {Array.from({ length: of }, (_, place) => (
            <i key={place} className={place < served ? "on" : undefined} />
          ))}
        </span>
      ) : (
        <span />
      )}
      <span className="quiet">
        {count(served)} of {count(of)}
      </span>
    </span>
  );
}

/**
 * The deadline of the documented retry profile; others are named by it too, because receivers know
 * this one.
 */
const deadlineMs = 5000;

/** So much of a body is enough to know it again. */
const bodyShown = 60;

/** What a step comes to, in one line below it. */
function StepSentence({ step }: { step: ProgramStep }) {
  const match = printMatch(step.match);
  return (
    <span className="sentence">
      {match === "" ? null : (
        <>
          for <span className="chip isolate">{match}</span> only; others skip this step.
        </>
      )}
      {step.chance === undefined ? null : (
        <span>
          <b>{Number((step.chance * 100).toPrecision(6))} %</b> of the requests; the others continue
          with the next step.
        </span>
      )}
      <Effect step={step} />
      <Icon name="down" small />
    </span>
  );
}

const tamperWords = {
  body: "with another body",
  signature: "with a wrong signature",
  "no-signature": "without its signature",
  reserialise: "with other bytes of the same JSON",
};

/** What the receiver gets, and what the sender sees of it. */
function ForwardEffect({
  step,
  outcome,
}: {
  step: ProgramStep;
  outcome: ReturnType<typeof outcomeOf>;
}) {
  const {
    lose,
    hold,
    order,
    copies = 1,
    together,
    tamper,
    status,
    delayMs = 0,
    delayAfterMs = 0,
  } = step;
  const receiver = [
    ...(hold === undefined ? [] : [order === "seeded" ? "in a drawn order" : "in reverse"]),
    ...(delayMs > 0 ? [`after ${durationText(delayMs)}`] : []),
    ...(tamper === undefined ? [] : [tamperWords[tamper]]),
    ...(copies === 1 ? [] : [`${copies} times${together === true ? " at once" : ""}`]),
  ];
  const gets =
    lose === "request"
      ? "The receiver gets nothing"
      : `The receiver gets ${hold === undefined ? "it" : `every ${hold}`}${receiver.length === 0 ? "" : ` ${receiver.join(", ")}`}`;
  const sees =
    outcome === "success" || outcome === "http_error" ? (status ?? "its answer") : outcome;
  return (
    <span className="clip">
      {gets}; the sender sees{" "}
      {outcome === "success" && status === undefined ? (
        sees
      ) : (
        <b className={`tone ${outcome}`}>{sees}</b>
      )}
      {delayAfterMs > 0 && outcome !== "timeout" ? ` after ${durationText(delayAfterMs)}` : ""}.
    </span>
  );
}

function Effect({ step }: { step: ProgramStep }) {
  const clock = useClock();
  const outcome = outcomeOf(step, deadlineMs);
  if (step.do === "forward") return <ForwardEffect step={step} outcome={outcome} />;
  const lastsMs =
    (step.delayMs ?? 0) +
    (stepBehaviours[step.do].lasts ? (step.forMs ?? (step.do === "drip" ? usualDripMs : 0)) : 0);
  if (outcome === "timeout") {
    const isFast = clock?.mode === "faster" && lastsMs > 0;
    return (
      <span className="clip">
        Past the 5 s deadline: a <b className="tone timeout">timeout</b>.{" "}
        {isFast ? (
          <>
            At <span className="due">×{clock.speed}</span> it takes{" "}
            {duration(lastsMs / clock.speed)} of real time.
          </>
        ) : step.do === "hang" && step.forMs === undefined ? (
          "No response until the client gives up."
        ) : null}
      </span>
    );
  }
  if (outcome === "connection_error") {
    const how: Record<
      Exclude<ProgramStep["do"], "answer" | "redirect" | "drip" | "forward">,
      string
    > = {
      reset: "A TCP reset",
      close: "Closed cleanly",
      garbage: "Not HTTP",
      truncate: "Half of the body, then closed",
      hang: `Closed after ${durationText(lastsMs)}`,
    };
    return (
      <span className="clip">
        {how[step.do as keyof typeof how]}: a{" "}
        <b className="tone connection_error">connection_error</b>.
      </span>
    );
  }
  const { words, body } = extrasWords(step, durationText);
  const isLimited = step.match !== undefined || step.chance !== undefined;
  if (isLimited && words === "no delay, no headers, no body") return null;
  return (
    <span className="clip">
      {step.do === "redirect" ? "Redirects are not followed; " : null}
      {step.do === "drip" ? `Byte by byte over ${durationText(step.forMs ?? usualDripMs)}; ` : null}
      {words}
      {body === null ? null : (
        <>
          {" "}
          <code className="isolate">{body.slice(0, bodyShown)}</code>
        </>
      )}
    </span>
  );
}
