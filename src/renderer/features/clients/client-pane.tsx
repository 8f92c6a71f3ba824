/**
 * One simulated client: its queue and countdown, the calls it is given, its batches, and how it is
 * set up.
 */

import type { InputOf } from "../../../contract/contract.ts";
import { wireModes } from "../../../domain/configuration.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { Button, CheckField, Choice, SelectField } from "../../kit/controls.tsx";
import { durationText, parseDuration } from "../../kit/duration-text.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count, duration, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { ClientBatches } from "./client-batches.tsx";
import { ClientCalls } from "./client-calls.tsx";
import { type Batch, type Call, callWords, type Client } from "./client-words.ts";

export function ClientPane({ client, problem }: { client: Client; problem: Error | null }) {
  const { id, name, state, queued } = client;
  const details = useLive("clients.get", { id }).answer;
  const { problem: refusal, run, attempt } = useAction();
  const update = (changes: Omit<InputOf<"clients.update">, "id">): Promise<unknown> =>
    saveAtOnce<typeof changes>(
      { ...client, sourceId: client.sourceId ?? undefined },
      changes,
      // Without a source, its write key says what to put back.
      (next) =>
        "sourceId" in next && next.sourceId === undefined
          ? call("clients.update", { id, writeKey: client.writeKey })
          : call("clients.update", { id, ...next }),
    );
  const isOpen = state === "running";
  return (
    <EditorPane
      label={`Client ${name}`}
      title={name}
      onRename={(text) => update({ name: text })}
      others="Another client"
      facts={isOpen ? null : <span className="badge outline">{state}</span>}
      tools={
        <>
          {isOpen ? (
            <Button
              small
              icon="send"
              disabled={queued === 0}
              onClick={() => run(`flush ${id}`, () => call("clients.flush", { id }))}
            >
              Flush
            </Button>
          ) : (
            <Button
              small
              disabled={state === "closing"}
              onClick={() => run(`reopen ${id}`, () => call("clients.reopen", { id }))}
            >
              Reopen
            </Button>
          )}
          <DeleteMenu
            name={name}
            label="More: close, delete"
            items={[
              {
                label: "Close",
                icon: "pause",
                disabled: !isOpen,
                onSelect: () => run(`close ${id}`, () => call("clients.close", { id })),
              },
            ]}
            onDelete={async () => {
              await call("clients.delete", { id });
              usePlace.getState().go({ view: "clients" });
            }}
          >
            Queued calls are still sent. Its batches and its log are deleted; messages that arrived
            stay on record.
          </DeleteMenu>
        </>
      }
    >
      <div className="pane-body">
        <ProblemText error={refusal ?? problem} />
        <ClientQueue
          client={details ?? client}
          queue={details?.queue ?? []}
          current={details?.current ?? null}
        />
        <ClientSetup
          client={client}
          onUpdate={update}
          onSet={(changes) => attempt(() => update(changes))}
        />
        <ClientCalls client={client} />
        <ClientBatches id={id} />
      </div>
    </EditorPane>
  );
}

/** More than these would be too small to see; a bar shows the share then. */
const maxPlaces = 60;

/**
 * The queue as it fills: a place for each call up to the size, and the countdown to the flush in
 * the clock's colour.
 */
function ClientQueue({
  client,
  queue,
  current,
}: {
  client: Client;
  queue: readonly Call[];
  current: Batch | null;
}) {
  const { queued, flushAt, counts, underWay, nextTryAt } = client;
  const now = useNow();
  const tryIn =
    nextTryAt === null || now === null ? null : Math.max(0, Date.parse(nextTryAt) - now);
  return (
    <section className="section client-queue" aria-label="Queue">
      <p className="queue-count">
        <b>
          {count(queued)} of {count(flushAt)}
        </b>{" "}
        <Countdown client={client} />
      </p>
      {flushAt <= maxPlaces ? (
        <ol className="queue-places" aria-label={`${queued} of ${flushAt} queued`}>
          {Array.from({ length: flushAt }, (_, place) => {
            const waiting = queue[place];
            return (
              <li
                key={place}
                className={place < queued ? "taken" : undefined}
                title={waiting === undefined ? undefined : callWords(waiting)}
              />
            );
          })}
        </ol>
      ) : (
        <progress
          className="queue-bar"
          value={Math.min(queued, flushAt)}
          max={flushAt}
          aria-label="Queue"
        />
      )}
      <p className="muted queue-facts">
        {underWay === 0 ? (
          <span>nothing in flight</span>
        ) : (
          <span>
            {current === null || current.state === "sending"
              ? "sending a batch"
              : "a batch waits for its next try"}
            {underWay > 1 ? `, ${underWay - 1} behind it` : ""}
          </span>
        )}
        {tryIn === null ? null : (
          <span className="due">
            next try {tryIn === 0 ? "now" : `in ${tryIn < 1000 ? duration(tryIn) : span(tryIn)}`}
          </span>
        )}
        <span>
          {count(counts.sent)} sent in {count(counts.batches)}{" "}
          {counts.batches === 1 ? "batch" : "batches"}
        </span>
        {counts.retries === 0 ? null : (
          <span>
            {count(counts.retries)} {counts.retries === 1 ? "retry" : "retries"}
          </span>
        )}
        {counts.failed === 0 ? null : (
          <span className="state failed">{count(counts.failed)} failed</span>
        )}
      </p>
    </section>
  );
}

function Countdown({ client: { nextFlushAt, flushAfter, queued } }: { client: Client }) {
  const now = useNow();
  if (nextFlushAt === null || now === null)
    return <span className="quiet">{queued === 0 ? "the queue is empty" : ""}</span>;
  const rest = Math.max(0, Date.parse(nextFlushAt) - now);
  return (
    <span className="countdown">
      <span className="due">
        {rest === 0 ? "flushes now" : `flushes in ${span(Math.ceil(rest / 1000) * 1000)}`}
      </span>
      <span className="countdown-track" aria-hidden="true">
        <i style={{ inlineSize: `${Math.min(100, (rest / flushAfter) * 100)}%` }} />
      </span>
    </span>
  );
}

type Changes = Omit<InputOf<"clients.update">, "id">;

/**
 * The options of the library: source, flush size and interval, endpoint and wire format. All can
 * change while it runs.
 */
function ClientSetup({
  client: { sourceId, writeKey, flushAt, flushAfter, wire, endpoint, strict, url },
  onUpdate,
  onSet,
}: {
  client: Client;
  onUpdate: (changes: Changes) => Promise<unknown>;
  onSet: (changes: Changes) => Promise<boolean>;
}) {
  const sources = (useLive("sources.list", {}).answer?.items ?? []).filter(
    ({ kind }) => kind !== "audience",
  );
  return (
    <section className="section" aria-label="Setup">
      <div className="client-setup">
        <CommitField
          label="Flush at"
          unit="calls"
          inputMode="numeric"
          text={String(flushAt)}
          check={(text) => (/^\d+$/.test(text.trim()) ? null : "Enter a whole number of calls.")}
          onCommit={(text) => onUpdate({ flushAt: Number(text) })}
        />
        <CommitField
          label="Flush after"
          text={durationText(flushAfter)}
          check={(text) =>
            parseDuration(text) === null ? "Enter a time such as 5 s or 250 ms." : null
          }
          onCommit={(text) => onUpdate({ flushAfter: parseDuration(text) ?? flushAfter })}
        />
        <div className="commit">
          <span className="labelled-name" id="client-source">
            Source
          </span>
          <SelectField
            aria-labelledby="client-source"
            value={sourceId ?? ""}
            options={[
              ...(sourceId === null
                ? [{ value: "", label: `no source has ${writeKey.slice(0, 40)}` }]
                : []),
              ...sources.map(({ id, name }) => ({ value: id, label: name })),
            ]}
            onChange={(id) => onSet({ sourceId: id })}
          />
        </div>
        <div className="commit">
          <span className="labelled-name">Wire format</span>
          <Choice
            label="Wire format"
            value={wire}
            options={wireModes}
            onChange={(next) => onSet({ wire: next })}
          />
        </div>
        <CommitField
          label="Endpoint"
          mono
          name="client-endpoint"
          text={endpoint ?? ""}
          placeholder={url}
          hint={endpoint === null ? "Empty: Hookyard’s ingest port" : undefined}
          onCommit={(text) => onUpdate({ endpoint: text.trim() === "" ? null : text.trim() })}
        />
        <CheckField
          label="strict"
          title="Requires the fields that the documentation requires: page and alias need userId"
          checked={strict}
          onChange={(event) => onSet({ strict: event.currentTarget.checked })}
        />
      </div>
    </section>
  );
}
