/**
 * Live before the first message: real values to copy, a sample one press away, and the demo
 * workspace.
 */

import { type ReactNode, useState } from "react";
import { Button, Choice } from "../../kit/controls.tsx";
import { Copyable } from "../../kit/copy.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { Icon, type IconName } from "../../kit/icon.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { useOverlay } from "../../stores/commands.ts";
import { isMac } from "../../stores/keys.ts";
import { useLive } from "../../stores/live-data.ts";
import { openDemo } from "../demo/demo.tsx";
import { NothingArrives } from "../sources/refused-requests.tsx";
import { type SnippetKind, snippetKinds } from "../composer/snippets.ts";
import { FirstMessage, useFirstMessage } from "./first-message.tsx";
import "./welcome.css";

export function Welcome() {
  const [kind, setKind] = useState<SnippetKind>("cURL");
  const message = useFirstMessage(kind);
  const { source, ingestUrl, writeKey, problem, run } = message;
  return (
    <div className="welcome">
      <section className="start" aria-label="First message">
        <h1>Send the first message</h1>
        <p className="muted lead">
          Hookyard accepts it, signs it, POSTs it to a test endpoint, and shows every byte. Nothing
          leaves this machine.
        </p>
        <ol className="way">
          <WayStep number={1}>
            <h2>Where to send</h2>
            <div className="pairs">
              <span className="muted">Ingest address</span>
              <Copyable value={ingestUrl} label="the ingest address" />
              <span className="muted">Write key</span>
              <Copyable
                value={writeKey}
                label="the write key"
                note={source === undefined ? undefined : `of ${source.name}`}
              />
            </div>
          </WayStep>
          <WayStep number={2}>
            <div className="head">
              <h2>Send one</h2>
              <span className="grow" />
              <Choice small label="As" value={kind} options={snippetKinds} onChange={setKind} />
            </div>
            <FirstMessage
              message={message}
              note={
                <>
                  sends exactly this call; or open the{" "}
                  <button
                    type="button"
                    className="link-button"
                    onClick={() => useOverlay.getState().show("composer")}
                  >
                    composer
                  </button>
                </>
              }
            />
            <ProblemText error={problem} />
          </WayStep>
          <WayStep number={3}>
            <h2>See it arrive</h2>
            <Way source={source?.name ?? "First source"} kind={source?.kind ?? "server"} />
            <p className="listening">
              <span className="breathe">
                <OutcomeGlyph outcome="success" />
              </span>
              <span>
                Listening. The first message opens here. <NothingArrives />
              </span>
            </p>
          </WayStep>
        </ol>
      </section>
      <Demo onOpen={() => run("open the demo", openDemo)} ingestUrl={ingestUrl} />
    </div>
  );
}

function WayStep({ number, children }: { number: number; children: ReactNode }) {
  return (
    <li>
      <b className="no">{number}</b>
      <div>{children}</div>
    </li>
  );
}

function Way({ source, kind }: { source: string; kind: string }) {
  const destination = useLive("destinations.list", {}).answer?.items[0];
  const endpoint = useLive("endpoints.list", {}).answer?.items[0];
  return (
    <div className="path">
      <Stop icon="sources" title={source} text={kind} />
      <i />
      <Stop
        icon="destinations"
        title={destination?.name ?? "no destination yet"}
        text={destination?.hasSharedSecret === true ? "signed, shared secret set" : "not signed"}
      />
      <i />
      <Stop
        icon="endpoints"
        title={
          endpoint === undefined ? (
            "no test endpoint yet"
          ) : (
            <>
              test endpoint <code>/{endpoint.path}</code>
            </>
          )
        }
        text="answers 200"
      />
    </div>
  );
}

function Stop({ icon, title, text }: { icon: IconName; title: ReactNode; text: string }) {
  return (
    <span className="stop">
      <Icon name={icon} />
      <span>
        <span className="strong clip">{title}</span>
        <span className="quiet">{text}</span>
      </span>
    </span>
  );
}

const shop: readonly { icon: IconName; name: string; text: string }[] = [
  { icon: "sources", name: "Sources", text: "Shop web, Shop server, Shop app" },
  { icon: "profiles", name: "Profiles", text: "24 people with names, and new visitors" },
  { icon: "audiences", name: "Audience", text: "Big spenders" },
  {
    icon: "destinations",
    name: "Destinations",
    text: "Billing, CRM sync, Warehouse, Loyalty points",
  },
  { icon: "endpoints", name: "Flaky webhook", text: "503 ×3 → reset → 200" },
];

function Demo({ onOpen, ingestUrl }: { onOpen: () => void; ingestUrl: string }) {
  const host = ingestUrl.replace(/^https?:\/\//, "");
  return (
    <aside className="demo" aria-label="Demo workspace">
      <h2>Or open the demo workspace</h2>
      <p className="muted">
        A shop that sends for as long as it is open, so that every view has data.
      </p>
      <dl>
        {shop.map(({ icon, name, text }) => (
          <div key={name}>
            <dt>
              <Icon name={icon} />
              {name}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <div className="actions">
        <Button onClick={onOpen}>Open the demo workspace</Button>
      </div>
      <p className="quiet">
        Stored next to your own data. Settings and the palette close and reset it.
      </p>
      <hr />
      <h3>Using a client library</h3>
      <ul className="libs">
        <li>
          <span>Go</span>
          <code>Endpoint: "{ingestUrl}"</code>
        </li>
        <li>
          <span>Node</span>
          <code>host: '{ingestUrl}'</code>
        </li>
        <li>
          <span>Browser</span>
          <code>
            apiHost: '{host}/v1',
            <br />
            protocol: 'http'
          </code>
        </li>
      </ul>
      <hr />
      <ul className="keys">
        <li>
          <kbd>{isMac ? "⌘ K" : "Ctrl K"}</kbd>commands
        </li>
        <li>
          <kbd>/</kbd>filter
        </li>
        <li>
          <kbd>Space</kbd>pause the clock
        </li>
        <li>
          <kbd>?</kbd>all shortcuts
        </li>
      </ul>
    </aside>
  );
}
