/**
 * The step that sends: how many receivers were sent of, how far a sync is, the button that begins
 * one, and when the newest was.
 */

import { type ReactNode, useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { dayMs, type Sync } from "../../../domain/rules.ts";
import { Button, CheckList, Choice, SelectField } from "../../kit/controls.tsx";
import { Step } from "../../kit/draft-form.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count, some } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { Time, Until } from "../details/until.tsx";
import type { Audience } from "./computed-draft.ts";
import { NumberField } from "./condition-fields.tsx";

type SyncStepProps = {
  synced: Pick<
    Audience,
    "id" | "syncing" | "lastSync" | "cancelledSync" | "nextSyncAt" | "firstSyncs"
  >;
  isDone: boolean;
  /** How many receivers were sent of, and what those are. */
  sent: { users: number; words: string };
  /** What the last sync did with those it counts. */
  words: { entered: string; left: string };
  onSync: () => Promise<unknown>;
  onCancel: () => Promise<unknown>;
  error?: Error | null;
  /** What the next sync will send. */
  next?: string;
  /** Some of it. */
  children?: ReactNode;
};

export function SyncStep({
  synced,
  isDone,
  sent,
  words,
  onSync,
  onCancel,
  error = null,
  next = "",
  children,
}: SyncStepProps) {
  const { id, syncing, lastSync, cancelledSync, nextSyncAt, firstSyncs } = synced;
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const { problem, run } = useAction();
  const cancel = (
    <Button small onClick={() => run(`cancel ${id}`, onCancel)}>
      Cancel
    </Button>
  );
  return (
    <Step number={4} title="Send" isDone={isDone && syncing === null}>
      <p className="match-count" role="status" aria-live="off">
        <b>{count(sent.users)}</b> <span className="muted">{sent.words}</span>
      </p>
      {syncing === null ? null : (
        <p className="sync-progress">
          <progress value={syncing.done} max={Math.max(1, syncing.total)} aria-label="Sync" />
          <span className="muted">
            {count(syncing.done)} of {count(syncing.total)} checked
          </span>
          {cancel}
        </p>
      )}
      {firstSyncs.map(({ destinationId, sent: done, cancelled = false }) => {
        const to = destinations.find(({ id }) => id === destinationId);
        const isRunning = to?.enabled !== false && !cancelled;
        const how = `${count(done)} of ${some(sent.users, "user")}`;
        return (
          <p key={destinationId} className="sync-progress muted">
            {isRunning ? (
              <progress value={done} max={Math.max(1, sent.users)} aria-label="First sync" />
            ) : null}
            <span>
              First sync with <b className="strong isolate">{to?.name ?? "a new destination"}</b>:{" "}
              {cancelled
                ? `cancelled after ${how}. Sync now sends the rest.`
                : isRunning
                  ? `${how} sent`
                  : "waits until the destination is enabled"}
            </span>
            {isRunning ? cancel : null}
          </p>
        );
      })}
      <ProblemText error={problem ?? error} />
      <div className="sync-actions">
        <Button
          icon="send"
          isBusy={syncing !== null}
          onClick={() => syncing === null && run(`sync ${id}`, onSync)}
        >
          Sync now
        </Button>
        <span className="muted">{next}</span>
      </div>
      {children}
      {cancelledSync === null || syncing !== null ? null : (
        <p className="quiet" role="status">
          A sync was cancelled{" "}
          <span className="due">
            <Time at={Date.parse(cancelledSync.at)} />
          </span>
          , after {count(cancelledSync.done)} of {some(cancelledSync.total, "user")}:{" "}
          {count(cancelledSync.entered)} {words.entered}, {count(cancelledSync.left)} {words.left}.
          What was sent stays. Sync now sends the rest.
        </p>
      )}
      <p className="quiet">
        {lastSync === null ? (
          "No sync has finished yet."
        ) : (
          <>
            Last sync{" "}
            <span className="due">
              <Time at={Date.parse(lastSync.at)} />
            </span>
            : {count(lastSync.entered)} {words.entered}, {count(lastSync.left)} {words.left}.
          </>
        )}
        {nextSyncAt === null ? null : (
          <>
            {" "}
            Next sync <Until at={Date.parse(nextSyncAt)} />.
          </>
        )}
      </p>
    </Step>
  );
}

/** Sending an audience: what the next sync sends, and for which users. */
export function AudienceSync({ audience, hasDraft }: { audience: Audience; hasDraft: boolean }) {
  const { id, size } = audience;
  const { answer: changes, error } = useLive("audiences.changes", { id, sample: 5 });
  return (
    <SyncStep
      synced={audience}
      isDone={changes === undefined || changes.entering + changes.leaving === 0}
      sent={{
        users: size,
        words:
          size === 1 ? "user in the audience, as last sent" : "users in the audience, as last sent",
      }}
      words={{ entered: "entered", left: "left" }}
      onSync={() => call("audiences.sync", { id })}
      onCancel={() => call("audiences.cancelSync", { id })}
      error={error}
      next={
        changes === undefined
          ? ""
          : `${nextWords(changes)}${hasDraft ? "; uses the saved rule" : ""}`
      }
    >
      {changes === undefined || changes.sample.length === 0 ? null : (
        <ul className="sample" aria-label="Next sync">
          {changes.sample.map(({ userId, change }) => (
            <li key={userId}>
              <code className="clip isolate">{userId}</code>
              <span className="muted">
                {change === "entering" ? "enters: true" : "leaves: false"}
              </span>
            </li>
          ))}
        </ul>
      )}
    </SyncStep>
  );
}

function nextWords({ entering, leaving }: { entering: number; leaving: number }): string {
  if (entering + leaving === 0) return "every change was sent";
  const parts = [
    ...(entering > 0 ? [`true for ${count(entering)}`] : []),
    ...(leaving > 0 ? [`false for ${count(leaving)}`] : []),
  ];
  return `will send ${parts.join(" and ")}`;
}

const units = { minutes: 60_000, hours: 3_600_000, days: dayMs } as const;
type Unit = keyof typeof units;
const unitNames = ["minutes", "hours", "days"] as const;

const sentences = {
  "each-event": "A change is sent as soon as a message or the clock causes it.",
  manual: "Changes are sent when you press Sync now.",
  period: "Changes are sent at a fixed interval of clock time.",
};

/** When changes are sent, and where to: shared by audiences and computed traits. */
export function SyncField({ sync, onChange }: { sync: Sync; onChange: (sync: Sync) => void }) {
  const kind = typeof sync === "string" ? sync : "period";
  const everyMs = typeof sync === "string" ? units.hours : sync.everyMs;
  const [chosen, setChosen] = useState<{ everyMs: number; unit: Unit } | null>(null);
  // 60 minutes on the way to 605 stay minutes.
  const unit =
    chosen?.everyMs === everyMs
      ? chosen.unit
      : (unitNames.findLast((name) => everyMs % units[name] === 0) ?? "minutes");
  const setEvery = (ms: number, of: Unit): void => {
    setChosen({ everyMs: ms, unit: of });
    onChange({ everyMs: ms });
  };
  return (
    <div className="sync-field">
      <Choice
        label="When changes are sent"
        value={kind}
        options={[
          { value: "each-event", label: "after each event" },
          { value: "period", label: "on a schedule" },
          { value: "manual", label: "manually" },
        ]}
        onChange={(next) => onChange(next === "period" ? { everyMs: units.hours } : next)}
      />
      {kind === "period" ? (
        <span className="sync-every">
          <span className="muted">every</span>
          <NumberField
            label="Every"
            value={everyMs / units[unit]}
            min={1000 / units[unit]}
            max={(366 * dayMs) / units[unit]}
            onChange={(n) => setEvery(Math.max(1000, Math.round((n ?? 1) * units[unit])), unit)}
          />
          <SelectField
            aria-label="Unit"
            value={unit}
            options={unitNames}
            onChange={(next) =>
              setEvery(Math.max(1, Math.round(everyMs / units[unit])) * units[next], next)
            }
          />
        </span>
      ) : null}
      <p className="quiet">{sentences[kind]}</p>
    </div>
  );
}

export function DestinationsField({
  destinations,
  chosen,
  onChange,
}: {
  destinations: AnswerOf<"destinations.list">["items"];
  chosen: readonly string[];
  onChange: (ids: string[]) => void;
}) {
  if (destinations.length === 0) {
    return (
      <p className="muted">
        There is no destination yet.{" "}
        <a className="link" href="#/destinations">
          Set one up
        </a>
        ; your input here is kept.
      </p>
    );
  }
  return (
    <>
      <CheckList
        label="Destinations"
        items={destinations}
        chosen={chosen}
        remark={({ enabled }) => (enabled ? null : "disabled")}
        onChange={onChange}
      />
      {chosen.length === 0 ? (
        <p className="quiet">Without a destination, nothing is sent.</p>
      ) : null}
    </>
  );
}
