/**
 * What stands in place of an editor when there is nothing to edit: what such a thing is, and how to
 * make the first.
 */

import type { ReactNode } from "react";
import { Button } from "./controls.tsx";
import type { IconName } from "./icon.tsx";
import { ProblemText } from "./problem.tsx";

type EmptyStateProps = {
  /** The name of the region. */
  label: string;
  title: string;
  /** What such a thing is. */
  children: ReactNode;
  action?: { label: string; icon?: IconName; run: () => void };
  /** Beside the action: other ways. */
  more?: ReactNode;
  error?: Error | null;
};

export function EmptyState({
  label,
  title,
  children,
  action,
  more,
  error = null,
}: EmptyStateProps) {
  return (
    <section className="empty" aria-label={label}>
      <h2>{title}</h2>
      <p className="lead">{children}</p>
      {action === undefined ? null : (
        <div className="actions">
          <Button look="primary" icon={action.icon ?? "add"} onClick={action.run}>
            {action.label}
          </Button>
          {more}
        </div>
      )}
      <ProblemText error={error} />
    </section>
  );
}
