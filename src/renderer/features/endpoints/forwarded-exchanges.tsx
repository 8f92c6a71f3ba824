/** What a forward sent to the receiver and what came back, beside each other, byte for byte. */

import { type ReactNode, useState } from "react";
import { Choice } from "../../kit/controls.tsx";
import { type CodeLook, CodeLookChoice, CodeView } from "../../kit/code-view.tsx";
import { OutcomeGlyph } from "../../kit/glyph.tsx";
import { bytes, duration } from "../../kit/words.ts";
import type { Received } from "./step-outcomes.ts";

type Exchange = Received["forwarded"][number];

export function ForwardedExchanges({ exchanges }: { exchanges: readonly Exchange[] }) {
  const [chosen, setChosen] = useState(0);
  const [look, setLook] = useState<CodeLook>("text");
  const exchange = exchanges[Math.min(chosen, exchanges.length - 1)];
  if (exchange === undefined) return null;
  const { request, response, error, outcome, durationMs } = exchange;
  return (
    <>
      <div className="bytes-head">
        <h3>Forwarded</h3>
        <code className="muted clip isolate">{request.url}</code>
        <span className="grow" />
        {exchanges.length > 1 ? (
          <Choice
            small
            label="Copy"
            value={String(Math.min(chosen, exchanges.length - 1))}
            options={exchanges.map((_, place) => ({
              value: String(place),
              label: String(place + 1),
            }))}
            onChange={(value) => setChosen(Number(value))}
          />
        ) : null}
        <CodeLookChoice
          value={response?.body ?? request.body}
          look={look}
          looks={["text", "tree", "hex"]}
          onChange={setLook}
        />
      </div>
      <div className="exchange-sides">
        <section className="exchange-side" aria-label="Sent to the receiver">
          <div className="bytes-head">
            <h3>Sent</h3>
            <span className="quiet clip">{bytes(exchange.bodyLength)}</span>
          </div>
          <div
            className="pane-body bytes"
            role="group"
            aria-label="Bytes sent to the receiver"
            tabIndex={0}
          >
            {request.sent ? (
              <Message
                line={request.startLine}
                headers={request.headers}
                body={request.body}
                look={look}
                label="Sent, exact bytes"
              />
            ) : (
              <p className="why muted">{outcome === null ? "Being sent." : "Nothing was sent."}</p>
            )}
          </div>
        </section>
        <section className="exchange-side" aria-label="Answer of the receiver">
          <div className="bytes-head">
            <h3>Came back</h3>
            {outcome === null ? (
              <span className="quiet">waiting</span>
            ) : (
              <span className="did">
                <OutcomeGlyph outcome={outcome} />
                <span className="clip">
                  {response?.status ?? outcome} in {duration(durationMs ?? 0)}
                </span>
              </span>
            )}
          </div>
          <div
            className="pane-body bytes"
            role="group"
            aria-label="Bytes of the receiver’s answer"
            tabIndex={0}
          >
            {error === null ? null : <p className="why tone failed">{error.message}</p>}
            {response === null ? null : (
              <Message
                line={response.startLine}
                headers={response.headers}
                body={response.body}
                look={look}
                label="Answer, exact bytes"
              />
            )}
          </div>
        </section>
      </div>
    </>
  );
}

type MessageProps = Pick<Exchange["request"], "headers" | "body"> & {
  line: string;
  look: CodeLook;
  label: string;
};

function Message({ line, headers, body, look, label }: MessageProps) {
  return (
    <CodeView
      value={body}
      as={look}
      label={label}
      before={
        <>
          <HeadLine>
            <bdi className="strong">{line}</bdi>
          </HeadLine>
          {headers.map(([name, value], place) => (
            // oxlint-disable-next-line react/no-array-index-key -- a header may be there twice
            <HeadLine key={place}>
              <span className="hn">{name}</span>
              <span className="p">:</span> <bdi>{value}</bdi>
            </HeadLine>
          ))}
          <HeadLine>{null}</HeadLine>
        </>
      }
    />
  );
}

/** A line of a head, with its end. */
export function HeadLine({ children }: { children: ReactNode }) {
  return (
    <div className="l">
      <i />
      <span>
        {children}
        <span className="eol">\r\n</span>
      </span>
    </div>
  );
}
