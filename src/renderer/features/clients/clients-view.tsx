/** Simulated clients: the library in motion. Each has its queue, its countdown, its batches and its log before one's eyes. */

import { useCallback, useMemo } from "react";
import { IconButton } from "../../kit/controls.tsx";
import { ListAndEditor, ListEntry, ListPane } from "../../kit/list-pane.tsx";
import { NothingHere } from "../../kit/nothing-here.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useOffer, type Command } from "../../stores/commands.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, openOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { ClientLog } from "./client-log.tsx";
import { ClientPane } from "./client-pane.tsx";
import type { Client } from "./client-words.ts";
import "./clients.css";

/** As the first source there is, or as one that is made for it. */
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
          <NothingHere
            label="No client"
            title={openId === undefined ? "Watch a client library at work" : "There is no such client"}
            action={{ label: "Make a client", run: make }}
            error={problem}
          >
            A simulated client queues calls as a program with the client library does: it sends 20 at a time, or what it has after 5
            seconds, and retries what the server did not take. You see the queue fill, the countdown run and each batch leave, on the
            pipeline’s clock, and can change its size and interval while it runs.
          </NothingHere>
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
    ...(generating === null ? [] : ["calling by itself"]),
    ...(underWay === 0 ? [] : [`${underWay} ${underWay === 1 ? "batch" : "batches"} under way`]),
  ];
  return <span className="quiet">{notes.join(", ")}</span>;
}
