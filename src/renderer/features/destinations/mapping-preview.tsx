/**
 * What leaves this machine, byte for byte, while its mapping is being typed: the message, the body
 * alone or in a batch, and which of its bytes the signature covers.
 */

import { useState } from "react";
import { bytesOf, type RecordedBytes } from "../../kit/byte-rows.ts";
import { Visible } from "../../kit/code-rows.tsx";
import { classOf } from "../../kit/code-tree.tsx";
import { Choice, IconButton } from "../../kit/controls.tsx";
import { StateGlyph } from "../../kit/glyph.tsx";
import { tokenise } from "../../kit/json-tokens.ts";
import { ProblemText } from "../../kit/problem.tsx";
import { count, some } from "../../kit/words.ts";
import { hrefTo, usePlace } from "../../stores/place.ts";
import { unmasked } from "../../transport/secrets.ts";
import type { DestinationDraft } from "./destination-draft.ts";
import { problemsOfMapping } from "./mapping-draft.ts";
import { type Preview, useMappingPreview, useOpenMapping } from "./use-mapping-preview.ts";
import "./mappings.css";

type Shown = NonNullable<Preview["shown"]>;

export function MappingPreview({
  draft,
  destinationId,
}: {
  draft: DestinationDraft;
  destinationId: string | undefined;
}) {
  const open = useOpenMapping(draft);
  const { preview, error } = useMappingPreview({ draft, destinationId }, open);
  const mapping = draft.mappings[open];
  if (mapping === undefined) return null;
  const problems = problemsOfMapping(unmasked(mapping), []);
  const unread = problems.data.find((each) => each !== null) ?? null;
  return (
    <div className="mapping-preview">
      <ProblemText error={error} />
      {preview === undefined ? null : <ShownMessage preview={preview} />}
      {preview === undefined ? null : preview.shown === null ? (
        <p className="muted preview-part">{nothingShown(preview, draft)}</p>
      ) : typeof mapping.data === "string" && unread !== null ? (
        <NotSent why={`Data: ${unread}`} />
      ) : (
        <ShownRequest key={open} shown={preview.shown} hasUrl={problems.url === null} />
      )}
    </div>
  );
}

function nothingShown(
  { mistakes, looked }: Preview,
  { sourceIds, mappings }: DestinationDraft,
): string {
  if (sourceIds.length === 0)
    return "Choose a source: the preview shows the requests that the mapping creates from its newest messages.";
  if (mistakes.trigger !== null) return "The trigger cannot be read yet.";
  if (looked === 0) return "No messages yet. Send one to a source, and the preview shows it.";
  return mappings.length === 0 ? "" : `None of the last ${some(looked, "message")} matches.`;
}

function ShownMessage({ preview: { matching, shown, looked } }: { preview: Preview }) {
  const change = usePlace((place) => place.change);
  const at = matching.findIndex(({ id }) => id === shown?.id);
  const message = matching[at];
  const go = (to: number): void => {
    const next = matching[to];
    if (next !== undefined) change({ query: { message: next.id } });
  };
  return (
    <header className="preview-part preview-head">
      <h3>Message</h3>
      {message === undefined ? null : (
        <a className="link clip" href={hrefTo("live", message.id)} title="Open the message">
          {message.type} <Visible text={message.event ?? message.userId ?? ""} />
        </a>
      )}
      <span className="grow" />
      <span className="muted" aria-live="polite">
        {at === -1
          ? `${count(matching.length)} of ${count(looked)} match`
          : `${at + 1} of ${count(matching.length)}`}
      </span>
      <IconButton
        icon="back"
        label="Previous message"
        disabled={at <= 0}
        onClick={() => go(at - 1)}
      />
      <IconButton
        icon="forward"
        label="Next message"
        disabled={at + 1 >= matching.length}
        onClick={() => go(at + 1)}
      />
    </header>
  );
}

function NotSent({ why }: { why: string }) {
  return (
    <div className="verdict bad preview-part" role="status">
      <StateGlyph state="failed" />
      <p>
        <b>Not sent.</b> {why}
      </p>
    </div>
  );
}

function ShownRequest({ shown, hasUrl }: { shown: Shown; hasUrl: boolean }) {
  const [chosen, setChosen] = useState<"one" | "batch">("batch");
  const { request, batch, detail } = shown;
  if (request === null) return <NotSent why={detail} />;
  const isBatch = batch !== null && chosen === "batch";
  const body = isBatch ? batch.body : request.body;
  const size = bytesOf(body).length;
  const signature = isBatch ? batch.signature : request.signature;
  return (
    <>
      <div className="preview-part preview-head">
        <h3>Body</h3>
        <span className="muted clip">
          {isBatch ? `a batch of ${batch.messages.length}, ` : ""}
          {some(size, "byte")}
        </span>
        <span className="grow" />
        {batch === null ? null : (
          <Choice
            small
            label="Body"
            value={chosen}
            options={["one", "batch"]}
            onChange={setChosen}
          />
        )}
      </div>
      <div className="code preview-body" role="group" aria-label="Body">
        {size === 0 ? (
          <p className="muted">The body is empty. It has no signature.</p>
        ) : isBatch ? (
          <BatchBody batch={batch} />
        ) : (
          <Frame isSigned={signature !== null} label="Signed: the whole body" from={1} to={size}>
            {body}
          </Frame>
        )}
      </div>
      <dl className="preview-part preview-facts">
        <dt>X-Signature</dt>
        <dd>{signature ?? "none"}</dd>
        {isBatch && batch.wholeSignature !== null ? (
          <>
            <dt>whole body, not sent</dt>
            <dd className="muted">{batch.wholeSignature}</dd>
          </>
        ) : null}
        <dt>{request.method}</dt>
        <dd>{hasUrl ? request.url : "its URL is not complete yet"}</dd>
        {request.headers.map(([name, value]) => (
          <Header key={name} name={name} value={value} />
        ))}
      </dl>
      {isBatch && batch.signature !== null && batch.messages.length > 0 ? (
        <div className="verdict bad preview-part">
          <StateGlyph state="failed" />
          <p>
            <b>A receiver that verifies the whole body refuses this batch.</b> As in the hosted
            service, the signature covers element 1 only. Verify the first element’s bytes, or turn
            batching off.
          </p>
        </div>
      ) : null}
    </>
  );
}

function Header({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <Visible text={value} />
      </dd>
    </>
  );
}

function BatchBody({ batch }: { batch: NonNullable<Shown["batch"]> }) {
  const bytes = bytesOf(batch.body);
  const end = 1 + batch.first;
  const text = new TextDecoder();
  const isSigned = batch.signature !== null;
  return (
    <>
      <code>[</code>
      <Frame isSigned={isSigned} label="Signed: the first element" from={2} to={end}>
        {text.decode(bytes.subarray(1, end))}
      </Frame>
      {end + 1 < bytes.length ? (
        <Frame isSigned={false} label="" from={end + 1} to={bytes.length - 1}>
          {text.decode(bytes.subarray(end, -1))}
        </Frame>
      ) : null}
      <code>]</code>
    </>
  );
}

function Frame({
  isSigned,
  label,
  from,
  to,
  children,
}: {
  isSigned: boolean;
  label: string;
  from: number;
  to: number;
  children: RecordedBytes;
}) {
  const text =
    typeof children === "string" ? children : new TextDecoder().decode(bytesOf(children));
  return (
    <div className={isSigned ? "signed-bytes" : "unsigned-bytes"}>
      <p className="frame-title">
        <StateGlyph state={isSigned ? "delivered" : "failed"} />
        <b>{isSigned ? label : "Not signed: anyone can change this"}</b>
        <span className="grow" />
        <span className="mono">
          bytes {count(from)} to {count(to)}
        </span>
      </p>
      <pre>
        {tokenise(text).map(({ kind, start, end }) => (
          <Visible key={start} text={text.slice(start, end)} kind={classOf[kind]} />
        ))}
      </pre>
    </div>
  );
}
