/** Simulated clients: each with its queue, its countdown, its batches and its log. */

import { useCallback, useMemo, useState } from "react";
import { Visible } from "../../kit/code-rows.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { EmptyState } from "../../kit/empty-state.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { clockTime, count, milliseconds } from "../../kit/words.ts";
import { type Command, useOffer } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { ClientPane } from "./client-pane.tsx";
import type { Client } from "./client-words.ts";
import "./clients.css";

/** As the first source, or as one that is created for it. */
async function makeClient(nth: number): Promise<string> {
  const { items } = await call("sources.list", {});
  const source = items.find(({ kind }) => kind !== "audience");
  const sourceId = source?.id ?? (await call("workspaces.open", { kind: "first" })).sourceId;
  return (await call("clients.create", { name: nth === 1 ? "Client" : `Client ${nth}`, sourceId })).id;
}

export function ClientsView() {
  const { answer, error } = useLive("clients.list", {});
  const openId = usePlace((place) => place.path[0]);
  const go = usePlace((place) => place.go);
  const { problem, run } = useAction();
  const make = useCallback(
    (): void =>
      run(async () => {
        const { items } = await call("clients.list", {});
        go({ view: "clients", path: [await makeClient(items.length + 1)], query: { name: "edit" } });
      }),
    [run, go],
  );
  const commands = useMemo<readonly Command[]>(
    () => [{ id: "clients.new", label: "New client", icon: "clients", hint: "Clients", run: make }],
    [make],
  );
  useOffer("clients", commands);

  if (answer === undefined) return <ProblemText error={error} />;
  const clients = answer.items;
  const current = openOf(clients, openId);
  const others = clients.map(({ id, name, queued, flushAt }) => ({
    label: name,
    hint: `${count(queued)} of ${count(flushAt)}`,
    go: () => go({ view: "clients", path: [id] }),
  }));
  const list = (
    <ListPane title="Clients" tools={<IconButton icon="add" label="New client" onClick={make} />}>
      {clients.map((client) => (
        <ListEntry
          key={client.id}
          href={hashOf({ view: "clients", path: [client.id], query: {} })}
          isCurrent={client === current}
          name={client.name}
          aside={`${count(client.queued)} of ${count(client.flushAt)}`}
          detail={<ClientDetail client={client} />}
        />
      ))}
    </ListPane>
  );
  if (current === undefined) {
    return (
      <ListAndEditor
        name="clients"
        title="Clients"
        isEmpty
        list={list}
        editor={
          <EmptyState
            label="No client"
            title={openId === undefined ? "Watch a client library at work" : "Client not found"}
            action={{ label: "Create a client", run: make }}
            error={problem}
          >
            A simulated client queues calls as a program with the client library does: it sends 20 at a time, or what it has after 5
            seconds, and retries what the server did not accept. You see the queue fill, the countdown run and each batch go out, on the
            pipeline’s clock, and can change its size and interval while it runs.
          </EmptyState>
        }
      />
    );
  }
  return (
    <ListAndEditor
      name="clients"
      title="Clients"
      list={list}
      editor={<ClientPane key={current.id} client={current} others={others} problem={problem} onCreate={make} />}
      evidence={{ label: "Debug log", content: <ClientLog key={current.id} id={current.id} name={current.name} /> }}
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
          Nothing yet. Each queued call, flush, response and retry is logged here, in the format of <code>DEBUG=analytics</code>.
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
