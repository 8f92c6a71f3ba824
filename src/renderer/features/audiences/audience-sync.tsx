/** Sending: what the next sync would say, the sync itself, and when the newest one was. */

import { Button } from "../../kit/controls.tsx";
import { Step } from "../../kit/numbered-step.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { clockTime, count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { Until } from "../details/until.tsx";
import type { Audience } from "./audience-draft.ts";

export function SyncSection({ number, audience, hasDraft }: { number: number; audience: Audience; hasDraft: boolean }) {
  const { id, size, syncing, lastSync, nextSyncAt } = audience;
  const { answer: changes, error } = useLive("audiences.changes", { id, sample: 5 });
  const { problem, run } = useAction();
  const waiting = changes === undefined ? 0 : changes.entering + changes.leaving;
  return (
    <Step number={number} title="Send" isDone={waiting === 0 && syncing === null}>
      <p className="match-count" role="status">
        <b>{count(size)}</b> <span className="muted">{size === 1 ? "user is" : "users are"} in, as receivers were told</span>
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
        <Button icon="send" disabled={syncing !== null} onClick={() => run(() => call("audiences.sync", { id }))}>
          Sync now
        </Button>
        <span className="muted">
          {changes === undefined
            ? ""
            : waiting === 0
              ? "nothing has changed since receivers were told"
              : `will send ${[...(changes.entering > 0 ? [`true for ${count(changes.entering)}`] : []), ...(changes.leaving > 0 ? [`false for ${count(changes.leaving)}`] : [])].join(" and ")}`}
          {hasDraft ? "; by the rule as it was saved" : ""}
        </span>
      </div>
      {changes === undefined || changes.sample.length === 0 ? null : (
        <ul className="sample" aria-label="What would be sent">
          {changes.sample.map(({ userId, change }) => (
            <li key={userId}>
              <code className="clip isolate">{userId}</code>
              <span className="muted">{change === "entering" ? "comes: true" : "leaves: false"}</span>
            </li>
          ))}
        </ul>
      )}
      <p className="quiet">
        {lastSync === null ? (
          "No sync has ended yet."
        ) : (
          <>
            Last sync <span className="due">{clockTime(Date.parse(lastSync.at))}</span>: {count(lastSync.entered)} came,{" "}
            {count(lastSync.left)} left.
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
