/**
 * One test endpoint: its name and what uses it, its addresses, its program, and what a delivery
 * makes of it.
 */

import { useMemo, useState } from "react";
import type { AnswerOf, InputOf } from "../../../contract/contract.ts";
import { documented, profileOf } from "../../../domain/retry.ts";
import { CommitField } from "../../kit/commit-field.tsx";
import { DeleteMenu } from "../../kit/confirm-dialog.tsx";
import { Button, IconButton } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Dialog, Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph, State } from "../../kit/glyph.tsx";
import { Icon } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import type { Action } from "../../kit/use-action.ts";
import { some, span } from "../../kit/words.ts";
import { useLive } from "../../stores/live-data.ts";
import { newId } from "../../stores/drafts.ts";
import { goOnceAnswered, hrefTo, openToName, usePlace } from "../../stores/place.ts";
import { saveAtOnce } from "../../stores/undo.ts";
import { call } from "../../transport/transport.ts";
import { EditorPane } from "../collection/collection.tsx";
import { newDraft, useDrafts, withUrl } from "../destinations/destination-draft.ts";
import { certificateHosts, leadsTo, tlsUrlAt } from "./endpoint-address.ts";
import { ProgramEditor } from "./program-editor.tsx";
import { type Bead, outlookOf } from "./step-outcomes.ts";

type Endpoint = AnswerOf<"endpoints.get">;

type EditorProps = {
  endpoint: Endpoint;
  /** Why none could be created. */
  problem: Error | null;
  onRun: Action["run"];
};

export function EndpointEditor({ endpoint, problem, onRun }: EditorProps) {
  const destinations = useLive("destinations.list", {}).answer?.items;
  const [asksPath, setAsksPath] = useState(false);
  const users = (destinations ?? []).flatMap((destination) =>
    destination.webhooks.flatMap((webhook, place) =>
      leadsTo(webhook.url, endpoint) ? [{ destination, place }] : [],
    ),
  );
  const user = users[0];
  const { id, name, steps, after, perMessage = false } = endpoint;
  const connect = (): void => onRun(`connect ${id}`, () => newDestinationAt(endpoint));

  return (
    <EditorPane
      label={`Test endpoint ${name}`}
      title={name}
      onRename={(text) =>
        saveAtOnce({ name }, { name: text }, (changes) =>
          call("endpoints.update", { id, ...changes }),
        )
      }
      others="Another test endpoint"
      facts={
        destinations === undefined ? undefined : user === undefined ? (
          <span className="muted clip">unused</span>
        ) : (
          <span className="muted clip">
            webhook {user.place + 1} of{" "}
            <a className="link isolate" href={hrefTo("destinations", user.destination.id)}>
              {user.destination.name}
            </a>
            {users.length > 1 ? ` and ${users.length - 1} more` : null}
          </span>
        )
      }
      tools={
        <>
          {destinations !== undefined && user === undefined ? (
            <Button small icon="destinations" onClick={connect}>
              Create a destination with this
            </Button>
          ) : null}
          <Button
            small
            icon="rewind"
            title="Restart the program at its first step"
            aria-label="Rewind to step 1"
            onClick={() => onRun(`rewind ${id}`, () => call("endpoints.rewind", { id }))}
          >
            <span>
              Rewind<span className="wide-only"> to step 1</span>
            </span>
          </Button>
          <DeleteMenu
            name={name}
            label="More: duplicate, change the path, delete"
            items={[
              {
                label: "Duplicate",
                icon: "copy",
                onSelect: () =>
                  onRun(`duplicate ${id}`, () =>
                    createCopy({ name: `${name} copy`, steps, after, perMessage }),
                  ),
              },
              { label: "Create a destination with this", icon: "destinations", onSelect: connect },
              { label: "Change the path…", icon: "endpoints", onSelect: () => setAsksPath(true) },
              "line",
            ]}
            onDelete={async () => {
              await call("endpoints.delete", { id });
              usePlace.getState().go({ view: "endpoints" });
            }}
          >
            Its program and its {some(endpoint.position.received, "received request")} are
            permanently deleted, and requests that it holds are closed.
            {user === undefined
              ? null
              : ` Webhook ${user.place + 1} of ${user.destination.name} will get 404.`}
          </DeleteMenu>
        </>
      }
    >
      <div className="pane-body">
        <ProblemText error={problem} />
        <EndpointAddresses endpoint={endpoint} />
        <ProgramEditor endpoint={endpoint} />
        <OutlookBeads
          endpoint={endpoint}
          profileName={user?.destination.retryProfile ?? documented.name}
        />
      </div>
      <PathDialog endpoint={endpoint} open={asksPath} onClose={() => setAsksPath(false)} />
    </EditorPane>
  );
}

type PathDialogProps = { endpoint: Endpoint; open: boolean; onClose: () => void };

function PathDialog({ endpoint: { id, path }, open, onClose }: PathDialogProps) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Change the path"
      actions={<Button onClick={onClose}>Close</Button>}
    >
      <CommitField
        label="Path"
        mono
        text={path}
        hint="Allowed: a-z, 0-9, - and _, separated by single slashes. Change the webhooks that use this path as well. Press Enter to save."
        onCommit={(next) => call("endpoints.update", { id, path: next })}
      />
    </Dialog>
  );
}

/**
 * Where a test endpoint listens: HTTP, and HTTPS under the host name whose certificate is wanted.
 */
function EndpointAddresses({ endpoint }: { endpoint: AnswerOf<"endpoints.get"> }) {
  const chosen = usePlace((place) => place.query["host"]);
  const change = usePlace((place) => place.change);
  const certificate = certificateHosts.find(({ host }) => host === chosen) ?? certificateHosts[0];
  if (certificate === undefined) return null;
  const tlsUrl = tlsUrlAt(endpoint, certificate.host);
  return (
    <section className="section urls" aria-label="Addresses">
      <span className="muted">HTTP</span>
      <span className="copyable">
        <code className="clip grow">{endpoint.url}</code>
        <IconButton
          icon="copy"
          label="Copy the HTTP URL"
          onClick={() => void copyText(endpoint.url, "the HTTP URL")}
        />
      </span>
      <span className="muted">HTTPS</span>
      <span className="copyable">
        <code className="clip grow" title={tlsUrl}>
          {tlsUrl}
        </code>
        <Menu
          trigger={
            <button
              type="button"
              className="certificate"
              title={`Certificate: ${certificate.words}. Other certificates by host name`}
            >
              <span className="sr">Certificate: {certificate.words}, results in</span>
              {certificate.endsIn === null ? (
                "as programmed"
              ) : (
                <span className={`state tone ${certificate.endsIn}`}>
                  <OutcomeGlyph outcome={certificate.endsIn} />
                  {certificate.endsIn}
                </span>
              )}
              <Icon name="down" small />
            </button>
          }
          items={certificateHosts.map(({ host, words, endsIn }) => ({
            label: words,
            hint: endsIn ?? "as programmed",
            onSelect: () =>
              change({ query: { host: host === certificateHosts[0]?.host ? null : host } }),
          }))}
        />
        <IconButton
          icon="copy"
          label="Copy the HTTPS URL"
          onClick={() => void copyText(tlsUrl, "the HTTPS URL")}
        />
      </span>
    </section>
  );
}

export type Preset = AnswerOf<"endpoints.presets">["items"][number];

/** Begins a destination whose webhook is the endpoint. One that is begun already gets it too. */
const newDestinationAt = ({ name, url }: Endpoint): Promise<void> =>
  goOnceAnswered(
    Promise.all([call("sources.list", {}), call("settings.get", {})]),
    ([sources, { retryProfile }]) => {
      const own = sources.items.filter(({ kind }) => kind !== "audience").map(({ id }) => id);
      const { drafts, keep } = useDrafts.getState();
      keep(newId, withUrl(drafts[newId] ?? { ...newDraft(own, retryProfile), name }, url));
      return { view: "destinations", path: [newId] };
    },
  );

const createCopy = (endpoint: InputOf<"endpoints.create">): Promise<void> =>
  goOnceAnswered(call("endpoints.create", endpoint), ({ id }) => ({
    view: "endpoints",
    path: [id],
  }));

/** Creates a test endpoint and opens it. */
export function createEndpoint(preset: Preset | null): Promise<void> {
  const { host, name, steps, after } = preset ?? { name: "endpoint", steps: [] };
  const created = call("endpoints.create", { name, steps, after });
  return openToName("endpoints", created, host === undefined ? {} : { host });
}

/**
 * As many beads as have room for their times; of more, the first two and the last three are shown.
 */
const maxBeads = 6;
const firstBeads = 2;
const lastBeads = 3;

/**
 * What a delivery makes of the program from its first step: a bead for each round, at its seeded
 * time.
 */
function OutlookBeads({
  endpoint,
  profileName,
}: {
  endpoint: AnswerOf<"endpoints.get">;
  profileName: string;
}) {
  const settings = useLive("settings.get", {}).answer;
  const profiles = useLive("retryProfiles.list", {}).answer?.items;
  const profile = profiles === undefined ? undefined : profileOf(profiles, profileName);
  const { steps, after } = endpoint;
  const outlook = useMemo(
    () =>
      profile === undefined || settings === undefined
        ? null
        : outlookOf({
            steps,
            after,
            profile,
            seed: settings.seed,
            jitter: settings.jitter,
          }),
    [steps, after, profile, settings],
  );
  if (outlook === null) return null;
  const { beads, end, share } = outlook;
  const isLong = beads.length > maxBeads;
  const last = beads.at(-1);
  return (
    <section className="section seen" aria-labelledby="outlook-title">
      <div className="section-head">
        <h3 id="outlook-title">Expected delivery</h3>
        <span className="muted">
          retry profile <code>{profileName}</code>
        </span>
      </div>
      <ol className="beads">
        {(isLong ? beads.slice(0, firstBeads) : beads).map((bead) => (
          <BeadItem key={bead.round} bead={bead} />
        ))}
        {isLong ? (
          <li className="dots">
            <span aria-hidden="true">···</span>
            <span className="quiet">{beads.length - firstBeads - lastBeads} more</span>
          </li>
        ) : null}
        {isLong
          ? beads.slice(-lastBeads).map((bead) => <BeadItem key={bead.round} bead={bead} />)
          : null}
        <li className="fin">
          <span className={`tone strong ${end}`}>
            <State state={end} />
          </span>
          <span className="quiet">
            round {last?.round ?? 1}
            {share < 1 ? `, ${percent(share)} of deliveries` : null}
          </span>
        </li>
      </ol>
    </section>
  );
}

const percent = (share: number): string =>
  share > 0 && share < 0.01 ? "under 1 %" : `${Math.round(share * 100)} %`;

function BeadItem({ bead: { round, atMs, outcome, word, chances } }: { bead: Bead }) {
  const rest = chances.reduce((left, { share }) => left - share, 1);
  return (
    <li title={`round ${round}: ${outcome}`}>
      <span className={`tone ${outcome}`}>
        <OutcomeGlyph outcome={outcome} />
        <span className="sr">{outcome}</span>
      </span>
      <span>
        {word}
        {chances.length === 0 ? null : ` ${percent(rest)}`}
      </span>
      {chances.map((chance) => (
        <span key={chance.word} className={`chance tone ${chance.outcome}`}>
          <OutcomeGlyph outcome={chance.outcome} />
          <span className="muted">
            {chance.word} {percent(chance.share)}
          </span>
        </span>
      ))}
      <span className="mono quiet">{atMs === 0 ? "0 s" : `+${span(atMs)}`}</span>
    </li>
  );
}
