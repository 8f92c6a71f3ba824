/** One simulated client: its queue and countdown, the calls it is given, its batches, and how it is set up. */

import { useState } from "react";
import type { InputOf } from "../../../contract/contract.ts";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OthersMenu, type Other } from "../../kit/list-pane.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useLive } from "../../stores/live-data.ts";
import { usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { TitleField } from "../frame/title-field.tsx";
import { ClientBatches } from "./client-batches.tsx";
import { ClientCalls } from "./client-calls.tsx";
import { ClientQueue } from "./client-queue.tsx";
import { ClientSetup } from "./client-setup.tsx";
import type { Client } from "./client-words.ts";

type PaneProps = { client: Client; others: readonly Other[]; problem: Error | null; onCreate: () => void };

export function ClientPane({ client, others, problem, onCreate }: PaneProps) {
  const { id, name, state, queued } = client;
  const details = useLive("clients.get", { id }).answer;
  const go = usePlace((place) => place.go);
  const [isAsking, setIsAsking] = useState(false);
  const { problem: refusal, run, attempt } = useAction();
  const update = (changes: Omit<InputOf<"clients.update">, "id">): Promise<unknown> => call("clients.update", { id, ...changes });
  const isOpen = state === "running";
  return (
    <section className="pane editor" aria-label={`Client ${name}`}>
      <header className="pane-title">
        <h2 className="sr">{name}</h2>
        <TitleField name={name} onRename={(text) => update({ name: text })} />
        <OthersMenu label="Another client" others={others} more={[{ label: "New client", icon: "add", onSelect: onCreate }]} />
        {isOpen ? null : <span className="badge outline">{state}</span>}
        <span className="grow" />
        {isOpen ? (
          <Button small icon="send" disabled={queued === 0} onClick={() => run(() => call("clients.flush", { id }))}>
            Flush
          </Button>
        ) : (
          <Button small disabled={state === "closing"} onClick={() => run(() => call("clients.reopen", { id }))}>
            Start it again
          </Button>
        )}
        <Menu
          trigger={<IconButton icon="more" small label="More: close, delete" />}
          items={[
            { label: "Close", icon: "pause", disabled: !isOpen, onSelect: () => run(() => call("clients.close", { id })) },
            { label: "Delete…", icon: "deletions", onSelect: () => setIsAsking(true) },
          ]}
        />
      </header>
      <div className="pane-body">
        <ProblemText error={refusal ?? problem} />
        <ClientQueue client={details ?? client} queue={details?.queue ?? []} current={details?.current ?? null} />
        <ClientSetup client={client} onUpdate={update} onSet={(changes) => attempt(() => update(changes))} />
        <ClientCalls client={client} />
        <ClientBatches id={id} />
      </div>
      <ConfirmDialog
        open={isAsking}
        onClose={() => setIsAsking(false)}
        title={`Delete ${name}?`}
        action="Delete"
        onConfirm={async () => {
          await call("clients.delete", { id });
          go({ view: "clients" });
        }}
      >
        What it holds is sent all the same. Its batches and its log are forgotten; messages that arrived stay on record.
      </ConfirmDialog>
    </section>
  );
}
