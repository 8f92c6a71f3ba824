/** One test endpoint: its name and what uses it, its addresses, its program, and what a delivery makes of it. */

import { useState } from "react";
import type { AnswerOf } from "../../../contract/contract.ts";
import { documented } from "../../../domain/retry.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { ConfirmDialog } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { Dialog, Menu } from "../../kit/floats.tsx";
import { OthersMenu } from "../../kit/list-pane.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import type { Action } from "../../kit/use-action.ts";
import { count } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { hashOf, usePlace } from "../../stores/place.ts";
import { call } from "../../transport/transport.ts";
import { TitleField } from "../frame/title-field.tsx";
import { leadsTo } from "./endpoint-address.ts";
import { EndpointAddresses } from "./endpoint-addresses.tsx";
import { useEndpointCommands, type Preset } from "./endpoint-commands.ts";
import { OutlookBeads } from "./outlook-beads.tsx";
import { ProgramEditor } from "./program-editor.tsx";

type Endpoint = AnswerOf<"endpoints.get">;

export function EndpointEditor({
  endpoint,
  endpoints,
  presets,
  problem,
  onRun,
}: {
  endpoint: Endpoint;
  endpoints: readonly Endpoint[];
  presets: readonly Preset[];
  problem: Error | null;
  onRun: Action["run"];
}) {
  const destinations = useLive("destinations.list", {}).answer?.items ?? [];
  const go = usePlace((place) => place.go);
  const [asks, setAsks] = useState<"path" | "delete" | null>(null);
  const { create, duplicate, rewind } = useEndpointCommands(onRun);
  const users = destinations.flatMap((destination) =>
    destination.webhooks.flatMap((webhook, place) => (leadsTo(webhook.url, endpoint) ? [{ destination, place }] : [])),
  );
  const user = users[0];
  const { id, name } = endpoint;

  return (
    <section className="pane editor" aria-label={`Test endpoint ${name}`}>
      <header className="pane-title">
        <h2 className="sr">{name}</h2>
        <TitleField name={name} onRename={(text) => call("endpoints.update", { id, name: text })} />
        <OthersMenu
          label="Another test endpoint"
          others={endpoints.map((other) => ({ label: other.name, go: () => go({ view: "endpoints", path: [other.id] }) }))}
          more={[
            { label: "New test endpoint", icon: "add", onSelect: () => create(null) },
            ...presets.map((preset) => ({ label: `New: ${preset.title}`, onSelect: () => create(preset) })),
          ]}
        />
        {user === undefined ? (
          <span className="muted clip">no webhook leads here</span>
        ) : (
          <span className="muted clip">
            webhook {user.place + 1} of{" "}
            <a className="link isolate" href={hashOf({ view: "destinations", path: [user.destination.id], query: {} })}>
              {user.destination.name}
            </a>
            {users.length > 1 ? ` and ${users.length - 1} more` : null}
          </span>
        )}
        <span className="grow" />
        <Button small icon="rewind" title="The program begins again at its first step" onClick={() => rewind(endpoint)}>
          Set back to step 1
        </Button>
        <Menu
          trigger={<IconButton icon="more" small label="More: duplicate, change the path, delete" />}
          items={[
            { label: "Duplicate", icon: "copy", onSelect: () => duplicate(endpoint) },
            { label: "Change the path…", icon: "endpoints", onSelect: () => setAsks("path") },
            "line",
            { label: "Delete…", icon: "deletions", onSelect: () => setAsks("delete") },
          ]}
        />
      </header>
      <div className="pane-body">
        <ProblemText error={problem} />
        <EndpointAddresses endpoint={endpoint} />
        <ProgramEditor endpoint={endpoint} />
        <OutlookBeads endpoint={endpoint} profileName={user?.destination.retryProfile ?? documented.name} />
      </div>
      <ConfirmDialog
        open={asks === "delete"}
        onClose={() => setAsks(null)}
        title={`Delete ${name}?`}
        action="Delete"
        onConfirm={async () => {
          await call("endpoints.delete", { id });
          go({ view: "endpoints" });
        }}
      >
        Its program and its {count(endpoint.position.received)} received requests are gone for good, and clients that it holds are let go.
        {user === undefined ? null : ` Webhook ${user.place + 1} of ${user.destination.name} will get 404 from then on.`}
      </ConfirmDialog>
      <Dialog
        open={asks === "path"}
        onClose={() => setAsks(null)}
        title="Change the path"
        actions={<Button onClick={() => setAsks(null)}>Close</Button>}
      >
        <CommitField
          label="Path"
          mono
          text={endpoint.path}
          hint="a-z, 0-9, - and _, with single slashes between. Webhooks that lead here must be changed as well. Enter saves it."
          onCommit={(path) => call("endpoints.update", { id, path })}
        />
      </Dialog>
    </section>
  );
}
