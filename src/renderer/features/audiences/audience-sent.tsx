/**
 * Sent to receivers: the messages of the audience's or trait's own source, newest first, each with
 * its value.
 */

import type { AnswerOf } from "../../../contract/contract.ts";
import { State } from "../../kit/glyph.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { count } from "../../kit/words.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { hrefTo } from "../../stores/place.ts";
import { AttemptMarks } from "../timeline/attempt-marks.tsx";
import { Time } from "../details/until.tsx";
import { sentValue } from "./computed-draft.ts";

const pageSize = 25;

type Summary = AnswerOf<"messages.list">["items"][number];

const sentFor = { audience: "for users who enter or leave", trait: "with its values" } as const;

export function SentMessages({
  sourceId,
  traitKey,
  of,
}: {
  sourceId: string | null;
  traitKey: string;
  of: "audience" | "trait";
}) {
  const { answer, error } = useLive(
    "messages.list",
    sourceId === null ? null : { sourceId, limit: pageSize },
  );
  return (
    <section className="pane" aria-label="Sent to receivers">
      <header className="pane-title">
        <h3>Sent to receivers</h3>
      </header>
      <ProblemText error={error} />
      {sourceId === null || answer?.items.length === 0 ? (
        <p className="nothing-delivered muted">
          {sourceId === null
            ? `After you create it, the messages ${sentFor[of]} appear here.`
            : "Nothing sent yet. The first message appears here."}
        </p>
      ) : (
        <div className="sent-rows" role="table" aria-label="Sent to receivers, newest first">
          <div className="row head" role="row">
            <span role="columnheader">sent ↓</span>
            <span role="columnheader">user</span>
            <span role="columnheader">{traitKey}</span>
            <span role="columnheader">state</span>
            <span role="columnheader">attempts</span>
          </div>
          <div className="list-body" role="rowgroup" tabIndex={0} aria-label="Messages">
            {answer?.items.map((message) => (
              <SentRow key={message.id} message={message} traitKey={traitKey} />
            ))}
          </div>
        </div>
      )}
      {answer === undefined || answer.items.length === 0 ? null : (
        <p className="delivery-count quiet">
          {answer.items.length < answer.total ? `the newest ${pageSize} of ` : ""}
          {count(answer.total)}
          {answer.totalCapped ? " or more" : ""} {answer.total === 1 ? "message" : "messages"}
        </p>
      )}
    </section>
  );
}

function SentRow({
  message: { id, userId, receivedAt, state, marks, nextAttemptAt },
  traitKey,
}: {
  message: Summary;
  traitKey: string;
}) {
  // What came does not change, so it is read once.
  const raw = useOnce("messages.get", { id }).answer?.raw;
  const value = raw === undefined ? null : sentValue(raw, traitKey);
  const at = Date.parse(receivedAt);
  const sent = value === null ? traitKey : `${traitKey} ${value}`;
  return (
    <div className="row" role="row">
      <span role="cell" className="mono">
        <a className="link" href={hrefTo("live", id)} title="Open the message">
          <span className="sr">
            {userId ?? "no user"}, {sent}, sent{" "}
          </span>
          <Time at={at} column />
        </a>
      </span>
      <span role="cell" className="clip">
        <code className="isolate">{userId}</code>
      </span>
      <span role="cell" className="clip">
        <code
          className={value === "false" || value === "null" ? "quiet isolate" : "strong isolate"}
        >
          {value ?? ""}
        </code>
      </span>
      <span role="cell">
        <State state={state} />
      </span>
      <span role="cell" className="att-cell">
        <AttemptMarks marks={marks} next={nextAttemptAt !== null} sending={state === "sending"} />
      </span>
    </div>
  );
}
