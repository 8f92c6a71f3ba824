/**
 * The body of an editor whose changes are saved together, with the bar that saves or discards them.
 */

import { type ReactNode, useId } from "react";
import { FieldNote } from "./commit-field.tsx";
import { Button, TextField } from "./controls.tsx";
import { ProblemText } from "./problem.tsx";
import "./list-pane.css";

export function DraftForm({
  children,
  hasBar,
  problem,
  save,
  isBusy,
  note,
  onSave,
  onDiscard,
}: {
  children: ReactNode;
  /** There is something to save. */
  hasBar: boolean;
  problem: Error | null;
  /** What the button says. */
  save: string;
  isBusy: boolean;
  note?: string | undefined;
  onSave: () => void;
  onDiscard: () => void;
}) {
  return (
    <form
      className="pane-body"
      onSubmit={(event) => {
        event.preventDefault();
        onSave();
      }}
    >
      {children}
      {hasBar ? (
        <footer className="save-bar">
          <ProblemText error={problem} />
          <Button type="submit" look="primary" isBusy={isBusy}>
            {save}
          </Button>
          <Button onClick={onDiscard}>Discard</Button>
          {note === undefined ? null : <span className="muted">{note}</span>}
        </footer>
      ) : null}
    </form>
  );
}

/** The name of what is being made or changed, saved together with the rest. */
export function NameField({
  label = "Name",
  name,
  error,
  hint,
  onChange,
}: {
  label?: string;
  name: string;
  error: string | null;
  hint?: ReactNode;
  onChange: (name: string) => void;
}) {
  const id = useId();
  return (
    <div className="commit name-field">
      <label className="labelled-name" htmlFor={id}>
        {label}
      </label>
      <TextField
        id={id}
        value={name}
        aria-invalid={error !== null || undefined}
        aria-describedby={`${id}-note`}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <FieldNote id={`${id}-note`} error={error} hint={hint} />
    </div>
  );
}

/** One of the numbered steps of setting something up, joined to the next by a track. */
export function Step({
  number,
  title,
  note,
  isDone,
  children,
}: {
  number: number;
  title: string;
  note?: ReactNode;
  isDone: boolean;
  children: ReactNode;
}) {
  return (
    <li aria-label={title}>
      <b className={isDone ? "number done" : "number"} aria-hidden="true">
        {number}
      </b>
      <div className="part">
        <h3>
          {title}
          {note === undefined ? null : <span className="quiet step-note">{note}</span>}
        </h3>
        {children}
      </div>
    </li>
  );
}
