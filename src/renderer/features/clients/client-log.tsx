/** The debug log, as DEBUG=analytics writes it, newest line first, on the clock. */

import { useState } from "react";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Visible } from "../../kit/code-rows.tsx";
import { clockTime, count, milliseconds } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";

const pageSize = 100;
const most = 1000;

export function ClientLog({ id, name }: { id: string; name: string }) {
  const [limit, setLimit] = useState(pageSize);
  const answer = useLive("clients.log", { id, limit }).answer;
  const lines = answer?.items ?? [];
  return (
    <section className="pane" aria-label={`Debug log of ${name}`}>
      <header className="pane-title">
        <h3>Debug log</h3>
        <span className="quiet">{answer === undefined || answer.total === 0 ? "" : count(answer.total + answer.dropped)}</span>
        <span className="grow" />
        <Button
          small
          icon="copy"
          disabled={lines.length === 0}
          onClick={() => void copyText(lines.map(({ at, line }) => `${at} ${line}`).join("\n"), "the log")}
        >
          Copy
        </Button>
      </header>
      {lines.length === 0 ? (
        <p className="nothing-delivered muted">
          Nothing yet. Each queued call, flush, answer and retry is a line here, as <code>DEBUG=analytics</code> writes it.
        </p>
      ) : (
        <div className="pane-body">
          <ol className="client-log" tabIndex={0} aria-label="Lines, newest first">
            {lines.map(({ number, at, event, line }) => (
              <li key={number} className={event === "failed" || event === "retried" ? "notable" : undefined}>
                <span className="mono due">
                  {clockTime(Date.parse(at))}
                  <span className="ms">{milliseconds(Date.parse(at))}</span>
                </span>
                <code className="isolate">
                  <Visible text={withoutHead(line)} />
                </code>
              </li>
            ))}
          </ol>
          {answer === undefined || answer.nextCursor === null ? null : (
            <p className="nothing-delivered">
              <Button small disabled={limit >= most} onClick={() => setLimit(Math.min(limit + 200, most))}>
                Show more of {count(answer.total)}
              </Button>
            </p>
          )}
        </div>
      )}
    </section>
  );
}

/** The time and the name, with which each line begins, stand beside it or are known. */
function withoutHead(line: string): string {
  return line.replace(/^\S+ analytics /, "");
}
