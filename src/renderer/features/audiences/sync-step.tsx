/** The step that sends: how many receivers were told of, how far a sync is, the button that begins one, and when the newest was. */

import type { ReactNode } from "react";
import { Button } from "../../kit/controls.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { clockTime, count } from "../../kit/words.ts";
import { Until } from "../details/until.tsx";
import type { Audience } from "./audience-draft.ts";

type SyncStepProps = {
  synced: Pick<Audience, "syncing" | "lastSync" | "nextSyncAt">;
  isDone: boolean;
  /** How many receivers were told of, and what those are. */
  told: { users: number; words: string };
  /** What the last sync did with those it counts. */
  words: { entered: string; left: string };
  onSync: () => Promise<unknown>;
  error?: Error | null;
  /** What the next sync will send. */
  next?: string;
  /** Some of it. */
  children?: ReactNode;
};

export function SyncStep({ synced, isDone, told, words, onSync, error = null, next = "", children }: SyncStepProps) {
  const { syncing, lastSync, nextSyncAt } = synced;
  const { problem, run } = useAction();
  return (
    <Step number={4} title="Send" isDone={isDone && syncing === null}>
      <p className="match-count" role="status">
        <b>{count(told.users)}</b> <span className="muted">{told.words}</span>
      </p>
      {syncing === null ? null : (
        <p className="sync-progress">
          <progress value={syncing.done} max={Math.max(1, syncing.total)} aria-label="Sync" />
          <span className="muted">
            {count(syncing.done)} of {count(syncing.total)} looked at
          </span>
        </p>
      )}
      <ProblemText error={problem ?? error} />
      <div className="sync-actions">
        <Button icon="send" isBusy={syncing !== null} onClick={() => syncing === null && run(onSync)}>
          Sync now
        </Button>
        <span className="muted">{next}</span>
      </div>
      {children}
      <p className="quiet">
        {lastSync === null ? (
          "No sync has ended yet."
        ) : (
          <>
            Last sync <span className="due">{clockTime(Date.parse(lastSync.at))}</span>: {count(lastSync.entered)} {words.entered},{" "}
            {count(lastSync.left)} {words.left}.
          </>
        )}
        {nextSyncAt === null ? null : (
          <>
            {" "}
            The next one <Until at={Date.parse(nextSyncAt)} />.
          </>
        )}
      </p>
    </Step>
  );
}
