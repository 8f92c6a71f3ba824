/** One step on the track: what it does, for how many requests, how many it has served; its sentence opens the rest. */

import { type DragEvent } from "react";
import { CommitField } from "../../kit/commit-field.tsx";
import { IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { Icon } from "../../kit/icon.tsx";
import { count } from "../../kit/words.ts";
import { printStep, type ProgramStep } from "./program-text.ts";
import { StepActionFields } from "./step-action-fields.tsx";
import { StepDetails } from "./step-details.tsx";
import type { StepProgress } from "./step-progress.ts";
import { StepSentence } from "./step-sentence.tsx";

type ProgramStepProps = {
  step: ProgramStep;
  place: number;
  isLast: boolean;
  isNext: boolean;
  /** It is the last one and serves for ever. */
  repeats: boolean;
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
  const { step, place, isLast, isNext, progress, isOpen, canRemove, onOpen, onChange, onMove, isTarget } = props;
  const number = place + 1;
  const isServed = progress.of !== null && progress.served === progress.of;
  const detailsId = `step-${number}-details`;
  const name = ["pstep", isNext ? "next" : "", isServed ? "served" : "", isTarget ? "target" : ""].filter(Boolean).join(" ");
  const allowDrop = (event: DragEvent): void => {
    if (isTarget) event.preventDefault();
  };
  return (
    <li className={name} aria-label={`Step ${number}: ${printStep(step)}`} onDragOver={allowDrop} onDrop={props.onDrop}>
      <button
        type="button"
        className="grip"
        draggable
        title="Drag it, or move it with the arrows"
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
          { label: isOpen ? "Close its details" : "Delay, share, match, headers, body", icon: "settings", onSelect: onOpen },
          { label: "Duplicate", icon: "copy", onSelect: props.onDuplicate },
          { label: "Move up", icon: "up", disabled: place === 0, onSelect: () => onMove(-1) },
          { label: "Move down", icon: "down", disabled: isLast, onSelect: () => onMove(1) },
          "line",
          { label: "Remove", icon: "deletions", disabled: !canRemove, onSelect: props.onRemove },
        ]}
      />
      <button type="button" className="limit" aria-expanded={isOpen} aria-controls={detailsId} onClick={onOpen}>
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

function Requests({ step, place, repeats, progress: { of: times }, onChange }: ProgramStepProps) {
  const number = place + 1;
  if (repeats) {
    return (
      <span className="count quiet rest" title="The last step serves all that come after">
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
        check={(text) => (readTimes(text) === undefined ? "A number from 1." : null)}
        onCommit={(text) => withTimes(readTimes(text) ?? null)}
      />
      <IconButton icon="add" small label={`More requests for step ${number}`} onClick={() => save((times ?? 0) + 1)} />
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
const mostPips = 5;

function Served({ progress: { served, of } }: { progress: StepProgress }) {
  if (served === null) {
    return (
      <span className="served-n">
        <span className="quiet" title="More requests came than are counted here">
          many
        </span>
      </span>
    );
  }
  if (of === null) return <span className="served-n quiet">{count(served)}</span>;
  return (
    <span className="served-n">
      {of <= mostPips ? (
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
