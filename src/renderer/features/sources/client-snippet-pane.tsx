/** How a client is pointed at this source: the address, the key, and a whole program for each library. */

import { useState } from "react";
import { Button, Choice } from "../../kit/controls.tsx";
import { Copyable, copyText } from "../../kit/copy.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useOnce } from "../../stores/live-data.ts";
import { clientSnippet, clientSnippetKinds, type ClientSnippetKind } from "./client-snippets.ts";

/** Stands in until there is a source. */
const exampleKey = "WRITE_KEY";

export function ClientSnippetPane({ writeKey }: { writeKey: string | null }) {
  const about = useOnce("about.get", {}).answer;
  const [kind, setKind] = useState<ClientSnippetKind>("cURL");
  if (about === undefined) return <section className="pane" />;
  const { ingestUrl } = about;
  const snippet = clientSnippet(kind, { ingestUrl, writeKey: writeKey ?? exampleKey });
  return (
    <section className="pane" aria-label="Point a client here">
      <header className="pane-title">
        <h3>Point a client here</h3>
      </header>
      <div className="pane-body">
        <section className="section snippet-address" aria-label="Ingest address">
          <Copyable value={ingestUrl} label="the ingest address" note="ingest address" />
          <Choice
            small
            label="Client"
            value={kind}
            options={clientSnippetKinds.map((each) => ({ value: each, label: each }))}
            onChange={setKind}
          />
        </section>
        <div className="snippet-head">
          <h3>{kind === "cURL" ? "A call" : "A whole program"}</h3>
          <span className="muted clip">{writeKey === null ? "make a source to get a write key" : "with the write key of this source"}</span>
          <span className="grow" />
          <Button small icon="copy" onClick={() => void copyText(snippet, `as ${kind}`)}>
            Copy
          </Button>
        </div>
        <pre className="code snippet" tabIndex={0} aria-label={`${kind} snippet`}>
          <SnippetText text={snippet} />
        </pre>
        <p className="snippet-note muted">
          Success is answered once the messages are committed. A path prefix, a doubled slash and a trailing slash reach the same handlers,
          so that any client library can be pointed here.
        </p>
      </div>
    </section>
  );
}
