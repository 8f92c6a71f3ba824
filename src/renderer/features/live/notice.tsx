/** One line over the list: how far an export is, or what stood in the way of the last command. */

import { Button, IconButton } from "../../kit/controls.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useExport } from "./run-export.ts";

export function Notice({ error, onDismiss }: { error: Error | null; onDismiss: (() => void) | null }) {
  const { progress, error: exportError, cancel } = useExport();
  const problem = error ?? exportError;
  if (progress !== null && progress.total > 1) {
    return (
      <div className="live-notice" role="status">
        <span>
          Exporting {count(progress.done)} of {count(progress.total)} messages
        </span>
        <Button small onClick={cancel}>
          Cancel
        </Button>
      </div>
    );
  }
  if (problem === null) return null;
  return (
    <div className="live-notice">
      <ProblemText error={problem} />
      {onDismiss === null ? null : (
        <IconButton
          small
          icon="close"
          label="Dismiss"
          onClick={() => {
            onDismiss();
            cancel();
          }}
        />
      )}
    </div>
  );
}
