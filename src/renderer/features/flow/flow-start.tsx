/** Below the map before the first message: a call to copy, and the demo workspace. */

import { useEffect } from "react";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { ProblemText } from "../../kit/problem.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { snippet } from "../composer/snippets.ts";

const sample = `{"userId":"u_1042","event":"Order Completed",
       "properties":{"total":184.5,"currency":"EUR"}}`;

export function FlowStart() {
  const sources = useLive("sources.list", {}).answer?.items;
  const about = useOnce("about.get", {}).answer;
  const { problem, run, attempt } = useAction();
  const isBare = sources?.length === 0;
  // The map shows real things, so the first ones are made as soon as somebody looks for them.
  useEffect(() => {
    if (isBare) attempt(() => call("workspaces.open", { kind: "first" }));
  }, [isBare, attempt]);
  const source = sources?.[0];
  const code = snippet("cURL", {
    ingestUrl: about?.ingestUrl ?? "",
    writeKey: source?.writeKey ?? "",
    type: "track",
    body: sample,
  });
  const send = (): void => {
    if (source !== undefined)
      run(() => call("sources.send", { id: source.id, type: "track", body: sample }));
  };
  const copy = (): void => void copyText(code, "as cURL");
  useKeys({ c: copy, Enter: send });
  return (
    <div className="flow-start">
      <section aria-label="First message">
        <h2>Nothing has come in yet. Send one and watch it go.</h2>
        <p className="muted lead">
          Your message becomes a mark on the line. It goes to the destination, is signed and POSTed
          to the webhook. Nothing leaves this machine.
        </p>
        <div className="snippet">
          <pre className="code">
            <SnippetText text={code} />
          </pre>
          <Button small icon="copy" shortcut="c" onClick={copy}>
            Copy
          </Button>
        </div>
        <div className="actions">
          <Button
            look="primary"
            icon="send"
            shortcut="Enter"
            disabled={source === undefined}
            onClick={send}
          >
            Send a sample
          </Button>
          <span className="muted">sends exactly this call</span>
        </div>
        <ProblemText error={problem} />
      </section>
      <aside aria-label="Demo workspace">
        <h3>Or see it running</h3>
        <p className="muted">A shop with its own traffic: sources, users, an audience, webhooks.</p>
        <Button onClick={() => run(() => call("workspaces.open", { kind: "demo" }), "demo")}>
          Open the demo workspace
        </Button>
      </aside>
    </div>
  );
}
