/** Simulated clients: each with its queue, its countdown, its batches and its log. */

import { useState } from "react";
import { Visible } from "../../kit/code-rows.tsx";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLast, useLive } from "../../stores/live-data.ts";
import { openOf, openToName, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { Collection, type Entry } from "../collection/collection.tsx";
import { Time } from "../details/until.tsx";
import { ClientPane } from "./client-pane.tsx";
import type { Client } from "./client-words.ts";
import "./clients.css";

/**
 * Creates a client of the first source there is, or of one that is created for it, and opens it.
 */
export const createClient = (): Promise<void> => openToName("clients", created());

async function created(): Promise<{ id: string }> {
  const [clients, sources] = await Promise.all([
    call("clients.list", {}),
    call("sources.list", {}),
  ]);
  const source = sources.items.find(({ kind }) => kind !== "audience");
  const sourceId = source?.id ?? (await call("workspaces.open", { kind: "first" })).sourceId;
  const name = clients.items.length === 0 ? "Client" : `Client ${clients.items.length + 1}`;
  return call("clients.create", { name, sourceId });
}

export function ClientsView() {
  const { answer, error } = useLive("clients.list", {});
  const openId = usePlace((place) => place.path[0]);
  const { problem, run } = useAction();
  const add = { label: "New client", run: () => run("create", createClient) };
  if (answer === undefined) return <ProblemText error={error} />;

  const current = openOf(answer.items, openId);
  const entries = answer.items.map((client): Entry => {
    const queued = `${count(client.queued)} of ${count(client.flushAt)}`;
    return {
      path: [client.id],
      label: client.name,
      hint: queued,
      aside: queued,
      detail: <ClientDetail client={client} />,
    };
  });
  return (
    <Collection
      view="clients"
      title="Clients"
      entries={entries}
      current={current && [current.id]}
      add={add}
      menu={["line", { label: add.label, icon: "add", onSelect: add.run }]}
      empty={
        current !== undefined ? null : (
          <EmptyState
            label="No client"
            title={openId === undefined ? "Watch a client library at work" : "Client not found"}
            action={{ label: "Create a client", run: add.run }}
            error={problem}
          >
            A simulated client queues calls as a program with the client library does: it sends 20
            at a time, or what it has after 5 seconds, and retries what the server did not accept.
            You see the queue fill, the countdown run and each batch go out, on the pipeline’s
            clock, and can change its size and interval while it runs.
          </EmptyState>
        )
      }
      editor={current && <ClientPane key={current.id} client={current} problem={problem} />}
      evidence={
        current && {
          label: "Debug log",
          content: <ClientLog key={current.id} id={current.id} name={current.name} />,
        }
      }
    />
  );
}

function ClientDetail({ client: { wire, state, generating, underWay } }: { client: Client }) {
  const notes = [
    wire,
    ...(state === "running" ? [] : [state]),
    ...(generating === null ? [] : ["generating calls"]),
    ...(underWay === 0 ? [] : [`${underWay} ${underWay === 1 ? "batch" : "batches"} in flight`]),
  ];
  return <span className="quiet">{notes.join(", ")}</span>;
}

const pageSize = 100;
const most = 1000;

/** The debug log, as DEBUG=analytics writes it, newest line first, on the clock. */
function ClientLog({ id, name }: { id: string; name: string }) {
  const [limit, setLimit] = useState(pageSize);
  const answer = useLast(useLive("clients.log", { id, limit }).answer);
  const lines = answer?.items ?? [];
  return (
    <section className="pane" aria-label={`Debug log of ${name}`}>
      <header className="pane-title">
        <h3>Debug log</h3>
        <span className="quiet">
          {answer === undefined || answer.total === 0 ? "" : count(answer.total + answer.dropped)}
        </span>
        <span className="grow" />
        <Button
          small
          icon="copy"
          disabled={lines.length === 0}
          onClick={() =>
            void copyText(lines.map(({ at, line }) => `${at} ${line}`).join("\n"), "the log")
          }
        >
          Copy
        </Button>
      </header>
      {lines.length === 0 ? (
        <p className="nothing-delivered muted">
          Nothing yet. Each queued call, flush, response and retry is logged here, in the format of{" "}
          <code>DEBUG=analytics</code>.
        </p>
      ) : (
        <div className="pane-body">
          <ol className="client-log" tabIndex={0} aria-label="Lines, newest first">
            {lines.map(({ number, at, event, line }) => (
              <li
                key={number}
                className={event === "failed" || event === "retried" ? "notable" : undefined}
              >
                <span className="mono due">
                  <Time at={Date.parse(at)} column />
                </span>
                <code className="isolate">
                  <Visible text={withoutHead(line)} />
                </code>
              </li>
            ))}
          </ol>
          {answer === undefined || answer.nextCursor === null ? null : (
            <p className="nothing-delivered">
              <Button
                small
                disabled={limit >= most}
                onClick={() => setLimit(Math.min(limit + 200, most))}
              >
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
