/** The request and the response of an attempt, head and body as they were on the wire. */

import { type ReactNode, useState } from "react";
import { sizeOf } from "../../kit/byte-rows.ts";
import { CodeLine, Visible } from "../../kit/code-rows.tsx";
import { type CodeLook, CodeLookChoice, CodeView } from "../../kit/code-view.tsx";
import { Button } from "../../kit/controls.tsx";
import { copyText } from "../../kit/copy.tsx";
import { Menu } from "../../kit/floats.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { count, some } from "../../kit/words.ts";
import { useOnce } from "../../stores/live-data.ts";
import { curlOfAttempt, harOfAttempts, hasCredentials } from "../details/copy-as.ts";
import type { Attempt } from "../timeline/timeline-model.ts";
import { announcedLength, requestSize, statusLine } from "./attempt-words.ts";

export function RequestBytes({
  attempt,
  onCopyCurl,
}: {
  attempt: Attempt;
  onCopyCurl: () => void;
}) {
  const { request, webhookUrl } = attempt;
  const [look, setLook] = useState<CodeLook>("text");
  const about = useOnce("about.get", {}).answer;
  const copyHar = (credentials: boolean): void =>
    void copyText(harOfAttempts([attempt], about?.version ?? "", { credentials }), "the HAR");
  return (
    <section className="recorded">
      <div className="recorded-head">
        <h3>Request</h3>
        <code className="muted clip" title={webhookUrl}>
          {webhookUrl}
        </code>
        <span className="grow" />
        {request.sent ? (
          <>
            <span className="quiet">{some(requestSize(request), "byte")}</span>
            <CodeLookChoice
              value={request.body}
              look={look}
              looks={["text", "hex", "tree"]}
              label="Show the request's body as"
              onChange={setLook}
            />
            <Menu
              trigger={
                <Button
                  small
                  look="quiet"
                  icon="copy"
                  shortcut="c"
                  title="Copy the attempt; the key c copies the cURL command"
                >
                  cURL
                </Button>
              }
              items={[
                { label: "cURL with its headers", icon: "copy", hint: "c", onSelect: onCopyCurl },
                { label: "HAR", icon: "copy", onSelect: () => copyHar(false) },
                ...(hasCredentials([attempt])
                  ? ([
                      "line",
                      {
                        label: "cURL with credentials",
                        icon: "copy",
                        onSelect: () =>
                          void copyText(
                            curlOfAttempt(attempt, { credentials: true }),
                            "the cURL command",
                          ),
                      },
                      {
                        label: "HAR with credentials",
                        icon: "copy",
                        onSelect: () => copyHar(true),
                      },
                    ] as const)
                  : []),
              ]}
            />
          </>
        ) : null}
      </div>
      {request.sent ? (
        <CodeView
          value={request.body}
          as={look}
          label="Request, exact bytes"
          before={
            <Head start={<RequestLine line={request.startLine} />} headers={request.headers} />
          }
        />
      ) : (
        <p className="recorded-nothing muted">Nothing was sent.</p>
      )}
    </section>
  );
}

export function ResponseBytes({ attempt }: { attempt: Attempt }) {
  const { response, outcome } = attempt;
  const [look, setLook] = useState<CodeLook>("text");
  if (response === null) {
    return (
      <section className="recorded">
        <div className="recorded-head">
          <h3>Response</h3>
        </div>
        <p className="recorded-nothing muted">No response.</p>
      </section>
    );
  }
  const kept = sizeOf(response.body);
  const announced = announcedLength(attempt);
  const isCut = outcome === "timeout" || outcome === "connection_error";
  const whole = isCut && announced !== null ? announced : response.bodyLength;
  return (
    <section className="recorded">
      <div className="recorded-head">
        <h3>Response</h3>
        {isCut ? (
          <span className={`state tone ${outcome}`}>
            <OutcomeGlyph outcome={outcome} />
            {outcome === "timeout" ? "cut off by the deadline" : "cut short"}
          </span>
        ) : null}
        <span className="grow" />
        <span className="quiet">
          {kept === whole
            ? `${count(kept)} body bytes`
            : `${count(kept)} of ${count(whole)} body bytes`}
        </span>
        <CodeLookChoice
          value={response.body}
          look={look}
          looks={["text", "hex", "tree"]}
          label="Show the response's body as"
          onChange={setLook}
        />
      </div>
      <CodeView
        value={response.body}
        as={look}
        label="Response, exact bytes"
        before={
          <Head start={<StatusLine line={response.startLine} />} headers={response.headers} />
        }
        after={
          <Missing
            kept={kept}
            came={response.bodyLength}
            announced={isCut ? announced : null}
            outcome={outcome}
          />
        }
      />
    </section>
  );
}

function Missing({
  kept,
  came,
  announced,
  outcome,
}: {
  kept: number;
  came: number;
  announced: number | null;
  outcome: Attempt["outcome"];
}): ReactNode {
  const notes: string[] = [];
  if (came > kept)
    notes.push(`… ${count(came - kept)} more bytes received; the first 64 KB are stored`);
  if (announced !== null && announced > came) {
    notes.push(
      `… ${count(announced - came)} more bytes were announced but not received${outcome === "timeout" ? " before the deadline" : ""}`,
    );
  }
  if (kept === 0 && notes.length === 0) notes.push("no body");
  return notes.map((note) => (
    <CodeLine key={note} look="note">
      {note}
    </CodeLine>
  ));
}

function RequestLine({ line }: { line: string }) {
  const end = line.indexOf(" ");
  return (
    <>
      <span className="strong">{line.slice(0, end)}</span>
      <Visible text={line.slice(end)} />
      <Eol />
    </>
  );
}

function StatusLine({ line }: { line: string }) {
  const version = statusLine(line)?.version ?? "";
  return (
    <>
      <Visible text={version === "" ? "" : `${version} `} />
      <span className="strong">
        <Visible text={version === "" ? line : line.slice(version.length + 1)} />
      </span>
      <Eol />
    </>
  );
}

function Head({ start, headers }: { start: ReactNode; headers: Attempt["request"]["headers"] }) {
  return (
    <>
      <CodeLine>{start}</CodeLine>
      {headers.map(([name, value], place) => (
        // oxlint-disable-next-line react/no-array-index-key -- a header may be there twice
        <CodeLine key={place} look={name.toLowerCase() === "x-signature" ? "sig" : undefined}>
          <Visible kind="hn" text={name} />
          <span className="p">: </span>
          <Visible text={value} />
          <Eol />
        </CodeLine>
      ))}
      <CodeLine>
        <Eol />
      </CodeLine>
    </>
  );
}

function Eol() {
  return <span className="eol">\r\n</span>;
}
