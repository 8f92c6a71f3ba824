/**
 * Its batches as they leave: why each was flushed, what is in it, each try and what was answered.
 */

import { useState } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { OutcomeGlyph, State } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { bytes, count, duration } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { filterHref } from "../details/places.ts";
import { Time, Until } from "../details/until.tsx";
import { answerWords, type Batch, callsWords, callWords, reasonWords } from "./client-words.ts";

const pageSize = 30;

const stateNames = {
  queued: "queued",
  sending: "sending",
  waiting: "waiting",
  sent: "delivered",
  failed: "failed",
} as const;

export function ClientBatches({ id }: { id: string }) {
  const { answer, error } = useLive("clients.batches", { id, limit: pageSize });
  const [open, setOpen] = useState<string | null>(null);
  return (
    <section className="section" aria-label="Batches">
      <div className="section-head">
        <h3>Batches</h3>
        <span className="quiet">
          {answer === undefined || answer.total === 0 ? "" : count(answer.total + answer.dropped)}
        </span>
      </div>
      <ProblemText error={error} />
      {answer?.items.length === 0 ? (
        <p className="quiet">
          No batch sent yet. Queue a call: the batch is sent when the queue is full or the interval
          has elapsed.
        </p>
      ) : (
        <ol className="batches">
          {answer?.items.map((batch) => (
            <BatchRow
              key={batch.id}
              batch={batch}
              isOpen={open === batch.id}
              onToggle={() => setOpen(open === batch.id ? null : batch.id)}
            />
          ))}
        </ol>
      )}
      {answer !== undefined && answer.items.length < answer.total ? (
        <p className="quiet">the newest {pageSize}</p>
      ) : null}
    </section>
  );
}

function BatchRow({
  batch,
  isOpen,
  onToggle,
}: {
  batch: Batch;
  isOpen: boolean;
  onToggle: () => void;
}) {
  const last = batch.tries.at(-1);
  return (
    <li aria-label={`Batch ${batch.number}`}>
      <div className="batch-line">
        <span className="mono due">
          <Time at={Date.parse(batch.flushedAt)} />
        </span>
        <span className="clip">
          <b className="strong">{callsWords(batch.messages)}</b>{" "}
          <span className="muted">
            {bytes(batch.bytes)}, {reasonWords[batch.reason]}
          </span>
        </span>
        <span className="batch-tries" aria-hidden="true">
          {(batch.tries.length < 2 ? [] : batch.tries.slice(-12)).map((each, place) => (
            // oxlint-disable-next-line react/no-array-index-key -- tries have nothing but their place
            <OutcomeGlyph key={place} outcome={each.outcome ?? "under_way"} />
          ))}
        </span>
        <span className="batch-state">
          {batch.state === "sent" ? (
            <span className="state delivered">
              <OutcomeGlyph outcome="success" />
              sent{last?.status === null || last === undefined ? "" : `, ${last.status}`}
            </span>
          ) : (
            <State state={stateNames[batch.state]} />
          )}
          {batch.nextTryAt === null ? null : (
            <Until at={Date.parse(batch.nextTryAt)} withTime={false} />
          )}
        </span>
        <IconButton
          icon={isOpen ? "up" : "down"}
          small
          label={`Calls and tries of batch ${batch.number}`}
          aria-expanded={isOpen}
          onClick={onToggle}
        />
      </div>
      {isOpen ? <BatchDetails batch={batch} /> : null}
    </li>
  );
}

function BatchDetails({ batch: { id, calls, messages, tries } }: { batch: Batch }) {
  return (
    <div className="batch-details">
      <ol className="tries" aria-label="Tries">
        {tries.map((each) => (
          <li key={each.startedAt}>
            <span className="mono due">
              <Time at={Date.parse(each.startedAt)} />
            </span>
            <span className={each.outcome === null ? "tone" : `tone ${each.outcome}`}>
              <OutcomeGlyph outcome={each.outcome ?? "under_way"} />
            </span>
            <span>{answerWords(each)}</span>
            <span className="quiet">
              {each.durationMs === null ? "" : duration(each.durationMs)}
            </span>
            <code className="quiet clip isolate" title={each.answer}>
              {each.answer}
            </code>
          </li>
        ))}
      </ol>
      <ol className="batch-calls" aria-label="Calls">
        {calls.map((each) => (
          <li key={each.messageId}>
            <a
              className="link clip isolate"
              href={filterHref({ values: {}, text: each.messageId })}
              title="Find in Live"
            >
              {callWords(each)}
            </a>
          </li>
        ))}
        {messages > calls.length ? (
          <li className="quiet">and {count(messages - calls.length)} more</li>
        ) : null}
      </ol>
      <p className="quiet">
        messageId of the batch <code className="isolate">{id}</code>
      </p>
    </div>
  );
}
