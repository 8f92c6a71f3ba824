/** The queue as it fills: a place for each call up to the size, and the countdown to the flush in the clock's colour. */

import { duration, count, span } from "../../kit/words.ts";
import { useNow } from "../../stores/clock.ts";
import { callWords, type Batch, type Call, type Client } from "./client-words.ts";

/** More than these would be too small to see; a bar shows the share then. */
const mostPlaces = 60;

export function ClientQueue({ client, queue, current }: { client: Client; queue: readonly Call[]; current: Batch | null }) {
  const { queued, flushAt, counts, underWay, nextTryAt } = client;
  const now = useNow();
  const tryIn = nextTryAt === null || now === null ? null : Math.max(0, Date.parse(nextTryAt) - now);
  return (
    <section className="section client-queue" aria-label="Queue">
      <p className="queue-count">
        <b>
          {count(queued)} of {count(flushAt)}
        </b>{" "}
        <Countdown client={client} />
      </p>
      {flushAt <= mostPlaces ? (
        <ol className="queue-places" aria-label={`${queued} of ${flushAt} are queued`}>
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
        <progress className="queue-bar" value={Math.min(queued, flushAt)} max={flushAt} aria-label="Queue" />
      )}
      <p className="muted queue-facts">
        {underWay === 0 ? (
          <span>nothing on the wire</span>
        ) : (
          <span>
            {current === null || current.state === "sending" ? "a batch is on the wire" : "a batch waits for its next try"}
            {underWay > 1 ? `, ${underWay - 1} behind it` : ""}
          </span>
        )}
        {tryIn === null ? null : (
          <span className="due">next try {tryIn === 0 ? "now" : `in ${tryIn < 1000 ? duration(tryIn) : span(tryIn)}`}</span>
        )}
        <span>
          {count(counts.sent)} sent in {count(counts.batches)} {counts.batches === 1 ? "batch" : "batches"}
        </span>
        {counts.retries === 0 ? null : (
          <span>
            {count(counts.retries)} {counts.retries === 1 ? "retry" : "retries"}
          </span>
        )}
        {counts.failed === 0 ? null : <span className="state failed">{count(counts.failed)} given up</span>}
      </p>
    </section>
  );
}

function Countdown({ client: { nextFlushAt, flushAfter, queued } }: { client: Client }) {
  const now = useNow();
  if (nextFlushAt === null || now === null) return <span className="quiet">{queued === 0 ? "the queue is empty" : ""}</span>;
  const rest = Math.max(0, Date.parse(nextFlushAt) - now);
  return (
    <span className="countdown">
      <span className="due">{rest === 0 ? "flushes now" : `flushes in ${span(Math.ceil(rest / 1000) * 1000)}`}</span>
      <span className="countdown-track" aria-hidden="true">
        <i style={{ inlineSize: `${Math.min(100, (rest / flushAfter) * 100)}%` }} />
      </span>
    </span>
  );
}
