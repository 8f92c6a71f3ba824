/** The body of an editor whose changes are saved together, with the bar that saves or discards them. */

import type { ReactNode } from "react";
import { Button } from "./controls.tsx";
import { ProblemText } from "./problem.tsx";
import "./list-pane.css";

export function DraftForm({
  children,
  hasBar = true,
  problem,
  save,
  isBusy,
  note,
  onSave,
  onDiscard,
}: {
  children: ReactNode;
  /** There is something to save. */
  hasBar?: boolean;
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
