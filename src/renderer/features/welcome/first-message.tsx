/**
 * The first message, in Live and in the flow: a real call to copy, and a button that sends it. The
 * values must be real ones, so the first source is created as soon as a view shows them.
 */

import { type ReactNode, useEffect } from "react";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { SnippetText } from "../../kit/snippet-text.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useKeys } from "../../stores/keys.ts";
import { useLive, useOnce } from "../../stores/live-data.ts";
import { call } from "../../transport/transport.ts";
import { snippet, type SnippetKind } from "../composer/snippets.ts";

const body = `{"userId":"u_1042","event":"Order Completed",
       "properties":{"total":184.5,"currency":"EUR"}}`;

export function useFirstMessage(kind: SnippetKind = "cURL") {
  const sources = useLive("sources.list", {}).answer?.items;
  const ingestUrl = useOnce("about.get", {}).answer?.ingestUrl ?? "";
  const action = useAction();
  const { run, attempt } = action;
  const isBare = sources?.length === 0;
  useEffect(() => {
    if (isBare) void attempt(() => call("workspaces.open", { kind: "first" }));
  }, [isBare, attempt]);
  const source = sources?.[0];
  const writeKey = source?.writeKey ?? "";
  const code = snippet(kind, { ingestUrl, writeKey, type: "track", body });
  const copy = (): void => void copyText(code, `as ${kind}`);
  const send = (): void => {
    if (source !== undefined)
      run("send", () => call("sources.send", { id: source.id, type: "track", body }));
  };
  useKeys({ c: copy, Enter: send });
  return { ...action, source, ingestUrl, writeKey, code, copy, send };
}

/** The note is beside the button that sends it. */
export function FirstMessage({
  message: { code, copy, send, source },
  note,
}: {
  message: ReturnType<typeof useFirstMessage>;
  note: ReactNode;
}) {
  return (
    <>
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
        <span className="muted">{note}</span>
      </div>
    </>
  );
}
